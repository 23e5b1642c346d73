r"""What Obsidian reads into a file: links, block ids, comments, code, and names of files.

Idea: the vault is a person's, opened in Obsidian or in any editor, so what agents write must mean there what it means
here. `quiet` puts one backslash more into what would hide the rest of the page (`%%`), load something when the page is
drawn (an image, an embed) or be taken for a block's id; `plain` takes it away again. Invariant: `plain(quiet(text)) ==
text`; a name becomes one file name that no other name has, on disks that ignore case or fold letters, too.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from vademecum.errors import UsageError
from vademecum.late import dataclass, pattern

BLOCK_ID = pattern(r"\^([A-Za-z0-9-]+)[ \t]*$")
_FENCE = pattern(r"([ \t]*)(`{3,}|~{3,})(.*)")
_COMMENT = pattern(r"(?:(?<=%)|%)(\\*)%")
_IMAGE = pattern(r"!(\\*)(?=\[)")
_BLOCK = pattern(r"(^|(?<=\s))(\\*)(?=\^[A-Za-z0-9-]+[ \t]*$)", re.MULTILINE)
_TAGS = r"(?=/?(?:audio|br|embed|form|iframe|img|input|link|meta|object|script|source|style|svg|video)\b)"
_LOADS = pattern(rf"<(\\*){_TAGS}", re.I)
_LOADS_NOT = pattern(rf"<\\(\\*){_TAGS}", re.I)
_SEPARATORS = pattern(r"[%·\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BYTES = 110
_DEVICES = pattern(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


def quiet(text: str) -> str:
    """`text` with a backslash in what would do something to the page around it."""
    if "%" in text:
        text = _COMMENT.sub(lambda found: found[0][:-1] + "\\%", text)
    if "^" in text:
        text = _BLOCK.sub(lambda found: found[2] + "\\", text)
    if "[" in text:
        text = _IMAGE.sub(r"!\\\1", text)
    return _LOADS.sub(r"<\\\1", text) if "<" in text else text


def plain(text: str) -> str:
    """What `quiet` was given."""
    if "%" in text:
        text = re.sub(r"(?:(?<=%)|%)\\(\\*)%", lambda found: found[0].replace("\\", "", 1), text)
    if "^" in text:
        text = re.sub(r"((?:^|(?<=\s))\\*)\\(?=\^[A-Za-z0-9-]+[ \t]*$)", r"\1", text, flags=re.MULTILINE)
    if "[" in text:
        text = re.sub(r"!\\(\\*)(?=\[)", r"!\1", text)
    return _LOADS_NOT.sub(r"<\1", text) if "<" in text else text


def in_one_line(text: str) -> str:
    """A quiet text on one line, its line ends as `<br>`: git's line-wise merge cannot mix two such texts."""
    return quiet(text).replace("\n", "<br>")


def from_one_line(line: str) -> str:
    """What `in_one_line` was given."""
    return plain(line.replace("<br>", "\n"))


def field(text: str) -> str:
    """`text` as one field of a line whose fields are set apart by ` · `: one line, separators percent-encoded."""
    line = " ".join(text.split())
    return _SEPARATORS.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), line)


def unfield(text: str) -> str:
    """What `field` was given, but for white space."""
    return unquote(text)


def slug_of(name: str, kind: str) -> str:
    """A file name, without `.md`, for what is called `name`; `kind` says what that is in an error.

    Lower case; letters and digits of any script stay. Other names may have the same. Raises UsageError for an empty
    name.
    """
    text = one_form(name)
    if not text:
        raise UsageError(f"The {kind} needs a name. Nothing was written.", "Give a short name.")
    kept = [c if c.isalnum() or c == "_" or unicodedata.category(c) in {"Mn", "Mc"} else "-" for c in text.casefold()]
    slug = re.sub(r"-{2,}", "-", unicodedata.normalize("NFC", "".join(kept))).strip("-")
    slug = slug.encode("utf-8", "ignore")[:_BYTES].decode("utf-8", "ignore").rstrip("-")
    return f"{slug or 'the'}-{kind}" if not slug or _DEVICES.fullmatch(slug) else slug


def own_slug(name: str, kind: str) -> str:
    """`slug_of` for a name that is plain already, else with eight digits of its hash: no two names share one, so that
    `Case`, `case` and `CASE` are three files on every disk.
    """
    slug = slug_of(name, kind)
    return slug if slug == name else hashed_slug(name, kind)


def hashed_slug(name: str, kind: str) -> str:
    """`slug_of` with eight digits of the hash of the name."""
    digest = hashlib.sha256(one_form(name).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{slug_of(name, kind)}-{digest}"


def one_form(name: str) -> str:
    """A name as it is compared: single spaces, letters composed."""
    return unicodedata.normalize("NFC", " ".join(name.split()))


def link_prefix(root: Path) -> str:
    """What links to files below `root` begin with: its path in the Obsidian vault around it, or nothing."""
    for folder in (root, *root.parents):
        if (folder / ".obsidian").is_dir():
            inside = root.relative_to(folder).as_posix()
            return "" if inside == "." else f"{inside}/"
    return ""


def link(target: str, label: str = "") -> str:
    """`[[target|label]]`; the label loses what would end the link."""
    label = re.sub(r"[\[\]|\n]", " ", label).strip()
    return f"[[{target}|{label}]]" if label else f"[[{target}]]"


def links(text: str) -> list[str]:
    """The targets of the wikilinks in `text`."""
    return [found.strip() for found in re.findall(r"\[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\]", text)]


def label_of(text: str) -> str:
    """`text`, or what a wikilink that is all of it shows."""
    found = re.fullmatch(r"\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\]", text.strip())
    return text if found is None else found[2] or found[1].rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end: its number (from 1), where it starts, and whether it is code or inside of a comment."""

    number: int
    start: int
    text: str
    hidden: bool


def lines(text: str) -> Iterator[Line]:
    """The lines of a page. A fence in a list's item ends with the item; what is left open hides the rest."""
    yield from (line for line, _ in _scanned(text))


def closing(text: str) -> str:
    """What has to stand in a line of its own for the code or comment at the end of `text` to end; mostly nothing."""
    return next((left for _, left in reversed(list(_scanned(text)))), "")


def _scanned(text: str) -> Iterator[tuple[Line, str]]:
    """Each line, and what would close what is open after it."""
    start, fence, indent, comment = 0, "", 0, False
    for number, raw in enumerate(re.findall(r"[^\n]*\n|[^\n]+", text), 1):
        line = raw.rstrip("\r\n")
        if fence and indent and line.strip() and len(line) - len(line.lstrip(" \t")) < indent:
            fence = ""
        hidden = bool(fence) or comment
        found = _FENCE.fullmatch(line) if not comment and ("```" in line or "~~~" in line) else None
        if fence:
            if found and found[2][0] == fence[0] and len(found[2]) >= len(fence) and not found[3].strip():
                fence = ""
        elif found and not (found[2][0] == "`" and "`" in found[3]):
            fence, indent, hidden = found[2], len(found[1]), True
        elif "%%" in line and re.sub(r"`[^`]*`", "", line).count("%%") % 2:
            comment, hidden = not comment, True
        yield Line(number, start, line, hidden), fence if fence and not indent else "%%" if comment else ""
        start += len(raw)
