"""Background work: one leased queue in `state.db`, and what it may cost in a day.

Idea: whatever needs not happen before the answer is a job; any process of the home may run it. Invariant: a job that
was added survives a crash of everybody, and no two workers run it at the same time.
"""

from vademecum.jobs.allowance import Allowance
from vademecum.jobs.queue import Later, Outcome, Queue

__all__ = ["Allowance", "Later", "Outcome", "Queue"]
