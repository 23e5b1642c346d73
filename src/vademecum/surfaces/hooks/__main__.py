"""`python -m vademecum.surfaces.hooks NAME`, for a client that cannot find the command `vademecum`.

Idea: the same as `vademecum hook NAME`. Invariant: exits 0.
"""

from __future__ import annotations

import sys

from vademecum.surfaces.hooks import run

raise SystemExit(run(sys.argv[1] if len(sys.argv) > 1 else ""))
