"""From a model's name in the configuration to a `ChatModel`.

Idea: the name is checked here, the library behind it is loaded with the first request. Invariant: opening a model
reads no file and sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from vademecum.config import ModelConfig
from vademecum.errors import NoModelError
from vademecum.models.types import ChatModel


def open_model(spec: str, *, config: ModelConfig, env: Mapping[str, str]) -> ChatModel:
    """The model that `spec` names: `vendor:name` (`openai:...`, `anthropic:...`, `ollama:...`), or, when
    `models.base_url` is set, any name that the OpenAI-compatible server there knows.

    Keys are looked up in `env`. Raises NoModelError for an empty `spec`, ConfigError for one of the wrong form;
    an unknown vendor, a missing key or library is a ModelError of the first request.
    """
    if not spec.strip():
        raise NoModelError(
            "No model is configured; memory, history and search work without one.",
            "Set `model` in config.yaml, e.g. `model: openai:gpt-5-mini`, and its key in .env.",
        )
    from vademecum.models.adapter import VendorModel  # the room above may want only the types

    return VendorModel(spec.strip(), config=config, env=env)
