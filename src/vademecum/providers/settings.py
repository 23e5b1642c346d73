"""Reading a provider's settings, its vendor's own file, and a tool's arguments.

Idea: one value is read by `vademecum.values`; here is what only providers have. Invariant: what is wrong in any of them
is an error that names the key.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from vademecum.errors import ConfigError, ProviderError, VademecumError
from vademecum.home import Home
from vademecum.values import flag, number, text

__all__ = ["flag", "given", "number", "ours", "text", "vendor_file"]


def vendor_file(
    settings: Mapping[str, Any], env: Mapping[str, str], name: str, *, places: Sequence[Path] = ()
) -> dict[str, Any]:
    """What the vendor's own JSON file holds; nothing when there is none.

    It is the one of the setting `file`, else the first that exists of the home's and of `places`. Raises ConfigError.
    """
    named = text(settings, "file")
    home = Home.find(text(env, "VADEMECUM_HOME")).root
    for path in [Path(named).expanduser()] if named else [home / name, *places]:
        if path.is_file():
            try:
                found: object = json.loads(path.read_text(encoding="utf-8-sig"))
            except (OSError, ValueError) as error:
                raise ConfigError(f"{path} cannot be read: {error}.", "Correct it; nothing was changed.") from error
            if not isinstance(found, dict):
                raise ConfigError(f"{path} holds no object.", "It is of the form {...}.")
            return cast("dict[str, Any]", found)
    if named:
        raise ConfigError(f"{named} does not exist.", "Correct the setting `file` of this provider.")
    return {}


def given(args: Mapping[str, Any], key: str) -> str:
    """An argument of a tool that has to be there. Raises ProviderError."""
    found = text(args, key)
    if not found:
        raise ProviderError(f"This tool needs {key}; nothing was changed.")
    return found


@contextlib.contextmanager
def ours() -> Generator[None]:
    """What is wrong with settings, files and arguments inside, as the one error of a provider."""
    try:
        yield
    except ProviderError:
        raise
    except VademecumError as error:
        raise ProviderError(error.message, error.hint) from error
