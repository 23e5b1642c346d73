"""HTML as Markdown: what a reader of the page would see.

Idea: one pass of the standard library's parser; headings, lists, tables, code and links stay, everything else is text.
Invariant: scripts, styles, comments and what the page hides (`hidden`, `display:none`, size or opacity of nothing, also
by a simple rule of its own style sheet) never become text; how much was hidden is said. Addresses that run something
are left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

from vademecum.library.documents.types import Gathering, quiet, table

_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_DROPPED = frozenset((
    "script", "style", "template", "noscript", "svg", "iframe", "object", "audio", "video", "canvas", "select",
    "datalist", "textarea", "head",
))  # fmt: skip
_BLOCKS = frozenset((
    "p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "figure", "figcaption", "address",
    "form", "fieldset", "ul", "ol", "dl", "dt", "dd", "li", "table", "caption", "blockquote", "pre", "h1", "h2", "h3",
    "h4", "h5", "h6", "body", "html", "details", "summary", "tr", "td", "th", "thead", "tbody", "tfoot",
))  # fmt: skip
_CLOSED_BY = {
    "li": {"li"}, "dt": {"dt", "dd"}, "dd": {"dt", "dd"}, "tr": {"tr", "td", "th"}, "td": {"td", "th"},
    "th": {"td", "th"}, "option": {"option"},
}  # fmt: skip
_END = r"\s*(?:;|!|}|$)"
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|content-visibility\s*:\s*hidden|"
    rf"opacity\s*:\s*(?:0+(?:\.0*)?|\.0+)%?{_END}|"
    rf"font-size\s*:\s*(?:0+(?:\.0*)?|\.0+)[a-z%]*{_END}|font-size\s*:\s*0*\.\d+(?:px|pt){_END}|"
    r"(?:left|top|right|bottom|text-indent|margin-left|margin-top)\s*:\s*-\d{4,}|"
    r"clip\s*:\s*rect\(\s*0|clip-path\s*:\s*(?:inset\(\s*(?:50|100)%|circle\(\s*0)|"
    r"transform\s*:[^;]{0,200}scale[xy]?\(\s*0\s*[,)]|"
    rf"(?<![-\w])color\s*:\s*transparent{_END}",
    re.I,
)
_FLAT = re.compile(rf"(?<![-\w])(?:max-)?(?:height|width)\s*:\s*0+(?:px|em|rem|%)?{_END}", re.I)
_CUT = re.compile(r"overflow(?:-[xy])?\s*:\s*(?:hidden|clip)", re.I)
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.S)
_CSS_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|([^\n0-9a-fA-F]))")
_STYLES = re.compile(r"<style\b[^>]{0,1000}>(.{0,500000}?)(?:</style|\Z)", re.I | re.S)
_RULE = re.compile(r"([^{}]{1,2000})\{([^{}]{0,5000})\}")
_ELSEWHERE = re.compile(  # rules for print, for small screens, for steps of a movement
    r"@(?!media\s+(?:only\s+)?(?:screen|all)\s*\{)[\w-]+[^{};]{0,300}\{(?:[^{}]{0,5000}\{[^{}]{0,5000}\}){0,500}[^{}]{0,5000}\}"
)
_SIMPLE = re.compile(r"([a-z][a-z0-9-]*)?((?:[.#][\w-]+)?)", re.I)
_ADDRESS = re.compile(r"(?:https?:|mailto:|[^:\s]*(?:[/?#]|$))", re.I)
_DEEPEST, _LONGEST = 2_000, 500
_SECTION = re.compile(r"<!\[[^>]{0,300}>")
_SPACE = re.compile(r"[ \t\r\n\f]+")


@dataclass(slots=True)
class _Open:
    tag: str
    hidden: bool
    href: str = ""
    at: int = 0


class _Page(HTMLParser):
    def __init__(self, hiding: frozenset[tuple[str, str]] = frozenset()) -> None:
        super().__init__(convert_charrefs=True)
        self._hiding = hiding
        self.blocks: list[str] = []
        self.title = self.heading = ""
        self.concealed = 0
        self._inline: list[str] = []
        self._stack: list[_Open] = []
        self._lists: list[int] = []  # the next number, or -1 for bullets
        self._bullet = ""
        self._quotes = 0
        self._rows: list[list[str]] | None = None
        self._tables = 0
        self._in_title = False
        self._raw: list[str] | None = None

    @property
    def _hidden(self) -> bool:
        return bool(self._stack) and self._stack[-1].hidden

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "title":
            self._in_title = not self.title
        if tag in _VOID:
            self._void(tag, values)
            return
        self._close_implied(tag)
        if tag in _BLOCKS and not self._hidden and self._raw is None:
            self._flush()
        hides = "hidden" in values or (tag == "dialog" and "open" not in values) or self._hides(tag, values)
        hidden = self._hidden or hides or tag in _DROPPED
        if tag == "body":
            hidden = hides
        if len(self._stack) < _DEEPEST:
            self._stack.append(_Open(tag, hidden, values.get("href", ""), len(self._inline)))
        if not hidden:
            self._enter(tag, values)

    def _hides(self, tag: str, values: dict[str, str]) -> bool:
        if values.get("style") and hides(values["style"]):
            return True
        marks = ["", *(f".{one}" for one in values.get("class", "").split()), f"#{values.get('id', '')}"]
        return bool(self._hiding) and any((name, mark) in self._hiding for name in ("", tag) for mark in marks)

    def _enter(self, tag: str, values: dict[str, str]) -> None:
        match tag:
            case "ul" | "ol":
                start = values.get("start", "")
                self._lists.append(-1 if tag == "ul" else int(start) if start.isascii() and start.isdigit() else 1)
            case "li" if self._lists:
                number = self._lists[-1]
                self._bullet = "- " if number < 0 else f"{number}. "
                self._lists[-1] = number if number < 0 else number + 1
            case "blockquote":
                self._quotes += 1
            case "pre" if self._raw is None:
                self._raw = []
            case "table":
                self._tables += 1
                if self._tables == 1:
                    self._rows = []
            case "tr" if self._rows is not None and self._tables == 1:
                self._rows.append([])
            case "td" | "th" if self._rows is not None and self._tables == 1:
                if not self._rows:
                    self._rows.append([])
                self._rows[-1].append("")
            case _:
                pass

    def _void(self, tag: str, values: dict[str, str]) -> None:
        if self._hidden:
            return
        if tag == "br":
            (self._inline if self._raw is None else self._raw).append("\n")
        elif tag == "hr":
            self._flush()
        elif tag == "img" and values.get("alt", "").strip():
            self._inline.append(f"[image: {values['alt'].strip()[:_LONGEST]}]")

    def _close_implied(self, tag: str) -> None:
        closed = _CLOSED_BY.get(tag)
        while closed and self._stack and self._stack[-1].tag in closed:
            self._leave(self._stack.pop())
        if tag in _BLOCKS and self._stack and self._stack[-1].tag == "p":
            self._leave(self._stack.pop())
        if tag == "body" and self._stack and self._stack[-1].tag == "head":
            self._stack.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        for back, one in enumerate(reversed(self._stack[-100:]), 1):
            if one.tag == tag:
                for _ in range(back):
                    self._leave(self._stack.pop())
                return

    def _leave(self, one: _Open) -> None:
        if one.hidden:
            return
        tag = one.tag
        if tag == "pre" and self._raw is not None:
            self._code("".join(self._raw))
            self._raw = None
        elif self._raw is not None:
            return
        elif tag == "code":
            self._wrap(one.at, "`", "`")
        elif tag == "a" and one.href and _ADDRESS.match(one.href) and len(one.href) <= _LONGEST:
            address = one.href.strip().replace(" ", "%20").replace(")", "%29")
            self._wrap(one.at, "[", f"]({address})")
        elif tag in _BLOCKS:
            self._flush(int(tag[1]) if tag in ("h1", "h2", "h3", "h4", "h5", "h6") else 0)
            self._ended(tag)

    def _ended(self, tag: str) -> None:
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "li":
            self._bullet = ""
        elif tag == "blockquote":
            self._quotes = max(0, self._quotes - 1)
        elif tag == "table":
            self._tables = max(0, self._tables - 1)
            if not self._tables:
                self._end_table()

    def _wrap(self, at: int, before: str, after: str) -> None:
        inner = "".join(self._inline[at:])
        if inner.strip() and "\n\n" not in inner:
            self._inline[at:] = [before, inner.strip(), after]

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = _SPACE.sub(" ", self.title + data)[:_LONGEST]
        elif self._hidden:
            if not any(one.tag in _DROPPED for one in self._stack[-20:]):
                self.concealed += len(data.strip())
        elif self._raw is not None:
            self._raw.append(data)
        elif self._inline or data.strip():
            self._inline.append(_SPACE.sub(" ", data))

    def _flush(self, level: int = 0) -> None:
        text = "\n".join(line.strip() for line in "".join(self._inline).split("\n")).strip()
        self._inline.clear()
        for one in self._stack[-50:]:
            one.at = 0
        if not text:
            return
        if self._rows is not None:
            if self._rows and self._rows[-1]:
                self._rows[-1][-1] = f"{self._rows[-1][-1]} {text}".strip()
            else:
                self._block(quiet(text))  # a caption
            return
        if level:
            self.heading = self.heading or _SPACE.sub(" ", text)
            self._block(f"{'#' * level} {_SPACE.sub(' ', text)}")
        else:
            self._block(quiet(text))

    def _code(self, text: str) -> None:
        if self._rows is not None and self._rows and self._rows[-1]:
            self._rows[-1][-1] += " " + text
        elif text.strip():
            self._block(fenced(text.strip("\n")))

    def _block(self, text: str) -> None:
        indent = "  " * max(len(self._lists) - 1, 0)
        first = indent + self._bullet if self._lists else ""
        rest = indent + "  " if self._lists else ""
        if self._lists and not self._bullet:
            first = rest
        self._bullet = ""
        lines = [(first if number == 0 else rest) + line for number, line in enumerate(text.split("\n"))]
        quote = "> " * min(self._quotes, 5)
        self.blocks.append("\n".join(quote + line for line in lines))

    def _end_table(self) -> None:
        rows, self._rows = [row for row in self._rows or [] if any(cell.strip() for cell in row)], None
        width = max((len(row) for row in rows), default=0)
        if width > 1 and len(rows) > 1:
            self._block(table([row + [""] * (width - len(row)) for row in rows]))
        else:
            for row in rows:
                self._block(quiet(" ".join(one for one in row if one)))

    def finish(self) -> None:
        self.close()
        while self._stack:
            self._leave(self._stack.pop())
        self._flush()
        if self._rows is not None:
            self._end_table()

    @property
    def text(self) -> str:
        lines: list[str] = []
        for block in self.blocks:
            together = lines and _in_list(block) and _in_list(lines[-1])
            lines.append(block if together or not lines else "\n" + block)
        return "\n".join(lines)


def _in_list(block: str) -> bool:
    return re.match(r"\n?\s*(?:- |\d+\. )", block) is not None


def fenced(text: str, language: str = "") -> str:
    """Code between fences that it does not hold itself."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


@dataclass(frozen=True, slots=True)
class Page:
    """A page as Markdown; `concealed` is how many characters it hid from its readers."""

    text: str
    title: str
    heading: str
    concealed: int


def hides(style: str) -> bool:
    """Whether these declarations of CSS keep what they apply to from readers; what only a browser can tell does not
    count (colours that are alike, things that lie on others).
    """
    plain = _CSS_ESCAPE.sub(_escaped, _CSS_COMMENT.sub("", style[:100_000]))
    return bool(_HIDING.search(plain) or (_FLAT.search(plain) and _CUT.search(plain)))


def _escaped(found: re.Match[str]) -> str:
    number = int(found[1], 16) if found[1] else 0
    return (chr(number) if number < 0x110000 else "") if found[1] else found[2]


def _hiding_rules(source: str) -> frozenset[tuple[str, str]]:
    """What the page's own style sheets hide: pairs of an element's name and its class or id, either may be empty."""
    found: set[tuple[str, str]] = set()
    for sheet in _STYLES.finditer(source):
        for selectors, style in _RULE.findall(_ELSEWHERE.sub("", _CSS_COMMENT.sub("", sheet[1]))):
            if not hides(style):
                continue
            for one in selectors.split(","):
                name = _CSS_ESCAPE.sub(_escaped, one.strip())
                simple = _SIMPLE.fullmatch(name)
                if simple and name and name.lower() not in ("html", "body"):
                    found.add(((simple[1] or "").lower(), simple[2]))
    return frozenset(found)


def page(source: str) -> Page:
    """HTML (or what calls itself so) as Markdown; nothing in it is an error."""
    parser = _Page(_hiding_rules(source))
    parser.feed(_tame(source))
    parser.finish()
    return Page(parser.text, parser.title.strip(), parser.heading, parser.concealed)


def _tame(source: str) -> str:
    """Without what the parser stumbles over, or would look at again and again: `<![`, and tags that never end."""
    source = _SECTION.sub("", source).replace("<![", "&lt;![")
    end = source.rfind(">") + 1
    return source if source.find("<", end) < 0 else source[:end] + source[end:].replace("<", "&lt;")


def read(source: str, into: Gathering) -> None:
    """One page as one part."""
    found = page(source)
    into.title = found.title or found.heading
    if found.concealed:
        into.problem(concealed(found.concealed))
    into.add("", found.text)


def concealed(count: int) -> str:
    """The sentence on what a page hid."""
    return f"{count:,} characters that the page hides from its readers were left out."
