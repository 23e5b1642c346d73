"""The contract suite on the fake, so that the suite itself is known to hold for a provider that does all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from contract_suite import Case, ProviderContract
from fake import Fake, Vendor, fake


class TestFake(ProviderContract):
    @pytest.fixture
    def case(self) -> Case:
        vendor = Vendor()

        @contextlib.contextmanager
        def down() -> Iterator[None]:
            vendor.fault = "down"
            yield
            vendor.fault = ""

        made: type[Fake] = fake(vendor)
        return Case(made, down=down, unconfigured=({"missing": True}, {}))
