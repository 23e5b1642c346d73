"""The redactor of one home: secrets go out and marks come in before anything is stored, sent or logged.

Idea: `gate/secrets.py` finds, this gives it the home's key and configuration, and walks through what is no plain text
(JSON, origins). Invariant: what is cleaned once stays as it is; the key is made when the first secret is met, and no
text without a secret touches the disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from vademecum.config import GateConfig
from vademecum.errors import ConfigError, StorageError
from vademecum.late import dataclass, pattern, replace

if TYPE_CHECKING:
    from vademecum.gate.secrets import Secret
    from vademecum.model import Origin

KEY_NAME = "secret.key"
"""The file of the key, in the home."""

_KEY_BYTES = 32
_CONTEXT = 40  # characters of what stands before a value in JSON: its key, the argument before it


_NEAR, _KEY_LENGTH = 160, 8_192
"""Characters around what looks like a secret, and behind the first line of a key, that are looked at with it."""
_NAMES = (
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "auth",
    "credential",
    "login",
    "pin",
    "code",
    "wort",
    "contrase",
    "clave",
    "mot de",
)
"""What stands before a value that may be short."""
_NUMBER = pattern(r"\d[\d -]{10,}\d")
_LONG = 14
REMEMBERED, LONGEST_REMEMBERED = 1024, 4000
"""Texts without a secret that are kept in mind, since every snapshot reads the same entries; and their characters."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and the kinds (rules) of those that were replaced, in order."""

    text: str
    kinds: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What the author must be told; empty when nothing was replaced."""
        return told(self.kinds)


def told(kinds: Sequence[str]) -> str:
    """The sentence about secrets of these kinds that were replaced; empty for none."""
    if not kinds:
        return ""
    one = len(kinds) == 1
    what = "A secret was replaced by a mark" if one else f"{len(kinds)} secrets were replaced by marks"
    kept = "the value is not kept" if one else "the values are not kept"
    return (
        f"{what} before anything was stored ({', '.join(dict.fromkeys(kinds))}): {kept}. Do not try to save it "
        "in another way; name where it can be looked up."
    )


class Redactor:
    """Replaces secrets by `[secret:kind:hmac]`, with the key of the home that `key_file` lies in. Thread-safe."""

    def __init__(self, key_file: Path, config: GateConfig | None = None) -> None:
        """Raises ConfigError when `gate.secrets_off` names a rule that does not exist."""
        self._key_file = key_file
        self._config = config or GateConfig()
        self._harmless: set[str] = set()
        if self._config.secrets_off:
            from vademecum.gate.secrets import rule_names  # reads the rules

            check_rules("gate.secrets_off", self._config.secrets_off, rule_names())

    def find(self, text: str) -> tuple[Secret, ...]:
        """The secrets in `text`, in order; also those that `allow` names by the digits of their mark."""
        from vademecum.gate.secrets import find_secrets  # reads the rules

        return find_secrets(text, off=self._config.secrets_off, allow=self._config.allow)

    def redact(self, text: str) -> Redacted:
        """`text` with a mark in the place of each secret. Raises StorageError when the key cannot be made or read."""
        if text in self._harmless:
            return Redacted(text)
        from vademecum.gate.secrets import redact  # reads the rules

        clean, secrets = redact(text, lambda: self._key, off=self._config.secrets_off, allow=self._config.allow)
        if not secrets and len(text) <= LONGEST_REMEMBERED:  # a secret itself is never kept in mind
            if len(self._harmless) >= REMEMBERED:
                self._harmless.clear()
            self._harmless.add(text)
        return Redacted(clean, tuple(secret.rule for secret in secrets))

    def clean(self, text: str) -> str:
        """The text of `redact`."""
        return self.redact(text).text

    def part(self, text: str, start: int, end: int) -> str:
        """What stands from `start` to `end` of `text`, without the secrets in it and those that reach into it."""
        done: list[str] = []
        for secret in self.find(text):
            if secret.end <= start or secret.start >= end:
                continue
            made = self._mark(secret.rule, text[secret.start : secret.end])
            if made:
                done += [text[start : max(start, secret.start)], made]
                start = min(end, secret.end)
        return "".join([*done, text[start:end]])

    def hidden(self, text: str) -> str:
        """`text` with blanks in the place of its secrets, of the same length and in the same lines: to be indexed.

        It looks only near what is long and has digits, behind what is called a key or a password, and into keys of
        several lines, so that ordinary text costs next to nothing.
        """
        spans = [
            (start + secret.start, start + secret.end)
            for start, end in _likely(text)
            for secret in self.find(text[start:end])
            if self._mark(secret.rule, text[start + secret.start : start + secret.end])
        ]
        if not spans:
            return text
        shown = list(text)
        for start, end in spans:
            shown[start:end] = [" " if "!" <= one <= "~" else one for one in shown[start:end]]
        return "".join(shown)

    def session(self, name: str | None) -> str | None:
        """What a conversation is called, as it is kept; ids that were made at random stay as they are."""
        if name is None or (len(name) == 26 and name.isalnum() and name.isupper()):
            return name
        return name if len(name) == 36 and len(name.replace("-", "")) == 32 else self.clean(name)

    def value(self, value: Any, kinds: list[str] | None = None) -> Any:
        """A JSON value with all its texts cleaned, each read with the name or argument that stands before it.

        The kinds of what was replaced are appended to `kinds`.
        """
        return self._walked(value, "", [] if kinds is None else kinds)

    def origin(self, origin: Origin) -> Origin:
        """`origin` without the secrets of addresses and names in it."""
        return replace(self._part(origin), derived=tuple(map(self._part, origin.derived)))

    def _part(self, part: Origin) -> Origin:
        return replace(part, name=self.clean(part.name), item=self.clean(part.item)) if part.name or part.item else part

    def _walked(self, value: Any, before: str, kinds: list[str]) -> Any:
        if isinstance(value, str):
            return self._within(value, before, kinds)
        if isinstance(value, Mapping):
            items = cast("Mapping[Any, Any]", value).items()
            return {
                self._walked(key, "", kinds): self._walked(item, f'"{key}": "' if isinstance(key, str) else "", kinds)
                for key, item in items
            }
        if isinstance(value, list | tuple):
            cleaned: list[Any] = []
            last = before
            for item in cast("Sequence[Any]", value):
                cleaned.append(self._walked(item, last, kinds))
                last = f"{item} " if isinstance(item, str) and len(item) <= _CONTEXT else before
            return cleaned
        return value

    def _within(self, text: str, before: str, kinds: list[str]) -> str:
        """`text` cleaned as it stands behind `before`; nothing of `before` is changed."""
        before = before if len(before) <= _CONTEXT + 5 and text.strip() else ""
        whole = f"{before}{text}" + ('"' if before.endswith('"') else "")
        if before and (inside := [secret for secret in self.find(whole) if secret.end > len(before)]):
            start = max(0, inside[0].start - len(before))
            end = min(len(text), inside[-1].end - len(before))
            if len(inside) == 1 and end > start:
                mark = self._mark(inside[0].rule, text[start:end])
                if mark:
                    kinds.append(inside[0].rule)
                    text = f"{text[:start]}{mark}{text[end:]}"
        done = self.redact(text)
        kinds += done.kinds
        return done.text

    def _mark(self, rule: str, value: str) -> str:
        from vademecum.gate.secrets import mark

        made = mark(rule, value, self._key)
        return "" if made[-9:-1] in self._config.allow else made

    @cached_property
    def _key(self) -> bytes:
        return key_of(self._key_file)


def _likely(text: str) -> Iterator[tuple[int, int]]:
    """The parts of `text` in which a secret may stand, in order and apart from one another."""
    first = last = -1
    for start, end in sorted(_places(text)):
        if last < 0 or start > last:
            if last > 0:
                yield max(0, first), last
            first = start
        last = max(last, end)
    if last > 0:
        yield max(0, first), last


def _places(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for word in text.split():
        if len(word) >= _LONG and any(map(str.isdigit, word)):
            at = text.index(word, at)
            yield at - _NEAR, at + len(word) + _NEAR
            at += len(word)
    at = text.find("BEGIN ")
    while at >= 0:
        yield at - _NEAR, at + _KEY_LENGTH
        at = text.find("BEGIN ", at + 1)
    for found in _NUMBER.finditer(text):
        yield found.start() - _NEAR, found.end() + _NEAR
    lowered = text.lower() if len(text.lower()) == len(text) else text
    for mark in (":", "=", " is "):
        at = lowered.find(mark)
        while at >= 0:
            before = lowered[max(0, at - 24) : at]
            if any(name in before for name in _NAMES):
                yield at - _NEAR, at + _NEAR
            at = lowered.find(mark, at + 1)


def key_of(path: Path) -> bytes:
    """The home's key at `path`, made when there is none. Raises StorageError, LockedError."""
    from vademecum.files import locked, write_atomic

    key = _read_key(path)
    if key is None:
        with locked(path):
            key = _read_key(path)
            if key is None:
                import secrets

                key = secrets.token_bytes(_KEY_BYTES)
                write_atomic(path, key.hex().encode() + b"\n", mode=0o600)
    return key


def _read_key(path: Path) -> bytes | None:
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _bad_key(path) from error
    if len(key) != _KEY_BYTES:
        raise _bad_key(path)
    return key


def _bad_key(path: Path) -> StorageError:
    return StorageError(
        f"{path} is no key, so that the secret in this text could not be replaced. Nothing was stored.",
        "Bring the file back from a copy, or remove it: a new one is then made, and equal secrets get other marks.",
    )


def check_rules(setting: str, given: Sequence[str], known: frozenset[str]) -> None:
    """Raises ConfigError for a rule that is not `known`."""
    for name in given:
        if name not in known:
            import difflib  # only on the way to an error

            close = difflib.get_close_matches(name, known, n=1)
            raise ConfigError(
                f"{setting}: there is no rule {name!r}.",
                f"Did you mean `{close[0]}`?" if close else f"The rules are: {', '.join(sorted(known))}.",
            )
