"""Folding what sync tools and git leave behind: conflict copies, doubles, marks and mixed-up bodies, by entry id.

Idea: a file is a row of blocks; the copies' blocks that are not there yet are put in by time, what is there twice and
says the same is dropped. What a line-wise merge mixed up is put right from the ledgers' signed copies, but only where
no line would be lost. Invariant: nothing that anybody wrote goes: entries of one id that differ are both kept and
reported, a copy is removed only once all of it stands in the file, and a file that needs nothing is not touched.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from vademecum.disk import read_bytes
from vademecum.errors import ConflictError
from vademecum.files import write_atomic
from vademecum.ids import time_of
from vademecum.model import Origin
from vademecum.obsidian import link_prefix
from vademecum.vault.copies import is_copy, shape, without_marks
from vademecum.vault.entry import Entry, blocks, canonical, render, sha_of
from vademecum.vault.folding import Folded, Proposed, fold_decisions
from vademecum.vault.indexing import ledger_files
from vademecum.vault.keys import Keys
from vademecum.vault.ledger import Head, Odd, Record, fuller, read_head, records
from vademecum.vault.paths import MONTH, VaultPaths, month_of
from vademecum.vault.writer import Writer

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Twin:
    """Entries of one id that differ; all of them were kept. `lines` are those of the file as it is now."""

    id: str
    file: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """What was done, or (`dry_run`) would be: the files that were written anew, the copies that went into them, how
    many entries came from copies, how many doubles were dropped, which entries were put right or put back from the
    ledgers; what differs and was kept; the copies that nothing was done about, and those that were proposed."""

    files: tuple[str, ...]
    copies: tuple[str, ...]
    added: int
    doubles: int
    restored: tuple[str, ...]
    twins: tuple[Twin, ...]
    left: tuple[str, ...]
    dry_run: bool
    proposed: tuple[Proposed, ...] = ()


class _Piece(NamedTuple):
    """A block with what it is sorted by: the entry itself or the one above it, in our form; and for what a person wrote
    all that stands between two such entries (`run`), which stays in its order."""

    time: int
    id: str
    raw: bytes
    entry: Entry | None
    own: bool
    run: bytes = b""


def merge(
    paths: VaultPaths,
    writer: Writer,
    keys: Keys,
    *,
    erased: Collection[str] = (),
    wrote: Callable[[Entry], Origin | None] = lambda _: None,
    restore: bool = False,
    dry_run: bool = False,
) -> Merged:
    """Fold conflict copies and unfinished merges of the live log and the ledgers, and copies of `Decisions.md`.

    `erased` are the ids of entries that this home erased. `restore` also puts back entries that their authors signed
    and that no file has any more, and signs again what this home wrote, as `wrote` says (with the origin), whose
    signature a ledger lost. Raises StorageError,
    LockedError, ConflictError (an editor saved meanwhile); what was not done yet is as it was.
    """
    decisions = fold_decisions(paths.root, dry_run=dry_run)  # before: who decides holds that lock, then this
    with writer.locked():
        merging = _Merging(paths, keys, erased, restore=restore, dry_run=dry_run)
        return merging.all(decisions, lambda entry: _sign_again(entry, writer, wrote, dry_run=dry_run))


def _sign_again(entry: Entry, writer: Writer, wrote: Callable[[Entry], Origin | None], *, dry_run: bool) -> bool:
    origin = wrote(entry)
    if origin is not None and not dry_run:
        writer.sign_again(replace(entry, origin=origin))
    return origin is not None


class _Merging:
    def __init__(self, paths: VaultPaths, keys: Keys, erased: Collection[str], *, restore: bool, dry_run: bool) -> None:
        self._paths, self._keys, self._erased = paths, keys, erased
        self._restore, self._dry = restore, dry_run
        self._folder = link_prefix(paths.root)
        self._files: list[str] = []
        self._copies: list[str] = []
        self._restored: list[str] = []
        self._twins: list[Twin] = []
        self._added = self._doubles = 0
        self._signed: dict[str, tuple[Record, Head]] = {}

    def all(self, decisions: Folded, sign_again: Callable[[Entry], bool]) -> Merged:
        if decisions.added:
            self._files.append(self._paths.relative(self._paths.decisions))
        self._copies += [self._paths.relative(path) for path in decisions.copies]
        self._added += decisions.added
        self._ledgers()
        self._months()
        self._restored += [entry.id for entry in self._unsigned() if sign_again(entry)]
        handled = {self._paths.root / name for name in self._copies}
        left = tuple(self._paths.relative(path) for path in self._conflicts() if path not in handled)
        self._files.sort()
        done = (tuple(self._files), tuple(self._copies), self._added, self._doubles, tuple(self._restored))
        return Merged(*done, tuple(self._twins), left, self._dry)

    def _conflicts(self) -> list[Path]:
        """Everything in the vault's folder that is named like a conflict copy of a file that is there.

        A name that a person might have given, too, counts where our own files lie only.
        """
        found: list[Path] = []
        ours = {self._paths.live, self._paths.projects, self._paths.agents, self._paths.ledgers}
        for folder, _, names in os.walk(self._paths.root):
            stems = {Path(name).stem for name in names}
            for name in sorted(names):
                path = Path(folder, name)
                like = {shape(path.stem, own) for own in stems}
                ours_too = path.parent in ours or is_copy(path.stem, self._paths.decisions.stem)
                if "sure" in like or ("maybe" in like and ours_too):
                    found.append(path)
        return found

    # --- ledgers

    def _ledgers(self) -> None:
        by_target: dict[Path, list[Path]] = {}
        for path in ledger_files(self._paths):
            head = read_head(without_marks(read_bytes(path) or b""))
            if head is None:
                self._empty(path)
            else:
                target = self._paths.ledger(head.agent, head.id)
                if path == target or is_copy(path.stem, target.stem):
                    by_target.setdefault(target, []).append(path)
        for target, sources in by_target.items():
            self._ledger(target, sorted(sources, key=lambda path: path != target))

    def _empty(self, path: Path) -> None:
        """A copy in which nothing stands goes."""
        whole = (other.stem for other in ledger_files(self._paths))
        if not (read_bytes(path) or b"").strip() and any(is_copy(path.stem, own) for own in whole):
            self._copies.append(self._paths.relative(path))
            if not self._dry:
                path.unlink()

    def _ledger(self, target: Path, sources: Sequence[Path]) -> None:
        data = [read_bytes(path) or b"" for path in sources]
        clean = [without_marks(one) for one in data]
        head = read_head(clean[0])
        assert head is not None
        lines: dict[str, Record] = {}
        odd: dict[bytes, None] = {}
        total = 0
        for text in clean:
            for found in records(text):
                if isinstance(found, Odd):
                    odd[text[found.offset :].split(b"\n", 1)[0].rstrip(b"\r")] = None
                    continue
                total += 1
                hash_ = found.hash(head)
                lines[hash_] = fuller(lines.get(hash_), found, head, self._is_erased)
        self._learn(head, lines.values())
        if len(sources) == 1 and sources[0] == target and clean[0] == data[0] and total == len(lines):
            return
        ordered = sorted(lines.values(), key=lambda record: record.n)
        made = head.line() + b"".join(record.line() for record in ordered) + b"".join(one + b"\n" for one in odd)
        self._put(target, made, dict(zip(sources, data, strict=True)))

    def _is_erased(self, head: Head, record: Record) -> bool:
        """What was erased on one machine stays erased; a line that somebody only cut does not spread."""
        return record.copy is None and (record.id in self._erased or record.is_erased(head, self._keys))

    def _learn(self, head: Head, lines: Iterable[Record]) -> None:
        """Remember what each entry is by its author's word."""
        if self._keys.pinned(head.agent, head.public) is not None:
            self._signed.update((record.id, (record, head)) for record in lines)

    def _unsigned(self) -> Iterator[Entry]:
        """The entries of this home's agents that no ledger has a line for, when signatures are to be restored."""
        for path in self._paths.months() if self._restore else ():
            for block in blocks(read_bytes(path) or b"", path.stem):
                entry = block.entry if block.own else None
                if entry is not None and entry.id not in self._signed and self._keys.has(entry.agent):
                    yield entry

    def _as_signed(self, id_: str) -> Entry | None:
        """The entry of that id as its author signed it; None when nobody did, or when it was erased."""
        record, head = self._signed.get(id_, (None, None))
        return record.entry(head) if record and head and record.is_valid(head) else None

    # --- months

    def _months(self) -> None:
        by_month: dict[str, list[Path]] = {path.stem: [path] for path in self._paths.months()}
        for path in self._paths.files(self._paths.live, ".md"):
            month = path.stem[:7]
            if MONTH.fullmatch(month) and is_copy(path.stem, month):
                by_month.setdefault(month, []).append(path)
        if self._restore:
            for id_ in self._signed:
                by_month.setdefault(month_of(time_of(id_)), [])
        for month, sources in sorted(by_month.items()):
            self._month(month, sources)

    def _month(self, month: str, sources: list[Path]) -> None:
        target = self._paths.live / f"{month}.md"
        if target not in sources:
            sources.insert(0, target)
        data = read_bytes(target) or b""
        clean, restored = without_marks(data), len(self._restored)
        own = self._put_right(_pieces(clean, month))
        kept = _united([own])
        doubles = len(own) - len(kept)
        before, folded, taken = _entries_in(kept), {target: data}, [own]
        for path in sources:
            if path == target:
                continue
            raw = read_bytes(path) or b""
            text = without_marks(raw)
            theirs = self._put_right(_pieces(text, month))
            if shape(path.stem, month) != "sure" and text.strip() and not any(piece.own for piece in theirs):
                continue  # a page of a person's own
            more = _united([*taken, theirs])
            if _holds(_joined(more, clean), [own, *taken[1:], theirs], month):
                kept, taken = more, [*taken, theirs]
                folded[path] = raw
        self._doubles += doubles
        self._added += _entries_in(kept) - before
        kept += self._put_back(month, kept)
        if len(folded) == 1 and clean == data and not doubles and len(self._restored) == restored:
            self._note_twins(kept, target, clean)
            return
        kept.sort(key=_place)
        made = _joined(kept, clean)
        self._put(target, made, folded)
        self._note_twins(kept, target, made)

    def _put_right(self, pieces: Sequence[_Piece]) -> list[_Piece]:
        """What a line-wise merge mixed up, as it was signed: where neighbours changed and hold signed lines only."""
        made = list(pieces)
        run: list[tuple[int, Entry]] = []
        for n, piece in enumerate([*pieces, None]):
            signed = self._changed(piece) if piece else None
            if signed is not None:
                run.append((n, signed))
                continue
            known = {line for _, entry in run for line in render(entry, self._folder).encode().splitlines()}
            there = {line.rstrip() for at, _ in run for line in made[at].raw.splitlines() if line.strip()}
            if run and there <= known:
                for at, entry in run:
                    made[at] = made[at]._replace(raw=render(entry, self._folder).encode(), entry=entry)
                    if entry.id not in self._restored:
                        self._restored.append(entry.id)
            run = []
        return made

    def _changed(self, piece: _Piece) -> Entry | None:
        """What the author of a piece signed, when the piece says something else."""
        known = self._signed.get(piece.id) if piece.own and piece.entry else None
        if known is None or piece.entry is None or known[0].sha == sha_of(piece.entry):
            return None
        return self._as_signed(piece.id)

    def _put_back(self, month: str, pieces: Sequence[_Piece]) -> list[_Piece]:
        """What was signed for that month and is nowhere, when that is asked for."""
        if not self._restore:
            return []
        here = {piece.entry.id for piece in pieces if piece.entry}
        missing = [id_ for id_ in self._signed if id_ not in here and month_of(time_of(id_)) == month]
        entries = [entry for entry in map(self._as_signed, missing) if entry is not None]
        self._restored += [entry.id for entry in entries]
        return [_Piece(entry.time, entry.id, render(entry, self._folder).encode(), entry, True) for entry in entries]

    def _note_twins(self, pieces: Sequence[_Piece], target: Path, made: bytes) -> None:
        by_id: dict[str, int] = {}
        for piece in pieces:
            if piece.entry:
                by_id[piece.entry.id] = by_id.get(piece.entry.id, 0) + 1
        twice = {id_ for id_, count in by_id.items() if count > 1}
        if not twice:
            return
        lines: dict[str, list[int]] = {}
        for block in blocks(made, target.stem):
            if block.entry and block.entry.id in twice:
                lines.setdefault(block.entry.id, []).append(block.line)
        file = self._paths.relative(target)
        self._twins += [Twin(id_, file, tuple(found)) for id_, found in lines.items()]

    # --- writing

    def _put(self, target: Path, made: bytes, read: Mapping[Path, bytes]) -> None:
        """Write `target` and remove the copies that went into it, all of which were read as `read`."""
        before = read.get(target, b"")

        def unchanged() -> None:
            if (read_bytes(target) or b"") != before:
                raise ConflictError(f"{target} was changed while it was merged; it was left as it is.", "Merge again.")

        if made != before:
            self._files.append(self._paths.relative(target))
            if not self._dry:
                write_atomic(target, made, check=unchanged)
        for path, data in read.items():
            if path != target:
                self._copies.append(self._paths.relative(path))
                if not self._dry and read_bytes(path) == data:
                    path.unlink()


def _pieces(data: bytes, month: str) -> list[_Piece]:
    made: list[_Piece] = []
    place, begun = (-1, ""), 0
    for block in blocks(data, month):
        if block.entry is not None and block.own:
            _name_run(made, begun)
            place, begun = (block.entry.time, block.entry.id), len(made) + 1
        made.append(_Piece(*place, data[block.start : block.end], block.entry, block.own))
    _name_run(made, begun)
    return made


def _name_run(pieces: list[_Piece], begun: int) -> None:
    """Give what a person wrote below one entry its name: all of it, with front matter before anything else."""
    run = _plain(b"".join(piece.raw for piece in pieces[begun:]))
    run = run if run.startswith(b"---\n") else b"~" + run
    pieces[begun:] = [piece._replace(run=run) for piece in pieces[begun:]]


def _plain(raw: bytes) -> bytes:
    return raw.removeprefix(_BOM).replace(b"\r\n", b"\n").strip()


def _place(piece: _Piece) -> tuple[int, str, bytes]:
    return piece.time, piece.id, piece.run


def _entries_in(pieces: Iterable[_Piece]) -> int:
    return sum(piece.entry is not None for piece in pieces)


def _united(sources: Sequence[Sequence[_Piece]]) -> list[_Piece]:
    """What stands in any of the files, by time: an entry once, and what a person wrote as often as it stands in the one
    that has it most often. Each block of code, comment or front matter is one thing. The same in whatever order."""
    units = [(n, unit) for n, pieces in enumerate(sources) for unit in _units(pieces)]
    if len(sources) > 1:
        units.sort(key=lambda one: (*_place(one[1][0]), one[0]))
    kept: list[_Piece] = []
    made: Counter[bytes] = Counter()
    seen: Counter[tuple[int, bytes]] = Counter()
    last: tuple[int, bytes] | None = None
    for n, unit in units:
        first = unit[0]
        key = canonical(first.entry) if first.entry else _plain(b"".join(piece.raw for piece in unit))
        if not key and not (n == 0 or last == (n, first.run)):  # a blank line goes with what stands above it
            continue
        seen[n, key] += 1
        again = seen[n, key] <= made[key] or (first.entry is not None and made[key] > 0)
        if key and again:
            continue
        made[key] += 1
        last = (n, first.run)
        kept += unit
    return kept


def _units(pieces: Sequence[_Piece]) -> Iterator[Sequence[_Piece]]:
    n = 0
    while n < len(pieces):
        end = _last_of(pieces, n) + 1
        yield pieces[n:end]
        n = end


def _last_of(pieces: Sequence[_Piece], n: int) -> int:
    """Where the code, the comment or the front matter ends that piece `n` begins; `n` when it begins none."""
    text = _first_line(pieces[n]) if pieces[n].entry is None else ""
    closes = ""
    if text.startswith(("```", "~~~", "%%")):
        closes = (
            "" if text[:2] == "%%" and len(text) > 3 and text.endswith("%%") else text[: 2 if text[0] == "%" else 3]
        )
    elif text.startswith("<!--"):
        closes = "" if "-->" in text else "-->"
    elif n == 0 and text == "---":
        closes = text
    at = n + 1
    while closes and at < len(pieces) and pieces[at].entry is None:
        if _first_line(pieces[at]).endswith(closes):
            return at
        at += 1
    return n


def _first_line(piece: _Piece) -> str:
    return piece.raw.removeprefix(_BOM).split(b"\n", 1)[0].decode("utf-8", "replace").rstrip()


def _holds(made: bytes, sources: Sequence[Sequence[_Piece]], month: str) -> bool:
    """Whether all that a person wrote in `sources` is read from `made` as it was, and nothing else is."""
    now = _pieces(made, month)
    typed, lines = _typed(now), _text_lines(now)
    before = [_typed(pieces) for pieces in sources]
    if any(typed[key] < count for one in before for key, count in one.items()):
        return False
    if any(all(key not in one for one in before) for key in typed):
        return False
    return all(_text_lines(pieces) <= lines for pieces in sources)


def _typed(pieces: Sequence[_Piece]) -> Counter[tuple[str, str, str]]:
    entries = (piece.entry for piece in pieces if piece.entry and not piece.own)
    return Counter((entry.summary, entry.ref or "", entry.body) for entry in entries)


def _text_lines(pieces: Sequence[_Piece]) -> set[bytes]:
    lines = (line.strip() for piece in pieces if piece.entry is None for line in _plain(piece.raw).split(b"\n"))
    return {line for line in lines if line}


def _joined(pieces: Sequence[_Piece], main: bytes) -> bytes:
    """The pieces one below the other, with the line ends (and the mark at its beginning) of `main`."""
    windows = b"\r\n" in main
    made: list[bytes] = []
    for piece in pieces:
        raw = piece.raw.removeprefix(_BOM).replace(b"\r\n", b"\n")
        raw = raw if raw.endswith(b"\n") or not raw else raw + b"\n"
        made.append(raw.replace(b"\n", b"\r\n") if windows else raw)
    return (_BOM if main.startswith(_BOM) else b"") + b"".join(made)
