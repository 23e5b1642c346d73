"""The names in a text: people, products, places, quoted things, paths, code-like words and @handles.

Idea: what is written like a name is one; in scripts without capitals, what is quoted or stands in Latin letters.
Invariant: any text gets an answer in time linear in its length, at most 24 names; a false name costs a little space, a
missed one a little recall.
"""

from __future__ import annotations

import re
import unicodedata

MOST = 24
"""Names of one text."""
LONGEST = 80
"""Characters of one name."""
_LONGEST_TEXT = 4_000

_QUOTED = re.compile(r"[\"“„«「『`]([^\"“”„«»「」『』`\n]{2,80})[\"”“»」』`]")
_CODE = re.compile(
    r"(?:https?://|www\.)[^\s<>\"'）)]{1,200}"  # addresses
    r"|(?<![\w/])@[\w][\w.-]{0,60}\w"  # @handles
    r"|[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,60}){1,4}"  # mail
    r"|(?:~|\.{1,2})?/?(?:[\w.@-]{1,60}/){1,12}[\w.@-]{1,60}"  # paths
    r"|(?<![\w.])\.[a-z][\w-]{1,40}(?:\.\w{1,20})?"  # .bashrc
    r"|\b[A-Za-z_][\w-]{0,60}\.(?:py|js|ts|tsx|jsx|rs|go|java|c|cpp|h|md|toml|yaml|yml|json|sh|sql|txt|csv|html|css"
    r"|env|lock|cfg|ini|xml|rb|php|kt|swift|ipynb|io|ai|net|com|org|dev)\b"
    r"|(?<![\w-])--?[a-z][\w-]{1,40}"  # --flags
    r"|\b[A-Za-z]{1,30}(?:\+\+|#)"  # C++ C#
    r"|\b[A-Za-z]\w{0,40}[_][\w]{1,60}"  # snake_case, ENV_NAME
    r"|\b[a-z]{1,30}[A-Z]\w{0,60}"  # camelCase
    r"|\b[A-Za-z]{1,30}-?\d[\w.]{0,20}"  # python3, gpt-4, v1.2
    r"|(?<!\w)#\d{1,9}\b"  # #123
)
_WORD = re.compile(r"[^\W\d_][\w'’-]{0,60}", re.UNICODE)
_START = re.compile(r"(?:^|[.!?…:]\s|\n)\s*[\"'“„«(\[*-]{0,3}\s*$")
_HAN = re.compile(r"[\u3400-\u9fff\u3040-\u30ff]")
_LATIN_IN_HAN = re.compile(r"[A-Za-z][A-Za-z0-9+#.-]{1,40}")
_JOINS = frozenset("of de du des la le von van der den del di da the and & y".split())  # noqa: SIM905
_NO_NAMES = frozenset(
    """i i'm i've i'd i'll ich je yo ik я we wir nous the a an this that these those it he she they you my our your
    always never please use do don't no not when if in on at for to from and or but so then also today tomorrow
    der die das ein eine wir sie er es und oder aber nie immer wenn für bei mit nicht kein keine
    le la les un une des il elle nous vous ils et ou mais ne pas jamais toujours quand si pour avec
    el los las una unos y o pero no nunca siempre cuando para con en
    de het een wij zij hij of maar niet nooit altijd
    ok okay yes ja nein oui non sí да нет мы вы он она они это не никогда всегда если когда для и или но в на""".split()  # noqa: SIM905
)


def entities_of(text: str) -> tuple[str, ...]:
    """The names in `text`, in the order in which they stand, each once; looks at 4,000 characters."""
    text = text[:_LONGEST_TEXT]
    found: list[tuple[int, str]] = [(one.start(), one.group(1)) for one in _QUOTED.finditer(text)]
    covered = [False] * len(text)
    for one in _CODE.finditer(text):
        name = one.group().rstrip(".,;:!?'\"")
        found.append((one.start(), name))
        covered[one.start() : one.end()] = [True] * (one.end() - one.start())
    found += _capitalised(text, covered)
    if _HAN.search(text):
        found += [(one.start(), one.group()) for one in _LATIN_IN_HAN.finditer(text)]
    names: dict[str, str] = {}
    for _, name in sorted(found, key=lambda place: place[0]):
        clean = " ".join(name.split()).strip("'’")[:LONGEST]
        if len(clean) > 1 and any(letter.isalnum() for letter in clean):
            names.setdefault(clean.casefold(), clean)
    return tuple(names.values())[:MOST]


def _capitalised(text: str, covered: list[bool]) -> list[tuple[int, str]]:
    """Runs of capitalised words, such as `Anna Müller` and `Bank of England`, with their places."""
    found: list[tuple[int, str]] = []
    run: list[re.Match[str]] = []

    def close() -> None:
        while run and run[-1].group().casefold() in _JOINS:
            run.pop()
        if run:
            found.append((run[0].start(), text[run[0].start() : run[-1].end()]))
        run.clear()

    for word in _WORD.finditer(text):
        between = text[run[-1].end() : word.start()] if run else ""
        if run and between not in (" ", " & "):
            close()
        name = not covered[word.start()] and is_name(word.group())
        if name and not run and _START.search(text[max(0, word.start() - 8) : word.start()] or "\n"):
            # the first word of a sentence has a capital anyway: kept when the next one has one too, or it is odd
            name = word.group()[1:] != word.group()[1:].lower() or _next_is_name(text, word.end())
            name = name or word.group().casefold() not in _NO_NAMES
        joins = bool(run) and word.group().casefold() in _JOINS and word.group().islower()
        if name or joins:
            run.append(word)
        else:
            close()
    close()
    return found


def is_name(word: str) -> bool:
    """Whether a word is written like a name: a capital that a lower letter follows, or capitals alone."""
    if word.casefold() in _NO_NAMES or len(word) < 2:
        return False
    return unicodedata.category(word[0]) == "Lu"


def _next_is_name(text: str, at: int) -> bool:
    following = _WORD.match(text, at + 1) if text[at : at + 1] == " " else None
    return following is not None and is_name(following.group())
