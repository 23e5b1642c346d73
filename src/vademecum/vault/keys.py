"""The Ed25519 keys of agents: private ones of this home's agents, pinned public ones of all.

Idea: a key is made when its agent first writes; a name's first key that is seen is pinned, and any other one is an
alarm unless the pinned key announced it or a person trusts it. Invariant: private keys lie in the home with mode 0600
and never in the vault; a pin is added, never taken away or replaced.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from vademecum.disk import read_bytes
from vademecum.errors import StorageError, UnreadableError
from vademecum.files import locked, write_atomic
from vademecum.home import folder_name
from vademecum.late import dataclass

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PINS = "pinned.json"
How = Literal["own", "first seen", "announced", "trusted"]
"""Why a key counts as its name's: made here, the first one that was seen, announced by the one before, a person said
so."""


def key_id(public: str) -> str:
    """The first 16 hex digits of the SHA-256 of a public key (base64, as in files)."""
    return hashlib.sha256(_raw(public)).hexdigest()[:16]


def is_key(public: str) -> bool:
    """Whether that is a public key in the one spelling that it has."""
    raw = _raw(public)
    return len(raw) == 32 and base64.b64encode(raw).decode() == public


def verifies(public: str, signature: str, data: bytes) -> bool:
    """Whether `signature` over `data` is of that key (both base64); about 0.1 ms."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(_raw(public)).verify(_raw(signature), data)
    except (InvalidSignature, ValueError):
        return False
    return True


def _raw(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


@dataclass(frozen=True, slots=True)
class Pin:
    """A public key that counts as `agent`'s."""

    agent: str
    id: str
    public: str
    how: How


class Signer:
    """The private key of one agent."""

    def __init__(self, agent: str, seed: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self.agent = agent
        self._key: Ed25519PrivateKey = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = base64.b64encode(self._key.public_key().public_bytes_raw()).decode()
        self.id = key_id(self.public)

    def sign(self, data: bytes) -> str:
        """The signature, base64."""
        return base64.b64encode(self._key.sign(data)).decode()


class Keys:
    """The folder `keys` of a home. Safe beside other processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pins: tuple[tuple[int, int] | None, dict[str, tuple[Pin, ...]]] = (None, {})
        self._signers: dict[str, tuple[tuple[int, int] | None, Signer]] = {}

    def signer(self, agent: str) -> Signer:
        """The key of an agent of this home, made and pinned when there is none. Raises StorageError, LockedError."""
        path = self.path(agent)
        mark = _mark(path)
        known = self._signers.get(agent)
        if known is not None and mark is not None and known[0] == mark:
            return known[1]
        seed = _read_seed(path)
        if seed is None:
            self._make_folder()
            with locked(path):
                seed = _read_seed(path)
                if seed is None:
                    seed = os.urandom(32)
                    write_atomic(path, seed.hex().encode() + b"\n", mode=0o600)
        signer = Signer(agent, seed)
        self.pin(agent, signer.public, "own")
        self._signers[agent] = (_mark(path), signer)
        return signer

    def has(self, agent: str) -> bool:
        """Whether the private key of that agent lies here."""
        return self.path(agent).is_file()

    def successor(self, agent: str) -> Signer:
        """The key that is to take the place of the agent's, made when there is none. It signs nothing before `settle`.

        Raises StorageError, LockedError.
        """
        path = self._waiting(agent)
        self._make_folder()
        with locked(path):
            seed = _read_seed(path)
            if seed is None:
                seed = os.urandom(32)
                write_atomic(path, seed.hex().encode() + b"\n", mode=0o600)
        return Signer(agent, seed)

    def settle(self, agent: str, public: str) -> Signer | None:
        """Put the key `public`, which the present one has announced, in its place; None when it is not here."""
        waiting = self._waiting(agent)
        seed = _read_seed(waiting)
        if seed is None or Signer(agent, seed).public != public:
            now = self.signer(agent)
            return now if now.public == public else None
        self.pin(agent, public, "announced")
        waiting.replace(self.path(agent))
        return self.signer(agent)

    def pins(self) -> dict[str, tuple[Pin, ...]]:
        """The pinned keys by agent, each name's in the order of pinning. Raises UnreadableError."""
        path = self._folder / PINS
        mark = _mark(path)
        if mark is None or mark != self._pins[0]:
            self._pins = (mark, _read_pins(path))
        return self._pins[1]

    def pin(self, agent: str, public: str, how: How) -> bool:
        """Let a key count as the agent's; False when it does already. `first seen` pins only where nothing is."""
        path = self._folder / PINS
        if how != "trusted" and any(pin.public == public for pin in self.pins().get(agent, ())):
            return False
        self._make_folder()
        with locked(path):
            pins = _read_pins(path)
            mine = pins.get(agent, ())
            known = {pin.how for pin in mine if pin.public == public}
            if (known and not (how == "trusted" and known == {"first seen"})) or (mine and how == "first seen"):
                return False
            pins[agent] = (*mine, Pin(agent, key_id(public), public, how))
            kept = {name: [{"key": one.public, "how": one.how} for one in ones] for name, ones in pins.items()}
            write_atomic(path, json.dumps(kept, ensure_ascii=False, indent=1).encode() + b"\n", mode=0o600)
        return True

    def pinned(self, agent: str, public: str) -> Pin | None:
        """The pin by which that public key counts as the agent's, None when it does not.

        A key that was only seen counts no more once this home has made one for the name: somebody may have been quick.
        """
        pins = self.pins().get(agent, ())
        made = any(pin.how == "own" for pin in pins)
        return next((pin for pin in pins if pin.public == public and not (made and pin.how == "first seen")), None)

    def path(self, agent: str) -> Path:
        """Where the private key of that agent lies, or would."""
        return self._folder / f"{folder_name(agent, any_case=True)}.key"

    def _waiting(self, agent: str) -> Path:
        path = self.path(agent)
        return path.with_name(path.name + ".next")

    def _make_folder(self) -> None:
        if not self._folder.is_dir():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _mark(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def _read_seed(path: Path) -> bytes | None:
    data = read_bytes(path)
    if data is None:
        return None
    try:
        seed = bytes.fromhex(data.decode("ascii"))
    except ValueError:
        seed = b""
    if len(seed) != 32:
        raise StorageError(
            f"{path} is no key, so that nothing can be signed. Nothing was written.",
            "Bring the file back from a copy; with another key, every home that knows this agent raises an alarm.",
        )
    return seed


def _read_pins(path: Path) -> dict[str, tuple[Pin, ...]]:
    data = read_bytes(path)
    if data is None:
        return {}
    try:
        kept = cast("dict[str, list[dict[str, Any]]]", json.loads(data))
        return {
            agent: tuple(Pin(agent, key_id(one["key"]), one["key"], one["how"]) for one in ones)
            for agent, ones in kept.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableError(
            f"{path} cannot be read as pinned keys. It was left as it is.",
            "Bring it back from a copy, or remove it: keys are then pinned anew as they are seen.",
        ) from error
