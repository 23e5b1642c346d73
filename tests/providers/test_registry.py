"""A name means one provider; what cannot be loaded says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fake import Installed, Vendor
from memory_package import install

from vademecum.errors import ConfigError, ProviderError
from vademecum.providers import registry
from vademecum.providers.contract import Provider
from vademecum.providers.registry import BUILT_IN, names, provider_class


def test_every_built_in_name_is_a_class_of_that_name_or_says_what_to_install() -> None:
    for name in BUILT_IN:
        try:
            found = provider_class(name)
        except ProviderError as error:
            assert error.hint
            continue
        assert issubclass(found, Provider)
        assert found.name == name
        assert found.place in ("local", "service")


def test_finding_one_imports_none_of_the_others() -> None:
    program = (
        "import sys; from vademecum.providers.registry import BUILT_IN, provider_class; provider_class('holographic');"
        "print([n for n in BUILT_IN if n != 'holographic' and f'vademecum.providers.{n}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_a_package_brings_its_own(vendor: Vendor) -> None:
    assert provider_class("fake") is Installed
    assert "fake" in names()
    assert names()[: len(BUILT_IN)] == BUILT_IN


def test_an_unknown_name_suggests_the_nearest(vendor: Vendor) -> None:
    with pytest.raises(ConfigError) as caught:
        provider_class("fakee")
    assert caught.value.hint == "Did you mean `fake`?"


def test_two_packages_with_one_name_are_an_error_that_names_both(tmp_path: Path, vendor: Vendor) -> None:
    sys.path.insert(0, str(install(tmp_path / "more", "fake", "fake:Installed", "other-memory")))
    try:
        with pytest.raises(ConfigError, match="fake-memory and other-memory"):
            provider_class("fake")
    finally:
        del sys.path[0]


@pytest.mark.parametrize(
    ("target", "why"),
    [("no_such_module:X", "No module named"), ("fake:Vendor", "no subclass"), ("fake:Missing", "Missing")],
)
def test_a_package_that_cannot_be_loaded_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, why: str
) -> None:
    monkeypatch.syspath_prepend(str(install(tmp_path / "broken", "broken", target, "broken-memory")))
    with pytest.raises(ProviderError, match=why):
        provider_class("broken")


def test_the_group_is_the_one_that_the_docs_name() -> None:
    assert registry.GROUP == "vademecum.providers"
