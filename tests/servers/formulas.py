"""A small part of Airtable's formula language: what a filter of records is written in.

Idea: read by descent, evaluated for one record. Invariant: what is not of the language is an error, as it is for the
real service; a text between quotes is a text, whatever stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_TOKENS = re.compile(
    r"""\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<number>\d+(?:\.\d+)?)|(?P<field>\{(?:[^}\\]|\\.)*\})"""
    r"""|(?P<name>[A-Z_]+)|(?P<sign><=|>=|!=|[=<>&(),+]))""",
    re.DOTALL,
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class FormulaError(Exception):
    """Not a formula, or one with a field that the table does not have."""


@dataclass
class Row:
    """One record: its fields, and when it was made and changed (None: never)."""

    fields: Mapping[str, Any]
    known: frozenset[str]
    created: datetime
    modified: datetime | None


def holds(formula: str, row: Row) -> bool:
    """Whether the formula lets the record through. Raises FormulaError."""
    reader = _Reader(_tokens(formula), row)
    value = reader.comparison()
    if reader.at != len(reader.tokens):
        raise FormulaError(f"unexpected {reader.tokens[reader.at][1]}")
    return _true(value)


def _tokens(formula: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while formula[at:].strip():
        match = _TOKENS.match(formula, at)
        if match is None or match.lastgroup is None:
            raise FormulaError(f"unexpected {formula[at : at + 10]!r}")
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]], row: Row) -> None:
        self.tokens, self.row, self.at = tokens, row, 0

    def take(self, *signs: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at] in [("sign", sign) for sign in signs]:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    def comparison(self) -> Any:
        left = self.joined()
        while sign := self.take("=", "!=", "<", ">", "<=", ">="):
            left = _compared(sign, left, self.joined())
        return left

    def joined(self) -> Any:
        left = self.term()
        while self.take("&"):
            left = _text(left) + _text(self.term())
        return left

    def term(self) -> Any:
        if self.at >= len(self.tokens):
            raise FormulaError("unexpected end")
        kind, said = self.tokens[self.at]
        self.at += 1
        match kind:
            case "text":
                return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), said[1:-1], flags=re.DOTALL)
            case "number":
                return float(said)
            case "field":
                name = said[1:-1].replace("\\}", "}")
                if name not in self.row.known:
                    raise FormulaError(f"Unknown field names: {name.lower()}")
                return self.row.fields.get(name)
            case "name":
                return self.call(said)
            case _ if said == "(":
                value = self.comparison()
                if not self.take(")"):
                    raise FormulaError("a bracket is missing")
                return value
            case _:
                raise FormulaError(f"unexpected {said}")

    def call(self, name: str) -> Any:
        if not self.take("("):
            raise FormulaError(f"unexpected {name}")
        given: list[Any] = []
        while not self.take(")"):
            given.append(self.comparison())
            if not self.take(",") and self.tokens[self.at : self.at + 1] != [("sign", ")")]:
                raise FormulaError("a bracket is missing")
        if name == "LAST_MODIFIED_TIME":
            return self.row.modified
        if name == "CREATED_TIME":
            return self.row.created
        if name not in _FUNCTIONS:
            raise FormulaError(f"unknown function {name}")
        return _FUNCTIONS[name](*given)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_text(one) for one in value)
    if isinstance(value, dict):
        return str(value.get("name") or value.get("filename") or "")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def _true(value: Any) -> bool:
    return value not in (None, "", 0, False, [])


def _compared(sign: str, left: Any, right: Any) -> bool:
    if sign in ("=", "!="):
        return (_text(left) == _text(right)) == (sign == "=")
    one, other = (float(value or 0) for value in (left, right))
    return {"<": one < other, ">": one > other, "<=": one <= other, ">=": one >= other}[sign]


def _after(one: datetime | None, other: datetime) -> bool:
    return one is not None and one > other


def _search(wanted: str, text: str) -> int | None:
    return text.find(wanted) + 1 or None


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "AND": lambda *given: all(_true(one) for one in given),
    "OR": lambda *given: any(_true(one) for one in given),
    "NOT": lambda one: not _true(one),
    "LOWER": lambda one: _text(one).lower(),
    "SEARCH": lambda wanted, text: _search(_text(wanted), _text(text)),
    "IS_AFTER": _after,
    "DATETIME_PARSE": lambda text: datetime.fromisoformat(text),
}
