"""Whether the log has anything for a conversation, asked as cheaply as can be: for hooks, which run at every prompt.

Idea: the files are as they were indexed, and two queries give nothing. Invariant: True only when `Reading.delta` would
give an empty text; what is not certain counts as not quiet.
"""

from __future__ import annotations

import os

from vademecum.store import Database
from vademecum.store import vault as rows
from vademecum.store import vault_index as index
from vademecum.vault.paths import VaultPaths


def quiet(db: Database, paths: VaultPaths, agent: str, session: str) -> bool:
    """About 0.2 ms, and no file is opened. Raises StorageError, LockedError."""
    if not os.path.isdir(paths.live):  # noqa: PTH112  the shortest way
        return True
    known = {path: (row.size, row.mtime_ns, row.inode) for path, row in index.files(db).items()}
    now: dict[str, tuple[int, int, int]] = {}
    for folder, end in ((paths.live, ".md"), (paths.ledgers, ".jsonl")):
        try:
            with os.scandir(folder) as found:
                for one in found:
                    if one.name.endswith(end):
                        stat = os.stat(one.path)  # noqa: PTH116
                        now[one.path] = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
        except FileNotFoundError:
            continue
    if now != known:
        return False
    seen, base = rows.cursor(db, agent, session), rows.cursor(db, agent, "")
    if seen is None or base is None:
        return not now
    from vademecum.vault.names import as_named

    return not rows.unseen(db, agent, session, seen, 1) and not rows.waiting(db, agent, as_named(agent), base, 1)
