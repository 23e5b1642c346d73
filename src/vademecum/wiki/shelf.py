"""The pages below `Wiki/`, as those need them who write there: read, put, remove, and the log that only grows.

Idea: one object knows where they lie, whose they are, and the gate that every write passes. Invariant: names lead
nowhere but below `Wiki/`; one lock keeps writers of this program out, and editors are looked for again before a write.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vademecum.clock import Clock, now_ms
from vademecum.disk import visible
from vademecum.errors import ConflictError, StorageError, UsageError
from vademecum.frontmatter import FrontMatter
from vademecum.gate.candidate import Accepted, Act, Candidate, Effect, Staged
from vademecum.gate.door import Gate
from vademecum.model import Actor, Origin
from vademecum.page import Page, eol_of, page_at, state_of
from vademecum.wiki import blocks
from vademecum.wiki.page_text import WIKI

TIER = "wiki"
REASON = "compiled: "
"""Before the title of a page, in the reason of a proposal that makes it."""
INDEX = "index"
LOG = "log"
RAW = "raw"


@dataclass(frozen=True, slots=True)
class Shelf:
    """`Wiki/` of the vault whose folder is `root`, for one agent. A path is below `Wiki/`, without `.md`."""

    root: Path
    actor: Actor
    gate: Gate
    clock: Clock = now_ms

    def page(self, path: str) -> Page:
        """The page at `path`; of all pages the lock is one. Raises UsageError for a path that leads elsewhere."""
        parts = path.split("/")
        if not all(parts) or any(part in (".", "..") or "\\" in part or "\0" in part for part in parts):
            raise UsageError(f"{path!r} is no page of the wiki. Nothing was written.")
        parts = parts if parts[0] == RAW else [*parts[:-1], f"{parts[-1]}.md"]
        return page_at(self.root, WIKI, *parts, lock=WIKI)

    def name(self, path: str) -> str:
        """The page's path below the vault's folder, as it is shown."""
        return f"{WIKI}/{path}" if path.startswith(f"{RAW}/") else f"{WIKI}/{path}.md"

    def paths(self, folders: Iterable[str]) -> list[str]:
        """The pages in these folders, in order."""
        found: list[str] = []
        for folder in folders:
            place = self.root / WIKI / folder
            names = place.iterdir() if place.is_dir() else ()
            found += [f"{folder}/{one.stem}" for one in names if one.suffix == ".md" and not one.name.startswith(".")]
        return sorted(found)

    def block(self, path: str) -> tuple[str | None, blocks.Block | None, str]:
        """The page's text (None: there is none), its managed block, and what is wrong with that one's comments."""
        raw = self.page(path).raw()
        return (raw, None, "") if raw is None else (raw, *blocks.find(raw))

    def title(self, path: str, raw: str | None = None) -> str:
        """What the page is called: by its front matter, its first heading, or its file."""
        text = visible(raw if raw is not None else self.page(path).raw() or "").removeprefix("\ufeff")
        parts = FrontMatter.parse(text)
        heading = next((line[2:].strip() for line in parts.body.splitlines() if line.startswith("# ")), "")
        return parts.get("title") or heading or path.rpartition("/")[2]

    def text_of(self, sha256: str) -> str | None:
        """The text of that hash, when this home wrote it and it was not erased."""
        return self.gate.audit.store.texts([sha256]).get(sha256)

    def admit(self, candidate: Candidate, act: Act | None) -> Accepted | Staged:
        """The gate's answer, recorded; with `act` a person has decided already. Raises what `Gate.admit` raises."""
        if act is None:
            return self.gate.admit(candidate)
        clean = self.gate.redactor.clean(candidate.text)
        return Accepted(clean, note=self.gate.intend(candidate, act))

    def append_log(self, line: str, act: Act | None = None) -> None:
        """Add a line to `Wiki/log.md`. The caller holds the lock. Raises StorageError, LockedError, ConflictError."""

        def longer(raw: str | None) -> tuple[str, None]:
            if raw is None or not raw.strip("\ufeff\r\n\t "):
                return f"{raw or ''}# Log of the wiki\n\n{line}", None
            end = eol_of(raw)
            return f"{raw}{'' if raw.endswith(chr(10)) else end}{line.replace(chr(10), end)}", None

        raw = self.page(LOG).raw()
        after = longer(raw)[0]
        effect = Effect("", line, "", state_of(raw), state_of(after))
        candidate = Candidate(
            TIER, "add", LOG, line, Origin.assistant(), self.actor, restated=True, effect=lambda _: effect
        )
        self.gate.intend(candidate, act)
        self.page(LOG).change(longer)

    def remove(self, path: str, before: str) -> None:
        """Take the page away, which must still be `before`. Raises ConflictError, StorageError."""
        page = self.page(path)
        if page.raw() != before:
            raise ConflictError(
                f"{page.path.name} was changed by somebody else in this moment. Nothing was removed.", "Run it again."
            )
        try:
            page.path.unlink()
        except OSError as error:
            raise StorageError(
                f"Could not remove {page.path}: {error.strerror or error}. It is kept.", "Check its permissions."
            ) from error


def whole_page(title: str, block: str) -> str:
    """A new page around a managed block."""
    return f"# {title}\n\n{block}\n"
