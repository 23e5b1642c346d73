"""The examples of docs/frameworks.md, each a whole turn with the framework's own stand-in for a model.

They run in processes of their own: a framework's import is slow and not free of warnings.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "frameworks.md"

CHECK = """
from vademecum.agent.vademecum import open as open_home
vm = open_home()
vm.memory.add("memory", "The host is north.")
said = answer(vm, "work", "We deploy on Fridays.", *given)
assert said == "I will remember that.", said
assert vm.memory.entries("memory")[-1].text == "Deploys are on Fridays.", vm.memory.entries("memory")
found = vm.history.messages(vm.history.recent()[0].id)
assert [message.role for message in found] == ["user", "tool", "assistant"], found
assert [message.content for message in (found[0], found[-1])] == ["We deploy on Fridays.", "I will remember that."]
snapshot = vm.session(key="work").snapshot
assert "The host is north." in snapshot
assert len(seen) == 2 and snapshot in seen[0], seen
vm.close()
"""

OPENAI = """
from agents import Model, ModelResponse, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
seen = []
class Fake(Model):
    async def get_response(self, system_instructions, input, model_settings, tools, *args, **more):
        seen.append(system_instructions)
        if len(seen) == 1:
            assert "memory" in [tool.name for tool in tools]
            made = ResponseFunctionToolCall(arguments=ARGS, call_id="1", name="memory", type="function_call")
        else:
            text = ResponseOutputText(annotations=[], text="I will remember that.", type="output_text")
            made = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[made], usage=Usage(), response_id=None)
    def stream_response(self, *args, **more):
        raise NotImplementedError
given = (Fake(),)
"""

PYDANTIC = """
import json
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
seen = []
def fake(messages, info):
    seen.append(info.instructions)
    if len(seen) == 1:
        assert "memory" in [tool.name for tool in info.function_tools]
        return ModelResponse(parts=[ToolCallPart("memory", json.loads(ARGS))])
    return ModelResponse(parts=[TextPart("I will remember that.")])
given = (FunctionModel(fake),)
"""

LANGGRAPH = """
import json
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
seen = []
class Fake(GenericFakeChatModel):
    def bind_tools(self, tools, **more):
        assert "memory" in [tool.name for tool in tools]
        return self
    def _generate(self, messages, *args, **more):
        seen.append(messages[0].content)
        return super()._generate(messages, *args, **more)
call = {"name": "memory", "args": json.loads(ARGS), "id": "1"}
given = (Fake(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("I will remember that.")])),)
"""

SMOLAGENTS = """
import json
from smolagents import Model
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
seen = []
class Fake(Model):
    def generate(self, messages, stop_sequences=None, response_format=None, tools_to_call_from=None, **more):
        seen.append(messages[0].content[0]["text"])
        assert "memory" in [tool.name for tool in tools_to_call_from]
        name, args = ("memory", json.loads(ARGS)) if len(seen) == 1 else (
            "final_answer", {"answer": "I will remember that."})
        made = ChatMessageToolCall(ChatMessageToolCallFunction(args, name), str(len(seen)), "function")
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[made])
given = (Fake(),)
"""

ANTHROPIC = """
import http.server, json, threading
from anthropic import Anthropic
seen = []
class Vendor(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        seen.append(asked.get("system", str(asked)))
        if len(seen) == 1:
            assert asked["tools"] == [{"type": "memory_20250818", "name": "memory"}], asked["tools"]
            wanted = {"command": "insert", "path": "/memories/memory.md", "insert_line": 1}
            wanted["insert_text"] = "§\\nDeploys are on Fridays."
            content, stop = [{"type": "tool_use", "id": "t1", "name": "memory", "input": wanted}], "tool_use"
        else:
            (result,) = asked["messages"][-1]["content"]
            assert "The file /memories/memory.md has been edited." in json.dumps(result), result
            content, stop = [{"type": "text", "text": "I will remember that."}], "end_turn"
        body = json.dumps({"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": content,
            "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Vendor)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = Anthropic(api_key="test", base_url=f"http://127.0.0.1:{server.server_port}", max_retries=0)
given = (client, "claude-sonnet-5-5")
"""

FRAMEWORKS = {
    "OpenAI Agents SDK": ("agents", OPENAI),
    "Pydantic AI": ("pydantic_ai", PYDANTIC),
    "LangGraph": ("langgraph", LANGGRAPH),
    "smolagents": ("smolagents", SMOLAGENTS),
    "Claude's memory tool": ("anthropic", ANTHROPIC),
}


def example(title: str) -> str:
    _, _, section = PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")
    found = re.search(r"^```py\n(.*?)^```", section, re.M | re.S)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("title", FRAMEWORKS)
def test_an_example_remembers_and_answers_in_one_turn(title: str, tmp_path: Path) -> None:
    package, model = FRAMEWORKS[title]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: the example for {title} in docs/frameworks.md was NOT run")
    args = 'ARGS = \'{"action": "add", "target": "memory", "content": "Deploys are on Fridays."}\'\n'
    program = "\n".join([example(title), args, textwrap.dedent(model), CHECK])
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("VADEMECUM", "CLAUDE", "LANG"))}
    env = kept | {"HOME": str(tmp_path), "VADEMECUM_HOME": str(tmp_path / "home"), "LANGSMITH_TRACING": "false"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("title", FRAMEWORKS)
def test_an_example_is_short(title: str) -> None:
    assert len([line for line in example(title).splitlines() if line.strip()]) <= 32
