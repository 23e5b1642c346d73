r"""The links and tags in one line of Markdown, as Obsidian reads them.

Idea: what is code, math or a comment is blanked first, letter for letter, and the rest is two regular expressions.
Invariant: linear in the length of the line; `raw` is exactly what stands there; an address with a scheme is no link
between pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from vademecum.late import pattern
from vademecum.wiki.types import LinkKind

_CODE = pattern(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_MATH = pattern(r"(?<![\\$])\$\$.+?\$\$|(?<![\\$\w])\$(?=[^\s$])[^$]*?(?<=[^\s\\$])\$(?![\d$])")
_COMMENT = pattern(r"%%.*?%%|<!--.*?-->")
_WIKI = pattern(r"(!?)\[\[([^\[\]|\n]*?)(?:\\?\|([^\[\]\n]*))?\]\]")
_MARKDOWN = pattern(
    r"(!?)\[((?:[^\[\]\\]|\\.|\[[^\[\]]*\])*)\]"
    r"\([ \t]*(?:<([^<>\n]*)>|((?:[^\s()<>\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))"
    r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*\)"
)
_DEFINED = pattern(r" {0,3}\[([^\[\]^]+)\]:[ \t]+(?:<([^<>]*)>|(\S+))")
_SCHEME = pattern(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_TAG = pattern(r"(?<![^\s(\[,;'\"])#((?:[^\W]|[-/])*[^\W\d](?:[^\W]|[-/])*)")
LONGEST = 100_000
"""Characters of a line that are looked at for links and tags."""


class Found(NamedTuple):
    """A link in a line: `target` without heading and block, decoded."""

    kind: LinkKind
    raw: str
    target: str
    heading: str
    block: str
    text: str


def blanked(line: str) -> str:
    """`line` with blanks in the place of code, math and comments."""
    if "`" in line:
        line = _CODE.sub(_blank, line)
    if "$" in line:
        line = _MATH.sub(_blank, line)
    if "%%" in line or "<!--" in line:
        line = _COMMENT.sub(_blank, line)
    return line


def links(line: str) -> Iterator[Found]:
    """The links to pages in a blanked line, those of one kind from left to right."""
    if len(line) > LONGEST:
        line = line[:LONGEST]
    if "[[" in line:
        for found in _WIKI.finditer(line):
            target, heading, block = _parted(found[2])
            if target or heading or block:
                kind = "embed" if found[1] else "wiki"
                yield Found(kind, found[0], target, heading, block, (found[3] or "").strip())
        line = _WIKI.sub(_blank, line)
    if "](" in line:
        for found in _MARKDOWN.finditer(line):
            address = found[3] if found[3] is not None else re.sub(r"\\(?=[^\w\s])", "", found[4])
            yield from _to_page("embed" if found[1] else "markdown", found[0], address, found[2])
    if "]:" in line and (found := _DEFINED.match(line)):
        yield from _to_page("markdown", found[0].strip(), found[2] or found[3] or "", found[1])


def tags(line: str) -> list[str]:
    """The tags in a blanked line, without `#`. Digits only are no tag."""
    if "](" in line or "[[" in line:
        line = _MARKDOWN.sub(_blank, _WIKI.sub(_blank, line))
    return [found.rstrip("/") for found in _TAG.findall(line[:LONGEST])]


def _to_page(kind: LinkKind, raw: str, address: str, text: str) -> Iterator[Found]:
    if not address or _SCHEME.match(address):
        return
    path, mark, rest = address.partition("#")
    path = unquote(path.partition("?")[0])
    _, heading, block = _parted(mark + unquote(rest))
    if path or heading or block:
        yield Found(kind, raw, path.strip(), heading, block, text.strip())


def _parted(target: str) -> tuple[str, str, str]:
    """What stands before `#`, the heading (the last of several) and the block."""
    page, mark, rest = target.partition("#")
    if not mark:
        return target.strip(), "", ""
    last = rest.rpartition("#")[2].strip()
    return (page.strip(), "", last[1:].lower()) if last.startswith("^") else (page.strip(), last, "")


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])
