"""One streamed Chat Completions call over the OpenAI SDK. Importing this module imports the SDK: see `client.py`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import httpx2
import openai
from pydantic import SecretStr

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm.bounded_answer import bound_answer, whole_lines
from neuraphage.llm.chat.collect import DONE, ChatCollector
from neuraphage.llm.chat.faults import fault_of, fault_of_chunk
from neuraphage.llm.chat.request import chat_body
from neuraphage.llm.guarded_call import GuardedCall, fail_open, hangup_for, is_left_to_us
from neuraphage.llm.hangup import attach_current
from neuraphage.llm.rate_headers import limits_told
from neuraphage.llm.redirects import MAX_REDIRECTS, foreign_redirects_refused
from neuraphage.llm.sse import data_of
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.ports import Delta, Interrupt

REQUEST_ID_HEADER = "X-Neuraphage-Request-Id"
MAX_CONNECTIONS = 1_024
NO_KEY = "none"
"""Never sent: the SDK wants some text, and would else take a key from the environment."""
OPENAI_HOSTS = ("openai.com", "openai.azure.com")
"""Whose newer models refuse `max_tokens`."""


def open_sdk(
    base_url: str,
    key: SecretStr | None,
    connect_timeout_s: float,
    read_timeout_s: float,
    transport: httpx2.BaseTransport | None = None,
) -> openai.OpenAI:
    """The SDK's client; it connects with each call, and neither retries nor keeps a connection.

    Args:
        base_url: address of the API.
        key: the credential; None sends none.
        connect_timeout_s: longest wait for a connection.
        read_timeout_s: longest silence of the server.
        transport: the way to the provider; None for connections of its own.
    """
    timeout = httpx2.Timeout(read_timeout_s, connect=connect_timeout_s, pool=connect_timeout_s)
    guard = foreign_redirects_refused("NEURAPHAGE_OPENAI_BASE_URL")
    return openai.OpenAI(
        api_key=NO_KEY if key is None else key.get_secret_value(),
        base_url=base_url,
        max_retries=0,
        timeout=timeout,
        http_client=openai.DefaultHttpxClient(
            limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=0),
            timeout=timeout,
            max_redirects=MAX_REDIRECTS,
            transport=transport,
            event_hooks={"request": [attach_current], "response": [guard, bound_answer]},
        ),
    )


class ChatCall:
    """A call of `OpenAIClient`.

    Args:
        connect: gives the SDK's client, by a relay or with connections of its own; made when first asked for.
        key: the credential, to keep it out of what is told of a fault.
        timeout_s: longest whole call.
    """

    def __init__(self, connect: Callable[[bool], openai.OpenAI], key: SecretStr | None, timeout_s: float) -> None:
        self._connect = connect
        self._has_key = key is not None
        self._timeout_s = timeout_s
        self._guarded = GuardedCall(key, timeout_s, fault_of)

    def run(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        """See `OpenAIClient.call`."""
        collector = ChatCollector(fail_open(on_delta), request.model)
        hangup = hangup_for(request, self._timeout_s, interrupt)
        return self._guarded.run(partial(self._stream, request), collector, interrupt, hangup)

    def _stream(self, request: ModelRequest, collector: ChatCollector) -> ModelReply:
        began_s = time.monotonic()
        first_event_s = began_s
        try:
            with closing(self._events(request, collector)) as events:
                for data in events:
                    if not collector.started:
                        first_event_s = time.monotonic()
                    collector.take(data)
        except (httpx2.HTTPError, httpx2.StreamError, OSError):
            if collector.stop_reason is None:
                raise
            collector.take(DONE)  # the reply was whole; only the count of its tokens may be missing
        if collector.stop_reason is None:
            raise ModelFault(FaultKind.TRUNCATED, "the stream ended without a finish reason")
        return ModelReply(
            content=collector.content,
            stop_reason=collector.stop_reason,
            usage=collector.usage,
            model=collector.model,
            message_id=collector.message_id,
            invalid_inputs=collector.invalid_inputs,
            first_token_ms=round((first_event_s - began_s) * 1000),
            total_ms=round((time.monotonic() - began_s) * 1000),
            told=collector.told,
        )

    def _events(self, request: ModelRequest, collector: ChatCollector) -> Generator[Any]:
        """Open the stream, and give what comes: the data of each chunk, parsed, and DONE at its end."""
        with self._sent(request) as stream:
            collector.told = limits_told(stream.response.headers, time.time())
            yield from chunks_of(stream.response)

    def _sent(self, request: ModelRequest) -> openai.Stream[object]:
        """Send it: by the relay, and without where that has not taken it and never will."""
        if request.call_id:
            try:
                return self._post(self._connect(True), request)
            except openai.APIConnectionError as error:
                if not is_left_to_us(error):
                    raise
        return self._post(self._connect(False), request)

    def _post(self, sdk: openai.OpenAI, request: ModelRequest) -> openai.Stream[object]:
        headers: dict[str, Any] = {REQUEST_ID_HEADER: request.request_id}
        if not self._has_key:
            headers["Authorization"] = openai.Omit()
        return sdk.post(
            "/chat/completions",
            cast_to=object,
            body=chat_body(request, completion_tokens=_is_openai(sdk.base_url.host)),
            options={"headers": headers},
            stream=True,
            stream_cls=openai.Stream[object],
        )


def chunks_of(response: httpx2.Response) -> Iterator[Any]:
    """What an answer says: the data of each chunk, parsed, and DONE at its end, marked or not.

    Raises:
        ModelFault: it tells of an error, or is neither a stream nor one whole completion.
    """
    kind = response.headers.get("content-type", "").lower()
    if kind.startswith("application/json"):  # a server that does not stream
        whole = json.loads(response.read())
        yield _checked(whole)
    elif kind.startswith("text/event-stream"):
        for text in data_of(whole_lines(response.iter_bytes())):
            if text.strip().startswith(DONE):
                break
            yield _checked(json.loads(text))
    else:
        raise ModelFault(FaultKind.GARBAGE, f"the answer is {kind or 'of no type'}, not an event stream")
    yield DONE


def _checked(data: Any) -> Any:
    fault = fault_of_chunk(data)
    if fault is not None:
        raise fault
    return data


def _is_openai(host: str) -> bool:
    return any(host == known or host.endswith(f".{known}") for known in OPENAI_HOSTS)
