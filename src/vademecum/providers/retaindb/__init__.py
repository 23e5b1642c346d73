"""RetainDB as a provider, over its HTTP API version 1; the vendor has no Python package.

Idea: `options.py` reads what is configured, `api.py` has the requests, `files.py` the store of files, `provider.py` is
the contract and the tools. Invariant: every request names project and user, and what an answer says is somebody else's
is dropped.
"""

from vademecum.providers.retaindb.provider import RetainDB

__all__ = ["RetainDB"]
