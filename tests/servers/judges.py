"""Whether what a stub answers is what the vendor's own SDK would read: its types are the judge.

Idea: each answer of a stub goes through the type that the SDK has for that route, checked and not only read. Invariant:
a successful answer of a route that no type is known for is a fault of the stub.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter


class Judge:
    """`types` says for method and path (a regular expression) the type of the answer; None: an empty body."""

    def __init__(self, types: Mapping[tuple[str, str], Any]) -> None:
        self._types = types
        self.seen: set[tuple[str, str]] = set()

    def __call__(self, method: str, path: str, answer: Any) -> None:
        """Raises AssertionError or pydantic's ValidationError."""
        for (verb, pattern), kind in self._types.items():
            if verb == method and re.fullmatch(pattern, path):
                self.seen.add((verb, pattern))
                if kind is None:
                    assert answer is None, f"{method} {path} answers a body"
                else:
                    TypeAdapter(kind).validate_python(answer)
                return
        raise AssertionError(f"the SDK knows no {method} {path}")


@cache
def supermemory() -> Judge:
    """The types of the SDK of today, version 5."""
    from supermemory import types

    ns = "/ns/[^/]+"
    return Judge({
        ("GET", "/namespaces|/ns"): types.NamespaceList,
        ("POST", f"{ns}/document"): types.DocumentRef,
        ("DELETE", f"{ns}/document"): types.DeleteDocumentsResult,
        ("DELETE", f"{ns}/memories"): types.ForgetResult,
        ("POST", f"{ns}/search"): types.SearchResponse,
        ("POST", f"{ns}/profile"): types.ProfileResponse,
        ("POST", f"{ns}/list/(documents|memories|chunks)"): types.ListResponse,
    })  # fmt: skip
