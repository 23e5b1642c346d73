r"""An entry of the live log: what it holds, how it stands in Markdown, how a person's line is read.

Idea: one line an entry, `- TIME · agent · channel · type · summary ^ULID`; a reference and a body are indented below
it (`  - ref:: ...`, `  > ...`), so that the id is the block's own and nothing in a body can become an entry.
Invariant: `read(render(entry))` gives the same entry, also with CRLF and with white space cut at line ends; a line of
any other form is read as something a person typed, and no byte of a file is unaccounted for.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from msgspec.json import encode as encode_json

from vademecum.clock import iso, stored_iso
from vademecum.errors import UsageError
from vademecum.ids import time_of, ulid
from vademecum.late import dataclass, field, pattern
from vademecum.model import Origin
from vademecum.obsidian import plain, quiet
from vademecum.vault.paths import month_of, month_start

if TYPE_CHECKING:
    from vademecum.vault.decision_text import Decision

Signed = Literal["valid", "unsigned", "bad", "unknown"]
"""`valid`: as its author signed it; `unsigned`: a person's line; `bad`: changed, or not by whom it names; `unknown`:
signed with a key that is not the pinned one."""

SUMMARY_CHARS, FIELD_CHARS, BODY_CHARS, REF_CHARS = 500, 80, 64_000, 500

_ULID = (
    "(?:[0-6][0-9A-HJKMNP-TV-Z]|7[0-5])[0-9A-HJKMNP-TV-Z]{24}"  # of a time before the year 9984, so that it has a month
)
ULID = pattern(_ULID)
_HEAD = pattern(rf"- (\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z) · ([^·]+) · ([^·]+) · ([^·]+) · (.+) \^({_ULID})")
_BULLET = pattern(r"[-*+](?:[ \t]+\[.\])?[ \t]+(?=\S)")
_BLOCK_ID = pattern(r"[ \t]+\^([A-Za-z0-9-]+)$")
_REF = pattern(r"[ \t]+[-*+][ \t]+ref::[ \t]*(.+)")
_LINK = pattern(rf"\[\[[^\]|#]*#\^({_ULID})(?:\|[^\]]*)?\]\]")
_QUOTED = pattern(r"  >(?: (.*))?")
_MARKS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
_ENCODED = pattern(r"[%·\x00-\x1f\x7f-\xa0\u2028\u2029]")
_BREAKS = pattern(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `time` in UTC ms; `ref` is another entry's id, or an address; `path` is relative to the vault.

    `origin` is what the author's host said it was made of (`file` for what a person typed into the file).
    """

    id: str
    time: int
    agent: str
    channel: str
    type: str
    summary: str
    body: str = ""
    ref: str | None = None
    path: str = ""
    line: int = 0
    signed: Signed = "unsigned"
    origin: Origin = field(default_factory=Origin.file)


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a file: an entry, or (None) what is none: headings, comments, marks of a merge that failed.

    `start` and `end` are byte offsets, `line` counts from 1; `own` is false for an entry in a person's form.
    """

    start: int
    end: int
    line: int
    entry: Entry | None
    own: bool = False
    mark: bool = False


@dataclass(frozen=True, slots=True)
class Logged:
    """What became of an append: the entry, or the proposal that waits for a person. `message` is for its author;
    `contradicts` are standing decisions that it may contradict."""

    outcome: Literal["new", "staged"]
    entry: Entry | None
    proposal: str | None = None
    message: str = ""
    contradicts: tuple[Decision, ...] = ()


def make(
    id_: str,
    agent: str,
    type_: str,
    summary: str,
    *,
    channel: str = "",
    ref: str | None = None,
    body: str = "",
    checked: bool = True,
) -> Entry:
    """An entry in the form in which it is stored: lines after the first of `summary` go to the body.

    Its time is that of its id. White space at line ends is cut. Raises UsageError for what is empty, or (`checked`)
    too long.
    """
    lines = summary.replace("\r\n", "\n").replace("\r", "\n").strip().split("\n")
    head = _one_line(lines[0])
    more = "\n".join(lines[1:])
    text = _lines(f"{more}\n{body}" if more else body)
    link = _LINK.fullmatch(ref.strip()) if ref else None
    ref = link[1] if link else _one_line(ref or "") or None
    made = Entry(id_, time_of(id_), agent, _one_line(channel), _one_line(type_), head, text, ref)
    if not made.summary:
        raise UsageError("The summary is empty. Nothing was written.", "Say in one line what happened.")
    if not checked:
        return made
    _check("summary", made.summary, SUMMARY_CHARS, "Put the rest into the body.")
    _check("body", made.body, BODY_CHARS, "Put it into a file, and refer to that.")
    _check("reference", made.ref or "", REF_CHARS)
    _check("type", made.type, FIELD_CHARS)
    _check("channel", made.channel, FIELD_CHARS)
    return made


def _storable(text: str) -> str:
    """`text` as it can be stored as UTF-8: a lone surrogate becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _one_line(text: str) -> str:
    return _BREAKS.sub(" ", _storable(text).replace("\r", " ").replace("\n", " ")).strip()


def _lines(text: str) -> str:
    text = _storable(text).replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def _check(what: str, text: str, limit: int, way: str = "Make it shorter.") -> None:
    if len(text) > limit:
        raise UsageError(f"The {what} has {len(text):,} characters; {limit:,} are allowed. Nothing was written.", way)


def canonical(entry: Entry) -> bytes:
    """The bytes that are hashed and signed: what an entry says, and not how its file is written. A JSON array without
    spaces, in UTF-8."""
    fields = (entry.id, entry.time, entry.agent, entry.channel, entry.type, entry.summary, entry.ref or "", entry.body)
    return encode_json(fields)


def sha_of(entry: Entry) -> str:
    """SHA-256 of the canonical bytes, in hex."""
    return hashlib.sha256(canonical(entry)).hexdigest()


def render(entry: Entry, folder: str = "") -> str:
    """The entry as it stands in the file, line feed included; `folder` is what links in the vault begin with.

    What would hide the rest of the page in Obsidian, or load something, is quieted with a backslash.
    """
    fields = " · ".join(quiet(encoded(name)) for name in (entry.agent, entry.channel, entry.type))
    lines = [f"- {iso(entry.time)} · {fields} · {quiet(entry.summary)} ^{entry.id}"]
    if entry.ref:
        lines.append(f"  - ref:: {link(entry.ref, folder) if ULID.fullmatch(entry.ref) else quiet(entry.ref)}")
    if entry.body:
        lines += [f"  > {line}" if line else "  >" for line in quiet(entry.body).split("\n")]
    return "\n".join(lines) + "\n"


def link(id_: str, folder: str = "") -> str:
    """An Obsidian link to the entry of that id."""
    return f"[[{folder}Live/{month_of(time_of(id_))}#^{id_}]]"


def encoded(text: str) -> str:
    """A name as it stands between two dots of a line."""
    if text in ("", "-"):
        return "%2D" if text else "-"
    text = _ENCODED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)
    if text[0] == " ":
        text = "%20" + text[1:]
    return text[:-1] + "%20" if text[-1] == " " else text


def decoded(text: str) -> str:
    """The name that `encoded` wrote."""
    if text == "-":
        return ""
    return unquote(text) if "%" in text else text


def blocks(
    data: bytes,
    month: str,
    *,
    path: str = "",
    line: int = 1,
    base: int = 0,
    taken: Callable[[str], bool] | None = None,
) -> Iterator[Block]:
    """The blocks of `data`, which are the bytes from offset `base` and line `line` on of the file for `month`.

    Together they are all of `data`. An entry in a person's form gets an id that is computed from its text: the same
    on every machine, and as long as the text stands. `taken` says whether such an id belongs to a line before `base`.
    """
    reader = _Reader(data, month, path, line, base)
    reader.taken = taken
    return reader.blocks()


class _Reader:
    def __init__(self, data: bytes, month: str, path: str, line: int, base: int) -> None:
        self._lines = data.split(b"\n")
        self._ended = not self._lines[-1]
        if self._ended:
            self._lines.pop()
        self._month, self._path, self._line, self._base = month, path, line, base
        self._time = month_start(month)
        self._count: dict[str, int] = {}
        self.taken: Callable[[str], bool] | None = None
        self._open_to: dict[str, int] = {}

    def blocks(self) -> Iterator[Block]:
        lines, at, n = self._lines, self._base, 0
        closes = ""  # what ends the comment, code or front matter that we are in
        while n < len(lines):
            first = n
            text = _text(lines[n], first_of_file=n == 0 and self._base == 0)
            n += 1
            head = _HEAD.fullmatch(text) if text.startswith("- 2") else None
            if head is None and closes:
                inside, paragraph = True, False
                closes = "" if text.endswith(closes) else closes
            else:
                inside = False
                closes = "" if head else _opens(text, first_of_file=first == 0 and self._base == 0)
                closes = closes if closes and self._closed_below(n, closes) else ""
                paragraph = not closes and head is None and _is_paragraph(text)
            while n < len(lines) and not closes and _continues(lines[n], paragraph):
                paragraph = paragraph and bool(lines[n].strip())
                n += 1
            end = at + sum(map(len, lines[first:n])) + n - first
            if n == len(lines) and not self._ended:
                end -= 1
            span = (at, end, self._line + first)
            if head is None and (inside or not _says(text)):
                yield Block(*span, None, mark=text.startswith(_MARKS))
            else:
                yield self._block(span, text, [_text(line) for line in lines[first + 1 : n]], head)
            at = end

    def _closed_below(self, n: int, closes: str) -> bool:
        """Whether what ends with `closes` does so before the next entry in our form; what is left open hides none."""
        if n < self._open_to.get(closes, 0):  # looked through from further up
            return False
        for at in range(n, len(self._lines)):
            text = _text(self._lines[at])
            if text.endswith(closes):
                return True
            if text.startswith("- 2") and _HEAD.fullmatch(text):
                self._open_to[closes] = at
                return False
        self._open_to[closes] = len(self._lines)
        return False

    def _block(self, span: tuple[int, int, int], text: str, below: list[str], head: re.Match[str] | None) -> Block:
        ref, body = _below(below)
        time = _time(head[1]) if head else None
        if head is None or time is None:
            return Block(*span, self._typed(text, ref, body, span[2]))
        self._time = time
        agent, channel, type_ = (decoded(plain(name)) for name in (head[2], head[3], head[4]))
        ref, body, summary = None if ref is None else plain(ref), plain(body), plain(head[5].strip())
        entry = Entry(head[6], time, agent, channel, type_, summary, body, ref, self._path, span[2])
        return Block(*span, entry, own=True)

    def _typed(self, text: str, ref: str | None, body: str, number: int) -> Entry:
        """What a person typed: as much of the form as is there."""
        text = _BULLET.sub("", text, count=1).strip()
        named = _BLOCK_ID.search(text)
        text = text[: named.start()].rstrip() if named else text
        given = named[1].upper() if named and ULID.fullmatch(named[1].upper()) else ""
        parts = [part.strip() for part in text.split("·")]
        time = _time(parts[0]) if len(parts) > 1 else None
        agent = channel = ""
        type_ = "note"
        if time is not None:
            parts = parts[1:]
            if len(parts) >= 4:
                agent, channel, type_ = map(decoded, parts[:3])
                parts = parts[3:]
            elif len(parts) >= 2:
                agent, *parts = parts
                agent = decoded(agent)
            self._time = time
        summary = " · ".join(parts).strip() or text
        key = encode_json([text, ref, body]).decode()
        at = self._time if time is not None else self._time + 1  # behind what it stands below
        made = given or self._next_id(key)
        return Entry(made, at, agent, channel, type_, summary, body, ref, self._path, number)

    def _next_id(self, key: str) -> str:
        """The id of one line more with that text: its number among those of the file counts."""
        while True:
            self._count[key] = self._count.get(key, 0) + 1
            made = _made_id(self._month, key, self._count[key])
            if self.taken is None or not self.taken(made):
                return made


def _text(line: bytes, *, first_of_file: bool = False) -> str:
    text = line.decode("utf-8", "replace")
    if first_of_file:
        text = text.removeprefix("\ufeff")
    return text.rstrip()


def _opens(text: str, *, first_of_file: bool) -> str:
    """What ends the stretch that `text` begins, in which nothing is an entry but a line in our own form."""
    if first_of_file and text == "---":
        return "---"
    if text.startswith(("```", "~~~")):
        return text[:3]
    if text.startswith("%%") and not (len(text) > 3 and text.endswith("%%")):
        return "%%"
    return "-->" if text.startswith("<!--") and "-->" not in text else ""


def _says(text: str) -> bool:
    """Whether a line at the margin, in no form of ours, says something: it is no heading, comment, rule or mark."""
    if not text or text.startswith(("#", "%%", "<!--", *_MARKS, "```", "~~~")):
        return False
    return any(character.isalnum() for character in text)


def _is_paragraph(text: str) -> bool:
    return _says(text) and _BULLET.match(text) is None


def _continues(line: bytes, paragraph: bool) -> bool:
    """Whether `line` belongs to the block above it."""
    if line[:1] in (b" ", b"\t", b"\r", b""):
        return True
    return paragraph and _is_paragraph(_text(line))


def _below(lines: list[str]) -> tuple[str | None, str]:
    """The reference and the body in the lines below an entry."""
    if not lines:
        return None, ""
    ref = None
    found = _REF.fullmatch(lines[0])
    if found:
        inside = _LINK.fullmatch(found[1].strip())
        ref = inside[1] if inside else found[1].strip()
        lines = lines[1:]
    while lines and not lines[-1]:
        lines = lines[:-1]
    quoted = [_QUOTED.fullmatch(line) for line in lines]
    if all(quoted):
        return ref, "\n".join((match[1] or "").rstrip() for match in quoted if match)
    plain = (re.sub(r"^(?:\t| {1,2})", "", line) for line in lines)
    return ref, "\n".join(plain).strip("\n")


def _time(text: str) -> int | None:
    try:
        return stored_iso(text)
    except (ValueError, OverflowError):
        return None


def _made_id(month: str, key: str, count: int) -> str:
    digest = hashlib.sha256(f"{month}\0{count}\0{key}".encode()).digest()
    return ulid((month_start(month) << 80) | int.from_bytes(digest[:10], "big"))
