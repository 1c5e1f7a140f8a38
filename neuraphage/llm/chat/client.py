"""The client of Chat Completions: its configuration, which needs no SDK, and the life of the SDK's own client."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import SecretStr

from neuraphage.errors import BadInput
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.ports import Delta, Interrupt

if TYPE_CHECKING:
    import httpx2
    import openai


class OpenAIClient:
    """Implements ports.ModelClient over any server that speaks Chat Completions. Thread-safe; one for a process.

    The SDK's client is made at the first call, and again in a forked child; connections are not kept (see
    `AnthropicClient`, whose reasons hold here, too).

    Args:
        base_url: address of the API, mostly with /v1 at its end.
        api_key: sent as the credential; never logged, never part of an error. None for a server that wants none.
        connect_timeout_s: longest wait for a connection.
        read_timeout_s: longest silence of the server, before or inside the stream.
        call_timeout_s: longest whole call; a resolver that gives no answer may hold it up longer (see Hangup).
        transport: makes the way to the provider by a relay, for calls that have a call id; None for none.

    Raises:
        BadInput: the key cannot be a header.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | SecretStr | None,
        *,
        connect_timeout_s: float = 10.0,
        read_timeout_s: float = 60.0,
        call_timeout_s: float = 900.0,
        transport: Callable[[], httpx2.BaseTransport] | None = None,
    ) -> None:
        self._base_url = base_url
        self._key = api_key if isinstance(api_key, SecretStr | None) else SecretStr(api_key)
        self._connect_timeout_s = connect_timeout_s
        self._read_timeout_s = read_timeout_s
        self._call_timeout_s = call_timeout_s
        self._lock = threading.Lock()
        self._transport = transport
        self._sdks: dict[bool, openai.OpenAI] = {}
        key = "k" if self._key is None else self._key.get_secret_value()
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise BadInput(
                "the OpenAI key is empty or holds spaces, control or non-ASCII characters: set a correct one"
            )
        forget = weakref.WeakMethod(self._forget)
        os.register_at_fork(after_in_child=lambda: (method := forget()) and method())

    def call(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        """Stream one reply to its end; see `ports.ModelClient.call`.

        Args:
            request: in the form of the Messages API; the prefix of the model's id is not sent.
            on_delta: gets pieces as they come; its exceptions are logged and end the pieces, not the call.
            interrupt: asked before sending; its wake-up closes the connection at once, or as soon as there is one.

        Raises:
            ModelFault: the call failed; `kind` says how, `usage` what the reply had told of when it broke off.
            CancelRequested, LeaseLost: the interrupt asked to stop; the connection is closed.
            ImportError: the SDK is not installed, or broken.
        """
        from neuraphage.llm.chat.call import ChatCall  # noqa: PLC0415 - see llm/sdks.py

        return ChatCall(self._connected, self._key, self._call_timeout_s).run(request, on_delta, interrupt)

    def close(self) -> None:
        """Close what is idle. A later call opens anew."""
        with self._lock:
            sdks, self._sdks = self._sdks, {}
        for sdk in sdks.values():
            sdk.close()

    def _connected(self, by_relay: bool) -> openai.OpenAI:
        from neuraphage.llm.chat.call import open_sdk  # noqa: PLC0415 - as above

        transport = self._transport if by_relay else None
        with self._lock:
            sdk = self._sdks.get(transport is not None)
            if sdk is None:
                way = None if transport is None else transport()
                sdk = open_sdk(self._base_url, self._key, self._connect_timeout_s, self._read_timeout_s, way)
                self._sdks[transport is not None] = sdk
            return sdk

    def _forget(self) -> None:
        # In a forked child: the parent's lock may be held for ever and its connections are not ours.
        self._lock = threading.Lock()
        self._sdks = {}
