"""Pages that are filed, not compiled: raw sources that never change, what they say of a subject, answers worth keeping.

Idea: a raw source is copied once, byte for byte; whatever is made from it, and every answer, is a proposal that shows
the whole text. Invariant: nothing that is there is overwritten, and what a filed page came from stands in its front
matter.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from vademecum.clock import iso
from vademecum.disk import read_bytes
from vademecum.errors import ConflictError, NotFoundError, UsageError
from vademecum.files import write_atomic
from vademecum.frontmatter import one_line, scalar
from vademecum.gate.candidate import Act, Candidate, Effect, Staged
from vademecum.gate.door import blocked
from vademecum.model import Origin
from vademecum.obsidian import hashed_slug, slug_of
from vademecum.page import NO_FILE, eol_of, state_of
from vademecum.wiki.shelf import RAW, TIER, Shelf

ANSWERS, SOURCES = "Answers", "Sources"
FROM = "#sources"
"""Behind the path of a page, in the target of what is to be added to it."""
HEADING = "## From sources"
LONGEST = 64_000
"""Characters of a filed page."""
LARGEST = 50 * 1024 * 1024
"""Bytes of a raw source."""


@dataclass(frozen=True, slots=True)
class Filed:
    """What became of it: `path` is below the vault's folder."""

    outcome: Literal["done", "unchanged", "staged"]
    path: str
    message: str
    proposal: str = ""


def keep_raw(shelf: Shelf, name: str, data: bytes, origin: Origin, act: Act | None = None) -> Filed:
    """Copy a source to `Wiki/raw/`, under another name when one of that name says something else.

    Raises UsageError (empty, more than 50 MB), BlockedError, StorageError, LockedError.
    """
    if not data or len(data) > LARGEST:
        raise UsageError(
            f"A source has between 1 byte and {LARGEST // 1024 // 1024} MB, this one has {len(data):,} bytes. Nothing "
            "was written.",
            "Ingest the part that matters.",
        )
    stem, dot, end = name.rpartition(".")
    suffix = re.sub(r"[^a-z0-9]", "", end.lower())[:10] if dot else ""
    digest = hashlib.sha256(data).hexdigest()
    for slug in (slug_of(stem or name, "source"), f"{slug_of(stem or name, 'source')}-{digest[:8]}"):
        path = f"{RAW}/{slug}{f'.{suffix}' if suffix else ''}"
        page = shelf.page(path)
        with page.held():
            there = read_bytes(page.path)
            if there == data:
                return Filed("unchanged", shelf.name(path), f"{shelf.name(path)} is that source already.")
            if there is not None:
                continue
            text = f"The raw source {path}: {len(data):,} bytes, SHA-256 {digest}."
            effect = Effect("", text, "", NO_FILE, digest)
            candidate = Candidate(TIER, "add", path, text, origin, shelf.actor, effect=lambda _, done=effect: done)
            answer = shelf.admit(candidate, act)
            if isinstance(answer, Staged):
                raise ConflictError(
                    "The policy lets no raw source from there in without a person. Nothing was written.",
                    "Run it yourself, in a terminal.",
                )
            write_atomic(page.path, data)
            shelf.append_log(f"- {iso(shelf.clock())} · ingest · {shelf.actor.agent} · {shelf.name(path)}\n", act)
        return Filed("done", shelf.name(path), f"The source was copied to {shelf.name(path)}.")
    raise AssertionError("unreachable")


def file_page(
    shelf: Shelf,
    folder: str,
    title: str,
    text: str,
    *,
    origin: Origin,
    session: str | None = None,
    act: Act | None = None,
) -> Filed:
    """File `text` as a page of `folder`: at once with `act`, else as a proposal.

    Raises UsageError (no title, no text, too long), ConflictError when there is such a page, and what `admit` raises.
    """
    title, text = one_line(title), text.strip()
    if not text or len(text) > LONGEST:
        raise UsageError(
            f"A page has between 1 and {LONGEST:,} characters, this one has {len(text):,}. Nothing was written.",
            "Give the text with --text, or on standard input.",
        )
    path = f"{folder}/{slug_of(title, 'page')}"
    if shelf.page(path).raw() is not None:
        path = f"{folder}/{hashed_slug(f'{title}{text}', 'page')}"
    if (there := shelf.page(path).raw()) is not None:
        return Filed("unchanged", shelf.name(path), f"{shelf.name(path)} says that already ({len(there)} characters).")
    kind = folder.lower().removesuffix("s")
    head = [("title", title), ("type", kind), ("created", iso(shelf.clock())), ("origin", str(origin))]
    front = "".join(f"{key}: {value if key == 'created' else scalar(value)}\n" for key, value in head)
    page = f"---\n{front}---\n\n# {title}\n\n{text}\n"
    return _admit(shelf, path, page, origin, session=session, act=act)


def propose_lines(shelf: Shelf, path: str, lines: Sequence[str], origin: Origin, reason: str) -> Filed:
    """Propose lines for the end of a page, outside of its managed block."""
    return _admit(shelf, f"{path}{FROM}", "\n".join(lines), origin, reason=reason)


def _admit(
    shelf: Shelf,
    target: str,
    text: str,
    origin: Origin,
    *,
    session: str | None = None,
    act: Act | None = None,
    reason: str = "",
) -> Filed:
    path = shelf.name(target.removesuffix(FROM))
    candidate = Candidate(
        TIER, "add", target, text, origin, shelf.actor, session=session, propose=act is None, reason=reason
    )
    if act is not None:
        clean = shelf.gate.redactor.clean(text)
        if findings := shelf.gate.inspect(clean):
            raise blocked(findings)
        return Filed("done", path, write(shelf, target, clean, origin, act, session))
    answer = shelf.admit(candidate, None)
    assert isinstance(answer, Staged)
    message = "This waits for a person's approval. Nothing was written yet; do not repeat it."
    return Filed("staged", path, message, answer.proposal.id)


def write(shelf: Shelf, target: str, text: str, origin: Origin, act: Act, session: str | None = None) -> str:
    """Carry out what a person approved; says what was done. Raises ConflictError when the page is there by now."""
    path = target.removesuffix(FROM)
    page = shelf.page(path)
    with page.held():
        raw = page.raw()
        if target.endswith(FROM):
            after = _with_lines(shelf, path, raw, text)
        elif raw is not None:
            raise ConflictError(f"{shelf.name(path)} is there by now. It was left as it is.", "Reject this proposal.")
        else:
            after = text
        effect = Effect("", text, "", state_of(raw), state_of(after))
        candidate = Candidate(TIER, "add", target, text, origin, shelf.actor, session=session, effect=lambda _: effect)
        shelf.gate.intend(candidate, act)
        page.put(raw, after)
        what = "filed" if path == target else "extended"
        shelf.append_log(f"- {iso(shelf.clock())} · {what} · {shelf.actor.agent} · {shelf.title(path)}\n", act)
    return f"{shelf.name(path)} was {'written' if path == target else 'extended'}."


def _with_lines(shelf: Shelf, path: str, raw: str | None, text: str) -> str:
    if raw is None:
        raise NotFoundError(f"There is no page {shelf.name(path)} any more. Nothing was written.")
    end = eol_of(raw)
    lead = "" if raw.endswith("\n") else end
    heading = "" if HEADING in raw.split(end) else f"{end}{HEADING}{end}{end}"
    return f"{raw}{lead}{heading}{text.replace(chr(10), end)}{end}"


def state_now(shelf: Shelf, target: str) -> str:
    """The state of what `target` names, as the history keeps it."""
    path = target.removesuffix(FROM)
    if path.startswith(f"{RAW}/"):
        data = read_bytes(shelf.page(path).path)
        return NO_FILE if data is None else hashlib.sha256(data).hexdigest()
    return state_of(shelf.page(path).raw())
