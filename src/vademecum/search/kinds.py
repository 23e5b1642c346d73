"""What kind of answer a question wants: a time, a number; and whether a text holds one.

Idea: a question that begins with "when" is answered where a time is named, one with "how many" where a number is.
Invariant: a hint only; what has none of it is ranked lower, never left out.
"""

from __future__ import annotations

import functools
import re
from typing import Literal

Kind = Literal["time", "number", ""]

_ASKS: dict[Kind, tuple[str, ...]] = {
    "time": (
        r"when|since when|(?:in |on |at )?(?:which|what) (?:date|day|month|year|time)",
        r"wann|seit wann|(?:an|in|um) welche[mnr]? (?:tag|datum|monat|jahr|zeit)",
        r"quand|depuis quand|(?:en |à )?quel(?:le)? (?:date|jour|mois|année|heure)",
        r"cu[aá]ndo|desde cu[aá]ndo|(?:en |a )?qu[eé] (?:fecha|d[ií]a|mes|año|hora)",
        r"wanneer|sinds wanneer|(?:op |in )?welke? (?:datum|dag|maand|jaar|tijd)",
        r"когда|с каких пор|в како[мй] (?:день|месяце|году|время)",
    ),
    "number": (
        r"how (?:many|much|long|often|old|far|big|tall|large|high|fast)",
        r"wie ?viele?|wie (?:lange|oft|alt|weit|groß|gross|hoch|schnell|teuer)",
        r"combien|(?:à )?quel(?:le)? (?:âge|taille|vitesse|distance)",
        r"cu[aá]nt[oa]s?|qu[eé] (?:edad|distancia|tamaño)",
        r"hoeveel|hoe (?:lang|vaak|oud|ver|groot|hoog|snel|duur)",
        r"сколько|как (?:часто|долго|далеко)",
    ),
}
_ASKS_ANYWHERE: dict[Kind, str] = {
    "time": r"什么时候|何时|几点|哪一?[天年月]|几[月号]",
    "number": r"多少|几[个次岁]|多[久长远大]",
}

_HOLDS: dict[Kind, str] = {
    "time": r"""yesterday|today|tomorrow|tonight|ago|last|next|recently|week(?:end)?s?|months?|years?|days?
        |monday|tuesday|wednesday|thursday|friday|saturday|sunday
        |january|february|march|april|may|june|july|august|september|october|november|december
        |gestern|heute|morgen|vor|letzte[nrsm]?|nächste[nrsm]?|woche[n]?|wochenende|monat(?:e|en|s)?|jahr(?:e|en)?
        |montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|januar|februar|märz|mai|juni|juli|oktober|dezember
        |hier|aujourd'hui|demain|semaines?|mois|ans|années?|dernière?|prochaine?|lundi|mardi|mercredi|jeudi|vendredi
        |samedi|dimanche|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre
        |ayer|hoy|mañana|semanas?|mes(?:es)?|años?|pasad[oa]|próxim[oa]|lunes|martes|miércoles|jueves|viernes|sábado
        |domingo|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre
        |gisteren|vandaag|geleden|vorige?|volgende?|weken|maand(?:en)?|jaar|maandag|dinsdag|woensdag|donderdag|vrijdag
        |zaterdag|zondag|januari|februari|maart|mei|augustus
        |вчера|сегодня|завтра|назад|прошл\w+|следующ\w+|недел\w+|месяц\w*|год\w*|лет|понедельник|вторник|сред[ау]
        |четверг|пятниц[ау]|суббот[ау]|воскресенье|январ\w+|феврал\w+|марта?|апрел\w+|ма[йя]|июн\w+|июл\w+|август\w*
        |сентябр\w+|октябр\w+|ноябр\w+|декабр\w+""",
    "number": r"""one|two|three|four|five|six|seven|eight|nine|ten|twelve|dozens?|hundreds?|once|twice|first|second
        |third|half|both|several|couple|eins?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|einmal|zweimal|hundert
        |deux|trois|quatre|cinq|sept|huit|neuf|dix|cent|fois|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|veces|vez
        |twee|drie|vijf|zes|zeven|acht|negen|tien|keer|два|две|три|четыре|пять|шесть|семь|восемь|девять|десять|раза?""",
}
_HOLDS_ANYWHERE: dict[Kind, str] = {
    "time": r"\b(?:19|20)\d\d\b|\d{1,2}[./]\d{1,2}|昨天|今天|明天|上周|下周|去年|今年|\d+[年月日号]",
    "number": r"\d|[一二三四五六七八九十两百]",
}


def kind_of(question: str) -> Kind:
    """What `question` asks for; empty when it is neither a time nor a number."""
    text = question.strip().casefold()
    for kind, patterns in _ASKS.items():
        if _asks(patterns).match(text) or re.search(_ASKS_ANYWHERE[kind], text):
            return kind
    return ""


def holds(text: str, kind: Kind) -> bool:
    """Whether `text` names something of that kind; False for no kind. Looks at its first 4,000 characters."""
    return bool(kind) and _holds(kind).search(text[:4_000].casefold()) is not None


@functools.cache
def _asks(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\W*(?:and |so |und |et |y |en |а |и )?(?:{'|'.join(patterns)})(?!\w)")


@functools.cache
def _holds(kind: Kind) -> re.Pattern[str]:
    words = "".join(_HOLDS[kind].split())
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)|{_HOLDS_ANYWHERE[kind]}")
