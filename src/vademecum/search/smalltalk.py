"""What carries nothing to look for: greetings, thanks, assents; and words of a question that its answer seldom has.

Idea: a text of only such words and stop words of one language asks for nothing and tells nothing,
        whatever its vector is
near to; so does one without a letter or digit. Invariant: one word of another sort makes a text
        more than small talk.
"""

from __future__ import annotations

import re

from vademecum.search.stopwords import words_of

_SAID = {
    "en": """hi hello hey hiya yo howdy greetings good morning afternoon evening night bye goodbye
        cheers thanks thank thx
        ty welcome please pls ok okay k kk yes yeah yep yup no nope nah sure right alright fine
        great nice cool perfect
        awesome excellent super wonderful lovely wow lol haha hm hmm oh ah uh noted understood agreed exactly correct
        true congratulations congrats sorry lgtm done go going ahead continue proceed next carry keep later soon see
        maybe really indeed well absolutely definitely course got it sounds looks works yay hooray
        merci way stop wait
        today job work lot much very still help there all that's it's happy glad problem worries guess think so
        love happy new day weekend""",
    "de": """hallo hi hey servus moin tschüss tschüs danke dankeschön vielen dank bitte ok okay ja
        jo jep nein nö klar
        gut guten morgen tag abend nacht prima super toll perfekt genau richtig stimmt verstanden alles einverstanden
        sicher natürlich gerne gern weiter los mach gute sehr schön schöne klasse entschuldigung sorry glückwunsch
        herzlichen na ach aha hm fertig passt bis später bald grüß gott geht geht's notiert mach's so""",
    "fr": """bonjour salut bonsoir coucou bonne nuit journée soirée merci beaucoup ok okay d'accord oui ouais non si
        parfait super génial bien très bon exactement exact compris entendu noté bravo félicitations désolé pardon
        continue vas-y allez voilà plaît s'il s'te stp svp au revoir bientôt plus tard ça va sûr certainement oh ah
        cool top chouette""",
    "es": """hola buenas buenos días tardes noches adiós chao hasta luego pronto gracias muchas ok okay vale sí si no
        claro bien muy bueno perfecto genial exacto correcto entendido anotado de acuerdo por favor sigue adelante
        continúa listo felicidades enhorabuena perdón siento lo oh ah qué tal estupendo seguro hecho""",
    "nl": """hallo hoi hey dag doei goedemorgen goedemiddag goedenavond goede morgen avond nacht bedankt dank je wel
        dankjewel u graag alsjeblieft alstublieft ok oké okay ja jawel nee prima goed mooi top super perfect precies
        klopt begrepen genoteerd akkoord zeker natuurlijk verder doe ga maar gefeliciteerd sorry leuk fijn tot later
        straks heel erg zo gaat het""",
    "ru": """привет здравствуй здравствуйте добрый доброе добрая утро день вечер ночи ночь пока свидания спасибо
        благодарю большое пожалуйста ок окей хорошо да нет ага угу ладно конечно отлично супер класс прекрасно точно
        верно понятно понял поняла ясно согласен согласна принято поздравляю извини извините давай продолжай дальше
        готово до скорого дела""",
}
_ZH = """你好 您好 早上好 晚上好 下午好 早安 晚安 早 嗨 再见 拜拜 谢谢 多谢 感谢 不客气 好 好的
    好吧 行 可以 是 是的 对 对的 没错 不 不是 不用 嗯 哦 啊 吧 了 呢 的 明白 明白了 知道了
    收到 当然 继续 请 请继续 太好了 很好 非常好 不错
    完美 恭喜 恭喜你 抱歉
    对不起 没问题 没事 你 您 吗 大家 非常 为什么 怎么 什么""".split()  # fmt: skip # noqa: SIM905
_SEEN = {language: frozenset(words.split()) | words_of(language) for language, words in _SAID.items()}
_RUN = re.compile("|".join(sorted(_ZH, key=len, reverse=True)))
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_LONGEST = 80
"""Characters above which nothing is small talk."""
_OFTEN = 3  # repeated letters: "heyyy", "soooo"
_REPEATED = re.compile(rf"(\w)\1{{{_OFTEN - 1},}}")

_PALE = """version kind type sort name names called day days date time times hour year month place
        number amount way person
    people user thing things word words long much often big large use uses used using choose chose chosen pick
    picked exactly currently current actually usually again need needs happen happens
    heißt heissen tag datum zeit art nutzen benutzen verwenden nummer
    nom jour heure numéro utiliser utilisons sorte nombre día fecha hora número tipo usar usamos
    naam dag tijd soort gebruiken имя день дата время номер версия используем 版本 名字 时间 日期"""
LIGHT = frozenset(_PALE.split())
"""Words that say what sort of thing is asked for, or that it is used; their lack in a text speaks hardly against it."""

SHORT_FORMS = {
    "db": "database", "dbs": "databases", "prod": "production", "config": "configuration", "repo": "repository",
    "repos": "repositories", "auth": "authentication", "env": "environment", "docs": "documentation",
    "k8s": "kubernetes", "pg": "postgresql", "postgres": "postgresql", "dev": "development", "admin": "administrator",
    "boss": "manager", "msg": "message", "msgs": "messages", "pw": "password", "perf": "performance",
    "dir": "directory", "lang": "language", "js": "javascript", "ts": "typescript", "pr": "pull request",
}  # fmt: skip
"""What a word that stands nowhere may stand for; read both ways."""
_LONG_FORMS = {long: short for short, long in SHORT_FORMS.items()}


def other_form(word: str) -> str:
    """The short form's long one, or the other way round; empty when `word` (lower case) has none."""
    return SHORT_FORMS.get(word) or _LONG_FORMS.get(word, "")


def is_small_talk(text: str) -> bool:
    """Whether `text` asks for nothing and tells nothing; also when it is empty."""
    if len(text) > _LONGEST:
        return not any(character.isalnum() for character in text[:4_000])
    words = [word.replace("’", "'") for word in _WORD.findall(text.casefold())]
    if not words:
        return True
    short = [_REPEATED.sub(r"\1", word) for word in words]
    for known in _SEEN.values():
        if all(word in known or plain in known for word, plain in zip(words, short, strict=True)):
            return True
    return not _RUN.sub("", "".join(words))
