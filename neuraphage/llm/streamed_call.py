"""One streamed call over the Anthropic SDK. Importing this module imports the SDK: see `client.py`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import anthropic
import httpx2
from pydantic import SecretStr

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm.aws_events import CONTENT_TYPE, aws_data
from neuraphage.llm.bounded_answer import bound_answer, whole_lines
from neuraphage.llm.collect import ReplyCollector
from neuraphage.llm.faults import fault_of, fault_of_event
from neuraphage.llm.guarded_call import GuardedCall, fail_open, hangup_for, is_left_to_us, without_key
from neuraphage.llm.hangup import attach_current
from neuraphage.llm.rate_headers import limits_told
from neuraphage.llm.redirects import MAX_REDIRECTS, foreign_redirects_refused
from neuraphage.llm.request import request_body
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.ports import Delta, Interrupt

REQUEST_ID_HEADER = "X-Neuraphage-Request-Id"
MAX_CONNECTIONS = 1_024
COUNT_TIMEOUT_S = 10.0
"""Longest wait for a count: without one the estimate serves."""


MessagesSdk = anthropic.Anthropic | anthropic.AnthropicBedrock | anthropic.AnthropicVertex
"""Clients of the SDK that have the Messages API."""


def http_client(
    connect_timeout_s: float, read_timeout_s: float, variable: str, transport: httpx2.BaseTransport | None = None
) -> httpx2.Client:
    """The HTTP client below the SDK's; it connects with each call, keeps no connection, and can be hung up.

    Args:
        connect_timeout_s: longest wait for a connection.
        read_timeout_s: longest silence of the server.
        variable: where a person writes the address of this API.
        transport: the way to the provider; None for connections of its own.
    """
    return anthropic.DefaultHttpxClient(
        limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=0),
        timeout=httpx2.Timeout(read_timeout_s, connect=connect_timeout_s, pool=connect_timeout_s),
        max_redirects=MAX_REDIRECTS,
        transport=transport,
        event_hooks={"request": [attach_current], "response": [foreign_redirects_refused(variable), bound_answer]},
    )


def open_sdk(
    base_url: str,
    key: SecretStr,
    connect_timeout_s: float,
    read_timeout_s: float,
    transport: httpx2.BaseTransport | None = None,
) -> anthropic.Anthropic:
    """The SDK's client; it does not retry.

    Args:
        base_url: address of the API.
        key: the credential.
        connect_timeout_s: longest wait for a connection.
        read_timeout_s: longest silence of the server.
        transport: the way to the provider; None for connections of its own.
    """
    http = http_client(connect_timeout_s, read_timeout_s, "NEURAPHAGE_ANTHROPIC_BASE_URL", transport)
    return anthropic.Anthropic(
        api_key=key.get_secret_value(), base_url=base_url, max_retries=0, timeout=http.timeout, http_client=http
    )


def count_tokens(sdk: MessagesSdk, key: SecretStr | None, request: ModelRequest) -> int:
    """See `AnthropicClient.count_tokens`."""
    body = request_body(request)
    counted = {name: body[name] for name in ("model", "messages", "system", "tools") if name in body}
    try:
        return int(sdk.messages.count_tokens(**counted, timeout=COUNT_TIMEOUT_S).input_tokens)
    except Exception as error:  # noqa: BLE001 - as of a call: classes of three libraries; all are mapped
        fault = fault_of(error, streaming=False, now_s=time.time())
        raise ModelFault(fault.kind, without_key(fault.detail, key)) from None


class StreamedCall:
    """A call of `AnthropicClient`.

    Args:
        connect: gives the SDK's client, by a relay or without, which is made when first asked for.
        key: the credential, to keep it out of what is told of a fault.
        timeout_s: longest whole call.
    """

    def __init__(self, connect: Callable[[bool], MessagesSdk], key: SecretStr | None, timeout_s: float) -> None:
        self._connect = connect
        self._timeout_s = timeout_s
        self._guarded = GuardedCall(key, timeout_s, fault_of)

    def run(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        """See `AnthropicClient.call`."""
        collector = ReplyCollector(fail_open(on_delta))
        hangup = hangup_for(request, self._timeout_s, interrupt)
        return self._guarded.run(partial(self._stream, request), collector, interrupt, hangup)

    def _stream(self, request: ModelRequest, collector: ReplyCollector) -> ModelReply:
        began_s = time.monotonic()
        first_event_s = began_s
        with self._sent(request) as stream:
            told = limits_told(stream.response.headers, time.time())
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
                told=told,
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
                if not is_left_to_us(error):
                    raise
        return _create(self._connect(False), request)


def _create(sdk: MessagesSdk, request: ModelRequest) -> anthropic.Stream[Any]:
    body = request_body(request)
    return sdk.messages.create(
        model=body.pop("model"),
        max_tokens=body.pop("max_tokens"),
        messages=body.pop("messages"),
        stream=True,
        extra_headers={REQUEST_ID_HEADER: request.request_id},
        extra_body=body,
    )


def _events(response: httpx2.Response) -> Iterator[Any]:
    """The data of each event, parsed; raises ModelFault for an `error` event or a body that is no stream."""
    content_type = response.headers.get("content-type", "")
    if content_type.lower().startswith(CONTENT_TYPE):
        for data in aws_data(response.iter_bytes()):
            if isinstance(data, dict) and data.get("type") == "error":
                raise fault_of_event(data)
            yield data
        return
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
