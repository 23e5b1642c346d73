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
    """`types` says for method and path (regular expressions) the type; None: no body; two: a page, and its items."""

    def __init__(self, types: Mapping[tuple[str, str], Any]) -> None:
        self._types = types

    def __call__(self, method: str, path: str, answer: Any) -> None:
        """Raises AssertionError or pydantic's ValidationError."""
        for (verb, pattern), kind in self._types.items():
            if re.fullmatch(verb, method) and re.fullmatch(pattern, path):
                if kind is None:
                    assert answer is None, f"{method} {path} has a body"
                elif isinstance(kind, tuple):
                    _adapter(kind[0]).validate_python(answer)
                    _adapter(list[kind[1]]).validate_python(answer["items"])
                else:
                    _adapter(kind).validate_python(answer)
                return
        raise AssertionError(f"the SDK knows no {method} {path}")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


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


_IN = "/v3/workspaces/[^/]+"


@cache
def honcho() -> Judge:
    """The types of the SDK's answers, version 3 of the API."""
    from honcho import api_types as types

    page, peer, session = types.PageResponse, f"{_IN}/peers/[^/]+", f"{_IN}/sessions/[^/]+"
    return Judge({
        ("POST", "/v3/workspaces"): types.WorkspaceResponse,
        ("POST", f"{_IN}/peers"): types.PeerResponse,
        ("POST", f"{peer}/chat"): types.DialecticResponse,
        ("GET", f"{peer}/context"): types.PeerContextResponse,
        ("(GET|PUT)", f"{peer}/card"): types.PeerCardResponse,
        ("POST", f"{peer}/search"): list[types.MessageResponse],
        ("POST", f"{peer}/sessions"): (page, types.SessionResponse),
        ("POST", f"{_IN}/sessions"): types.SessionResponse,
        ("DELETE", session): dict[str, Any],
        ("POST", f"{session}/messages"): list[types.MessageResponse],
        ("POST", f"{session}/messages/list"): (page, types.MessageResponse),
        ("POST", f"{_IN}/conclusions"): list[types.ConclusionResponse],
        ("POST", f"{_IN}/conclusions/list"): (page, types.ConclusionResponse),
        ("POST", f"{_IN}/conclusions/query"): list[types.ConclusionResponse],
        ("DELETE", f"{_IN}/conclusions/[^/]+"): None,
    })  # fmt: skip


def honcho_request(method: str, path: str, body: Any) -> None:
    """What the SDK itself would be allowed to send; it forbids fields that the vendor does not know."""
    _honcho_bodies()(method, path, body)


@cache
def _honcho_bodies() -> Judge:
    from honcho import api_types as types

    peer, session = f"{_IN}/peers/[^/]+", f"{_IN}/sessions/[^/]+"
    return Judge({
        ("POST", "/v3/workspaces"): types.WorkspaceCreateParams,
        ("POST", f"{_IN}/peers"): types.PeerCreateParams,
        ("POST", f"{peer}/chat"): types.DialecticParams,
        ("POST", f"{peer}/search"): types.MessageSearchParams,
        ("POST", f"{peer}/sessions"): types.SessionListParams | None,
        ("POST", f"{_IN}/sessions"): types.SessionCreateParams,
        ("POST", f"{session}/messages"): types.MessageBatchCreateParams,
        ("POST", f"{session}/messages/list"): types.MessageListParams | None,
        ("POST", f"{_IN}/conclusions"): types.ConclusionBatchCreateParams,
        ("POST", f"{_IN}/conclusions/list"): types.ConclusionListParams | None,
        ("POST", f"{_IN}/conclusions/query"): types.ConclusionQueryParams,
        ("PUT", f"{peer}/card"): dict[str, list[str]],
        ("(GET|DELETE)", ".*"): None,
    })  # fmt: skip
