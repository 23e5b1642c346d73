"""The status page: one HTML document, written by the server and kept up to date by a small script.

Idea: the page is complete without the script; the script replaces numbers in place and reloads only when the list of
agents or hooks has changed. Invariant: everything that varies is escaped, and the content security policy lets nothing
run or load that is not in the document itself.
"""

from __future__ import annotations

import json
import re
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from vademecum.clock import stored_iso
from vademecum.surfaces.http.status import StatusData

HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Sent with every page and every answer of `/status.json`."""

_TITLES = {"memory": "Memory", "user": "User profile"}


def content_security_policy(nonce: str) -> str:
    """Only what carries `nonce` runs or styles; only this server is asked for data."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def claude_command(address: str, token: str) -> str:
    """The command that makes Claude Code use the server at `address`."""
    return f'claude mcp add --transport http vademecum {address}/mcp --header "Authorization: Bearer {token}"'


def _client_json(address: str) -> str:
    """The same for clients with a JSON file, folded into a few lines."""
    return (
        '{"mcpServers": {"vademecum": {\n'
        f'  "type": "http",\n  "url": {json.dumps(address + "/mcp")},\n'
        '  "headers": {"Authorization": "Bearer TOKEN"}\n}}}'
    )


def _unbroken(command: str) -> str:
    """`command` with no line break inside an option."""
    return re.sub(r"--\w+", r"<span>\g<0></span>", command)


def render(status: StatusData, nonce: str) -> str:
    """The whole page for these numbers."""
    return _asset("page.html").substitute(
        nonce=nonce,
        style=_asset("page.css").template,
        script=_asset("page.js").template,
        shape=escape(status["shape"]),
        agents="\n".join(_agent(agent, f"agents.{n}") for n, agent in enumerate(status["agents"])),
        sessions=_int(status["sessions"]),
        messages=_int(status["messages"]),
        facts=_int(status["facts"]),
        memory=escape(status["memory"]["word"]),
        told=_int(status["memory"]["waiting"]),
        pending=_int(status["pending"]),
        pending_hidden="" if status["pending"] else " hidden",
        due=_int(status["jobs"]["due"]),
        failed=_int(status["jobs"]["failed"]),
        hooks=_hooks(status["hooks"], status["time"]),
        claude=_unbroken(escape(claude_command(status["address"], "TOKEN"), quote=False)),
        json=escape(_client_json(status["address"]), quote=False),
        tokens=_int(status["tokens"]),
        version=escape(status["version"]),
        address=escape(status["address"]),
        started_at=status["started_at"],
        started=_age(status["started_at"], status["time"]),
    )


@cache
def _asset(name: str) -> Template:
    return Template(Path(__file__).with_name(name).read_text(encoding="utf-8"))


def _agent(agent: StatusData, path: str) -> str:
    name = escape(agent["name"])
    if agent["fault"]:
        why = escape(agent["fault"])
        body = f'<p class="facts">Cannot be read ({why}): <code>vademecum doctor</code> says more.</p>'
    else:
        stores = "\n".join(_store(store, f"{path}.stores.{n}", name) for n, store in enumerate(agent["stores"]))
        body = (
            f'{stores}\n<p class="facts">{_count(agent["notes"], f"{path}.notes", "note notes")}, '
            f"{_count(agent['facts'], f'{path}.facts', 'fact facts')}, "
            f"{_count(agent['sessions'], f'{path}.sessions', 'session sessions')}, "
            f"{_count(agent['pending'], f'{path}.pending')} waiting for you</p>"
        )
    return f'<article class="agent">\n<h3>{name}</h3>\n{body}\n</article>'


def _store(store: StatusData, path: str, agent: str) -> str:
    title = _TITLES[store["store"]]
    if not store["enabled"]:
        return f'<div class="store"><p><span>{title}</span> <span class="figures">switched off</span></p></div>'
    used, limit = store["used"], store["limit"]
    return (
        f'<div class="store">\n<p><span>{title} <span class="word" data-v="{path}.word">{escape(store["word"])}</span>'
        f'</span> <span class="figures">{_count(store["percent"], f"{path}.percent")}\u2009%, '
        f"{_count(used, f'{path}.used')} of {_int(limit)} characters in "
        f"{_count(store['entries'], f'{path}.entries', 'entry entries')}</span></p>\n"
        f"{_bar(store, path, f'{title} of {agent}')}\n</div>"
    )


def _bar(store: StatusData, path: str, label: str) -> str:
    used, limit, warn = store["used"], store["limit"], store["consolidate_at"]
    return (
        f'<div class="bar{" warn" if used >= warn else ""}" role="meter" aria-label="{label}, characters" '
        f'aria-valuemin="0" aria-valuemax="{limit}" aria-valuenow="{used}" data-v="{path}.used" data-f="bar" '
        f'data-warn="{warn}"><svg aria-hidden="true" width="100%" height="8">'
        f'<rect width="{min(100, 100 * used / limit):.1f}%" height="8" rx="4"/></svg></div>'
    )


def _hooks(hooks: list[dict[str, Any]], now: str) -> str:
    if not hooks:
        return (
            '<p class="hint">No hook has reported yet. <code>vademecum client install claude-code</code> '
            "lets Claude Code record its conversations.</p>"
        )
    rows = "\n".join(_hook(hook, f"hooks.{n}", now) for n, hook in enumerate(hooks))
    head = "<tr><th>Client</th><th>Hook</th><th>Last heard</th><th>Outcome</th><th>Took</th></tr>"
    table = f"<table>\n<thead>{head}</thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    return f'<div class="scroll" role="region" aria-label="Hooks" tabindex="0">{table}</div>'


def _hook(hook: dict[str, Any], path: str, now: str) -> str:
    return (
        f"<tr><td>{escape(hook['client'])}</td><td>{escape(hook['hook'])}</td>"
        f'<td><time datetime="{hook["at"]}" data-v="{path}.at" data-f="age">{_age(hook["at"], now)}</time></td>'
        f'<td data-v="{path}.outcome">{escape(hook["outcome"])}</td>'
        f"<td>{_count(hook['milliseconds'], f'{path}.milliseconds')} ms</td></tr>"
    )


def _count(number: int, path: str, unit: str = "") -> str:
    """A number that the script finds by `path`; `unit` is its singular and its plural."""
    if not unit:
        return f'<span data-v="{path}">{_int(number)}</span>'
    one, many = unit.split(" ")
    return f'<span data-v="{path}" data-unit="{unit}">{_int(number)} {one if number == 1 else many}</span>'


def _int(number: int) -> str:
    return f"{number:,}"


def _age(then: str, now: str) -> str:
    """Like `age` in page.js."""
    minutes = round((stored_iso(now) - stored_iso(then)) / 60_000)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    return f"{round(minutes / 60)} h ago" if minutes < 48 * 60 else f"{round(minutes / 1440)} days ago"
