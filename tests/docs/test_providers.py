"""docs/providers.md describes the contract as it is: every method with its parameters, every field, and no others."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

from vademecum.errors import ProviderError
from vademecum.providers import contract
from vademecum.providers.breaker import ANSWERED, FAILURES
from vademecum.providers.budget import REPEATED_AFTER
from vademecum.providers.contract import Provider
from vademecum.providers.manager import REQUEST_SECONDS
from vademecum.providers.registry import BUILT_IN
from vademecum.providers.toolbox import TOKENS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "providers.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `(\w+)\(([^)]*)\)` \|", PAGE, re.M))


def parameters(method: object) -> str:
    """The parameters of a method as the page writes them: those with a default that providers may leave out by name."""
    found = [one for one in inspect.signature(method).parameters.values() if one.name != "self"]  # type: ignore[arg-type]
    star = next((at for at, one in enumerate(found) if one.kind is one.KEYWORD_ONLY), None)
    names = [one.name for one in found]
    return ", ".join(names if star is None else [*names[:star], "*", *names[star:]])


def test_every_method_is_described_with_its_parameters() -> None:
    methods = {name: value for name, value in vars(Provider).items() if inspect.isroutine(getattr(Provider, name))}
    public = {name: getattr(Provider, name) for name in methods if not name.startswith("_")}
    assert {name: parameters(method) for name, method in public.items()} == ROWS


def test_every_field_of_every_type_is_named() -> None:
    types = [value for value in vars(contract).values() if dataclasses.is_dataclass(value)]
    own = [one for one in types if getattr(one, "__module__", "") == contract.__name__]
    assert len(own) == 7
    for one in own:
        missing = [field.name for field in dataclasses.fields(one) if f"`{field.name}`" not in PAGE]
        assert missing == [], one
    error = inspect.signature(ProviderError.__init__).parameters
    assert [name for name in ("passing", "retry_after", "status") if name not in error or f"`{name}`" not in PAGE] == []


def test_names_and_numbers_are_those_of_the_code() -> None:
    assert [name for name in BUILT_IN if f"`{name}`" not in PAGE] == []
    assert all(str(status) in PAGE for status in ANSWERED)
    assert (FAILURES, REPEATED_AFTER, TOKENS, REQUEST_SECONDS) == (3, 4, 1500, 30.0)
    assert re.search(r"last four turns.*After three failures", PAGE, re.S)
