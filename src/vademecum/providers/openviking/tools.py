"""The six tools of OpenViking for the model.

Idea: addresses go in and out as they are, so that what was found can be read and what was remembered can be forgotten.
Invariant: an address of somebody else, a local file as a resource and a folder to be forgotten are refused before
anything is sent.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from vademecum.errors import ProviderError
from vademecum.model import ToolSpec
from vademecum.providers import settings as read
from vademecum.providers.openviking.viking import SHARED, Found, Viking

CATEGORIES = {
    "fact": "facts", "preference": "preferences", "entity": "entities", "event": "events", "case": "cases",
    "pattern": "patterns",
}  # fmt: skip
"""What may be remembered, and the folder that it goes into."""
_MOST_READ = 3
_SHOWN, _READ = 400, 4_500  # characters of one answer's text
_WAIT_SECONDS = 25.0

_URI = {"type": "string", "description": "viking://..."}


def _object(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


_TEXT: dict[str, Any] = {"type": "string"}
TOOLS = (
    ToolSpec(
        "viking_search",
        "Search memories and resources by meaning: addresses and abstracts. Use it before you answer from memory.",
        _object(
            ["query"],
            query=_TEXT,
            mode={"type": "string", "enum": ["auto", "fast", "deep"], "description": "deep thinks first, and is slow."},
            scope={"type": "string", "description": "memories, resources, or an address to look under."},
            limit={"type": "integer", "minimum": 1, "maximum": 20},
        ),
    ),
    ToolSpec(
        "viking_read",
        "Read up to three addresses that viking_search or viking_browse gave.",
        _object(
            [],
            uri=_URI,
            uris={"type": "array", "items": {"type": "string"}},
            level={"type": "string", "enum": ["full", "overview", "abstract"], "description": "Folders: not full."},
        ),
    ),
    ToolSpec(
        "viking_browse",
        "See what is in a folder.",
        _object([], action={"type": "string", "enum": ["list", "tree"]}, path=_URI),
    ),
    ToolSpec(
        "viking_remember",
        "Keep one durable memory about the user or the work, word for word.",
        _object(["content"], content=_TEXT, category={"type": "string", "enum": list(CATEGORIES)}),
    ),
    ToolSpec("viking_forget", "Erase one memory by its address.", _object(["uri"], uri=_URI)),
    ToolSpec(
        "viking_add_resource",
        "Have a web page or a git repository fetched and filed under viking://resources.",
        _object(
            ["url"],
            url=_TEXT,
            reason={"type": "string", "description": "What it is for."},
            to={"type": "string", "description": "Its address, if it matters."},
            parent={"type": "string", "description": "Or the folder that it goes into."},
            instruction={"type": "string", "description": "What to pay attention to."},
            wait={"type": "boolean", "description": "Until it can be found."},
            timeout={"type": "number", "description": "Longest wait in seconds, at most 25."},
        ),
    ),
)
WRITERS = frozenset({"viking_remember", "viking_forget", "viking_add_resource"})


class Tools:
    """Runs the tools on one user's view. Raises ProviderError."""

    def __init__(self, viking: Viking) -> None:
        self._viking = viking

    def run(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of one call."""
        known: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "viking_search": self._search, "viking_read": self._read, "viking_browse": self._browse,
            "viking_remember": self._remember, "viking_forget": self._forget, "viking_add_resource": self._add,
        }  # fmt: skip
        if name not in known:
            raise ProviderError(f"OpenViking has no tool {name}.", f"There are {', '.join(known)}.")
        return known[name](args)

    def _search(self, args: Mapping[str, Any]) -> dict[str, Any]:
        viking = self._viking
        mode, scope = _one_of(args, "mode", ("auto", "fast", "deep")), read.text(args, "scope")
        within, kind = [viking.root, SHARED], ""
        if scope == "memories":
            within, kind = [viking.root], "memory"
        elif scope == "resources":
            within = [SHARED]
        elif scope and scope != "all":
            within = [self._mine(scope)]
        limit = round(read.number(args, "limit", 8, least=1, most=20))
        found = viking.find(read.given(args, "query"), within=within, limit=limit, kind=kind, deep=mode == "deep")
        return {"results": [_shown(one) for one in found]}

    def _read(self, args: Mapping[str, Any]) -> dict[str, Any]:
        named: Any = args.get("uris") or []
        more = [str(one) for one in cast("list[object]", named)] if isinstance(named, list) else []
        uris = [uri for uri in dict.fromkeys((read.text(args, "uri"), *more)) if uri]
        if not uris or len(uris) > _MOST_READ:
            raise ProviderError(f"This tool needs uri, or uris with up to {_MOST_READ} addresses.")
        level = _one_of(args, "level", ("full", "overview", "abstract"))
        read_: list[dict[str, Any]] = []
        for uri in uris:
            text = self._viking.read(self._mine(uri), "read" if level == "full" else level)
            one: dict[str, Any] = {"uri": uri, "text": "" if text is None else text[:_READ]}
            if text is None:
                one["missing"] = True
            elif len(text) > _READ:
                one["cut_after"] = _READ
            read_.append(one)
        return {"results": read_}

    def _browse(self, args: Mapping[str, Any]) -> dict[str, Any]:
        action = _one_of(args, "action", ("list", "tree"))
        uri = self._mine(read.text(args, "path") or self._viking.root)
        found = list(self._viking.entries(uri, recursive=False, tree=action == "tree"))
        shown = [{"uri": one.uri + ("/" if one.is_folder else ""), "bytes": one.size} for one in found[:100]]
        return {"entries": shown} | ({"more": len(found) - 100} if len(found) > 100 else {})

    def _remember(self, args: Mapping[str, Any]) -> dict[str, Any]:
        text = read.given(args, "content")
        uri = address(self._viking, text, _one_of(args, "category", tuple(CATEGORIES)))
        self._viking.write(uri, text)
        return {"outcome": "stored", "uri": uri}

    def _forget(self, args: Mapping[str, Any]) -> dict[str, Any]:
        uri = self._home(read.given(args, "uri"))
        if not self._viking.is_mine(uri, memory=True) or not uri.endswith(".md"):
            raise ProviderError(f"{uri} is no single memory of this user; nothing was erased.")
        before = self._viking.read(uri)
        if before is None:
            raise ProviderError(f"There is no {uri}; nothing was erased.", "viking_search gives addresses.", status=404)
        self._viking.remove(uri)
        return {"outcome": "erased", "uri": uri, "before": before[:_SHOWN]}

    def _add(self, args: Mapping[str, Any]) -> dict[str, Any]:
        url = read.given(args, "url")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.username or parts.password:
            raise ProviderError(
                f"{url} is no web address; nothing was added.", "Write https://..., without a name and a password."
            )
        body: dict[str, Any] = {"path": url, "wait": read.flag(args, "wait", default=False)}
        for key in ("to", "parent"):
            if read.text(args, key):
                body[key] = self._mine(read.text(args, key))
        for key in ("reason", "instruction"):
            if read.text(args, key):
                body[key] = read.text(args, key)
        seconds = read.number(args, "timeout", _WAIT_SECONDS, least=1, most=_WAIT_SECONDS)
        done = self._viking.add_resource(body, seconds=seconds)
        uri = str(done.get("root_uri") or done.get("uri") or "")
        return {"outcome": "added" if body["wait"] else "accepted; it can be found in a while", "uri": uri}

    def _home(self, uri: str) -> str:
        return f"{self._viking.root}{uri[len('viking://~') :]}" if uri.startswith("viking://~") else uri

    def _mine(self, uri: str) -> str:
        whole = self._home(uri.rstrip("/"))
        if not self._viking.is_mine(whole):
            raise ProviderError(
                f"{uri} is not under {self._viking.root} or {SHARED}, which is all that can be seen.", status=404
            )
        return whole


def address(viking: Viking, text: str, category: str = "fact") -> str:
    """Where a memory with that text is kept; the same text is the same file."""
    slug = "-".join(re.findall(r"[a-z0-9]+", text.lower()))[:40].strip("-") or "memory"
    digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{viking.own}/{CATEGORIES[category]}/{slug}-{digits}.md"


def _shown(one: Found) -> dict[str, Any]:
    return {"uri": one.uri, "type": one.kind, "score": one.score, "abstract": one.text[:_SHOWN]}


def _one_of(args: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str:
    found = read.text(args, key, choices[0])
    if found not in choices:
        raise ProviderError(f"{key} is {found!r}; nothing was changed.", f"Write one of {', '.join(choices)}.")
    return found
