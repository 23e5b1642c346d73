r"""Text made inert for a prompt block: what could become structure gets one backslash, the rest stays as it is.

Idea: a line that would start a heading, fence, rule, role, header or delimiter gets the backslash that Markdown itself
uses (`\# title`, `\System: ...`); a tag or a special token gets it inside its bracket (`<\system>`, `<\|im_start|>`),
so that no tokenizer takes it for one; an image (`!\[alt](url)`) or a link's definition (`[a]\: url`) gets it where it
stops being one, for whoever draws it would load what it points to. `fenced` puts a text that came from elsewhere
between two lines that it cannot contain. Invariant: idempotent, linear in time, and each character of the text
survives; ordinary text (`#123`, `C#`, `a < b`, `<a@b>`, `git checkout <branch>`) comes back equal.
"""

from __future__ import annotations

import re
import secrets
from functools import lru_cache

from vademecum.late import pattern

# names that frames of prompts use; any other lone opening tag is a placeholder in somebody's notes
_FRAME = pattern(
    r"(?i)(?<![^-_.:])(?:system|sys|user|assistant|human|developer|admin|ai|claude|tools?|functions?|invoke|core|memory"
    r"|memories|context|instructions?|prompt|reminder|important|policy|rules|think|thinking|identity|snapshot|recall"
    r"|recalled|vademecum|trusted|untrusted|turn|inst|bos|eos|s)(?![^-_.:])"
)
_TAG = pattern(
    r"<(?P<closing>/?)(?P<name>[A-Za-z][\w.-]*+(?::[\w.-]++)*+)(?=[\s/>]|\Z)(?P<attribute>\s++[\w:-]++\s*+=)?"
    r"(?P<rest>[\s/]++[^\s/<>])?"
)
_LOADS = pattern(
    r"(?i)(?:applet|audio|base|body|button|embed|form|frame|iframe|image|img|input|link|meta|object|param|picture|script"
    r"|source|style|svg|table|td|track|video)"
)
"""Tags that load or run something when they are drawn, with whatever attributes in whatever order."""
_RUNS = pattern(r"(?i)(?:script|style|svg|iframe|embed)")
_CLOSED = pattern(r"</([A-Za-z][\w.-]*+(?::[\w.-]++)*+)")
_MARKUP = pattern(r"<(?=!--|!\[|![A-Za-z]|\?[A-Za-z]|[|｜]\w)")
_DEFINITION = pattern(r"\[?(?:\\.|[^\[\]\\])*+\]:(?=\s*(?:\Z|<?\S*[:/&\\]))")
"""A line that says where a link or an image leads: `[label]: url`, or the end of one whose label began above it."""
_BRACKET_ROLE = pattern(
    r"\[(?=/?(?:INST|SYS|SYSTEM|USER|ASSISTANT|HUMAN|DEVELOPER|TOOL|[A-Z]+_(?:CALLS?|TOOLS?|RESULTS?))\])"
)

_INDENT = pattern(r"[\s\ufeff>]*+")
_CONTAINERS = pattern(r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]++[\s\ufeff>]*+)*+")
_WRAPPED = r"[*_`\"'“”|\[\](){}]{0,4}"
_STARTS = pattern(
    r"\#(?:\#|(?=\s|\Z))|`{3}|~{3}|-{3}|={3}|═{3}|§(?=\s*\Z)"
    r"|[A-Z][A-Z ]*+\([^()]*+\)[ ]*\["  # the header of a block, as in `MEMORY (your personal notes) [7% ...]`
    rf"|{_WRAPPED}(?i:system|human|assistant|user|developer|ai|tool)"
    rf"(?i:[ _-](?:message|prompt|note|notice|override|instructions?|turn|call|result|output|response))?"
    rf"{_WRAPPED}\s{{0,3}}[:：]",
)
_RULES = {"-": 1, "=": 1, "*": 3, "_": 3, "+": 3, "═": 3, "─": 3, "━": 3}
"""What a rule, an underline or a front-matter fence is drawn with, and how many of it make one."""


_LONGEST_ENTRY = 4000


def neutralise(text: str) -> str:
    """`text` with nothing in it that a reader of Markdown or of a prompt takes for structure."""
    return _entry(text) if len(text) <= _LONGEST_ENTRY else _made_inert(text)


@lru_cache(maxsize=512)  # every snapshot, and every answer that lists entries, renders the same ones
def _entry(text: str) -> str:
    return _made_inert(text)


def _made_inert(text: str) -> str:
    if "<" in text:
        closed = frozenset(_CLOSED.findall(text))
        text = _MARKUP.sub(r"<\\", text)
        text = _TAG.sub(lambda tag: "<\\" + tag.group()[1:] if _is_frame(tag, closed) else tag.group(), text)
    if "[" in text:
        text = _BRACKET_ROLE.sub(r"[\\", text).replace("![", "!\\[")
    return "".join([_inert(line) for line in text.splitlines(keepends=True)])


def fenced(text: str, label: str) -> str:
    """`text`, made inert, between two lines that name it `label` and that nothing in it can be taken for.

    The lines carry a random word that `text` does not contain, so two calls differ: keep what was sent.
    """
    inside = neutralise(text)
    word = secrets.token_hex(4)
    while word in inside:
        word = secrets.token_hex(16)
    name = " ".join(re.sub(r"[<>\"\\]", "", label).split())
    return f'<recalled-{word} from="{name}">\n{inside}\n</recalled-{word}>'


def _is_frame(tag: re.Match[str], closed: frozenset[str]) -> bool:
    name = tag["name"]
    if tag["closing"] or tag["attribute"] or name in closed or _FRAME.search(name):
        return True
    return bool(_RUNS.fullmatch(name) or (tag["rest"] and _LOADS.fullmatch(name)))


def _inert(line: str) -> str:
    """`line` with every backslash that it needs: a heading may also be the end of a link's definition."""
    made = _once(line)
    while made != line:
        line, made = made, _once(made)
    return made


def _once(line: str) -> str:
    begin = _end(_INDENT, line, 0)
    if _is_rule(line, begin):
        return f"{line[:begin]}\\{line[begin:]}"
    inner = _end(_CONTAINERS, line, begin)
    if _STARTS.match(line, inner) or _is_rule(line, inner):
        return f"{line[:inner]}\\{line[inner:]}"
    definition = _DEFINITION.match(line, inner)
    if definition is not None:
        return f"{line[: definition.end() - 1]}\\{line[definition.end() - 1 :]}"
    if line[inner : inner + 1] == "<" and _TAG.match(line, inner):
        return f"{line[:inner]}<\\{line[inner + 1 :]}"
    return line


def _end(pattern: re.Pattern[str], line: str, start: int) -> int:
    found = pattern.match(line, start)
    return start if found is None else found.end()


def _is_rule(line: str, start: int) -> bool:
    drawn = line[start : start + 1]
    if drawn not in _RULES:
        return False
    count = line.count(drawn, start)
    return count >= _RULES[drawn] and not line[start:].replace(drawn, "").strip()
