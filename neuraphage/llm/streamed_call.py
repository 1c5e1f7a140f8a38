"""One streamed call over the Anthropic SDK. Importing this module imports the SDK: see `client.py`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import anthropic
import httpx2
from pydantic import SecretStr

from neuraphage.errors import FaultKind, ModelFault, RelayError
from neuraphage.llm.bounded_answer import bound_answer, whole_lines
from neuraphage.llm.collect import ReplyCollector
from neuraphage.llm.faults import fault_of, fault_of_event
from neuraphage.llm.hangup import Cause, Hangup, attach_current
from neuraphage.llm.redirects import MAX_REDIRECTS, refuse_foreign_redirect
from neuraphage.llm.request import request_body
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.ports import Delta, DetachableInterrupt, Interrupt

REQUEST_ID_HEADER = "X-Neuraphage-Request-Id"
MAX_CONNECTIONS = 1_024
COUNT_TIMEOUT_S = 10.0
"""Longest wait for a count: without one the estimate serves."""
MIN_SECRET_CHARS = 8
"""Shorter keys are placeholders for local servers, not secrets."""

_log = logging.getLogger(__name__)


def open_sdk(
    base_url: str,
    key: SecretStr,
    connect_timeout_s: float,
    read_timeout_s: float,
    transport: httpx2.BaseTransport | None = None,
) -> anthropic.Anthropic:
    """The SDK's client; it connects with each call, and neither retries nor keeps a connection.

    Args:
        base_url: address of the API.
        key: the credential.
        connect_timeout_s: longest wait for a connection.
        read_timeout_s: longest silence of the server.
        transport: the way to the provider; None for connections of its own.
    """
    timeout = httpx2.Timeout(read_timeout_s, connect=connect_timeout_s, pool=connect_timeout_s)
    return anthropic.Anthropic(
        api_key=key.get_secret_value(),
        base_url=base_url,
        max_retries=0,
        timeout=timeout,
        http_client=anthropic.DefaultHttpxClient(
            limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=0),
            timeout=timeout,
            max_redirects=MAX_REDIRECTS,
            transport=transport,
            event_hooks={"request": [attach_current], "response": [refuse_foreign_redirect, bound_answer]},
        ),
    )


def count_tokens(sdk: anthropic.Anthropic, key: SecretStr, request: ModelRequest) -> int:
    """See `AnthropicClient.count_tokens`."""
    body = request_body(request)
    counted = {name: body[name] for name in ("model", "messages", "system", "tools") if name in body}
    try:
        return int(sdk.messages.count_tokens(**counted, timeout=COUNT_TIMEOUT_S).input_tokens)
    except Exception as error:  # noqa: BLE001 - as of a call: classes of three libraries; all are mapped
        fault = fault_of(error, streaming=False, now_s=time.time())
        raise ModelFault(fault.kind, _without_key(fault.detail, key)) from None


def _without_key(text: str, key: SecretStr) -> str:
    """A text without the credential. A placeholder as short as "k" would blank half of every message."""
    secret = key.get_secret_value()
    return text.replace(secret, "[api key]") if len(secret) >= MIN_SECRET_CHARS else text


class StreamedCall:
    """A call of `AnthropicClient`.

    Args:
        connect: gives the SDK's client, by a relay or without, which is made when first asked for.
        key: the credential, to keep it out of what is told of a fault.
        timeout_s: longest whole call.
    """

    def __init__(self, connect: Callable[[bool], anthropic.Anthropic], key: SecretStr, timeout_s: float) -> None:
        self._connect = connect
        self._key = key
        self._timeout_s = timeout_s

    def run(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        """See `AnthropicClient.call`."""
        hangup = Hangup(
            request.call_id, request.task_id, self._timeout_s, interrupt.check, lambda: _outlives(interrupt)
        )
        unsubscribe = interrupt.subscribe(lambda: hangup.hang_up(Cause.INTERRUPT))
        collector = ReplyCollector(_fail_open(on_delta))
        try:
            interrupt.check()
            with hangup.watching(self._timeout_s):
                return self._stream(request, collector)
        except Exception as error:  # noqa: BLE001 - the SDK lets out classes of three libraries; all are mapped
            if hangup.cause is Cause.INTERRUPT:
                interrupt.check()
            # Without a cause: a foreign exception's text may hold the key, and a traceback prints it.
            raise self._fault(error, collector, hangup) from None
        finally:
            unsubscribe()

    def _stream(self, request: ModelRequest, collector: ReplyCollector) -> ModelReply:
        began_s = time.monotonic()
        first_event_s = began_s
        with self._sent(request) as stream:
            for data in _events(stream.response):
                if not collector.started:
                    first_event_s = time.monotonic()
                collector.take(data)
                if collector.stopped:
                    break
        if collector.stopped and collector.stop_reason is not None:
            return ModelReply(
                content=collector.content,
                stop_reason=collector.stop_reason,
                usage=collector.usage,
                model=collector.model or request.model,
                message_id=collector.message_id,
                invalid_inputs=collector.invalid_inputs,
                first_token_ms=round((first_event_s - began_s) * 1000),
                total_ms=round((time.monotonic() - began_s) * 1000),
            )
        missing = "a stop reason" if collector.stopped else "message_stop"
        raise ModelFault(
            FaultKind.TRUNCATED, f"the stream ended without {missing}, after {len(collector.content)} blocks"
        )

    def _sent(self, request: ModelRequest) -> anthropic.Stream[Any]:
        """Send it: by the relay, and without where that has not taken it and never will."""
        if request.call_id:
            try:
                return _create(self._connect(True), request)
            except anthropic.APIConnectionError as error:
                if not isinstance(error.__cause__, RelayError):
                    raise
        return _create(self._connect(False), request)

    def _fault(self, error: Exception, collector: ReplyCollector, hangup: Hangup) -> ModelFault:
        if hangup.cause is Cause.DEADLINE:
            fault = ModelFault(FaultKind.TIMEOUT, f"the call was not over after {self._timeout_s:g} s")
        else:
            fault = fault_of(error, streaming=collector.started, now_s=time.time())
        clean = _without_key(fault.detail, self._key)
        told = collector.usage.model_dump() if collector.started else None
        return ModelFault(fault.kind, clean, fault.retry_after_s, usage=told, model=collector.model)


def _create(sdk: anthropic.Anthropic, request: ModelRequest) -> anthropic.Stream[Any]:
    body = request_body(request)
    return sdk.messages.create(
        model=body.pop("model"),
        max_tokens=body.pop("max_tokens"),
        messages=body.pop("messages"),
        stream=True,
        extra_headers={REQUEST_ID_HEADER: request.request_id},
        extra_body=body,
    )


def _outlives(interrupt: Interrupt) -> None:
    """A shutdown need not wait for a call that goes on without this process."""
    if isinstance(interrupt, DetachableInterrupt):
        interrupt.detachable = True


def _events(response: httpx2.Response) -> Iterator[Any]:
    """The data of each event, parsed; raises ModelFault for an `error` event or a body that is no stream."""
    content_type = response.headers.get("content-type", "")
    if not content_type.lower().startswith("text/event-stream"):
        raise ModelFault(FaultKind.GARBAGE, f"the answer is {content_type or 'of no type'}, not an event stream")
    # `raw_events` needs nothing of the response but iter_bytes.
    for sse in anthropic.Stream.raw_events(cast(httpx2.Response, _InLines(response))):
        if sse.event == "error":
            raise fault_of_event(_parsed_or_text(sse))
        if sse.data:
            data = sse.json()
            if isinstance(data, dict) and data.get("type") == "error":
                raise fault_of_event(data)
            yield data


def _parsed_or_text(sse: Any) -> Any:
    try:
        return sse.json()
    except ValueError:
        return sse.data


class _InLines:
    """A response that comes in whole lines, and ends in a fault where an event has no end."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response

    def iter_bytes(self) -> Iterator[bytes]:
        return whole_lines(self._response.iter_bytes())


def _fail_open(on_delta: Callable[[Delta], None]) -> Callable[[Delta], None]:
    """Viewers must not fail a paid call: the first Exception is logged and ends the pieces."""
    failed = False

    def guarded(delta: Delta) -> None:
        nonlocal failed
        if failed:
            return
        try:
            on_delta(delta)
        except Exception:  # noqa: BLE001 - observers fail open, whatever they raise
            failed = True
            _log.warning("showing the reply as it streams failed; the call goes on without", exc_info=True)

    return guarded
