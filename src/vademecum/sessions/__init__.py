"""Sessions: history, its recording and its search.

Idea: `History` is the one object that others use. Invariant: names that other rooms need are exported here, and loading
this package loads no model library.
"""

from vademecum.sessions.history import History
from vademecum.sessions.types import Message, NewMessage, SearchAnswer, SessionHit, SessionInfo

__all__ = ["History", "Message", "NewMessage", "SearchAnswer", "SessionHit", "SessionInfo"]
