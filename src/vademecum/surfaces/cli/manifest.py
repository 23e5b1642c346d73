"""`vademecum session show ID --manifest`: what recalled text came into each turn, and what did not.

Idea: the manifest has ids only; the texts are looked up where they are now. Invariant: what was erased since is named
as gone, never guessed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vademecum.errors import NotFoundError
from vademecum.store import manifests
from vademecum.surfaces.cli.app import App
from vademecum.surfaces.cli.output import clip, clock_time, moment, plural, printable

if TYPE_CHECKING:
    from vademecum.store.manifests import Manifest, ManifestEntry

GONE = "(no longer there)"


def show_manifest(app: App, session_id: str) -> None:
    """Print the manifests of a session's turns. Raises NotFoundError for an unknown session."""
    info = app.vm.history.find(session_id)
    found = manifests.of_session(app.vm.db, app.vm.actor, info.id)
    asked = {message.turn: message.content for message in app.vm.history.messages(info.id) if message.role == "user"}
    if app.json:
        rows = [_json(app, one, asked.get(one.turn, "")) for one in found]
        hint = "" if rows else "Nothing was recalled into this session's turns."
        app.emit({"session_id": info.id, "results": rows, "query": "", "hint": hint})
        return
    style = app.style
    print(style.bold(printable(info.title or info.key or "untitled")))
    if not found:
        print(style.dim("Nothing was recalled into this session's turns."))
    for one in found:
        about = f"{clock_time(one.at)} · {one.provider} · {plural(one.tokens, 'token')} · turn {one.turn}"
        print(f"\n{style.accent(clip(asked.get(one.turn, ''), max(style.width, 60)))}\n{style.dim(about)}")
        for entry in one.entries:
            print(f"  + {clip(_text(app, one.provider, entry), 90)}\n    {style.dim(_about(entry))}")
        for entry in one.left_out:
            print(style.dim(f"  - left out: {clip(_text(app, one.provider, entry), 70)}\n    {_about(entry)}"))


def _about(entry: ManifestEntry) -> str:
    score = "" if entry.score is None else f"score {entry.score:.2f} · "
    return printable(f"{entry.kind} {entry.id} · {score}{plural(entry.tokens, 'token')} · {entry.why}")


def _json(app: App, one: Manifest, asked: str) -> dict[str, object]:
    def entry(each: ManifestEntry) -> dict[str, object]:
        return {
            "id": each.id,
            "kind": each.kind,
            "text": _text(app, one.provider, each),
            "why": each.why,
            "tokens": each.tokens,
            "score": each.score,
        }

    return {
        "turn": one.turn,
        "asked": asked,
        "provider": one.provider,
        "at": moment(one.at),
        "tokens": one.tokens,
        "entries": [entry(each) for each in one.entries],
        "left_out": [entry(each) for each in one.left_out],
    }


def _text(app: App, provider: str, entry: ManifestEntry) -> str:
    """The words of an entry as they are now; of another memory only its name for them."""
    try:
        if entry.id.startswith("message:"):
            return app.vm.history.around(int(entry.id.partition(":")[2]), 0, 0)[0].content
        return app.vm.bank.get(entry.id).text if provider == "bank" else entry.id
    except NotFoundError:
        return GONE
