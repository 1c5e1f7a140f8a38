"""The HTTP application: POST /v1/messages, /v1/messages/count_tokens, /v1/chat/completions, and control endpoints."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from neuraphage.testing.scripted_api.accepting import (
    ApiError,
    accepted_body,
    accepted_chat,
    accepted_messages,
    read_body,
)
from neuraphage.testing.scripted_api.chat_message import chat_wire, whole_completion
from neuraphage.testing.scripted_api.delivery import Delivery, Hang, Mark, Step, Wait, steps_of
from neuraphage.testing.scripted_api.faults import ERROR_TYPES, Fault, FaultPlan
from neuraphage.testing.scripted_api.limit import RateLimit
from neuraphage.testing.scripted_api.log import COMPLETED, LIMITED, Entry, RequestLog
from neuraphage.testing.scripted_api.message import compact, message_of, prompt_tokens
from neuraphage.testing.scripted_api.prompt_cache import PromptCache
from neuraphage.testing.scripted_api.script import Script, ScriptRequest
from neuraphage.testing.scripted_api.shape import CountTokensBody
from neuraphage.testing.scripted_api.wire import Wire, messages_wire

REQUEST_ID_HEADER = "x-neuraphage-request-id"


@dataclass(slots=True)
class ServerState:
    """What one server knows.

    Args:
        scripts: script name -> script.
        default: the script of conversations without a marker.
        accepted_keys: API keys that are let in; empty for any key that is not empty.
        log: what reached the server.
        faults: faults on order.
        window_tokens: context window of every model; None for one without an end.
        cache: of prompts.
        limit: how often it may be asked; None for as often as anybody likes.
    """

    scripts: Mapping[str, Script]
    default: str
    accepted_keys: frozenset[str] = frozenset()
    log: RequestLog = field(default_factory=RequestLog)
    faults: FaultPlan = field(default_factory=FaultPlan)
    window_tokens: int | None = None
    cache: PromptCache = field(default_factory=PromptCache)
    limit: RateLimit | None = None

    def __post_init__(self) -> None:
        if self.default not in self.scripts:
            raise ValueError(f"no script is named {self.default!r}; known: {', '.join(sorted(self.scripts))}")

    def reset(self) -> None:
        """Forget the log, the faults, the prompt cache and the limit."""
        self.faults.clear()
        self.cache.clear()
        self.log.clear()
        self.limit = None


def create_app(state: ServerState) -> Starlette:
    """The application over a state."""

    async def answered(request: Request, dialect: Dialect) -> Response:
        request_id = request.headers.get(REQUEST_ID_HEADER, "")
        try:
            body = await dialect.accepted(request, state.accepted_keys)
            asked = ScriptRequest.of(body)
            name = _script_name(asked, state)
            _check_window(body, state)
        except ApiError as error:
            entry = state.log.received("", request_id, detail=error.message)
            state.log.ended(entry, f"refused:{error.status}")
            return dialect.error(error.status, error.message, None, None)
        entry = state.log.received(asked.request_hash, request_id, name, asked.turn)
        return _answer(asked, state, entry, dialect)

    async def messages(request: Request) -> Response:
        return await answered(request, MESSAGES)

    async def chat(request: Request) -> Response:
        return await answered(request, CHAT)

    async def count_tokens(request: Request) -> Response:
        try:
            body = await accepted_body(request, state.accepted_keys, CountTokensBody)
        except ApiError as error:
            return error_response(error.status, error.message)
        return JSONResponse({"input_tokens": prompt_tokens(body)})

    routes = [
        Route("/v1/messages", messages, methods=["POST"]),
        Route("/v1/messages/count_tokens", count_tokens, methods=["POST"]),
        Route("/v1/chat/completions", chat, methods=["POST"]),
        *_control_routes(state),
    ]
    handlers: dict[Any, Any] = {404: _not_found, 405: _not_found, ApiError: _refused, Exception: _failed}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return app


def _control_routes(state: ServerState) -> list[Route]:
    async def add_faults(request: Request) -> Response:
        try:
            orders = json.loads(await read_body(request))
            faults = [Fault.model_validate(order) for order in (orders if isinstance(orders, list) else [orders])]
            for fault in faults:
                state.faults.add(fault)
        except (ValidationError, ValueError) as error:
            return error_response(400, f"no such fault: {error}")
        return JSONResponse({"added": len(faults)})

    async def log(_: Request) -> Response:
        return JSONResponse(state.log.as_json())

    async def limit(request: Request) -> Response:
        try:
            order = json.loads(await read_body(request))
            state.limit = None if order is None else RateLimit(**order)
        except (TypeError, ValueError) as error:
            return error_response(400, f"no such limit: {error}")
        return JSONResponse({"limited": state.limit is not None})

    async def reset(_: Request) -> Response:
        state.reset()
        return JSONResponse({"reset": True})

    return [
        Route("/_control/faults", add_faults, methods=["POST"]),
        Route("/_control/limit", limit, methods=["POST"]),
        Route("/_control/log", log, methods=["GET"]),
        Route("/_control/reset", reset, methods=["POST"]),
    ]


async def _failed(_: Request, error: Exception) -> Response:
    return error_response(500, f"the scripted server failed: {error!r}")


async def _refused(_: Request, error: Exception) -> Response:
    return error_response(error.status if isinstance(error, ApiError) else 500, str(error))


async def _not_found(request: Request, _: Exception) -> Response:
    return error_response(404, f"no endpoint {request.method} {request.url.path}")


def error_response(
    status: int, message: str, error_type: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """An error in the API's shape."""
    request_id = "req_scripted"
    error = {"type": error_type or ERROR_TYPES.get(status, "api_error"), "message": message}
    body = {"type": "error", "error": error, "request_id": request_id}
    return JSONResponse(body, status, headers={"request-id": request_id, **(headers or {})})


def _answer(asked: ScriptRequest, state: ServerState, entry: Entry, dialect: Dialect) -> Response:
    is_allowed, told = (True, {}) if state.limit is None else state.limit.take()
    if not is_allowed:
        state.log.ended(entry, LIMITED)
        return dialect.error(429, "This request would exceed your organization's rate limit.", None, told)
    fault = state.faults.take(entry.script, asked.turn, asked.request_hash, entry.attempt)
    if fault is not None and fault.status is not None:
        state.log.ended(entry, f"fault:{fault.kind}")
        headers = told | ({"retry-after": fault.retry_after} if fault.retry_after is not None else {})
        return dialect.error(fault.status, fault.message, fault.error_type, headers)
    try:
        steps = _steps(asked, state, state.scripts[entry.script], fault, dialect)
    except Exception as error:  # noqa: BLE001 - a script is the caller's code; its failure is an answer
        state.log.ended(entry, "refused:500")
        return dialect.error(500, f"script {entry.script!r} failed: {error!r}", None, None)
    headers = {"request-id": f"req_{asked.request_hash[:24]}", "content-type": "application/json", **told}
    if asked.body.get("stream"):
        headers |= {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
    return Delivery(steps, headers, lambda outcome: state.log.ended(entry, outcome))


def _steps(
    asked: ScriptRequest, state: ServerState, script: Script, fault: Fault | None, dialect: Dialect
) -> list[Step]:
    """The whole delivery, made before its first byte is sent: what a script says may not fit into the API's shape."""
    answer = script(asked)
    room = None if state.window_tokens is None else state.window_tokens - prompt_tokens(asked.body)
    message = message_of(asked, answer, room, state.cache.use(asked.body))
    if fault is not None and fault.kind == "drop":
        return [Mark("fault:drop"), Hang()]
    if asked.body.get("stream"):
        return list(steps_of(dialect.wire(asked, message, answer.pace.chunk_chars), answer.pace, fault))
    return _whole_steps(dialect.whole(message), answer.pace.first_byte_delay_s, fault)


def _whole_steps(message: dict[str, Any], delay_s: float, fault: Fault | None) -> list[Step]:
    """Steps of an answer that is not streamed; faults of the stream become their nearest likeness."""
    whole = compact(message).encode()
    if fault is None or fault.kind in ("stall", "slow"):
        return [Wait(delay_s if fault is None else fault.delay_s), Mark(COMPLETED), whole]
    mark = Mark(f"fault:{fault.kind}")
    if fault.kind == "garbage":
        return [mark, b"{<<garbage"]
    if fault.kind == "truncated":
        return [mark, whole[: len(whole) // 2]]
    return [mark, whole[: len(whole) // 2], Hang()]


def _check_window(body: dict[str, Any], state: ServerState) -> None:
    tokens = prompt_tokens(body)
    if state.window_tokens is not None and tokens > state.window_tokens:
        raise ApiError(400, f"prompt is too long: {tokens} tokens > {state.window_tokens} maximum")


def _script_name(asked: ScriptRequest, state: ServerState) -> str:
    name = asked.script_name or state.default
    if name not in state.scripts:
        known = ", ".join(sorted(state.scripts))
        raise ApiError(400, f"the conversation asks for script {name!r}; this server knows: {known}")
    return name


def chat_error(status: int, message: str, error_type: str | None, headers: Mapping[str, str] | None) -> Response:
    """An error in the shape of Chat Completions."""
    kind = error_type or ERROR_TYPES.get(status, "server_error")
    body = {"error": {"message": message, "type": kind, "param": None, "code": None}}
    return JSONResponse(body, status, headers={"x-request-id": "req_scripted", **(headers or {})})


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one API asks and is answered.

    Args:
        accepted: the checked body of a request, in the form that scripts see.
        error: an error, from status, text, type and headers.
        wire: the stream of a script's message.
        whole: the answer that is not streamed.
    """

    accepted: Callable[[Request, Collection[str]], Awaitable[dict[str, Any]]]
    error: Callable[[int, str, str | None, Mapping[str, str] | None], Response]
    wire: Callable[[ScriptRequest, dict[str, Any], int], Wire]
    whole: Callable[[dict[str, Any]], dict[str, Any]]


MESSAGES = Dialect(accepted_messages, error_response, messages_wire, lambda message: message)
CHAT = Dialect(accepted_chat, chat_error, chat_wire, whole_completion)
