"""config.yaml as `init` writes it, and the edit that adopts an agent.

Idea: the template explains every key and sets none, so that the file says only what differs from the defaults.
Invariant: this edit adds one entry to `agents`; every other byte that a person wrote stays, and the result is read back
and compared before it is kept.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, cast

from vademecum.config import LOCAL_TOOLS
from vademecum.errors import ConfigError, RefusedError
from vademecum.files import locked, write_atomic

TEMPLATE = """\
# Vademecum's configuration. Every key is optional; the values shown behind a # are the defaults.
# To change one, remove the `# ` before it and before the section that it stands in.
# `vademecum config` prints every key with its value and where the value comes from.

# The memory next to the core: `bank` learns facts from your conversations and recalls them, on this machine, with or
# without a model. An external one by its name: `vademecum memory setup`. "" switches it off: files and search only.
memory:
  provider: bank
#   recall_mode: hybrid           # context: recalled text in the prompt, no tools; tools: tools only; hybrid: both
#   recall_seconds: 0             # longest wait of a turn for recall; 0: 0.3 s for the bank, 3 s for others
#   recall_tokens: 600            # most tokens of recalled text in one turn
#   retain: auto                  # facts found in conversations: auto (kept) | propose (wait for you) | off
#   daily_notes: false            # true: memory/YYYY-MM-DD.md without bound, besides the bounded core
#   memory_enabled: true          # false: the agent's own store is neither in the prompt nor writable
#   user_profile_enabled: true    # false: likewise for the store about the user
#   memory_char_limit: 2200       # most characters of the agent's store, delimiters included
#   user_char_limit: 1375         # most characters of each user's store
#   index_char_limit: 4000        # most characters of the index of notes
#   consolidate_at: 0.8           # from this share on, answers say that it is time to merge entries
#   write_approval: untrusted     # what waits for a person: off | untrusted (from tools and other agents) | all
#   review_every_turns: 10        # a background review after so many turns of the user; 0: never

# bank:
#   scope: agent                  # who shares a new fact: agent (this one with you) | user | team | organisation
#   team: ""                      # the team and the organisation that this home belongs to
#   organisation: ""

# vault:
#   path: vault                   # what several agents share: a folder in the home, or anywhere (an Obsidian vault)
#   subfolder: ""                 # the folder in it that is theirs; nothing outside of that is written

# wiki:
#   sources: []                   # folders of pages that are searched besides the vault: [{path: ~/notes}]
#   compile: manual               # manual | auto: pages of Wiki/ when what they are made from changed
#   scopes: []                    # whose facts go into pages; empty: by who else writes to the vault

# library: {}                     # what others wrote, by name: {arxiv: {}, papers: {type: files, path: ~/Papers}}

# embedder: local                 # finds by meaning: local | off | openai:MODEL | http://host/v1#MODEL

# providers: {}                   # settings of external memories, by name

# gate:
#   proposal_days: 30             # what waits for a person expires after so many days; 0: never
#   proposals_per_source: 20      # most that may wait from one tool and host, one connector or one agent
#   trusted_connectors: []        # memories whose recalled text taints nothing; docs/providers.md says what that costs
#   local_tools: [LOCAL_TOOLS]    # tools of this machine; all others, and whatever fetches, are outside
#   secrets_off: []               # rules that find secrets and are not applied
#   scanners_off: []              # rules of scanners that are not applied
#   owasp: false                  # true: ask OWASP's agent-memory-guard too (pip install 'vademecum[owasp]')
#   allow: []                     # values that look like secrets and are none, or the digits of their marks
#   policy: {}                    # cells that differ from the printed table, as {core: {import: stage}}

# sessions:
#   retention_days: 0             # delete sessions in which nothing was said for so many days; 0: keep all
#   new_after: never              # when a keyed session starts afresh and re-reads memory: never | idle | daily
#   idle_minutes: 240             # what counts as idle

# The chat model, as vendor:name, e.g. openai:gpt-5.2, anthropic:claude-opus-4-5, ollama:qwen3. Keys belong in .env.
# Empty: no model; memory, search, MCP and everything else still work.
# model: ""
# background_model: ""            # for reviews and summaries; empty: the same model
# background_limit: 0.5           # most that background requests may cost in a day, in US dollars; 0: none at all

# models:
#   base_url: ""                  # the address of an OpenAI-compatible server
#   context_tokens: 128000        # how much the model reads at once; longer conversations are compacted
#   timeout_seconds: 120.0        # how long to wait for an answer

# serve:
#   host: 127.0.0.1               # loopback only
#   port: 8765                    # 0: any free port

# Agents whose folder is somewhere else and stays there; `vademecum init --adopt PATH` writes this.
# agents:
#   NAME:
#     path: /path/to/folder
""".replace("LOCAL_TOOLS", ", ".join(LOCAL_TOOLS))

ENV_TEMPLATE = """\
# Keys and tokens, one KEY=value a line. Only you can read this file.
# OPENAI_API_KEY=
# ANTHROPIC_API_KEY=
"""


def write_new(config: Path, env: Path) -> list[Path]:
    """Write the templates where there is no file yet; returns what was written."""
    written: list[Path] = []
    for path, text, mode in ((config, TEMPLATE, None), (env, ENV_TEMPLATE, 0o600)):
        if not path.exists():
            write_atomic(path, text.encode(), mode=mode)
            written.append(path)
    return written


def add_agent(config: Path, name: str, folder: Path) -> None:
    """Say in `config` that agent `name` lives in `folder`.

    Raises RefusedError when the agent has another folder, ConfigError when the file cannot be edited safely; it is
    then as it was.
    """
    with locked(config):
        before = config.read_bytes().decode("utf-8-sig") if config.exists() else TEMPLATE
        tree = parsed(before, config)
        agents = cast("dict[str, dict[str, str]]", tree.get("agents") or {})
        if name in agents:
            if Path(agents[name].get("path", "")).expanduser().absolute() == folder:
                return
            raise RefusedError(
                f"Agent {name!r} already has a folder in {config}: {agents[name].get('path')}. Nothing was changed.",
                "Choose another name with --agent.",
            )
        wanted = {**tree, "agents": {**agents, name: {"path": str(folder)}}}
        for edit in (_appended, _round_tripped):
            after = edit(before, name, folder)
            if after is not None and _same(after, wanted, config):
                bom = b"\xef\xbb\xbf" if config.exists() and config.read_bytes().startswith(b"\xef\xbb\xbf") else b""
                write_atomic(config, bom + after.encode())
                return
    raise ConfigError(
        f"{config} could not be edited without changing something else in it; it was left as it is.",
        f"Add it by hand: agents: {{{json.dumps(name)}: {{path: {json.dumps(str(folder))}}}}}",
    )


def parsed(text: str, config: Path) -> dict[str, Any]:
    """The tree of a config.yaml. Raises ConfigError."""
    from ruamel.yaml import YAML, YAMLError  # only when there is something to edit

    try:
        loaded: object = YAML(typ="safe", pure=True).load(text)  # pyright: ignore[reportUnknownMemberType]  untyped library
    except YAMLError as error:
        raise ConfigError(f"{config} is not valid YAML: {error}", "Correct it first; nothing was changed.") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ConfigError(f"{config} must be a mapping of keys to values.", "Correct it first; nothing was changed.")
    return cast("dict[str, Any]", loaded)


def _same(text: str, wanted: dict[str, Any], config: Path) -> bool:
    try:
        return parsed(text, config) == wanted
    except ConfigError:
        return False


def _appended(text: str, name: str, folder: Path) -> str:
    """A new `agents` section at the end: nothing else is touched. JSON strings are YAML strings."""
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith("\n") else newline
    lines = ["", "agents:", f"  {json.dumps(name)}:", f"    path: {json.dumps(str(folder), ensure_ascii=False)}", ""]
    return text + gap + newline.join(lines)


def _round_tripped(text: str, name: str, folder: Path) -> str | None:
    """One more entry in the `agents` section that is there; comments, order and quotes are kept."""
    from ruamel.yaml import YAML

    yaml: Any = YAML()
    yaml.preserve_quotes = True
    yaml.width = 100_000
    tree: Any = yaml.load(text)
    if tree is None:
        return None
    if not tree.get("agents"):
        tree["agents"] = {}
    tree["agents"][name] = {"path": str(folder)}
    out = io.StringIO()
    yaml.dump(tree, out)
    return out.getvalue().replace("\n", "\r\n") if "\r\n" in text else out.getvalue()
