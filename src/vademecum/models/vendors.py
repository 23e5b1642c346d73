"""Which library class speaks to which vendor, and where its key and address come from.

Idea: pydantic-ai knows the vendors; this module hands each the values from our mapping, so that a key in a home's
`.env` need not enter the process's environment. Invariant: a key is only sent to the vendor that it is named for.
`models.base_url` is the address of names without a vendor, of `openai:` and of `ollama:`, and of nobody else; a server
there gets `VADEMECUM_MODEL_KEY`, or `OPENAI_API_KEY` when the person put `openai:` before the name.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from vademecum.config import ModelConfig
from vademecum.errors import ModelError

_OLLAMA = "http://localhost:11434/v1"
_CHAT = {"openai": "openai-chat"}
"""`openai:` means Chat Completions: stateless, and what compatible servers speak. `openai-responses:` is the other."""

_ARGUMENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "azure": {
        "api_key": ("AZURE_OPENAI_API_KEY",),
        "azure_endpoint": ("AZURE_OPENAI_ENDPOINT",),
        "api_version": ("OPENAI_API_VERSION",),
    },
    "bedrock": {
        "api_key": ("AWS_BEARER_TOKEN_BEDROCK",),
        "aws_access_key_id": ("AWS_ACCESS_KEY_ID",),
        "aws_secret_access_key": ("AWS_SECRET_ACCESS_KEY",),
        "aws_session_token": ("AWS_SESSION_TOKEN",),
        "region_name": ("AWS_DEFAULT_REGION", "AWS_REGION"),
    },
    "alibaba": {"api_key": ("ALIBABA_API_KEY", "DASHSCOPE_API_KEY")},
    "cohere": {"api_key": ("CO_API_KEY",), "base_url": ("CO_BASE_URL",)},
    "google": {"api_key": ("GOOGLE_API_KEY", "GEMINI_API_KEY")},
    "heroku": {"api_key": ("HEROKU_INFERENCE_KEY",)},
    "huggingface": {"api_key": ("HF_TOKEN",)},
    "vercel": {"api_key": ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN")},
}


def build(spec: str, config: ModelConfig, env: Mapping[str, str]) -> tuple[Any, tuple[str, ...]]:
    """The library's model for `spec`, and the secrets that were handed to it (so that no message prints them).

    Raises ModelError when the vendor is unknown, its library is not installed, or its key is missing.
    """
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    vendor, name = _split(spec)
    if config.base_url and vendor in ("", "openai", "openai-chat"):
        return _compatible(name, vendor, config, env)
    if not vendor:
        raise ModelError(
            f"{spec!r} names no vendor that is known.",
            "Write `model: vendor:name`, e.g. openai:gpt-5-mini, or set models.base_url for a server of your own.",
        )
    secrets: list[str] = []

    def provider(kind: str) -> Any:
        return _provider(kind, config, env, secrets)

    try:
        return infer_model(f"{_CHAT.get(vendor, vendor)}:{name}", provider), tuple(secrets)
    except ImportError as error:
        raise ModelError(
            f"The library for {vendor} models is not installed.",
            f"Install it with `pip install 'pydantic-ai-slim[{vendor}]'`.",
        ) from error
    except UserError as error:
        keys = " or ".join(_names(vendor).get("api_key", ()))
        raise ModelError(
            f"{spec} cannot be used: {str(error).split('.')[0]}.", f"Put {keys}=... into .env of the home."
        ) from error


def key_names(spec: str) -> tuple[str, ...]:
    """The variables that may hold the key for the model `spec`; most are looked up only where the vendor has keys."""
    vendor, colon, _ = spec.partition(":")
    return (*(_names(vendor).get("api_key", ()) if colon else ()), "VADEMECUM_MODEL_KEY")


def _split(spec: str) -> tuple[str, str]:
    """Vendor and name; a first part that is no vendor belongs to the name, as in `qwen3:8b`."""
    from pydantic_ai.providers import infer_provider_class

    vendor, colon, name = spec.partition(":")
    if not colon:
        return "", spec
    try:
        infer_provider_class(vendor)
    except ValueError:
        return "", spec
    except ImportError:  # known, and its library is missing: said when it is built
        return vendor, name
    return vendor, name


def _names(vendor: str) -> dict[str, tuple[str, ...]]:
    base = vendor.removesuffix("-chat").removesuffix("-responses")
    stem = base.upper().replace("-", "_")
    return {"api_key": (f"{stem}_API_KEY",), "base_url": (f"{stem}_BASE_URL",)} | _ARGUMENTS.get(base, {})


def _provider(kind: str, config: ModelConfig, env: Mapping[str, str], secrets: list[str]) -> Any:
    from pydantic_ai.providers import infer_provider, infer_provider_class

    if kind.startswith("gateway/"):
        return infer_provider(kind)
    made: Any = infer_provider_class(kind)
    known = inspect.signature(made.__init__).parameters
    values = {
        argument: next((env[name] for name in names if env.get(name)), None) for argument, names in _names(kind).items()
    }
    if kind == "ollama":
        values["base_url"] = values["base_url"] or config.base_url or _OLLAMA
    elif config.base_url and kind.startswith("openai"):
        values["base_url"] = config.base_url
    given = {argument: value for argument, value in values.items() if value and argument in known}
    secrets.extend(value for argument, value in given.items() if "key" in argument or "token" in argument)
    return made(**given)


def _compatible(name: str, vendor: str, config: ModelConfig, env: Mapping[str, str]) -> tuple[Any, tuple[str, ...]]:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    key = env.get("VADEMECUM_MODEL_KEY") or (env.get("OPENAI_API_KEY") if vendor else None)
    provider = OpenAICompatibleProvider("openai-compatible", base_url=config.base_url, api_key=key)
    return OpenAIChatModel(name, provider=provider), (key,) if key else ()
