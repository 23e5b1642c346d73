"""Reading one value of the settings of a provider or of a source: what was typed is taken for what it says.

Idea: settings come from YAML, from `--set key=value` and from a vendor's JSON, so a yes may be `true`, `"true"` or
`"yes"`. Invariant: the text "false" is false, and what is neither is an error that names the key. The times of a call
are held here to what can be shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vademecum.clock import is_date
from vademecum.errors import ConfigError, UsageError

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


def check_times(**times: int | None) -> None:
    """Raises UsageError, with its name, for a time (UTC ms) that is not from the year 1000 to 9998; None is none."""
    for name, at in times.items():
        if at is not None and not is_date(at):
            raise UsageError(
                f"{name} is {at:,} ms since 1970, and no time from the year 1000 to 9998. Nothing was kept.",
                "Give UTC milliseconds since 1970.",
            )
