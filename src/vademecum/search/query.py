"""Reading what a person typed.

Idea: a query is a list of terms; each term knows the spellings under which the index may hold it, what it can be
relaxed to, and whether it was quoted.
Nothing a person types is an operator but quotes and a trailing `*`, and a quote that is
never closed is a character like any other. Invariant: reading never raises, and every expression that a term gives is
valid FTS5 syntax because each string in it is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from vademecum.late import dataclass, field, pattern
from vademecum.search.prepare import LONGEST_WORD, SPACELESS, fold, is_marked, spellings, symbol, well_formed
from vademecum.search.stopwords import stop_words

MOST_TERMS = 32
"""Terms of a query that are looked for; a pasted page has no more use of its further words."""
LONGEST_PHRASE = 64
"""Words, or characters of a script without spaces, of one phrase that the index is asked for."""
LONGEST_QUERY = 4_000
"""Characters of a query that are read."""

_QUOTED = pattern(r'"([^"]*)"|“([^”]*)”|„([^“”]*)[“”]|«([^»]*)»|「([^」]*)」')
_EDGES = " \t\n,;:!?()[]{}\"'<>`|*“”„«»「」…，。？！、：；（）¿¡.‘’"
_SPACELESS_RUN = pattern(f"[{SPACELESS}]+")
_CLUSTERED = pattern("[\u0e00-\u109f\u1780-\u17ff]")  # Thai, Lao, Tibetan, Burmese, Khmer: a syllable is 3 characters


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for.

    `phrases` are spellings of which any may match, `parts` what to look for instead when none does, `stop` says that
    it carries little, `quoted` that it must stand as typed, `prefix` that it may go on.
    """

    text: str
    phrases: tuple[str, ...]
    parts: tuple[Term, ...] = ()
    stop: bool = False
    quoted: bool = False
    prefix: bool = False

    @property
    def match(self) -> str:
        """The FTS5 expression that finds this term."""
        star = " *" if self.prefix else ""
        strings = [f'"{phrase.replace(chr(34), " ")}"{star}' for phrase in self.phrases]
        return strings[0] if len(strings) == 1 else f"({' OR '.join(strings)})"


@dataclass(frozen=True, slots=True)
class Query:
    """What was typed, as terms in order; `literal` is the text itself, folded and in lower case."""

    text: str
    terms: tuple[Term, ...]
    literal: str
    cut: bool = field(default=False)

    @property
    def content(self) -> tuple[Term, ...]:
        """The terms that carry something."""
        return tuple(term for term in self.terms if not term.stop)

    @property
    def stopped(self) -> tuple[Term, ...]:
        """The terms that were set aside."""
        return tuple(term for term in self.terms if term.stop)


def read(text: str) -> Query:
    """The query that `text` means; any string is one, possibly without terms."""
    cut = len(text) > LONGEST_QUERY
    text = well_formed(text[:LONGEST_QUERY]).replace("\0", " ")
    terms: list[Term] = []
    at = 0
    for quote in _QUOTED.finditer(text):
        terms += _words(text[at : quote.start()])
        inside = next((group for group in quote.groups() if group), "")
        if has_letters(fold(inside)):
            phrase = " ".join(fold(inside).split()[:LONGEST_PHRASE])
            terms.append(Term(inside.strip(), (phrase,), parts=tuple(_words(inside)), quoted=True))
        at = quote.end()
    terms += _words(text[at:])
    terms = list({(term.phrases, term.quoted): term for term in terms}.values())
    stops = stop_words([term.text.lower() for term in terms if not term.quoted])
    acronyms = not text.isupper()
    marked = [
        Term(term.text, term.phrases, term.parts, True, term.quoted, term.prefix)
        if term.text.lower() in stops
        and not term.quoted
        and not (acronyms and term.text.isupper() and len(term.text) > 1)
        else term
        for term in terms
    ]
    if len(marked) > MOST_TERMS:
        cut = True
        marked = [term for term in marked if not term.stop][:MOST_TERMS]
    return Query(text.strip(), tuple(marked), literal(text).strip(_EDGES), cut)


def literal(text: str) -> str:
    """The form in which a query and a text are compared letter by letter: folded, lower case, single spaces."""
    return " ".join(fold(text).lower().replace('"', " ").split())


def has_letters(folded: str) -> bool:
    """True when the index would keep anything of a folded text."""
    return any(character.isalnum() or "\ue000" <= character <= "\uf8ff" for character in folded)


def _words(text: str) -> list[Term]:
    terms: list[Term] = []
    for raw in text.split():
        prefix = raw.endswith("*") and len(raw.rstrip("*")) > 1
        word = fold(_trimmed(raw)).strip()
        if has_letters(word):
            terms.append(_term(word, prefix))
    return terms


def _trimmed(raw: str) -> str:
    """A word without the punctuation round it; `C++`, `C#`, `.bashrc` and `--force` keep what is part of them."""
    word = raw.rstrip(_EDGES).lstrip(_EDGES.replace(".", ""))
    if word.startswith("..") or (word.startswith(".") and not word[1:2].isalnum()):
        word = word.lstrip(".")
    return word.removesuffix("'s").removesuffix("’s") if len(word) > 4 else word


def _term(word: str, prefix: bool) -> Term:
    shown = "".join(word.split()) if _SPACELESS_RUN.search(word) else word
    word = " ".join(piece[:LONGEST_WORD] for piece in word.split()[:LONGEST_PHRASE])
    parts = tuple(_parts(word))
    if is_marked(word):
        loose = () if word.endswith(("++", "#")) else (Term(word, (word,)),)
        return Term(shown, (symbol(word),), loose)
    more = [spelling for spelling in spellings(word) if spelling.lower() != word.lower()]
    return Term(shown, (word, *more), parts, prefix=prefix)


def _parts(word: str) -> Iterable[Term]:
    """What a compound falls apart into: the pieces of a path, the pairs of a run of Chinese characters."""
    pieces: list[str] = []
    run = ""
    for token in [*word.split(), ""]:
        if len(token) == 1 and _SPACELESS_RUN.match(token):
            run += token
            continue
        pieces += [
            piece for piece in re.findall(r"[^\W_]+|[\ue000-\uf8ff]", token) if len(piece) > 1 or not piece.isascii()
        ]
        if run:
            size = 3 if _CLUSTERED.match(run) else 2
            grams = [run[start : start + size] for start in range(max(1, len(run) - size + 1))]
            pieces += (" ".join(gram) for gram in grams)
            run = ""
    if pieces != [word]:
        for piece in list(dict.fromkeys(pieces))[:MOST_TERMS]:
            yield Term(piece.replace(" ", ""), (piece,))
