"""Words that carry a sentence and not what it is about, in the main languages.

Idea: a question in a whole sentence is read as its content words. Only the words of one language are dropped from a
query, the one with the most of them in it, so that "die hard" in an English question keeps its "die". Invariant: a
query never loses all its words here.
"""

from __future__ import annotations

from collections.abc import Sequence

_LANGUAGES = {
    "en": """a about after again all also am an and any are as at be because been before being but by can could
        did do does doing done don't for from had has have having he her here hers him his how i i'd i'll
        i'm i've if in into is isn't it it's its itself just let me mine my myself no nor not of off on once
        only or other our ours out over own please same she should so some such than that that's the their
        theirs them then there these they this those through to too under until up us very was we we'd we'll
        we're we've were what what's when where which while who whom whose why will with would you you're
        your yours tell told said say talk talked talking discuss discussed mention mentioned remember find
        show give know ever anything something kind many much""",
    "de": """aber alle als also am an auch auf aus bei beim bin bis bist da damit dann das dass dein deine dem
        den der des die dies diese dieser dieses doch dort du durch ein eine einem einen einer eines er es
        etwas euch für hab habe haben hat hatte hatten hier ich ihm ihn ihr ihre im in ist ja jetzt kann
        kein keine können mal man mein meine mich mir mit nach nicht noch nun nur ob oder ohne schon sein
        seine sich sie sind so über um und uns unser unsere unter vom von vor war waren warum was wegen weil
        wenn wer werden wie wieder wir wird wann wo wollte wurde zu zum zur welche welcher welches worüber gesagt
        gesprochen""",
    "fr": """a ai au aux avec avons avez avait c'est ce ces cet cette comme comment dans de des dit donc du elle
        elles en es est et eu il ils j'ai je la le les leur lui ma mais me mes moi mon ne nos notre nous on
        ont ou où par parlé pas plus pour pourquoi qu'est que quel quelle quelles quels qui sa sans se ses
        si son sont sur ta te tes toi ton tu un une vos votre vous y été quand quoi""",
    "es": """a al algo ante como con contra cual cuando cuándo cuál cómo de del desde donde dónde dije dijo e el
        él ella ellos en entre era es esa ese eso esta está este esto fue ha había han hay he hemos la las
        le les lo los me mi mis más muy nada ni no nos nosotros nuestra nuestro o para pero por porque que
        qué quien quién se ser si sí sin sobre son su sus también te ti tiene tu tus un una uno unos y ya yo
        hablamos""",
    "it": """a abbiamo ad ai al alla alle anche che chi ci come con cosa cui da dal dalla dei del della delle di
        dove e è era gli ha hai hanno ho i il in io la le lei lo loro lui ma mi mia mio ne nei nel nella no
        noi non nostra nostro o per perché più quale quali quando quello questa questo qui se sei si sono su
        sua sul sulla suo ti tra tu tua tuo un una uno vi voi detto parlato""",
    "pt": """a ao aos as até com como da das de dela dele do dos e é ela ele eles em entre era essa esse esta
        está este eu foi há isso isto já lhe mais mas me meu minha muito na nas não nem no nos nossa nosso o
        onde os ou para pela pelo por porque qual quando que quem se sem ser seu seus só sobre sua suas
        também te tem tinha um uma você vocês falamos disse""",
    "nl": """aan al als bij dan dat de der deze die dit doen door dus een en er ging had heb hebben heeft het hij
        hoe hun ik in is ja je jij kan maar me met mij mijn naar niet nog nu of om omdat onder ons onze ook
        op over te toen tot uit van veel voor waar waarom want waren was wat we wel welke werd wie wij wil
        worden zal ze zei zich zij zijn zo zonder zou""",
    "ru": """а без бы был была были было в вам вас во вот все всё вы где да для до его ее её если есть еще же за
        и из или им их к как какой какая какие когда который кто ли мы мне мой моя на надо нас не него нет
        ни но ну о об он она они от по почему при про с со сказал так там то тогда того тоже только ты у уже
        что чтобы это этот эта я говорили решили""",
}
_WORDS = {language: frozenset(words.split()) for language, words in _LANGUAGES.items()}


def words_of(language: str) -> frozenset[str]:
    """The stop words of one language."""
    return _WORDS[language]


def stop_words(words: Sequence[str]) -> frozenset[str]:
    """Those of `words` (lower case) that carry nothing; empty when nothing else would remain."""
    given = frozenset(words)
    language = max(_WORDS, key=lambda name: (len(given & _WORDS[name]), name == "en"))
    found = given & _WORDS[language]
    if found == given or (len(found) == 1 and language != "en"):  # "world war" is not German
        return frozenset()
    return found
