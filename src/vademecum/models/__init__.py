"""Chat models behind two methods, whoever the vendor is.

Idea: `open_model("vendor:name", config=..., env=...)` gives a `ChatModel` with `complete` and `stream`, and nothing
else of the vendor is seen above this room. Invariant: importing this room loads no model library and opens no socket;
both happen at the first request. A key is read from the mapping it is given, put into no global, and never printed.
"""

from vademecum.models.opening import open_model
from vademecum.models.types import ChatMessage, ChatModel, ChatReply, ChatRequest, ToolCall, Usage

__all__ = ["ChatMessage", "ChatModel", "ChatReply", "ChatRequest", "ToolCall", "Usage", "open_model"]
