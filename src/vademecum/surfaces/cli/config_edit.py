"""Changing settings in config.yaml and keys in .env, as a person would: the one line that is meant.

Idea: a change is made in the text itself, at the place that the YAML parser names; where that is not possible the file
is written from its parsed form with comments and order kept. Invariant: the result is read back and holds exactly the
changes and everything that was there before, or nothing is written; a secret goes into .env alone, readable for its
owner alone.
"""

from __future__ import annotations

import copy
import io
import json
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from typing import Any, cast

from vademecum.errors import ConfigError, ConflictError, UsageError
from vademecum.files import locked, write_atomic
from vademecum.surfaces.cli.config_text import ENV_TEMPLATE, TEMPLATE, parsed

Key = tuple[str, ...]

_BOM = b"\xef\xbb\xbf"
_WORD = re.compile(r"[A-Za-z_][\w./-]*")
_NO_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_SCALAR = re.compile(r"'(?:[^']|'')*'|\"(?:\\.|[^\"\\])*\"|[^\s\[\]{}&*!|>%@`#'\",][^\n#]*?(?=\s*(?:\s#|$))", re.M)


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to be changed. `settings`: config.yaml by path, None takes a key out; `secrets`: lines of .env."""

    config: Path
    env: Path
    settings: Mapping[Key, object] = field(default_factory=dict[Key, object])
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])

    def diff(self) -> str:
        """What would change, as a unified diff; of a secret only its name. Raises ConfigError."""
        before, after = self._texts()
        lines = list(
            unified_diff(before.splitlines(), after.splitlines(), str(self.config), str(self.config), "", "", 1, "")
        )
        there = _env_of(_read(self.env, ""))
        changed = [name for name, value in self.secrets.items() if there.get(name) != value]
        if changed:
            lines += [f"--- {self.env}", f"+++ {self.env}"]
            for name in changed:
                lines += [f"-{name}=…"] if name in there else []
                lines += [f"+{name}=…"]
        return "\n".join(lines)

    def write(self) -> list[Path]:
        """Make the change; returns the files that were written, the secrets first.

        Raises ConfigError when a file cannot be edited without changing something else, StorageError, LockedError; what
        was not written is as it was.
        """
        written: list[Path] = []
        with locked(self.config), locked(self.env):
            before, after = self._texts()
            secrets = _with_secrets(_read(self.env, ENV_TEMPLATE), self.secrets, self.env) if self.secrets else ""
            if self.secrets and secrets != _read(self.env, ""):
                write_atomic(self.env, secrets.encode(), mode=0o600)
                _only_mine(self.env)
                written.append(self.env)
            if after != before or not self.config.exists():
                bom = _BOM if self.config.exists() and self.config.read_bytes().startswith(_BOM) else b""
                write_atomic(self.config, bom + after.encode())
                written.append(self.config)
        return written

    def _texts(self) -> tuple[str, str]:
        before = _read(self.config, TEMPLATE)
        return before, edited(before, self.settings, self.config)


def _read(path: Path, missing: str) -> str:
    return path.read_bytes().decode("utf-8-sig") if path.exists() else missing


def _only_mine(path: Path) -> None:
    """A file that was there may have been readable for others."""
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        path.chmod(0o600)


def edited(text: str, changes: Mapping[Key, object], where: Path) -> str:
    """`text` of a configuration with `changes`; see Edit. Raises ConfigError."""
    for key, value in changes.items():
        tree = parsed(text, where)
        wanted = _changed(tree, key, value)
        if wanted == tree:
            continue
        for edit in (_in_line, _round_tripped):
            after = edit(text, key, value)
            if after is not None and _holds(after, wanted, where):
                text = after
                break
        else:
            raise ConfigError(
                f"{where} could not be edited without changing something else in it; nothing was changed.",
                f"Write it by hand: {'.'.join(key)}: {'(out)' if value is None else _printed(value)}",
            )
    return text


def _holds(text: str, wanted: dict[str, Any], where: Path) -> bool:
    try:
        return parsed(text, where) == wanted
    except ConfigError:
        return False


def _changed(tree: dict[str, Any], key: Key, value: object) -> dict[str, Any]:
    made = copy.deepcopy(tree)
    node: dict[str, Any] = made
    for name in key[:-1]:
        below = node.get(name)
        if not isinstance(below, dict):
            if value is None:
                return made
            below = node[name] = dict[str, Any]()
        node = cast("dict[str, Any]", below)
    if value is None:
        node.pop(key[-1], None)
    else:
        node[key[-1]] = value
    return made


def _printed(value: object) -> str:
    if isinstance(value, str) and _WORD.fullmatch(value) and value.lower() not in _NO_WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)  # JSON is YAML


def _block(key: Sequence[str], value: object, column: int) -> list[str]:
    """The lines of a new key, nested as deep as it has to be."""
    *parents, last = [_printed(name) for name in key]
    lines = [f"{' ' * (column + 2 * depth)}{name}:" for depth, name in enumerate(parents)]
    return [*lines, f"{' ' * (column + 2 * len(parents))}{last}: {_printed(value)}"]


def _loaded(text: str) -> Any:
    from ruamel.yaml import YAML

    yaml: Any = YAML()
    yaml.preserve_quotes = True
    return yaml.load(text)


def _in_line(text: str, key: Key, value: object) -> str | None:
    """The change made in the text: a value replaced, a line put in or taken out; None where that does not fit."""
    newline = "\r\n" if "\r\n" in text else "\n"
    node: Any = _loaded(text)
    lines = text.split(newline)
    if node is None:  # comments only
        return None if value is None else _appended(text, key, value, newline)
    for depth, name in enumerate(key):
        if node.fa.flow_style():
            return None
        below = node.get(name)
        if name not in node:
            return _put_in(lines, node, key[depth:], value, newline) if depth else _appended(text, key, value, newline)
        if depth == len(key) - 1:
            return _replaced(lines, node.lc.data[name], value, newline)
        if not hasattr(below, "lc") or not hasattr(below, "items") or not below:
            return None
        node = below
    return None


def _appended(text: str, key: Key, value: object, newline: str) -> str | None:
    if value is None:
        return None
    gap = "" if not text or text.endswith("\n") else newline
    return text + gap + newline.join(["", *_block(key, value, 0), ""])


def _put_in(lines: list[str], node: Any, key: Key, value: object, newline: str) -> str | None:
    """New lines in a mapping that is there: after its last key when that has one line, else before its first."""
    if value is None:
        return None
    places: list[Any] = list(node.lc.data.values())
    first, last = places[0], places[-1]
    *_, final = node.values()
    at = last[0] + 1 if last[2] == last[0] and not hasattr(final, "lc") else first[0]
    return newline.join([*lines[:at], *_block(key, value, first[1]), *lines[at:]])


def _replaced(lines: list[str], place: Sequence[int], value: object, newline: str) -> str | None:
    row, column = place[2], place[3]
    if value is None:
        return newline.join([*lines[: place[0]], *lines[place[0] + 1 :]])
    if row != place[0] or row >= len(lines):
        return None
    line = lines[row]
    found = _SCALAR.match(line, column)
    if found is None:
        return None
    return newline.join([*lines[:row], line[:column] + _printed(value) + line[found.end() :], *lines[row + 1 :]])


def _round_tripped(text: str, key: Key, value: object) -> str | None:
    """The file written from its parsed form; comments, order and quotes are kept."""
    from ruamel.yaml import YAML

    yaml: Any = YAML()
    yaml.preserve_quotes = True
    yaml.width = 100_000
    tree: Any = yaml.load(text)
    if tree is None:
        return None
    node = tree
    for name in key[:-1]:
        if not node.get(name):
            node[name] = {}
        node = node[name]
    if value is None:
        node.pop(key[-1], None)
    else:
        node[key[-1]] = value
    out = io.StringIO()
    yaml.dump(tree, out)
    return out.getvalue().replace("\n", "\r\n") if "\r\n" in text else out.getvalue()


# .env


def secret_value(name: str, value: str) -> str:
    """`value` as it can stand in .env. Raises UsageError, without the value."""
    text = value.strip()
    if not text or any(ord(character) < 32 for character in text) or text != text.strip("'\""):
        raise UsageError(
            f"The value for {name} cannot be kept in .env: it is empty, has control characters, or quotes at its ends.",
            "Nothing was changed. Give the key as the vendor shows it.",
        )
    return text


def _env_of(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.strip().removeprefix("export ").strip().partition("=")
        if equals and not name.startswith("#"):
            found[name.strip()] = value.strip().strip("'\"")
    return found


def _with_secrets(text: str, secrets: Mapping[str, str], where: Path) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(newline)
    if lines and not lines[-1]:
        lines.pop()
    for name, value in secrets.items():
        this = re.compile(rf"\s*(?:export\s+)?{re.escape(name)}\s*=")
        places = [at for at, line in enumerate(lines) if this.match(line)]
        if places:  # the last one counts
            head = this.match(lines[places[-1]])
            lines[places[-1]] = (head[0] if head else f"{name}=") + value
        else:
            lines.append(f"{name}={value}")
    after = newline.join([*lines, ""])
    if _env_of(after) != _env_of(text) | dict(secrets):
        raise ConflictError(
            f"{where} could not be edited safely; nothing was changed.", "Write the key into it by hand."
        )
    return after
