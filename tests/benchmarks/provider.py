"""A provider that costs next to nothing: `python -m tests.benchmarks.provider PORT-FILE`.

It speaks as much of the Messages API as the client needs, without a framework: what is measured is who calls it. The
first message of a request says what it answers: `bench NAME TURNS WAIT` with the turn of that task (see workload.py),
`stream EVENTS` with so many pieces, fifty a second, anything else with a word.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks.workload import TOOL, model_text

EVENTS_PER_S = 50
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
)
_LAST = b"0\r\n\r\n"


def _event(data: dict[str, Any]) -> bytes:
    text = f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(text), text)


def _block(index: int, block: dict[str, Any], delta: dict[str, Any]) -> bytes:
    return (
        _event({"type": "content_block_start", "index": index, "content_block": block})
        + _event({"type": "content_block_delta", "index": index, "delta": delta})
        + _event({"type": "content_block_stop", "index": index})
    )


def _text(index: int, text: str) -> bytes:
    return _block(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": text})


def _call(index: int, name: str, params: dict[str, Any], turn: int) -> bytes:
    block = {"type": "tool_use", "id": f"toolu_{name}_{turn}", "name": name, "input": {}}
    return _block(index, block, {"type": "input_json_delta", "partial_json": json.dumps(params)})


def _begin(model: str) -> bytes:
    usage = {"input_tokens": 1_000, "output_tokens": 1}
    message = {"id": "msg_bench", "type": "message", "role": "assistant", "model": model, "content": [], "usage": usage}
    return _HEAD + _event({"type": "message_start", "message": message})


def _end(stop: str) -> bytes:
    delta = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 500}}
    return _event(delta) + _event({"type": "message_stop"}) + _LAST


def _turn(request: dict[str, Any], words: list[str]) -> bytes:
    """A turn of a task: a text with a call of the tool, and the end of the task at its last turn."""
    _, task, turns, wait_ms = words
    turn = len(request["messages"]) // 2
    said = _begin(request["model"]) + _text(0, model_text(task, turn, float(wait_ms)))
    said += _call(1, TOOL, {"task": task, "turn": turn}, turn)
    if turn + 1 >= int(turns):
        said += _call(2, "complete_task", {"summary": "Done."}, turn)
    return said + _end("tool_use")


class _Connection(asyncio.Protocol):
    """One request, and its answer."""

    def __init__(self) -> None:
        self._come = bytearray()
        self._transport: asyncio.Transport | None = None
        self._piece = _event(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "wo "}}
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._come += data
        head, blank, body = bytes(self._come).partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        sizes = [int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")]
        if blank and len(body) >= sum(sizes):
            self._come.clear()
            self._answer(json.loads(body))

    def _answer(self, request: dict[str, Any]) -> None:
        content = request["messages"][0]["content"]
        words = (content if isinstance(content, str) else content[0]["text"]).split()
        if words[0] == "bench":
            self._say(_turn(request, words))
        elif words[0] == "stream":
            start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
            self._say(_begin(request["model"]) + _event(start), ends=False)
            self._next(int(words[1]))
        else:
            self._say(_begin(request["model"]) + _text(0, "A word.") + _end("end_turn"))

    def _next(self, left: int) -> None:
        if not left:
            self._say(_event({"type": "content_block_stop", "index": 0}) + _end("end_turn"))
            return
        self._say(self._piece, ends=False)
        asyncio.get_running_loop().call_later(1 / EVENTS_PER_S, self._next, left - 1)

    def _say(self, data: bytes, *, ends: bool = True) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)
            if ends:
                self._transport.close()


async def main() -> None:
    """Serve until a signal ends the process."""
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", 0, backlog=1_024)
    part = Path(sys.argv[1]).with_suffix(".part")
    part.write_text(f"{server.sockets[0].getsockname()[1]}\n", encoding="utf-8")
    part.rename(sys.argv[1])
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
