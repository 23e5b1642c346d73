"""Is the value that stands where a secret would stand one?

Idea: a pattern finds the place, a check judges the value by how it is made (digits, cases, check sums), not by what it
says; notes about passwords and keys are full of values that are words, paths and names. Invariant: a check is a pure
function of a value and the text before it, in time linear in both; it answers the part that is the secret, or None.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from vademecum.late import pattern

Part = tuple[int, int]
Check = Callable[[str, str], Part | None]

_PLACEHOLDER = pattern(
    r"""(?ix) (?:x{3,}|\*+|\.{2,}|…+|•+|_+|-+|\#+|\?+|0+|<[^>]*>?|\$\{?[a-z_].*|%\w+%|\{\{?[^}]*\}*|\[[^\]]*\]?|\(.*
    |(?:your|my|the|a|an|some|new|old|insert|enter|replace|example|sample|dummy|fake|placeholder|change[-_]?(?:me|it)
    |redacted|hidden|masked|undefined|process|config|settings|self|this|env|os|secrets|vars|github|github_token)
    (?:[-_. ].*)?
    |(?:pass(?:word|wd|phrase)?|pwd|secret|token|user|key|value|none|null|nil|true|false|string|str|bytes|int|test|todo
    |foo|bar|baz|empty|required|optional|here|env|admin|username|changeme|example\w*|placeholder\w*|your\w+)\d{0,2}) \W*
    """
)
_CODE = pattern(r"[(){}<>\[\]|\\]|::|^\$|^process\.|^os\.|^self\.|->")
_PATH = pattern(r"^(?:[a-z][a-z0-9+.-]*://|~?/|\.{1,2}/|[A-Za-z]:\\|\w+@\w+[.:]|@[\w-]+/)")
_FILE = pattern(r"^[\w~./-]+\.[a-z]{2,5}\d?$")
_UUID = pattern(r"^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_HEX = pattern(r"^(?:[0-9a-f]{32,128}|[0-9A-F]{32,128})$")
_NUMBERS = pattern(r"^[\d.,:/+%-]+\W*$")
_UNITS = pattern(
    r"(?i)^\d+[-+]?(?:th|st|nd|rd|chars?|characters?|digits?|days?|hours?|mins?|minutes?|months?|weeks?|years?|bits?|"
    r"bytes?|x|k|mb|gb|px|ms|s|min|h|d|w|m|y|factor|zeichen)?[.,;!]?$"
)
_TERMS = pattern(
    r"(?i)^(?:1password|oauth2?(?:\.0)?|sha-?\d+|md5|md4|bcrypt2?\w?|pbkdf2|argon2\w*|scrypt|base\d\d|aes-?\d+|rsa-?\d+|"
    r"ed25519|id_\w+|ssh-\w+|utf-?8|sso|2fa|mfa|totp|v?\d+(?:\.\d+)+\w*|v\d+|step\d+|s3|ec2|k8s|p@ssword|http2?|ipv\d|"
    r"win\d+|windows\d+|python\d*|web3|x\.?509|n/a|tl;dr|e\.g\.?|i\.e\.?|and/or|wpa\d?|keepass\w*|bitwarden\w*)$"
)
_ABOUT = frozenset(
    re.findall(
        r"\w+",
        """
        manager managers policy policies file files store storage vault reset length hint field box form prompt minimum
        rule rules database generator hash hashing hashes must should rotation column table check strength protect
        protected safe tool app extension plugin module function flow page screen endpoint dialog requirement
        requirements expiry expiration authentication verwaltung tresor richtlinie passwortmanager passwortrichtlinie
        gestionnaire gestor менеджер wachtwoordmanager
        """,
    )
)
_IN_MESSAGES = frozenset(
    re.findall(
        r"\w+",
        """
        password passwords passphrase passwort kennwort passe contraseña wachtwoord senha must should required enter
        invalid least most characters chars zeichen field please your wrong incorrect cannot empty blank minimum maximum
        forgot reset confirm change choose set type new old repeat again login sign required optional stored hashed
        """,
    )
)
_IN_SENTENCES = _IN_MESSAGES | frozenset(
    re.findall(
        r"\w+",
        """
        a an the is are was in on at of for with from by to and or not no as if it its this that be been has have see
        ask use used keep kept need needs needed when both only every each never always can may will manager vault file
        env der die das ist im in auf bei von und oder nicht siehe frag le la les est dans sur et ou pas voir de du des
        el los es en y o no ver het een staat zie в на и не у см
        """,
    )
)
_ABOUT_CJK = ("管理", "策略", "长度")
_WORD = pattern(r"[^\W\d_]+")
_PLAIN_NOT = pattern(
    r".*(?:ed|ing|able|ible|ful|ent|ant|al|ous|ic|less|ly|ect|ory|ive|ary|en)|wrong|strong|secret|secure|simple|unique|"
    r"invalid|missing|unknown|complex|default|private|before|better|longer|shorter|another|unsafe|online|offline|nowhere"
)
_LOWER, _UPPER, _DIGIT = pattern(r"[a-zà-ÿа-яё]"), pattern(r"[A-ZÀ-ÞА-ЯЁ]"), pattern(r"\d")
_SIGN, _LETTER = pattern(r"[^\w]|_"), pattern(r"[^\W\d_]")
_PLAIN, _SAID = pattern(r"[a-z]{6,20}"), pattern(r"(?i)\bpass\w+(?: [^.:=]{0,40})? is (?:now |still )?$")
_MADE = pattern(r"\d{4,12}|(?:[a-z]{3,}-){3,7}[a-z]{3,}")  # a number, or words joined as a passphrase
_NUMBERED_WORD = pattern(r"[a-z]+(?:[-_][a-z]+)+[-_]?\d{1,3}")
_RARE_SIGN, _HARD_SIGN = pattern(r"[=?~_.+]"), pattern(r"[!@#$%^&*]")
_KEY_LINES = pattern(
    rb"(?:(?:\s|\\[rn]){0,4}[A-Za-z0-9+/=:, -]{16,200}){0,400}(?:(?:\s|\\[rn]){1,2}[A-Za-z0-9+/=]{1,76}=)?"
)
_TRAILING = ".,;:!?)]}>'\"`“”„«»」』’‘"
_QUOTES = "\"'`“”„«»‘’「『」』"


def entropy(value: str) -> float:
    """Shannon's entropy of `value`, in bits a character; 0 for an empty one."""
    length = len(value)
    return -sum(count / length * math.log2(count / length) for count in Counter(value).values()) if length else 0.0


def looks_random(value: str) -> bool:
    """True when letters and digits of `value` change places as often as they do in a generated value."""
    if _UUID.match(value):
        return True
    if _HEX.match(value):
        return entropy(value) >= 2.5
    return any(_random_run(run) for run in re.split(r"[^A-Za-z0-9]+", value) if len(run) >= 12) or (
        len(value) >= 20 and _random_run(re.sub(r"[^A-Za-z0-9]+", "", value)) and not _words(value)
    )


def _words(value: str) -> bool:
    """True when most of `value` is words with separators between them: a path, an identifier, a slug."""
    runs = [run for run in re.split(r"[^A-Za-z0-9]+", value) if run]
    plain = sum(len(run) for run in runs if run.isdigit() or re.fullmatch(r"[A-Z]?[a-z]+|[A-Z]+|[a-z]+\d{1,2}", run))
    return len(runs) > 1 and plain * 2 > len(value)


def _random_run(run: str) -> bool:
    kinds = ["d" if char.isdigit() else "u" if char.isupper() else "l" for char in run]
    present = set(kinds)
    if "d" not in present or len(present) == 1 or entropy(run) < 2.8:
        return False
    changes = sum(left != right for left, right in pairwise(kinds)) / (len(run) - 1)
    if len(present) == 3:
        return changes >= 0.4 or (changes >= 0.3 and kinds.count("d") * 6 >= len(run))
    return changes >= (0.1 if "u" in present else 0.22)


def _whole(value: str) -> Part:
    """All of `value` but quotes around it and punctuation after it."""
    start, end = 0, len(value)
    while start < end and value[start] in _QUOTES + " (<[":
        start += 1
    while end > start and value[end - 1] in _TRAILING + " ":
        end -= 1
    return start, end


def _ordinary(value: str) -> bool:
    """True for what often stands behind `key:` and is no secret: placeholders, code, paths, numbers."""
    return bool(_PLACEHOLDER.fullmatch(value) or _CODE.search(value) or _PATH.match(value) or _FILE.match(value))


def random_value(value: str, before: str = "") -> Part | None:
    """A generated value: behind a name like `api key`, at least 12 characters."""
    start, end = _whole(value)
    core = value[start:end]
    public = core.startswith("AAAA") or "public" in before[-40:].lower()  # AAAA: a public SSH key
    if end - start < 12 or public or _ordinary(core) or not looks_random(core):
        return None
    return start, end


def env_value(value: str, _before: str = "") -> Part | None:
    """The value of a variable whose name says secret: generated, or at least of three kinds of character."""
    start, end = _whole(value)
    core = value[start:end]
    if end - start < 8 or _ordinary(core) or _NUMBERS.match(core):
        return None
    return (start, end) if looks_random(core) or (_kinds(core) >= 3 and not _words(core)) else None


def mixed(value: str, _before: str = "") -> Part | None:
    """Base64 of random bytes: both cases and digits."""
    kinds = {char.isupper() for char in value if char.isalpha()}
    enough = len(kinds) == 2 and any(char.isdigit() for char in value) and entropy(value) >= 3.8
    return (0, len(value)) if enough else None


def _kinds(value: str) -> int:
    return sum(kind.search(value) is not None for kind in (_LOWER, _UPPER, _DIGIT, _SIGN))


def _strong(core: str) -> bool:
    """True for what only a password looks like: letters with digits, or with signs that no word has."""
    if not _LETTER.search(core):
        return False
    if not _DIGIT.search(core):
        inner_upper = _UPPER.search(core, 1) and _LOWER.search(core)
        strong = (inner_upper and _RARE_SIGN.search(core)) or _HARD_SIGN.search(core, 1)
        return bool(strong) and not _ordinary(core)
    if len(core) <= 24 and (_TERMS.match(core) or _UNITS.match(core) or _NUMBERS.match(core)):
        return False
    return (len(core) < 9 or "-" in core or not _NUMBERED_WORD.fullmatch(core)) and not _ordinary(core)


def strong_password(value: str, _before: str = "") -> Part | None:
    """A password with no `is` before it: only what cannot be a word."""
    start, end = _whole_password(value)
    core = value[start:end]
    strong = _strong(core) and len(core) >= 6 and any(char.isdigit() for char in core)
    return (start, end) if strong and not re.search(r"[/(]|^\W|^[a-z]+(?:[_.-]|\d{1,2}$)", core) else None


def spoken_password(value: str, before: str = "") -> Part | None:
    """What stands after `the password is`: quoted, strong, digits, or one plain word that ends the sentence."""
    start, end = _whole_password(value)
    core = value[start:end]
    if len(core) < 4:
        return None
    quoted = start > 0 and value[start - 1] in _QUOTES
    plain = end < len(value) and _PLAIN.fullmatch(core) and _SAID.search(before) and not _PLAIN_NOT.fullmatch(core)
    if not ((quoted and not _ordinary(core)) or _strong(core) or _MADE.fullmatch(core) or plain):
        return None
    return None if _PLACEHOLDER.fullmatch(core) or _about_passwords(before) else (start, end)


def _about_passwords(before: str) -> bool:
    """True when the sentence so far is about a password manager, a policy, a field: not about one password."""
    before = before[-60:]
    sentence = before[max(before.rfind(stop) for stop in "\n.!?;。") + 1 :].lower()
    return not _ABOUT.isdisjoint(_WORD.findall(sentence)) or any(word in sentence for word in _ABOUT_CJK)


def _whole_password(value: str) -> Part:
    """Like `_whole`; one `!` at the end belongs to the password when it has digits."""
    start, end = _whole(value)
    if end < len(value) and value[end] in "!" and any(char.isdigit() for char in value[start:end]):
        end += 1
    return start, end


def assigned_password(value: str, _before: str = "") -> Part | None:
    """What stands after `password:` or `password=`."""
    start, end = _whole_password(value)
    core = value[start:end]
    if len(core) < 4 or _ordinary(core):
        return None
    quoted = start > 0 and value[start - 1] in _QUOTES
    strong = _strong(core) or re.fullmatch(r"\d{6,}", core)
    return (start, end) if strong or (quoted and len(core) >= 6 and " " not in core) else None


def env_password(value: str, _before: str = "") -> Part | None:
    """The value of `DB_PASSWORD=`: anything that is no placeholder, path or code."""
    start, end = _whole_password(value)
    core = value[start:end]
    return None if len(core) < 4 or _ordinary(core) else (start, end)


def url_password(value: str, _before: str = "") -> Part | None:
    """The password of `scheme://user:password@host`."""
    plain = re.fullmatch(r"(?i)pass(?:word|wd)?|pwd|x+|\*+|\.+|…|<.*|\$.*|\{.*|%\w+%|\[.*|your.*|pw", value)
    return None if plain or (value.isdigit() and len(value) < 4) else (0, len(value))


def url_value(value: str, before: str = "") -> Part | None:
    """The value of a parameter of a URL whose name says secret; behind a bare `key`, one with letters and digits."""
    if looks_random(value) or mixed(value):
        return None if _ordinary(value) else (0, len(value))
    if _ordinary(value) or _words(value) or _NUMBERED_WORD.fullmatch(value.lower()) or _NUMBERS.match(value):
        return None
    bare = re.search(r"(?i)[?&#](?:key|id_?key|auth|code)=$", before)
    both = _LETTER.search(value) and _DIGIT.search(value) and not re.fullmatch(r"[A-Z]+-?\d+", value)
    return (0, len(value)) if both or not bare else None


def told_password(value: str, before: str = "") -> Part | None:
    """What stands after `my pw is`, to the end of the word: also one plain word."""
    start, end = _whole_password(value)
    core = value[start:end]
    if len(core) < 4 or _ordinary(core) or _about_passwords(before):
        return None
    plain = re.fullmatch(r"[a-z]{6,20}", core) and not _PLAIN_NOT.fullmatch(core)
    return (start, end) if plain or _strong(core) or _MADE.fullmatch(core) else None


def changed_passwords(value: str, before: str = "") -> Part | None:
    """`A to B` behind `password from`: both, when one is what only a password looks like, or the speaker's own."""
    cores = [word[slice(*_whole_password(word))] for word in value.split(" to ", 1)]
    quoted = value[0] in _QUOTES and not any(map(_ordinary, cores))
    own = re.search(r"(?i)\bmy\b[^.\n]*$", before) and not any(map(_PLAIN_NOT.fullmatch, cores))
    if len(cores) < 2 or not (quoted or own or any(map(_strong, cores))):
        return None
    return _whole_password(value)


def phrase(value: str, _before: str = "") -> Part | None:
    """A passphrase of four words or more that is no sentence."""
    words = re.findall(r"[^\W\d_]+", value.lower())
    return (0, len(value)) if len(set(words)) >= 4 and _IN_SENTENCES.isdisjoint(words) else None


def quoted_phrase(value: str, _before: str = "") -> Part | None:
    """A passphrase in quotes; a message about a password is none."""
    words = re.findall(r"[^\W\d_]+", value.lower())
    return (0, len(value)) if len(words) >= 2 and _IN_MESSAGES.isdisjoint(words) else None


def argument(value: str, _before: str = "") -> Part | None:
    """A password that is given to a command."""
    start, end = _whole(value)
    core = value[start:end]
    return None if len(core) < 4 or _PLACEHOLDER.fullmatch(core) or core.startswith(("-", "$", "<")) else (start, end)


def header_token(value: str, _before: str = "") -> Part | None:
    """What stands after `Bearer` or in a header for authorization."""
    start, end = _whole(value)
    core = value[start:end]
    if len(core) < 8 or _PLACEHOLDER.fullmatch(core) or not any(char.isdigit() for char in core):
        return None
    return (start, end) if looks_random(core) or (_kinds(core) >= 2 and len(core) >= 12 and not _words(core)) else None


def basic_auth(value: str, _before: str = "") -> Part | None:
    """Base64 of `user:password`."""
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return (0, len(value)) if ":" in plain and plain.isprintable() else None


def base32(value: str, _before: str = "") -> Part | None:
    """The seed of a one-time password."""
    bare = value.replace(" ", "")
    made = len(bare) >= 16 and (any(char.isdigit() for char in bare) or entropy(bare) >= 3.2)
    return (0, len(value)) if made else None


def seed_words(value: str, _before: str = "") -> Part | None:
    """12 to 24 words of a wallet: no word of a sentence among them."""
    words = re.split(r"[ ,]+", value.lower())
    common = {"the", "and", "that", "with", "are", "for", "was", "you", "your", "not", "this", "must", "have", "from"}
    return None if common & set(words) or len(set(words)) < 8 else (0, len(value))


def printable_password(value: str, before: str = "") -> Part | None:
    """A password in Chinese, Japanese or Korean text: the run of ASCII behind `密码是`."""
    start, end = _whole_password(value)
    core = value[start:end]
    good = (
        len(core) >= 4 and (_strong(core) or core.isdigit() or _kinds(core) >= 2) and not _PLACEHOLDER.fullmatch(core)
    )
    return (start, end) if good and not _TERMS.match(core) and not _about_passwords(before) else None


def card(value: str, _before: str = "") -> Part | None:
    """A payment card: brand by its first digits and length, Luhn's check digit, usual grouping."""
    digits = re.sub(r"[ -]", "", value)
    if not re.fullmatch(r"\d+(?:([ -])\d+(?:\1\d+)*)?", value) or len(set(digits)) < 4:
        return None
    groups = [len(group) for group in re.split(r"[ -]", value)]
    if len(groups) > 1 and groups not in ([4, 4, 4, 4], [4, 6, 5], [4, 6, 4], [4, 4, 4, 4, 3]):
        return None
    brand = (
        (len(digits) in {16, 19} and digits[0] == "4")
        or (len(digits) == 16 and ("51" <= digits[:2] <= "55" or "2221" <= digits[:4] <= "2720"))
        or (len(digits) == 15 and digits[:2] in {"34", "37"})
        or (len(digits) == 16 and (digits[:4] == "6011" or digits[:2] == "65" or "644" <= digits[:3] <= "649"))
        or (len(digits) == 16 and "3528" <= digits[:4] <= "3589")
        or (len(digits) == 14 and (digits[:2] in {"36", "38"} or "300" <= digits[:3] <= "305"))
        or (len(digits) in {16, 19} and digits[:2] == "62")
    )
    doubled = (int(d) * 2 for d in digits[-2::-2])
    total = sum(map(int, digits[::-2])) + sum(d - 9 if d > 9 else d for d in doubled)
    return (0, len(value)) if brand and total % 10 == 0 else None


_IBAN_LENGTHS = {
    length: set(countries.split())
    for length, countries in {
        15: "NO", 16: "BE", 18: "DK FI FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU XK MN",
        21: "CH HR LI LV", 22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HU LB NI PL SV", 29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC",
        33: "RU",
    }.items()
}  # fmt: skip


def iban(value: str, _before: str = "") -> Part | None:
    """An international account number: the country's length, and ISO 7064 mod 97 = 1."""
    length = next((size for size, countries in _IBAN_LENGTHS.items() if value[:2].upper() in countries), 0)
    bare = re.sub(r"[ -]", "", value).upper()[:length]
    if not length or len(bare) < length:
        return None
    number = "".join(str(int(char, 36)) for char in bare[4:] + bare[:4])
    if int(number) % 97 != 1:
        return None
    end = seen = 0
    while seen < length:
        seen += value[end] not in " -"
        end += 1
    return 0, end


def private_key_end(data: bytes, start: int) -> int:
    """Where the key that began before `start` ends: its END line, or the last line that can belong to it."""
    limit = start + 20_000
    if (end := data.find(b"-----END", start, limit)) >= 0:
        close = data.find(b"-----", end + 8, end + 80)
        return close + 5 if close >= 0 else end + 8
    body = re.compile(
        rb"(?:(?:\s|\\[rn]){0,4}[A-Za-z0-9+/=:, -]{16,200}){0,400}(?:(?:\s|\\[rn]){1,2}[A-Za-z0-9+/=]{1,76}=)?"
    )
    match = body.match(data, start, limit)
    return match.end() if match else start


def _digits(value: str, _before: str = "") -> Part | None:
    return 0, len(value)


CHECKS: dict[str, Check] = {
    "value": random_value,
    "random": random_value,
    "envvalue": env_value,
    "envpw": env_password,
    "mixed": mixed,
    "spokenpw": spoken_password,
    "quotedpw": spoken_password,
    "strongpw": strong_password,
    "assignedpw": assigned_password,
    "pw": env_password,
    "urlpw": url_password,
    "urlvalue": url_value,
    "toldpw": told_password,
    "changedpw": changed_passwords,
    "phrase": phrase,
    "quotedphrase": quoted_phrase,
    "pgpass": env_password,
    "argument": argument,
    "token": header_token,
    "basic": basic_auth,
    "base32": base32,
    "words": seed_words,
    "cjkpw": printable_password,
    "digits": _digits,
    "card": card,
    "iban": iban,
}
"""The notes of secrets.rules by name; a note that is not here and not `eN`, `pem` or `-` is a mistake."""
