"""Typed configuration: `config.yaml`, `.env`, and overrides of a call, each value with its source.

Idea: every key has a default here, a file says only what differs, and a wrong key or type is an error with a
suggestion instead of being ignored. Invariant: loading never writes, and keys and tokens live in `.env` or the
environment, never in `config.yaml`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec

from vademecum.errors import ConfigError
from vademecum.late import pattern

CharLimit = Annotated[int, msgspec.Meta(ge=1)]

EMBEDDER = r"^(?:local|off|openai:\S+|https?://[^\s@#?]+#\S+)$"
"""What `embedder` may say. An address holds no password: keys live in .env."""


class MemoryConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Section `memory`: the bounded stores, what is saved without being asked, and the memory next to the core."""

    provider: str = ""
    """The one memory next to the core: `bank` or an external one by name; empty: files and session search only."""
    recall_mode: Literal["hybrid", "context", "tools"] = "hybrid"
    """`context`: recalled text goes into the prompt, no tools; `tools`: tools only; `hybrid`: both."""
    recall_seconds: Annotated[float, msgspec.Meta(ge=0)] = 0
    """Longest wait of a turn for recall; 0: 0.3 s for the bank, 3 s for others. A late answer serves the next turn."""
    recall_tokens: Annotated[int, msgspec.Meta(ge=50)] = 600
    """Most tokens of recalled text in one turn."""
    retain: Literal["auto", "propose", "off"] = "auto"
    """What becomes of facts found in a conversation: kept, or proposed to a person, or not looked for."""
    daily_notes: bool = False
    """Whether the agent keeps `memory/YYYY-MM-DD.md` besides the bounded core: found by recall, in no snapshot."""

    memory_enabled: bool = True
    user_profile_enabled: bool = True
    memory_char_limit: CharLimit = 2200
    user_char_limit: CharLimit = 1375
    index_char_limit: CharLimit = 4000
    consolidate_at: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.8
    write_approval: Literal["off", "untrusted", "all"] = "untrusted"
    review_every_turns: Annotated[int, msgspec.Meta(ge=0)] = 10


class BankConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Section `bank`: with whom facts are shared, and which team this home belongs to."""

    scope: Literal["agent", "user", "team", "organisation"] = "agent"
    """Where a fact lands when the call does not say."""
    team: str = ""
    organisation: str = ""


class VaultConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Section `vault`: the folder that several agents share."""

    path: Annotated[str, msgspec.Meta(min_length=1)] = "vault"
    """Relative to the home, or absolute; `~` is your home folder."""
    subfolder: str = ""
    """A folder inside of `path`, for a vault that a person already uses: nothing outside of it is written."""


class WikiSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `wiki.sources`: a folder of Markdown that is searched besides the vault, and never written to."""

    path: Annotated[str, msgspec.Meta(min_length=1)]
    """Relative to the home, or absolute; `~` is your home folder."""
    name: str = ""
    """What its pages are called by; empty: the folder's name."""
    outside: bool = False
    """Others write there: what it says is labelled, and waits for you before anything is kept because of it."""


class WikiConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Section `wiki`: the folders of pages that are searched, the vault always is; and what is compiled, and when."""

    sources: tuple[WikiSource, ...] = ()
    compile: Literal["manual", "auto"] = "manual"
    """`auto`: a process that lives long compiles when facts, decisions, notes or projects changed."""
    scopes: tuple[Literal["organisation", "team", "user", "agent"], ...] = ()
    """Scopes whose facts go into pages of the vault; empty: all while the vault is this agent's alone, else what its
    other writers may read (docs/wiki-compile.md)."""


class SessionsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Section `sessions`: how long history is kept, and when a keyed session starts afresh."""

    retention_days: Annotated[int, msgspec.Meta(ge=0)] = 0
    new_after: Literal["never", "idle", "daily"] = "never"
    idle_minutes: Annotated[int, msgspec.Meta(ge=1)] = 240


class ModelConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Section `models`: details of the chat models that `model` and `background_model` name."""

    base_url: str = ""
    context_tokens: Annotated[int, msgspec.Meta(ge=1000)] = 128_000
    timeout_seconds: Annotated[float, msgspec.Meta(gt=0)] = 120.0


class AgentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `agents`: an agent whose folder is adopted in place."""

    path: str


class ServeConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Section `serve`: where the server listens (loopback only)."""

    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8765


LOCAL_TOOLS = (
    "Bash", "BashOutput", "KillShell", "KillBash", "Read", "Edit", "MultiEdit", "Write", "NotebookEdit", "NotebookRead",
    "Grep", "Glob", "LS", "TodoWrite", "TodoRead", "ExitPlanMode", "AskUserQuestion", "Monitor",
    "shell", "local_shell", "exec", "exec_command", "unified_exec", "write_stdin", "apply_patch", "update_plan",
    "view_image", "run_shell_command", "read_file", "read_many_files", "write_file", "replace", "list_directory",
    "search_file_content", "glob", "terminal", "execute_command", "run_command", "run_in_terminal", "edit_file",
    "create_file", "str_replace_editor", "str_replace_based_edit_tool", "list_dir", "grep_search", "file_search",
    "codebase_search", "search_files", "patch", "todo", "sh", "powershell",
    "Task", "Agent", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "TaskOutput", "TaskStop", "LSP", "ToolSearch",
    "EnterPlanMode", "EnterWorktree", "ExitWorktree", "Skill", "request_user_input", "read_lints", "search_replace",
    "run_terminal_cmd", "delete_file", "todo_write", "write_todos", "grep", "update_topic", "ask_user",
    "enter_plan_mode", "exit_plan_mode",
)  # fmt: skip
"""Tools of known clients that work on the person's own machine; one that fetched something is outside all the same."""


class GateConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Section `gate`: tools that are local, cells of the policy that differ (`policy: {tier: {class: verdict}}`), and
    rules that are switched off.
    """

    local_tools: tuple[str, ...] = LOCAL_TOOLS
    trusted_connectors: tuple[str, ...] = ()
    """Memories, by name, whose recalled text counts as a local tool's and taints nothing: docs/providers.md says what
    that costs.
    """
    policy: dict[str, dict[str, str]] = {}
    proposal_days: Annotated[int, msgspec.Meta(ge=0)] = 30
    """After so many days a proposal expires; 0: it waits for ever."""
    proposals_per_source: Annotated[int, msgspec.Meta(ge=1)] = 20
    """Most proposals that wait from one source: one tool and host, one connector, one agent."""
    secrets_off: tuple[str, ...] = ()
    """Rules that find secrets and are not applied."""
    scanners_off: tuple[str, ...] = ()
    """Rules of scanners that are not applied."""
    owasp: bool = False
    """Ask OWASP's agent-memory-guard as well (extra `owasp`)."""
    allow: tuple[str, ...] = ()
    """Values that look like secrets and are none; or the eight digits of their marks."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of `config.yaml`. Counts are characters unless the name says otherwise."""

    memory: MemoryConfig = MemoryConfig()
    bank: BankConfig = BankConfig()
    providers: dict[str, dict[str, Any]] = {}
    """Settings of providers by name; each says in `vademecum provider list NAME` which it takes."""
    embedder: Annotated[str, msgspec.Meta(pattern=EMBEDDER)] = "local"
    """`local`, `off`, `openai:MODEL`, or the address of an OpenAI-compatible server followed by `#MODEL`."""
    vault: VaultConfig = VaultConfig()
    wiki: WikiConfig = WikiConfig()
    library: dict[str, dict[str, Any] | None] = {}
    """Outside sources by name, with their settings; `type` is the kind of source when the name is another word."""
    sessions: SessionsConfig = SessionsConfig()
    models: ModelConfig = ModelConfig()
    serve: ServeConfig = ServeConfig()
    gate: GateConfig = GateConfig()
    agents: dict[str, AgentConfig] = {}
    model: str = ""
    background_model: str = ""
    background_limit: Annotated[float, msgspec.Meta(ge=0)] = 0.5
    """Most that background requests may cost in one day, in US dollars; 0 switches them off."""


def load(path: Path, overrides: Mapping[str, object] | None = None) -> Config:
    """The configuration of `path` (a missing file means defaults) with `overrides` laid over it.

    `overrides` is nested like the file, or has dotted keys: `{"memory.memory_char_limit": 4000}`.
    Raises ConfigError that names the key, the file and a suggestion.
    """
    tree = _merge(_read(path), _nested(overrides or {}))
    _one_provider(tree, str(path))
    return _convert(tree, str(path))


def _one_provider(tree: Mapping[str, Any], where: str) -> None:
    """Raises ConfigError when `memory.provider` names more than one."""
    memory: object = tree.get("memory")
    named: object = cast("dict[str, Any]", memory).get("provider") if isinstance(memory, dict) else None
    names = cast("list[object]", named) if isinstance(named, list) else str(named or "").replace(",", " ").split()
    if len(names) > 1:
        raise ConfigError(
            f"{where}: memory.provider names {len(names)} memories: {' and '.join(map(str, names))}. "
            "Only one can be active next to the core.",
            f"Keep one of them, such as `provider: {names[0]}`.",
        )


def sources(path: Path, overrides: Mapping[str, object] | None = None) -> list[tuple[str, object, str]]:
    """Every key as `(dotted key, value, source)`, source being `default`, the file's name or `override`."""
    in_file, in_call = _flat(_read(path)), _flat(_nested(overrides or {}))
    rows = _flat(cast("dict[str, Any]", msgspec.to_builtins(load(path, overrides))))
    return [
        (key, value, "override" if key in in_call else path.name if key in in_file else "default")
        for key, value in rows.items()
    ]


def environment(path: Path) -> dict[str, str]:
    """The process's environment over the `KEY=value` lines of `.env`; raises ConfigError for another line."""
    return env_file(path) | dict(os.environ)


def env_file(path: Path) -> dict[str, str]:
    """The `KEY=value` lines of `.env`, none when there is no such file; raises ConfigError for another line."""
    found: dict[str, str] = {}
    if path.is_file():
        for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
            text = line.strip().removeprefix("export ").strip()
            if not text or text.startswith("#"):
                continue
            key, equals, value = text.partition("=")
            if not equals or not key.strip().isidentifier():
                raise ConfigError(f"{path}:{number} is not of the form KEY=value.", "Correct or remove that line.")
            found[key.strip()] = value.strip().strip("'\"")
    return found


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: {error}", "Correct the file; nothing was changed.") from error
    plain = _plain(text)
    if plain is not None:
        return plain
    from ruamel.yaml import YAML, YAMLError

    try:
        parser: Any = YAML(typ="safe", pure=True)
        loaded: object = parser.load(text)
    except YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {error}", "Correct the file; nothing was changed.") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path} must be a mapping of keys to values.", "`vademecum config` prints every key.")
    return _without_empty(cast("dict[str, Any]", loaded))


_LINE = pattern(
    r"((?:[ ][ ]){0,3})([a-z]\w{0,40}):"
    r"(?:[ ]+(?:([a-z][a-z0-9]{0,40})|(0|[1-9]\d{0,9})|((?:0|[1-9]\d{0,9})\.\d{1,9})|\"([ -!#-\[\]-~]*)\"))?"
    r"(?:[ ]+#.*)?[ ]*",
    re.ASCII,
)
"""A line `key:` or `key: value`, the value a word, a whole number, a decimal, or a text in quotes with no escapes."""
_NO_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def _plain(text: str) -> dict[str, Any] | None:
    """The tree of a file that has no more than sections with simple settings, as `init` and `memory setup` write it;
    else None. Loading the YAML parser costs a hook a fifth of its time.
    """
    tree: dict[str, Any] = {}
    above = [tree]
    for line in text.split("\n"):
        if not line.strip(" ") or line.lstrip(" ").startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        depth = 0 if found is None else len(found[1]) // 2
        if found is None or depth >= len(above) or not all(above[depth + 1 :]):
            return None
        del above[depth + 1 :]
        key, word, whole, decimal, quoted = found.groups()[1:]
        if key in above[depth] or key in _NO_WORDS or (word in _NO_WORDS and word not in ("true", "false")):
            return None
        if word or whole or decimal:
            value: object = word == "true" if word in _NO_WORDS else word or float(decimal or whole)
            above[depth][key] = int(whole) if whole else value
        elif quoted is not None:
            above[depth][key] = quoted
        else:
            section: dict[str, Any] = {}
            above[depth][key] = section
            above.append(section)
    return tree if all(above[1:]) else None


def _without_empty(tree: dict[str, Any]) -> dict[str, Any]:
    """A section that holds only comments reads as None; that means its defaults."""
    return {key: value for key, value in tree.items() if value is not None}


def _nested(overrides: Mapping[str, object]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in overrides.items():
        *parents, leaf = key.split(".")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[leaf] = dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else value
    return tree


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            merged[key] = _merge(cast("dict[str, Any]", below), cast("dict[str, Any]", value))
        else:
            merged[key] = value
    return merged


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, object]:
    rows: dict[str, object] = {}
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            rows |= _flat(cast("dict[str, Any]", value), f"{prefix}{key}.")
        else:
            rows[prefix + key] = value
    return rows


def _convert(tree: dict[str, Any], where: str) -> Config:
    try:
        return msgspec.convert(tree, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {error}.", _suggestion(str(error))) from error


def _suggestion(message: str) -> str:
    import difflib  # only on the way to an error

    if "`$.embedder`" in message:
        return "Write `local`, `off`, `openai:MODEL`, or the address of a server without a key, followed by #MODEL."
    if "unknown field" in message:
        wrong = message.split("`")[1]
        known = [key.rsplit(".", 1)[-1] for key in _flat(cast("dict[str, Any]", msgspec.to_builtins(Config())))]
        known += [field for field in Config.__struct_fields__ if field not in known]
        close = difflib.get_close_matches(wrong, known, n=1)
        if close:
            return f"Did you mean `{close[0]}`? `vademecum config` prints every key."
    return "`vademecum config` prints every key with its default."
