"""A question to what was said: its words, whom it is about, and what is compared by meaning.

Idea: a question is not worded as its answer is. "What did Ines research last year?" is answered by Ines saying "I have
been researching ...": so names of speakers, question words and other stop words are taken off before words are counted
and before the rest is embedded, and who speaks is a signal of its own. Invariant: something to look for always remains,
and reading never raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from vademecum.search.kinds import Kind, kind_of
from vademecum.search.query import Query, Term, literal, read

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_MINE_WORDS = """i i'm i've i'd i'll me my mine myself we our us
    ich mich mir mein meine meinen meinem meiner wir uns unser unsere je j'ai moi mon ma mes nous notre nos
    yo mí mi mis nosotros nuestra nuestro ik mij mijn wij we ons onze
    я мне меня мой моя моё мое мои мы нас нам наш наша"""
_MINE = frozenset(_MINE_WORDS.split())
_YOURS = re.compile(
    r"\byou(?:'d|'ve| had| have)? (?:\w+ )?(?:said|say|tell|told|recommend|suggest|mention|give|gave|given|provide|list"
    r"|explain|describe|write|wrote|advise|propose)|\b(?:your|you made|did you|hast du|haben sie|deine?|tu as|vous avez"
    r"|votre|has dicho|dijiste|recomendaste|tu|heb je|jouw|ты|вы|твой|ваш)\b|你"
)
_MINE_ZH = re.compile("我")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is looked for.

    `terms` are its words without the `speakers` that it names; `meaning` is what is embedded of them, `full` the
    question without those names. `role` is who is meant when no speaker is named: the user where the question says
    "my", the assistant where it says "did you recommend"; empty: anybody.
    """

    query: Query
    terms: tuple[Term, ...]
    speakers: frozenset[str]
    role: str
    kind: Kind
    meaning: str
    full: str


def asked(text: str, speakers: Iterable[str] = ()) -> Asked:
    """`text` read as a question; `speakers` are the names under which somebody speaks."""
    query = read(text)
    words = {word.casefold().removesuffix("'s").removesuffix("’s") for word in _WORD.findall(query.text)}
    named = {name: _names(name) for name in speakers}
    about = {name: parts for name, parts in named.items() if any(part in words for part in parts)}
    spoken = {part for parts in about.values() for part in parts}
    content = query.content or query.terms
    terms = tuple(term for term in content if literal(term.text) not in spoken) or content
    left = [word for word in query.text.split() if literal(word.strip("?!.,;:'’\"")).removesuffix("'s") not in spoken]
    return Asked(
        query,
        terms,
        frozenset(about),
        "" if about else _role(query.text),
        kind_of(query.text),
        " ".join(term.text for term in terms) or query.text,
        " ".join(left) or query.text,
    )


def _names(name: str) -> frozenset[str]:
    """The words by which a speaker is named: of a name of several words, each of three letters or more."""
    parts = [part.casefold() for part in _WORD.findall(name)]
    return frozenset(part for part in parts if len(part) > 2 or len(parts) == 1)


def _role(text: str) -> str:
    low = text.casefold()
    if _YOURS.search(low):
        return "assistant"
    words = {word.replace("’", "'") for word in _WORD.findall(low)}
    return "user" if words & _MINE or _MINE_ZH.search(low) else ""
