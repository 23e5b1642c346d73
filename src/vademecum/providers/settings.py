"""Reading one value of a provider's settings or of a tool's arguments: what was typed is taken for what it says.

Idea: settings come from YAML, from `--set key=value` and from a vendor's JSON, so a yes may be `true`, `"true"` or
`"yes"`. Invariant: the text "false" is false, and what is neither is an error that names the key.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from vademecum.errors import ConfigError, ProviderError, VademecumError
from vademecum.home import Home

_YES = frozenset({"true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0", ""})


def text(settings: Mapping[str, Any], key: str, default: str = "") -> str:
    """The setting as a text without white space around it; `default` when it is missing or empty."""
    value = settings.get(key)
    return (str(value).strip() if value is not None else "") or default


def flag(settings: Mapping[str, Any], key: str, *, default: bool) -> bool:
    """The setting as yes or no. Raises ConfigError."""
    value = settings.get(key)
    if value is None:
        return default
    said = str(value).strip().lower()
    if said not in _YES | _NO:
        raise ConfigError(f"The setting {key} is {value!r}, which is neither yes nor no.", "Write true or false.")
    return said in _YES


def number(settings: Mapping[str, Any], key: str, default: float, *, least: float, most: float) -> float:
    """The setting as a number from `least` to `most`. Raises ConfigError."""
    value = settings.get(key)
    if value is None or value == "":
        return default
    try:
        found = float(value) if not isinstance(value, bool) else float("nan")
    except (TypeError, ValueError):
        found = float("nan")
    if not least <= found <= most:
        raise ConfigError(f"The setting {key} is {value!r}; it has to be a number from {least:g} to {most:g}.")
    return found


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
