"""Honcho as a provider: the contract, and the five tools for the model.

Idea: an exchange becomes two messages that carry the turn's id; what the model or the core states is a conclusion; what
Honcho thinks of the last exchange is asked for in the background and shown once. Invariant: a turn is there once, also
after an answer that was lost; a failure is an error, never an empty memory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

from vademecum.clock import iso
from vademecum.errors import ProviderError, VademecumError
from vademecum.gate.selector import Selector
from vademecum.home import folder_name
from vademecum.model import Actor, ToolSpec, tokens
from vademecum.providers import settings as read
from vademecum.providers.contract import (
    Availability,
    Context,
    Forgotten,
    MemoryChange,
    Provider,
    Recalled,
    Setting,
    TurnRecord,
)
from vademecum.providers.honcho.api import Api, Conclusion, Message
from vademecum.providers.honcho.buffer import Buffer
from vademecum.providers.honcho.options import HOSTED, LEVELS, Options, Peers, name_of, options
from vademecum.providers.honcho.tools import TOOLS
from vademecum.providers.http import Http
from vademecum.providers.matching import is_meant, plain

_LONGEST_QUERY = 2_000
_MESSAGES = 4
_SHORTEST = 16
"""Characters of a user's words below which Honcho is not made to think about them."""


class Honcho(Provider):
    """Honcho, hosted or on one's own machine."""

    name: ClassVar[str] = "honcho"

    def __init__(self) -> None:
        self._http: Http | None = None
        self._opened: tuple[Options, Context, Api, Buffer] | None = None
        self._thinking = threading.Lock()
        self._exchanges = 0
        self._thought = ""

    def available(self, settings: Mapping[str, Any], env: Mapping[str, str]) -> Availability:
        """A key for the hosted service; a server of one's own may need none."""
        try:
            said = options(settings, env)
        except VademecumError as error:
            return Availability(False, error.message, error.hint)
        if said.base == HOSTED and not said.key:
            return Availability(
                False, "HONCHO_API_KEY is missing.", "Get a key at app.honcho.dev, or set baseUrl to your server."
            )
        return Availability(True)

    @classmethod
    def config_schema(cls) -> tuple[Setting, ...]:
        """The vendor's names. Nothing but the key is needed."""
        return (
            Setting("apiKey", "the key", env="HONCHO_API_KEY", secret=True),
            Setting("baseUrl", "address of a server of your own, without /v3", env="HONCHO_BASE_URL"),
            Setting("workspace", "the workspace", "vademecum", env="HONCHO_WORKSPACE_ID"),
            Setting("peerName", "your name in Honcho; default: owner"),
            Setting("aiPeer", "the assistant's name in Honcho; default: vademecum"),
            Setting("saveMessages", "hand over what is said", "true", choices=("true", "false")),
            Setting("writeFrequency", "turn, session, or after how many turns", "turn"),
            Setting("dialecticCadence", "let Honcho think after every so many exchanges; 0: never", "1"),
            Setting("dialecticReasoningLevel", "how hard it thinks", "low", choices=LEVELS),
            Setting("observationMode", "whose view of you is asked for: the assistant's, or all assistants'",
                    "directional", choices=("directional", "unified")),
            Setting("file", "a honcho.json to read; default: the home's, else ~/.honcho/config.json"),
            Setting("host", "its host block; default: vademecum_<agent>, else vademecum"),
        )  # fmt: skip

    def open(self, context: Context) -> None:
        """Read the settings; nothing is sent yet. Raises ProviderError."""
        with read.ours():
            said = options(context.settings, context.env, context.actor.agent)
            headers = {"Authorization": f"Bearer {said.key}"} if said.key else {}
            seconds = min(said.seconds, context.seconds)
            self._http = Http("Honcho", said.base, headers=headers, seconds=seconds, clock=context.clock)
            self._opened = said, context, Api(self._http, said.workspace), Buffer(context.folder)

    def close(self) -> None:
        """Let go of the connections. Turns that wait stay on the disk."""
        if self._http is not None:
            self._http.close()

    @property
    def _all(self) -> tuple[Options, Context, Api, Buffer]:
        assert self._opened is not None, "open comes first"
        return self._opened

    def _peers(self, user: str = "") -> Peers:
        said, context, _, _ = self._all
        return said.peers(Actor(context.actor.agent, user) if user else context.actor)

    def _pair(self, args: Mapping[str, Any]) -> tuple[str, str]:
        """Whose view of whom a tool means: of the user, or of the assistant; never of somebody else."""
        peers, of = self._peers(), read.text(args, "peer", "user")
        if of not in ("user", "ai"):
            raise ProviderError(f"The peer is user or ai, not {of!r}; nothing was done.")
        return (peers.observer, peers.user) if of == "user" else (peers.assistant, peers.assistant)

    def system_block(self) -> str:
        """What the model needs to know of the tools."""
        return (
            "Honcho keeps an understanding of the user over time: honcho_context and honcho_profile show it, "
            "honcho_search finds what was said, honcho_reasoning thinks about a question (slow), honcho_conclude keeps "
            "or removes a conclusion. Conversations are handed over by themselves."
        )

    # --- recall

    def on_session_start(self, session: str) -> Sequence[Recalled]:  # noqa: ARG002  it is of the user
        """The user's card, and what is known of the user."""
        said, _, api, _ = self._all
        peers = self._peers()
        view = api.view(peers.observer, peers.user, conclusions=said.conclusions)
        lines = [line.strip() for line in view.representation.splitlines()]
        known = [line for line in lines if line and not line.startswith("#")]
        return [
            *(Recalled(f"card:{number}", line, "profile") for number, line in enumerate(view.card, 1)),
            *(Recalled(f"representation:{number}", line, "profile") for number, line in enumerate(known, 1)),
        ]

    def prefetch(self, query: str) -> Sequence[Recalled]:
        """What Honcho thought of the last exchange, conclusions that fit, and what the user said that fits."""
        text = query.strip()[:_LONGEST_QUERY]
        if not text:
            return ()
        said, _, api, _ = self._all
        peers = self._peers()
        conclusions = api.query(peers.observer, peers.user, text, limit=said.conclusions)
        messages = api.search_messages(peers.user, text, agent=peers.assistant, limit=_MESSAGES)
        with self._thinking:
            thought, self._thought = self._thought, ""
        found = [Recalled("dialectic", thought, "reasoning")] if thought else []
        return [*found, *map(_concluded, conclusions), *map(_said, messages)]

    def queue_prefetch(self, query: str) -> None:
        """Have Honcho think about what the user just said; the next turn gets it."""
        said, _, api, _ = self._all
        text = query.strip()[: said.longest_question // 2]
        if not said.cadence or len(text) < _SHORTEST:
            return
        with self._thinking:
            self._exchanges += 1
            if (self._exchanges - 1) % said.cadence:
                return
        peers = self._peers()
        question = f"The user just said the text below. What do you know of the user that helps to go on?\n\n{text}"
        answer = api.chat(peers.observer, peers.user, question, level=said.capped(said.level))
        with self._thinking:
            self._thought = answer[: said.longest_answer]

    # --- what is told

    def sync_turn(self, turn: TurnRecord) -> None:
        """Hand an exchange over, or keep it on the disk until there are enough."""
        said, _, _, buffer = self._all
        if not said.save or not turn.user.strip():
            return
        if said.write_every == 1 and not buffer.turns():
            self._send(turn)
            return
        buffer.add(turn)
        here = [one for one in buffer.turns() if one.session == turn.session]
        if said.write_every and len(here) >= said.write_every:
            self._flush(turn.session)
        self._flush(turn.session, others=True)  # what another session, or a crash, left

    def on_session_end(self, session: str) -> None:
        """Send what waits of the session."""
        self._flush(session)

    def on_session_switch(self, old: str, new: str) -> None:  # noqa: ARG002  the new one has nothing yet
        """Send what waits of the session that is over."""
        self._flush(old)

    def _flush(self, session: str, *, others: bool = False) -> None:
        buffer = self._all[3]
        for turn in [one for one in buffer.turns() if (one.session == session) is not others]:
            self._send(turn)
            buffer.drop(lambda one, sent=turn.id: one.id == sent)

    def _send(self, turn: TurnRecord) -> None:
        """Add what of the turn is not there yet."""
        _, _, api, _ = self._all
        peers, session = self._peers(), name_of(turn.session)
        seen = {(one.peer, one.metadata.get("part")) for one in api.messages(session, turn=turn.id)}
        missing = [one for one in self._messages(turn, peers) if (one["peer_id"], one["metadata"]["part"]) not in seen]
        if missing:
            api.ensure_session(session, self._who(peers), {"agent": peers.assistant, "session": turn.session})
            api.add_messages(session, missing)

    def _messages(self, turn: TurnRecord, peers: Peers) -> Iterable[dict[str, Any]]:
        said = self._all[0]
        common: dict[str, Any] = {"turn": turn.id, "number": turn.number, "agent": peers.assistant}
        common |= {"channel": turn.channel} if turn.channel else {}
        for peer, text in ((peers.user, turn.user), (peers.assistant, turn.assistant)):
            for part, piece in enumerate(_pieces(text, said.longest_message), 1):
                metadata = {**common, "part": part}
                yield {"content": piece, "peer_id": peer, "metadata": metadata, "created_at": iso(turn.at)}

    def _who(self, peers: Peers) -> dict[str, dict[str, bool]]:
        """Both of a session: Honcho learns of the user, and the assistant of the user if it is to have its own view."""
        unified = self._all[0].unified
        return {
            peers.user: {"observe_me": True, "observe_others": False},
            peers.assistant: {"observe_me": not unified, "observe_others": not unified},
        }

    def on_memory_write(self, change: MemoryChange) -> None:
        """What goes into the core is a conclusion; what leaves it is none any more."""
        api, peers = self._all[2], self._peers()
        pair = (peers.observer, peers.user) if change.store == "user" else (peers.assistant, peers.assistant)
        if change.before:
            for one in self._exactly(pair, change.before):
                api.delete_conclusion(one.id)
        if change.after and not self._exactly(pair, change.after):
            api.conclude(*pair, change.after)

    def _exactly(self, pair: tuple[str, str], text: str) -> list[Conclusion]:
        found = self._all[2].query(*pair, text[:_LONGEST_QUERY], limit=20)
        return [one for one in found if plain(one.text) == plain(text)]

    # --- tools

    def tools(self) -> tuple[ToolSpec, ...]:
        """All five."""
        return TOOLS

    def writes(self, name: str, args: Mapping[str, Any]) -> bool:
        """A card that is given, a conclusion that is added or removed."""
        if name == "honcho_profile":
            return bool(args.get("card"))
        return name not in ("honcho_search", "honcho_context", "honcho_reasoning") and not _is_listing(args)

    def call_tool(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run a tool. Raises ProviderError."""
        with read.ours():
            run = {
                "honcho_profile": self._profile, "honcho_search": self._search, "honcho_context": self._view,
                "honcho_reasoning": self._reason, "honcho_conclude": self._conclude,
            }.get(name)  # fmt: skip
            if run is None:
                names = ", ".join(tool.name for tool in TOOLS)
                raise ProviderError(f"Honcho has no tool {name}.", f"There are {names}.")
            return run(self._pair(args), args, self._all[0])

    def _profile(self, pair: tuple[str, str], args: Mapping[str, Any], _said: Options) -> dict[str, Any]:
        api, given = self._all[2], args.get("card")
        if not given:
            return {"card": list(api.card(*pair))}
        lines = cast("list[object]", given) if isinstance(given, list) else []
        card = [line.strip() for line in lines if isinstance(line, str) and line.strip()]
        if not card or len(card) != len(lines):
            raise ProviderError("The card is a list of short lines; nothing was changed.")
        before = list(api.card(*pair))
        api.set_card(*pair, card)
        return {"outcome": "written", "before": before}

    def _search(self, pair: tuple[str, str], args: Mapping[str, Any], said: Options) -> dict[str, Any]:
        api, query = self._all[2], read.given(args, "query")[:_LONGEST_QUERY]
        room = int(read.number(args, "max_tokens", 800, least=50, most=2000))
        conclusions: list[dict[str, str]] = []
        messages: list[dict[str, str]] = []
        agent = self._peers().assistant
        for one in api.query(*pair, query, limit=said.conclusions):
            if (room := room - tokens(one.text)) >= 0:
                conclusions.append({"id": one.id, "conclusion": one.text})
        for one in api.search_messages(pair[1], query, agent=agent, limit=10):
            if (room := room - tokens(one.text)) >= 0:
                messages.append({"said_by": read.text(args, "peer", "user"), "text": one.text})
        return {"conclusions": conclusions, "messages": messages}

    def _view(self, pair: tuple[str, str], _args: Mapping[str, Any], said: Options) -> dict[str, Any]:
        view = self._all[2].view(*pair, conclusions=said.conclusions)
        return {"known": view.representation, "card": list(view.card)}

    def _reason(self, pair: tuple[str, str], args: Mapping[str, Any], said: Options) -> dict[str, Any]:
        question = read.given(args, "query")[: said.longest_question]
        level = said.capped(read.text(args, "reasoning_level", said.level))
        answer = self._all[2].chat(*pair, question, level=level)
        return {"answer": answer} if answer else {"answer": "", "note": "Honcho answered, and knows nothing of it."}

    def _conclude(self, pair: tuple[str, str], args: Mapping[str, Any], said: Options) -> dict[str, Any]:
        api, text, gone = self._all[2], read.text(args, "conclusion"), read.text(args, "delete_id")
        listing = _is_listing(args)
        if sum(map(bool, (text, gone, listing))) != 1:
            raise ProviderError("Give just one of conclusion, delete_id and list; nothing was changed.")
        if text:
            return {"outcome": "kept", "id": api.conclude(*pair, text)}
        if gone:
            held = next(api.conclusions(*pair, id_=gone), None)
            if held is None:
                raise ProviderError(
                    f"There is no conclusion {gone!r}; nothing was changed.", "Call with list: true.", status=404
                )
            api.delete_conclusion(held.id)
            return {"outcome": "deleted", "id": held.id, "conclusion": held.text}
        query = read.text(args, "query")[:_LONGEST_QUERY]
        found = api.query(*pair, query, limit=said.conclusions) if query else list(api.conclusions(*pair))[:50]
        return {"conclusions": [{"id": one.id, "conclusion": one.text} for one in found]}

    def store(self, text: str, *, kind: str = "fact") -> str:  # noqa: ARG002  Honcho has no kinds
        """Keep a statement about the user as a conclusion."""
        peers = self._peers()
        return self._all[2].conclude(peers.observer, peers.user, text)

    # --- forgetting and taking out

    def forget(self, selector: Selector) -> Forgotten:
        """Erase a session, a user's sessions and conclusions, or conclusions that a person names by id or text."""
        _, context, api, buffer = self._all
        match selector.kind:
            case "session":
                waiting = buffer.drop(lambda turn: turn.session == selector.value)
                session = name_of(selector.value)
                count = sum(1 for _ in api.messages(session))
                return Forgotten(waiting + (count if api.delete_session(session) else 0), _BACKGROUND)
            case "user":
                folder = context.folder.parent / folder_name(selector.value, any_case=True)
                waiting = Buffer(folder).drop(lambda _turn: True)
                return Forgotten(waiting + self._forget_user(self._peers(selector.value)), _BACKGROUND)
            case "entry":
                count = 0
                for pair in self._pairs(self._peers()):
                    for one in list(api.conclusions(*pair)):
                        if is_meant(selector.value, one.id, one.text):
                            api.delete_conclusion(one.id)
                            count += 1
                return Forgotten(count, "Messages that say it stay: Honcho erases only whole sessions.")
            case _:
                return Forgotten(0, "Honcho does not know which source a conclusion came from.")

    def _forget_user(self, peers: Peers) -> int:
        api, count = self._all[2], 0
        for session in list(api.sessions(peers.user, agent=peers.assistant)):
            count += sum(1 for _ in api.messages(session))
            api.delete_session(session)
        for pair in self._pairs(peers):
            for one in list(api.conclusions(*pair)):
                api.delete_conclusion(one.id)
                count += 1
        api.set_card(peers.observer, peers.user, [])
        return count

    def _pairs(self, peers: Peers) -> tuple[tuple[str, str], ...]:
        pairs = (peers.observer, peers.user), (peers.user, peers.user), (peers.assistant, peers.assistant)
        return tuple(dict.fromkeys(pairs))

    def facts(self, since: int = 0) -> Iterable[Recalled]:
        """The conclusions about the user since then."""
        peers = self._peers()
        found = self._all[2].conclusions(peers.observer, peers.user)
        return [_concluded(one) for one in found if one.at is None or one.at >= since]

    def export(self) -> Iterable[Recalled]:
        """All conclusions, and all that was said."""
        api, peers = self._all[2], self._peers()
        for pair in self._pairs(peers):
            yield from map(_concluded, api.conclusions(*pair))
        for session in list(api.sessions(peers.user, agent=peers.assistant)):
            yield from map(_said, api.messages(session))

    def backup_paths(self) -> tuple[Path, ...]:
        """The turns that wait."""
        path = self._all[3].path
        return (path,) if path.is_file() else ()


_BACKGROUND = "Honcho erases a session in the background; its logs and backups are out of reach of its API."


def _is_listing(args: Mapping[str, Any]) -> bool:
    return args.get("list") is True or str(args.get("list")).lower() == "true"


def _pieces(text: str, longest: int) -> Iterable[str]:
    """`text` in parts of at most so many characters, cut at white space where there is some."""
    text = text.strip()
    while len(text) > longest:
        cut = max(text.rfind(space, longest // 2, longest) for space in (" ", "\n"))
        cut = cut if cut > 0 else longest
        yield text[:cut]
        text = text[cut:].lstrip()
    if text:
        yield text


def _concluded(one: Conclusion) -> Recalled:
    detail = {"session": one.session} if one.session else {}
    return Recalled(one.id, one.text, "fact", None, one.at, detail)


def _said(one: Message) -> Recalled:
    return Recalled(one.id, one.text, "turn", None, one.at, {"session": one.session, "said_by": one.peer})
