"""OpenViking as a provider: a server of one's own, or a hosted one, over its HTTP API.

Idea: `options.py` reads what is configured, `viking.py` is the API as one user and agent see it, `provider.py` the
contract, `tools.py` what the model may call. HTTP rather than the vendor's SDK, whose licence (AGPL) is not ours and
which adds nothing to it. Invariant: nothing outside of this user's own folder and the shared resources is read.
"""

from vademecum.providers.openviking.provider import OpenViking

__all__ = ["OpenViking"]
