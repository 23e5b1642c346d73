"""What an MCP client can ask: three tools, four resources, one prompt.

Idea: a handler finds out who asks, and runs our synchronous code in a thread. Invariant: what a model can mend comes
back as a tool result with `isError`; what only the client's author can mend is a protocol error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from vademecum import __version__
from vademecum.errors import VademecumError
from vademecum.surfaces.mcp.conversation import Conversation, Conversations, Peer

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    Context = ServerRequestContext[Any, Any]

PROMPT = "start-of-session"
SNAPSHOT = "vademecum://snapshot"
_STORES = {"vademecum://memory": "memory", "vademecum://user": "user", "vademecum://notes": "notes"}
_RESOURCES = (
    types.Resource(
        uri=SNAPSHOT,
        name="snapshot",
        title="Snapshot of memory",
        description="Identity, memory, user profile and index of notes, frozen when this conversation began.",
        mime_type="text/markdown",
    ),
    types.Resource(
        uri="vademecum://memory",
        name="memory",
        title="Memory, as it is now",
        description="The agent's own notes, with how full the store is.",
        mime_type="text/markdown",
    ),
    types.Resource(
        uri="vademecum://user",
        name="user",
        title="User profile, as it is now",
        description="Who the user is, with how full the store is.",
        mime_type="text/markdown",
    ),
    types.Resource(
        uri="vademecum://notes",
        name="notes",
        title="Index of notes, as it is now",
        description="One line a note; the `note` tool reads one.",
        mime_type="text/markdown",
    ),
)


def build(
    conversations: Conversations, peer_of: Callable[[Context], Peer], ready: Callable[[], None], *, instructions: str
) -> Server[Any]:
    """A server whose callers `peer_of` tells apart; `ready` is called at the first request after the handshake.

    `instructions` are told to each client at `initialize`.
    """
    handlers = _Handlers(conversations, peer_of, ready)
    return Server(
        "vademecum",
        version=__version__,
        title="Vademecum: memory",
        instructions=instructions,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


class _Handlers:
    def __init__(
        self, conversations: Conversations, peer_of: Callable[[Context], Peer], ready: Callable[[], None]
    ) -> None:
        self._conversations = conversations
        self._peer_of = peer_of
        self._ready = ready

    async def list_tools(self, ctx: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        self._ready()
        peer = self._peer_of(ctx)
        specs = await anyio.to_thread.run_sync(peer.vm.tools)
        return types.ListToolsResult(
            tools=[
                types.Tool(name=spec.name, description=spec.description, input_schema=spec.parameters) for spec in specs
            ]
        )

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        self._ready()
        conversation = self._conversation(ctx)
        return await anyio.to_thread.run_sync(_call, conversation, params.name, params.arguments or {})

    async def list_resources(
        self, _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=list(_RESOURCES))

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = await anyio.to_thread.run_sync(_resource, self._conversation(ctx), uri)
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type="text/markdown", text=_sendable(text))]
        )

    async def list_prompts(
        self, _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        prompt = types.Prompt(
            name=PROMPT,
            title="Start of session",
            description="Give the model its memory: who it is, and what it knows.",
        )
        return types.ListPromptsResult(prompts=[prompt])

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != PROMPT:
            raise MCPError(code=types.INVALID_PARAMS, message=f"There is no prompt {params.name!r}; use {PROMPT!r}.")
        text = await anyio.to_thread.run_sync(_translated, self._conversation(ctx).start)
        told = f"This is your memory as this session begins:\n\n{text}" if text else "Your memory is still empty."
        message = types.PromptMessage(role="user", content=_text(told))
        return types.GetPromptResult(description="Memory at the start of this session", messages=[message])

    def _conversation(self, ctx: Context) -> Conversation:
        return self._conversations.of(self._peer_of(ctx))


def client_name(ctx: Context) -> str:
    """What the client calls itself, `name version`; shortened, and "" when it does not say."""
    params = ctx.session.client_params
    return f"{params.client_info.name} {params.client_info.version}".strip()[:80] if params is not None else ""


def _call(conversation: Conversation, name: str, args: dict[str, Any]) -> types.CallToolResult:
    if name not in {spec.name for spec in conversation.peer.vm.tools()}:
        raise MCPError(code=types.INVALID_PARAMS, message=f"There is no tool {name!r}.")
    try:
        answer = conversation.call(name, args)
    except VademecumError as error:  # a session that cannot be opened: the tools themselves answer with a dict
        answer = {"success": False, **error.as_dict()}
    return result(answer, conversation.unseen())


def result(answer: Mapping[str, object], news: str = "") -> types.CallToolResult:
    """A tool's answer for the wire, with what the client has to be told besides."""
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    content: list[types.ContentBlock] = [_text(text), *([_text(news)] if news else [])]
    return types.CallToolResult(content=content, is_error=answer.get("success") is False)


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=_sendable(text))


def _sendable(text: str) -> str:
    """`text` for the wire: bytes of a file that are not UTF-8 become escapes, the rest stays as it is."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _resource(conversation: Conversation, uri: str) -> str:
    if uri == SNAPSHOT:
        return _translated(conversation.snapshot)
    store = _STORES.get(uri)
    if store is None:
        raise MCPError(
            code=types.INVALID_PARAMS,
            message=f"There is no resource {uri}; there are {', '.join((SNAPSHOT, *_STORES))}.",
        )
    return _translated(lambda: _live(conversation.peer, store))


def _live(peer: Peer, store: str) -> str:
    from vademecum.core.snapshot import take_snapshot

    vm = peer.vm
    sections = take_snapshot(vm.memory, vm.notes, vm.folder).sections
    return next((section.text for section in sections if section.name == store), "")


def _translated(produce: Callable[[], str]) -> str:
    """Our errors as protocol errors that say what to do: resources and prompts have no other way to answer."""
    try:
        return produce()
    except VademecumError as error:
        raise MCPError(code=types.INTERNAL_ERROR, message=f"{error.message} {error.hint}".strip()) from error
