"""The adapter against a real HTTP server that speaks the vendor's protocol."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from servers import openai
from vademecum.config import ModelConfig
from vademecum.errors import ModelError, NoModelError
from vademecum.model import ToolSpec
from vademecum.models import ChatMessage, ChatReply, ChatRequest, ToolCall, open_model
from vademecum.models.vendors import build

KEY = "sk-test-0123456789abcdefghij"
MEMORY = ToolSpec(
    "memory",
    "Save.",
    {"type": "object", "properties": {"target": {"type": "string"}, "n": {"type": "number"}}, "required": ["target"]},
)


@pytest.fixture
def server() -> Iterator[openai.Server]:
    with openai.running() as running:
        yield running


def model(server: openai.Server, spec: str = "openai:test-model", seconds: float = 20, **env: str):
    config = ModelConfig(base_url=server.url, timeout_seconds=seconds)
    return open_model(spec, config=config, env=env or {"OPENAI_API_KEY": KEY})


def ask(*words: str) -> ChatRequest:
    return ChatRequest("Be brief.", tuple(ChatMessage("user", word) for word in words))


def test_a_whole_answer_comes_with_usage_and_the_model_that_gave_it(server: openai.Server) -> None:
    server.say(openai.text("Hello", " there", tokens=(21, 3)))
    reply = model(server).complete(ask("hi"))
    assert (reply.text, reply.model, reply.truncated) == ("Hello there", "test-model", False)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (21, 3)


def test_the_system_text_is_first_and_the_key_goes_into_the_header_only(server: openai.Server) -> None:
    model(server).complete(ask("hi"))
    sent = server.requests[0]
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert sent["messages"][1] == {"role": "user", "content": "hi"}
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY.encode() not in server.bodies[0]
    assert KEY not in os.environ.values()


def test_a_stream_gives_pieces_as_they_arrive_and_ends_with_the_whole(server: openai.Server) -> None:
    server.say(openai.text("one ", "two ", "three", hold_after=1, tokens=(7, 3)))
    stream = model(server).stream(ask("count"))
    assert next(stream) == "one "  # the server holds the rest back: it was not waited for
    server.release.set()
    rest = list(stream)
    assert rest[:-1] == ["two ", "three"]
    assert isinstance(rest[-1], ChatReply)
    assert rest[-1].text == "one two three"
    assert (rest[-1].usage.input_tokens, rest[-1].usage.output_tokens) == (7, 3)


@pytest.mark.parametrize("streaming", [False, True])
def test_tool_calls_arrive_whole_with_their_ids(server: openai.Server, streaming: bool) -> None:
    server.say(openai.calls(("call_1", "memory", {"target": "user", "n": 1}), ("call_2", "memory", {}), say="Saving."))
    request = ChatRequest("s", (ChatMessage("user", "hi"),), (MEMORY,))
    reply = list(model(server).stream(request))[-1] if streaming else model(server).complete(request)
    assert isinstance(reply, ChatReply)
    assert reply.text == "Saving."
    assert reply.calls == (
        ToolCall("call_1", "memory", {"target": "user", "n": 1}),
        ToolCall("call_2", "memory", {}),
    )


def test_the_schema_of_a_tool_is_sent_as_it_is(server: openai.Server) -> None:
    model(server).complete(ChatRequest("s", (ChatMessage("user", "hi"),), (MEMORY,)))
    function = server.requests[0]["tools"][0]["function"]
    assert function["parameters"] == MEMORY.parameters
    assert function["description"] == "Save."


def test_arguments_that_are_no_object_are_handed_over_as_broken(server: openai.Server) -> None:
    server.say(openai.calls(("call_1", "memory", '{"target": "us'), ("call_2", "memory", "[1, 2]")))
    first, second = model(server).complete(ask("hi")).calls
    assert (first.args, first.broken) == ({}, '{"target": "us')
    assert (second.args, second.broken) == ({}, "[1, 2]")


def test_a_conversation_with_calls_is_sent_back_in_the_vendors_form_and_always_the_same_bytes(
    server: openai.Server,
) -> None:
    request = ChatRequest(
        "s",
        (
            ChatMessage("user", "hi"),
            ChatMessage("assistant", "", (ToolCall("call_1", "memory", {"target": "user", "n": 2.0}),)),
            ChatMessage("tool", '{"success": true}', call_id="call_1", tool="memory"),
            ChatMessage("assistant", "Done."),
            ChatMessage("user", "thanks"),
        ),
        (MEMORY,),
    )
    model(server).complete(request)
    model(server).complete(request)
    assert server.bodies[0] == server.bodies[1]
    messages = server.requests[0]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    call = messages[2]["tool_calls"][0]
    assert (call["id"], json.loads(call["function"]["arguments"])) == ("call_1", {"target": "user", "n": 2.0})
    assert (messages[3]["tool_call_id"], messages[3]["content"]) == ("call_1", '{"success": true}')


def test_an_answer_that_was_cut_off_says_so(server: openai.Server) -> None:
    server.say(openai.text("and then", finish="length"))
    assert model(server).complete(ChatRequest("", (ChatMessage("user", "go on"),), max_tokens=2)).truncated
    assert 2 in (server.requests[0].get("max_tokens"), server.requests[0].get("max_completion_tokens"))


def test_the_price_of_a_known_model_is_told_and_of_an_unknown_one_is_none(server: openai.Server) -> None:
    server.default = openai.text("ok", tokens=(1_000_000, 0))
    known = model(server, "openai:gpt-4o-mini").complete(ask("hi")).usage.dollars
    assert known is not None
    assert 0.01 < known < 100
    assert model(server, "openai:model-that-nobody-prices").complete(ask("hi")).usage.dollars is None


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("answer", "status", "requests", "hint"),
    [
        (openai.error(401, f"Incorrect API key provided: {KEY}."), 401, 1, ".env"),
        (openai.error(404, "The model `x` does not exist"), 404, 1, "config.yaml"),
        (openai.error(400, "Unknown parameter"), 400, 1, "say why"),
        (openai.error(429, "Rate limit reached", Retry_After="7"), 429, 1, "7 s"),
        (openai.error(500, "boom"), 500, 2, "later"),
    ],
)
def test_a_refusal_is_a_model_error_with_status_and_a_way_out(
    server: openai.Server, answer: openai.Answer, status: int, requests: int, hint: str, streaming: bool
) -> None:
    server.say(answer, answer)
    with pytest.raises(ModelError) as caught:
        if streaming:
            list(model(server).stream(ask("hi")))
        else:
            model(server).complete(ask("hi"))
    assert caught.value.status == status
    assert hint in caught.value.hint
    assert "test-model" in caught.value.message
    assert KEY not in str(caught.value.as_dict())
    assert len(server.bodies) == requests
    assert caught.value.retry_after == (7 if status == 429 else None)


def test_a_passing_fault_before_the_first_byte_is_asked_once_more(server: openai.Server) -> None:
    server.say(openai.error(503, "busy"), openai.text("fine now"))
    assert model(server).complete(ask("hi")).text == "fine now"


def test_a_server_that_is_not_there_is_named_with_its_address() -> None:
    with openai.running() as server:
        url = server.url
    with pytest.raises(ModelError) as caught:
        open_model("openai:m", config=ModelConfig(base_url=url), env={}).complete(ask("hi"))
    assert url in caught.value.message
    assert caught.value.status is None


@pytest.mark.parametrize("streaming", [False, True])
def test_a_server_that_does_not_answer_in_time_is_a_time_out(server: openai.Server, streaming: bool) -> None:
    server.say(openai.text("too late", hold_after=0))
    slow = model(server, seconds=0.4)
    with pytest.raises(ModelError) as caught:
        if streaming:
            list(slow.stream(ask("hi")))
        else:
            slow.complete(ask("hi"))
    assert "timeout_seconds" in caught.value.hint


@pytest.mark.parametrize("streaming", [False, True])
def test_an_answer_that_cannot_be_read_is_a_model_error(server: openai.Server, streaming: bool) -> None:
    server.default = openai.Answer(raw=b"<html>It works!</html>")
    with pytest.raises(ModelError):
        if streaming:
            list(model(server).stream(ask("hi")))
        else:
            model(server).complete(ask("hi"))


def test_a_stream_that_breaks_off_is_not_taken_for_a_whole_answer(server: openai.Server) -> None:
    server.say(openai.text("Delete nothing", " but the cache", drop_after=1))
    stream = model(server).stream(ask("hi"))
    assert next(stream) == "Delete nothing"
    (reply,) = list(stream)
    assert isinstance(reply, ChatReply)
    assert reply.truncated
    assert len(server.bodies) == 1  # what has begun is not asked for again


def test_closing_a_stream_early_ends_the_request(server: openai.Server) -> None:
    server.say(openai.text("one ", "two", hold_after=1))
    stream = model(server).stream(ask("count"))
    assert next(stream) == "one "
    stream.close()
    assert server.gone.wait(20), "the connection was left open"


def test_without_a_vendor_before_the_name_no_vendors_key_is_sent(server: openai.Server) -> None:
    model(server, "qwen3:8b", OPENAI_API_KEY=KEY).complete(ask("hi"))
    assert server.requests[0]["model"] == "qwen3:8b"
    assert KEY not in server.headers[0]["authorization"]
    model(server, "qwen3:8b", VADEMECUM_MODEL_KEY="own-key").complete(ask("hi"))
    assert server.headers[1]["authorization"] == "Bearer own-key"


def test_another_vendors_key_does_not_go_to_the_configured_address(server: openai.Server) -> None:
    built, secrets = build("deepseek:deepseek-chat", ModelConfig(base_url=server.url), {"DEEPSEEK_API_KEY": KEY})
    assert built.base_url.startswith("https://api.deepseek.com")
    assert secrets == (KEY,)


def test_an_ollama_model_is_asked_at_its_address(server: openai.Server) -> None:
    config = ModelConfig()
    env = {"OLLAMA_BASE_URL": server.url}
    reply = open_model("ollama:llama3.2:3b", config=config, env=env).complete(ask("hi"))
    assert (reply.text, reply.usage.dollars) == ("ok", 0.0)
    assert server.requests[0]["model"] == "llama3.2:3b"


def test_no_model_an_unknown_vendor_and_a_missing_library_each_say_what_to_do() -> None:
    config = ModelConfig()
    with pytest.raises(NoModelError) as none:
        open_model(" ", config=config, env={})
    assert "config.yaml" in none.value.hint
    with pytest.raises(ModelError) as unknown:
        open_model("nobody:m", config=config, env={}).complete(ask("hi"))
    assert "vendor:name" in unknown.value.hint
    with pytest.raises(ModelError) as missing:
        open_model("mistral:m", config=config, env={"MISTRAL_API_KEY": "k"}).complete(ask("hi"))
    assert "pydantic-ai-slim[mistral]" in missing.value.hint


def test_a_missing_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelError) as caught:
        open_model("openai:gpt-5-mini", config=ModelConfig(), env={}).complete(ask("hi"))
    assert "OPENAI_API_KEY" in caught.value.hint


def test_two_threads_share_one_model(server: openai.Server) -> None:
    from concurrent.futures import ThreadPoolExecutor

    shared = model(server)
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda n: shared.complete(ask(str(n))).text, range(8)))
    assert replies == ["ok"] * 8


def test_two_models_may_load_the_library_at_the_same_time(server: openai.Server) -> None:
    program = (
        "import sys, threading; from vademecum.models import *; from vademecum.config import ModelConfig\n"
        "config, said = ModelConfig(base_url=sys.argv[1]), []\n"
        "def ask(name):\n"
        "    model = open_model(name, config=config, env={})\n"
        "    said.append(model.complete(ChatRequest('s', (ChatMessage('user', 'hi'),))).text)\n"
        "threads = [threading.Thread(target=ask, args=(f'openai:m{n}',)) for n in range(4)]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
        "assert said == ['ok'] * 4, said"
    )
    subprocess.run([sys.executable, "-c", program, server.url], check=True)


def test_importing_the_room_and_opening_a_model_loads_no_model_library() -> None:
    program = (
        "import sys; from vademecum.models import open_model; from vademecum.config import ModelConfig\n"
        "open_model('openai:m', config=ModelConfig(), env={})\n"
        "assert not {'pydantic_ai', 'openai', 'asyncio', 'pydantic'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
