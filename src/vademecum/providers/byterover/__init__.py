"""ByteRover as a provider: the `brv` command and the tree of Markdown files that it keeps.

Idea: `command.py` runs `brv` and tells its errors from its answers, `tree.py` reads the files and remembers which
exchange made which, `provider.py` is the contract and the tools. Invariant: nothing that `brv` says about itself is
ever taken for a memory.
"""

from vademecum.providers.byterover.provider import ByteRover

__all__ = ["ByteRover"]
