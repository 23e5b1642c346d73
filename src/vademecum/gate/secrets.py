"""Secrets and numbers of account: found in any text, and replaced by a mark that gives nothing away.

Idea: `secrets.rules` says what a secret looks like, `secret_checks.py` whether a value that stands in the right place
is one; what is found is replaced before anything is stored. Invariant: a text in which nothing looks like a secret
comes back as it was, and redacting a redacted text changes nothing (text that hides a secret inside a secret more than
`ROUNDS` deep excepted).
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from pathlib import Path

from vademecum.gate.rulebook import Judge, Rule, Rulebook
from vademecum.late import dataclass, pattern

ROUNDS = 8
"""How often a text is looked at again after something was replaced in it."""

MARK = pattern(r"\[secret:[a-z0-9-]{1,40}:[0-9a-f]{8}\]")
"""What stands where a secret was."""

_BEFORE = 120  # bytes of context that a check is shown
_CONTINUATION = bytes(range(0x80, 0xC0))


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that must not be stored: its kind (the rule's name) and where it is, in characters of the text."""

    rule: str
    start: int
    end: int


@cache
def _book() -> Rulebook:
    return Rulebook(Path(__file__).with_name("secrets.rules"))


def rule_names() -> frozenset[str]:
    """The kinds of secret that can be found, and so switched off."""
    return frozenset(rule.name for rule in _book().rules)


def find_secrets(text: str, *, off: Collection[str] = (), allow: Collection[str] = ()) -> tuple[Secret, ...]:
    """The secrets in `text`, in order, none overlapping another.

    `off` names rules that are not applied; `allow` holds values that are not secrets although they look like one.
    What overlaps is one finding, named after the longest (of equals, after the first in the file).
    Takes time linear in the text.
    """
    if "[secret:" in text:
        text = MARK.sub(lambda mark: "\n" * len(mark[0]), text)  # no value reaches across a mark
    rules = [rule for rule in _book().awake(text.lower()) if rule.name not in off]
    if not rules:
        return ()
    data = text.encode("utf-8", "surrogatepass")
    taken = bytearray(len(data))
    found: list[tuple[int, int, int, str]] = []
    for order, rule in enumerate(rules):
        for start, end in _book().spans(rule, data, _judge(rule, data, taken)):
            if 0 in taken[start:end] and (not allow or data[start:end].decode("utf-8", "replace") not in allow):
                found.append((start, end, order, rule.name))
                taken[start:end] = b"\x01" * (end - start)
    return tuple(_in_characters(_merged(sorted(found)), data))


def redact(
    text: str, key: bytes | Callable[[], bytes], *, off: Collection[str] = (), allow: Collection[str] = ()
) -> tuple[str, tuple[Secret, ...]]:
    """`text` with each secret replaced by `[secret:kind:hmac]`, and what was replaced.

    `hmac` is the first 8 hex digits of HMAC-SHA256 over the value under `key` (the home's own): equal values get
    equal marks in one home, and no mark can be turned back or compared between homes. An entry of `allow` may also be
    those 8 digits, since after a replacement nothing else is known of the value. Offsets of the secrets are those of
    the round that found them; for a text without nested secrets, of `text` itself. A `key` that is a function is
    called when the first secret is found.
    """
    replaced: list[Secret] = []
    for _ in range(ROUNDS):
        pieces: list[str] = []
        last = 0
        for secret in find_secrets(text, off=off, allow=allow):
            value = text[secret.start : secret.end]
            key = key if isinstance(key, bytes) else key()
            made = mark(secret.rule, value, key)
            if made[-9:-1] in allow:
                continue
            pieces += (text[last : secret.start], made)
            last = secret.end
            replaced.append(secret)
        if not pieces:
            break
        text = "".join(pieces) + text[last:]
    return text, tuple(replaced)


def mark(rule: str, value: str, key: bytes) -> str:
    """What stands in the place of `value`, which `rule` found; see `redact`."""
    digest = hmac.digest(key, value.encode("utf-8", "surrogatepass"), "sha256").hex()[:8]
    return f"[secret:{rule}:{digest}]"


def _judge(rule: Rule, data: bytes, taken: bytearray) -> Judge:
    """What tells whether a value that `rule` found is a secret; one that is `taken` already is not judged again."""
    from vademecum.gate.secret_checks import CHECKS, entropy, private_key_end  # 7 ms; only when a keyword was seen

    least = float(rule.note[1:]) if rule.note[0] == "e" and rule.note[1:].isdigit() else None
    check = CHECKS.get(rule.note)

    def judge(start: int, end: int) -> tuple[int, int] | None:
        if 0 not in taken[start:end] or rule.note == "-":
            return start, end
        if rule.note == "pem":
            return start, private_key_end(data, end)
        value = data[start:end].decode("utf-8", "replace")
        if least is not None:
            return (start, end) if entropy(value) >= least else None
        before = data[max(0, start - _BEFORE) : start].decode("utf-8", "replace")
        if check is None or (part := check(value, before)) is None:
            return None
        head = start + len(value[: part[0]].encode())
        return head, head + len(value[part[0] : part[1]].encode())

    return judge


def _merged(found: list[tuple[int, int, int, str]]) -> list[tuple[int, int, str]]:
    """Overlapping spans as one, named after the longest of them."""
    merged: list[tuple[int, int, str]] = []
    longest = 0
    for start, end, _, name in found:
        if merged and start < merged[-1][1]:
            first, last, old = merged[-1]
            merged[-1] = (first, max(last, end), name if end - start > longest else old)
            longest = max(longest, end - start)
        else:
            merged.append((start, end, name))
            longest = end - start
    return merged


def _in_characters(spans: list[tuple[int, int, str]], data: bytes) -> Iterator[Secret]:
    """Byte spans in order as character spans, in one walk over `data`."""
    at = characters = 0

    def to(position: int) -> int:
        nonlocal at, characters
        characters += len(data[at:position].translate(None, _CONTINUATION))
        at = position
        return characters

    for start, end, name in spans:
        yield Secret(name, to(start), to(end))


def without_keys(text: str, headers: Mapping[str, str]) -> str:
    """What was said to a request with these headers, without the keys that they hold and without other secrets."""
    for value in headers.values():
        for part in {value, value.rpartition(" ")[2]}:
            if len(part) >= 8:
                text = text.replace(part, "***")
    return redact(text, b"a message is not kept")[0]
