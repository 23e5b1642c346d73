"""`vademecum verify --secrets` and `--redact`: what is stored in clear, and taking it out.

Idea: one line a secret: where, and of which kind. Invariant: no secret is ever printed; what was left and why is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vademecum.surfaces.cli.output import Style, plural, printable

if TYPE_CHECKING:
    from vademecum.agent.stored_secrets import Found
    from vademecum.surfaces.cli.app import App


def verify_secrets(app: App, *, redact: bool) -> int:
    """Find, or replace, what is stored; exits 1 when secrets are left."""
    from vademecum.agent.stored_secrets import find_stored, redact_stored

    vm = app.vm
    found = redact_stored(vm, app.origin) if redact else find_stored(vm)
    left = [one for one in found if one.kept or not redact]
    data = {
        "success": not left,
        "redacted": len(found) - len(left),
        "results": [
            {"place": one.place, "line": one.line, "rule": one.rule, "redacted": redact and not one.kept}
            | ({"reason": one.kept} if one.kept else {})
            for one in found
        ],
    }
    lines = [_line(app.style, one, redacted=redact and not one.kept) for one in found]
    lines.append(_summary(len(found), len(left), redact=redact))
    if vm.home.backups.is_dir() and any(vm.home.backups.iterdir()):
        lines.append(
            app.style.dim(f"• Backups are not looked into: {vm.home.backups} may hold what was stored before.")
        )
    app.emit(data, *lines)
    return 1 if left else 0


def _line(style: Style, one: Found, *, redacted: bool) -> str:
    place = f"{printable(one.place)}:{one.line}" if one.line else printable(one.place)
    sign = style.good("✓") if redacted else style.warn("!")
    return f"{sign} {place}: {one.rule}" + (f" ({printable(one.kept)})" if one.kept else "")


def _summary(found: int, left: int, *, redact: bool) -> str:
    if not found:
        return "No secret that the rules know is stored in clear."
    if not redact:
        return f"{plural(found, 'secret')} stored in clear. `vademecum verify --redact` replaces them for good."
    return f"{plural(found - left, 'secret')} replaced" + (f", {left} left." if left else ".")
