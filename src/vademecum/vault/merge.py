"""Folding what sync tools and git leave behind: conflict copies, doubles, marks and mixed-up bodies, by entry id.

Idea: a file is a row of blocks; the copies' blocks that are not there yet are put in by time, what is there twice and
says the same is dropped. What a line-wise merge mixed up is put right from the ledgers' signed copies, but only where
no line would be lost. Invariant: nothing that anybody wrote goes: entries of one id that differ are both kept and
reported, a copy is removed only once all of it stands in the file, and a file that needs nothing is not touched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from vademecum.disk import read_bytes
from vademecum.errors import ConflictError
from vademecum.files import write_atomic
from vademecum.ids import time_of
from vademecum.obsidian import link_prefix
from vademecum.vault.entry import Entry, blocks, canonical, render, sha_of
from vademecum.vault.folding import Folded, Proposed, fold_decisions
from vademecum.vault.indexing import ledger_files
from vademecum.vault.keys import Keys
from vademecum.vault.ledger import Head, Odd, Record, read_head, records
from vademecum.vault.paths import MONTH, VaultPaths, month_of
from vademecum.vault.writer import Writer

_COPY = re.compile(r"(?i)(?:[ ._(\[-].*(?:conflict|konflikt|conflit|конфликт|冲突|衝突|競合|충돌).*| ?\(?\d{1,3}\)?)")
"""What the names of conflict copies have behind the file's own: Syncthing, Dropbox, Obsidian, Nextcloud, iCloud."""
_BEGIN, _MIDDLE, _END = re.compile(rb"<{7}(?: |\r?$)"), (b"=======", b"|||||||"), b">>>>>>>"


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
    """A block with what it is sorted by."""

    time: int
    id: str
    raw: bytes
    entry: Entry | None
    own: bool


def merge(paths: VaultPaths, writer: Writer, keys: Keys, *, restore: bool = False, dry_run: bool = False) -> Merged:
    """Fold conflict copies and unfinished merges of the live log and the ledgers, and copies of `Decisions.md`.

    `restore` also puts back entries that their authors signed and that no file has any more. Raises StorageError,
    LockedError, ConflictError (an editor saved meanwhile); what was not done yet is as it was.
    """
    decisions = fold_decisions(paths.root, is_copy, dry_run=dry_run)  # before: who decides holds that lock, then this
    with writer.locked():
        return _Merging(paths, keys, restore=restore, dry_run=dry_run).all(decisions)


def is_copy(name: str, own: str) -> bool:
    """Whether `name` is what a sync tool calls a copy of `own` that it could not merge (both without suffix)."""
    return name.startswith(own) and name != own and _COPY.fullmatch(name[len(own) :]) is not None


class _Merging:
    def __init__(self, paths: VaultPaths, keys: Keys, *, restore: bool, dry_run: bool) -> None:
        self._paths, self._keys, self._restore, self._dry = paths, keys, restore, dry_run
        self._folder = link_prefix(paths.root)
        self._files: list[str] = []
        self._copies: list[str] = []
        self._restored: list[str] = []
        self._twins: list[Twin] = []
        self._added = self._doubles = 0
        self._signed: dict[str, tuple[Record, Head]] = {}

    def all(self, decisions: Folded) -> Merged:
        if decisions.added:
            self._files.append(self._paths.relative(self._paths.decisions))
        self._copies += [self._paths.relative(path) for path in decisions.copies]
        self._added += decisions.added
        self._ledgers()
        self._months()
        handled = {self._paths.root / name for name in self._copies}
        left = tuple(self._paths.relative(path) for path in self._conflicts() if path not in handled)
        self._files.sort()
        done = (tuple(self._files), tuple(self._copies), self._added, self._doubles, tuple(self._restored))
        return Merged(*done, tuple(self._twins), left, self._dry)

    def _conflicts(self) -> list[Path]:
        """Everything in the vault's folder that is named like a conflict copy of a file that is there."""
        found: list[Path] = []
        for folder, _, names in os.walk(self._paths.root):
            stems = {Path(name).stem for name in names}
            for name in sorted(names):
                stem = Path(name).stem
                if any(is_copy(stem, own) for own in stems if own != stem):
                    found.append(Path(folder, name))
        return found

    # --- ledgers

    def _ledgers(self) -> None:
        by_target: dict[Path, list[Path]] = {}
        for path in ledger_files(self._paths):
            head = read_head(_without_marks(read_bytes(path) or b""))
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
        clean = [_without_marks(one) for one in data]
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
                known = lines.get(found.hash(head))
                if known is None or found.copy is None:  # what was erased on one machine stays erased
                    lines[found.hash(head)] = found
        self._learn(head, lines.values())
        if len(sources) == 1 and sources[0] == target and clean[0] == data[0] and total == len(lines):
            return
        ordered = sorted(lines.values(), key=lambda record: record.n)
        made = head.line() + b"".join(record.line() for record in ordered) + b"".join(one + b"\n" for one in odd)
        self._put(target, made, sources, data[0] if sources[0] == target else b"")

    def _learn(self, head: Head, lines: Iterable[Record]) -> None:
        """Remember what each entry is by its author's word."""
        if self._keys.pinned(head.agent, head.public) is not None:
            self._signed.update((record.id, (record, head)) for record in lines)

    def _as_signed(self, id_: str) -> Entry | None:
        """The entry of that id as its author signed it; None when nobody did, or when it was erased."""
        record, head = self._signed.get(id_, (None, None))
        return record.entry(head) if record and head and record.is_valid(head) else None

    # --- months

    def _months(self) -> None:
        by_month: dict[str, list[Path]] = {path.stem: [path] for path in self._paths.months()}
        for path in sorted(self._paths.live.glob("*.md")) if self._paths.live.is_dir() else ():
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
        data = [read_bytes(path) or b"" for path in sources]
        clean = [_without_marks(one) for one in data]
        pieces = _pieces(clean[0], month)
        kept = self._once(pieces)
        doubles = len(pieces) - len(kept)
        added = [piece for text in clean[1:] for piece in _pieces(text, month)]
        kept, before = self._once([*kept, *added], own=len(kept)), len(kept)
        self._doubles += doubles
        self._added += sum(piece.entry is not None for piece in kept[before:])
        restored = len(self._restored)
        kept = self._put_right(kept)
        kept += self._put_back(month, kept)
        if len(sources) == 1 and clean == data and not doubles and len(self._restored) == restored:
            self._note_twins(kept, target, clean[0])
            return
        kept.sort(key=lambda piece: (piece.time, piece.id))
        made = _joined(kept, clean[0])
        self._put(target, made, sources, data[0])
        self._note_twins(kept, target, made)

    @staticmethod
    def _once(pieces: Sequence[_Piece], *, own: int = 0) -> list[_Piece]:
        """`pieces` without those that say what one before says; text that is no entry is dropped behind the `own`
        first ones only."""
        seen: set[bytes] = set()
        kept: list[_Piece] = []
        for n, piece in enumerate(pieces):
            key = canonical(piece.entry) if piece.entry else piece.raw.strip()
            if key in seen and (piece.entry is not None or n >= own > 0):
                continue
            if piece.entry is None and not key and n >= own > 0:
                continue
            seen.add(key)
            kept.append(piece)
        return kept

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
        here = {piece.id for piece in pieces if piece.entry}
        missing = [id_ for id_ in self._signed if id_ not in here and month_of(time_of(id_)) == month]
        entries = [entry for entry in map(self._as_signed, missing) if entry is not None]
        self._restored += [entry.id for entry in entries]
        return [_Piece(entry.time, entry.id, render(entry, self._folder).encode(), entry, True) for entry in entries]

    def _note_twins(self, pieces: Sequence[_Piece], target: Path, made: bytes) -> None:
        by_id: dict[str, int] = {}
        for piece in pieces:
            if piece.entry:
                by_id[piece.id] = by_id.get(piece.id, 0) + 1
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

    def _put(self, target: Path, made: bytes, sources: Sequence[Path], before: bytes) -> None:
        """Write `target` and remove the copies that went into it."""

        def unchanged() -> None:
            if (read_bytes(target) or b"") != before:
                raise ConflictError(f"{target} was changed while it was merged; it was left as it is.", "Merge again.")

        copies = [path for path in sources if path != target]
        if made != before:
            self._files.append(self._paths.relative(target))
            if not self._dry:
                write_atomic(target, made, check=unchanged)
        self._copies += [self._paths.relative(path) for path in copies]
        if not self._dry:
            for path in copies:
                path.unlink()


def _without_marks(data: bytes) -> bytes:
    """`data` without the lines by which git marks what it could not merge; both sides stay."""
    if b"<<<<<<<" not in data:
        return data
    kept: list[bytes] = []
    inside = False
    for line in data.splitlines(keepends=True):
        if not inside and _BEGIN.match(line):
            inside = True
        elif inside and line.startswith(_END):
            inside = False
        elif not (inside and line.startswith(_MIDDLE)):
            kept.append(line)
    return b"".join(kept)


def _pieces(data: bytes, month: str) -> list[_Piece]:
    made: list[_Piece] = []
    place = (-1, "")
    for block in blocks(data, month):
        if block.entry is not None:
            place = (block.entry.time, block.entry.id)
        made.append(_Piece(*place, data[block.start : block.end], block.entry, block.own))
    return made


def _joined(pieces: Sequence[_Piece], main: bytes) -> bytes:
    """The pieces one below the other, with the line ends (and the mark at its beginning) of `main`."""
    bom = b"\xef\xbb\xbf"
    windows = b"\r\n" in main
    made: list[bytes] = []
    for piece in pieces:
        raw = piece.raw.removeprefix(bom).replace(b"\r\n", b"\n")
        raw = raw if raw.endswith(b"\n") or not raw else raw + b"\n"
        made.append(raw.replace(b"\n", b"\r\n") if windows else raw)
    return (bom if main.startswith(bom) else b"") + b"".join(made)
