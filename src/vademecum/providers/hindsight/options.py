"""What is configured for Hindsight: settings over the vendor's `hindsight/config.json` over the environment.

Idea: the keys are the vendor's, so that a file that is there already serves. Invariant: two users never share a bank,
whatever the template says; what is recalled by default includes what was stored a moment ago.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from vademecum.errors import ConfigError
from vademecum.home import Home
from vademecum.model import Actor
from vademecum.providers import settings as read

FILE = Path("hindsight") / "config.json"
CLOUD = "https://api.hindsight.vectorize.io"
LOCAL = "http://127.0.0.1:8888"
TYPES = ("observation", "world", "experience")
BUDGETS = ("low", "mid", "high")
SCOPES = ("shared", "combined", "per_tag", "all_combinations")
_MODES: dict[str, Literal["cloud", "local"]] = {"cloud": "cloud", "local": "local", "local_external": "local"}
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Options:
    """What holds. `every` is how many turns make one document; `tags` go with everything that is stored."""

    mode: Literal["cloud", "local"]
    url: str
    key: str
    bank: str
    template: str
    method: Literal["recall", "reflect"]
    budget: str
    max_tokens: int
    types: tuple[str, ...]
    recall_tags: tuple[str, ...]
    tags_match: str
    every: int
    in_background: bool
    tags: tuple[str, ...]
    about: str
    scopes: str
    seconds: float
    missions: Mapping[str, str]

    def bank_of(self, actor: Actor, *, channel: str = "", session: str = "") -> str:
        """The bank of an agent and user. The owner's is the one that is named; another user's is told apart."""
        if self.template:
            parts = {
                "profile": actor.agent, "workspace": self.bank, "platform": channel, "user": actor.user,
                "session": session,
            }  # fmt: skip
            filled = re.sub(r"\{(\w+)\}", lambda found: _fit(parts[found[1]]), self.template)
            base = re.sub(r"([-_.])[-_.]*", r"\1", filled).strip("-_.") or "vademecum"
        else:
            base = self.bank or _fit(f"vademecum-{actor.agent}")
        if actor.is_owner:
            return base
        named = base if "{user}" in self.template else f"{base}-{_fit(actor.user)}"
        return f"{named}-{_digits(f'{actor.agent}/{actor.user}')}"  # a-b with c is not a with b-c


def options(settings: Mapping[str, Any], env: Mapping[str, str], folder: Path | None = None) -> Options:
    """What holds, from all places. Raises ConfigError for a file or a value that cannot be used."""
    both = {
        **_file(settings, env, folder),
        **{key: value for key, value in settings.items() if value not in (None, "")},
    }

    def of(key: str, variable: str = "", default: str = "") -> str:
        return read.text(both, key) or (read.text(env, variable) if variable else "") or default

    url = of("api_url", "HINDSIGHT_API_URL")
    mode = _mode(of("mode", "HINDSIGHT_MODE").lower(), url)
    return Options(
        mode=mode,
        url=url or (CLOUD if mode == "cloud" else LOCAL),
        key=of("api_key", "HINDSIGHT_API_KEY"),
        bank=of("bank_id", "HINDSIGHT_BANK_ID"),
        template=_template(of("bank_id_template", "HINDSIGHT_BANK_ID_TEMPLATE")),
        method=cast("Literal['recall', 'reflect']", _one_of(both, "recall_prefetch_method", ("recall", "reflect"))),
        budget=_one_of(
            {**both, "recall_budget": of("recall_budget", "HINDSIGHT_BUDGET", "mid")}, "recall_budget", BUDGETS
        ),
        max_tokens=round(read.number(both, "recall_max_tokens", 4096, least=64, most=65_536)),
        types=_types(both),
        recall_tags=_words(both, "recall_tags"),
        tags_match=_one_of(both, "recall_tags_match", ("any", "all", "any_strict", "all_strict")),
        every=round(read.number(both, "retain_every_n_turns", 1, least=1, most=50)),
        in_background=read.flag(both, "retain_async", default=True),
        tags=_words(both, "retain_tags"),
        about=of("retain_context", default="conversation between the user and their assistant"),
        scopes=_one_of(both, "observation_scopes", SCOPES),
        seconds=read.number({"timeout": of("timeout", "HINDSIGHT_TIMEOUT")}, "timeout", 0, least=0, most=600),
        missions={
            sent: read.text(both, key)
            for key, sent in (("bank_mission", "reflect_mission"), ("bank_retain_mission", "retain_mission"))
            if read.text(both, key)
        },
    )


def _mode(said: str, url: str) -> Literal["cloud", "local"]:
    if said == "local_embedded":
        raise ConfigError(
            "Hindsight's mode local_embedded starts a server inside of the agent, which vademecum does not do.",
            "Start `hindsight-api` yourself, set mode to local and api_url to its address.",
        )
    if said and said not in _MODES:
        raise ConfigError(f"hindsight has no mode {said!r}.", "The modes are cloud and local.")
    return _MODES[said] if said else "local" if url and url.rstrip("/") != CLOUD else "cloud"


def _template(said: str) -> str:
    unknown = set(re.findall(r"\{(\w*)\}", said)) - {"profile", "workspace", "platform", "user", "session"}
    if unknown:
        raise ConfigError(
            f"bank_id_template of hindsight has {{{sorted(unknown)[0]}}}, which nothing fills in.",
            "Use {profile}, {workspace}, {platform}, {user} or {session}.",
        )
    return said


def _fit(text: str) -> str:
    """`text` as a part of a bank's name; one that had to be changed is told apart from others by a few digits."""
    fit = _UNFIT.sub("-", text).strip("-")
    return fit if fit == text else f"{fit}-{_digits(text)}".strip("-")


def _digits(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _one_of(settings: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str:
    """The setting as one of `choices`, of which the first is the default."""
    found = read.text(settings, key, choices[0]).lower()
    if found not in choices:
        raise ConfigError(f"{key} of hindsight is {found!r}.", f"Write one of {', '.join(choices)}.")
    return found


def _words(settings: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """A list, or a text with commas."""
    value: Any = settings.get(key) or ()
    parts = cast("list[object]", value) if isinstance(value, list | tuple) else str(value).split(",")
    return tuple(dict.fromkeys(word for part in parts if (word := str(part).strip())))


def _types(settings: Mapping[str, Any]) -> tuple[str, ...]:
    found = _words(settings, "recall_types") or TYPES
    wrong = [one for one in found if one not in TYPES]
    if wrong:
        raise ConfigError(f"recall_types of hindsight has {wrong[0]!r}.", f"The types are {', '.join(TYPES)}.")
    return found


def _file(settings: Mapping[str, Any], env: Mapping[str, str], folder: Path | None) -> dict[str, Any]:
    named = read.text(settings, "file")
    if named:
        places = [Path(named).expanduser()]
    else:
        places = [Home.find(read.text(env, "VADEMECUM_HOME")).root / FILE]
        if folder is not None:
            places.insert(0, folder / FILE.name)
        if env.get("HOME"):
            places.append(Path(env["HOME"]) / ".hindsight" / FILE.name)
    for path in places:
        if path.is_file():
            try:
                found: object = json.loads(path.read_text(encoding="utf-8-sig"))
            except (OSError, ValueError) as error:
                raise ConfigError(f"{path} cannot be read: {error}.", "Correct it; nothing was changed.") from error
            if not isinstance(found, dict):
                raise ConfigError(f"{path} holds no object.", "It is of the form {...}.")
            return cast("dict[str, Any]", found)
    if named:
        raise ConfigError(f"{named} does not exist.", "Correct the setting file of hindsight.")
    return {}
