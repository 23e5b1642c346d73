"""Tests against real instances of memories: run by `./scripts/test-providers`, left alone by `./scripts/test`.

They need what the extras install, seconds to start, and hundreds of megabytes; `VADEMECUM_REAL=1` lets pytest see them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "providers"))  # the contract suite
collect_ignore_glob = [] if os.environ.get("VADEMECUM_REAL") else ["test_*.py"]
