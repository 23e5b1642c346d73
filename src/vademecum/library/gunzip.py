"""A gzip stream of an answer, unpacked piece by piece, within bounds.

Idea: what comes is unpacked no further than the caller has room for. Invariant: a small answer never becomes a large
one in memory.
"""

from __future__ import annotations

import zlib


class Gunzip:
    """A gzip stream, which may have several members."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        """Whether a member is at its end."""
        return self._member.eof

    def more(self, packed: bytes, room: int) -> bytes:
        """What `packed` unpacks to, at most a byte more than `room`. Raises zlib.error."""
        made = b""
        while packed and len(made) <= room:
            if self._member.eof:
                if not packed.strip(b"\0"):
                    break  # padding
                self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)
            made += self._member.decompress(packed, room - len(made) + 1)
            packed = self._member.unused_data if self._member.eof else b""
        return made
