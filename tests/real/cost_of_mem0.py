"""What the library of Mem0 costs in a process of its own: prints seconds and megabytes as JSON.

Arguments: an empty folder, and the paths to import from as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

sys.path[:0] = json.loads(sys.argv[2])
began = time.perf_counter()

from vademecum.clock import now_ms  # noqa: E402
from vademecum.model import Actor  # noqa: E402
from vademecum.providers.contract import Context  # noqa: E402
from vademecum.providers.mem0 import Mem0  # noqa: E402

memory = Mem0()
memory.open(Context(Actor(), Path(sys.argv[1]), {"mode": "library"}, {}, now_ms))
opened = time.perf_counter()
memory.store("The first fact loads the weights.")
first = time.perf_counter()
for number in range(100):
    memory.store(f"Service {number} answers on port {8000 + number}.")
stored = time.perf_counter()
for number in range(20):
    memory.prefetch(f"On which port does service {number} answer?")
recalled = time.perf_counter()
memory.close()
figures = {
    "open_s": opened - began,
    "first_store_s": first - opened,
    "store_s": (stored - first) / 100,
    "recall_s": (recalled - stored) / 20,
    "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}
sys.stdout.write(json.dumps(figures))
