"""The client of the Messages API: its configuration, which needs no SDK, and the life of the SDK's own client.

The SDK takes longer to import than all the rest of a worker's start. So only `streamed_call.py` and what is below it
import it, and nothing imports that before it is needed: `load_sdk` by itself, or the first call.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import SecretStr

from neuraphage.decide.model_url import model_url
from neuraphage.errors import BadInput
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.ports import Delta, Interrupt

if TYPE_CHECKING:
    import anthropic
    import httpx2

SDK_PART = "neuraphage.llm.streamed_call"
"""The one door to the SDK. Who comes while another thread imports it waits at this module, and holds no other."""


def load_sdk() -> None:
    """Import the SDK, unless it is; a second caller waits for the first.

    Raises:
        ImportError: it is not installed, or broken.
    """
    importlib.import_module(SDK_PART)


def is_sdk_loaded() -> bool:
    """Whether the SDK is imported, or on its way."""
    return SDK_PART in sys.modules


class AnthropicClient:
    """Implements ports.ModelClient. Thread-safe; one for a process is enough.

    The SDK's client is made at the first call, and again in a forked child, so no connection is ever shared
    between processes. Connections are not kept alive between calls: a stale one would fail a call that the
    provider never saw, and the turn could not tell that from a call that may have been billed.

    Args:
        base_url: address of the API; None for ANTHROPIC_BASE_URL or the provider's own.
        api_key: sent as the credential; never logged, never part of an error.
        connect_timeout_s: longest wait for a connection.
        read_timeout_s: longest silence of the server, before or inside the stream.
        call_timeout_s: longest whole call; a resolver that gives no answer may hold it up longer (see Hangup).
        transport: makes the way to the provider by a relay, for calls that have a call id; None for none.

    Raises:
        BadInput: the key is empty or cannot be a header, or the address is none of an HTTP server.
    """

    def __init__(
        self,
        base_url: str | None,
        api_key: str | SecretStr,
        *,
        connect_timeout_s: float = 10.0,
        read_timeout_s: float = 60.0,
        call_timeout_s: float = 900.0,
        transport: Callable[[], httpx2.BaseTransport] | None = None,
    ) -> None:
        self._base_url = model_url(base_url, os.environ)
        self._key = api_key if isinstance(api_key, SecretStr) else SecretStr(api_key)
        self._connect_timeout_s = connect_timeout_s
        self._read_timeout_s = read_timeout_s
        self._call_timeout_s = call_timeout_s
        self._lock = threading.Lock()
        self._transport = transport
        self._sdks: dict[bool, anthropic.Anthropic] = {}
        key = self._key.get_secret_value()
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise BadInput("the API key is empty or holds spaces, control or non-ASCII characters: set a correct one")
        forget = weakref.WeakMethod(self._forget)
        os.register_at_fork(after_in_child=lambda: (method := forget()) and method())

    def call(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        """Stream one reply to its end.

        Args:
            request: what to send.
            on_delta: gets pieces as they come; its exceptions are logged and end the pieces, not the call.
            interrupt: asked before sending; its wake-up closes the connection at once, or as soon as there is one.

        Raises:
            ModelFault: the call failed; `kind` says how, `usage` what the reply had told of when it broke off.
            CancelRequested, LeaseLost: the interrupt asked to stop; the connection is closed.
            ImportError: the SDK is not installed, or broken.
        """
        from neuraphage.llm.streamed_call import StreamedCall  # noqa: PLC0415 - see the module docstring

        return StreamedCall(self._connected, self._key, self._call_timeout_s).run(request, on_delta, interrupt)

    def count_tokens(self, request: ModelRequest) -> int:
        """How long a request is by the provider's count; nothing is charged.

        Raises:
            ModelFault: the provider did not say.
            ImportError: the SDK is not installed, or broken.
        """
        from neuraphage.llm.streamed_call import count_tokens  # noqa: PLC0415 - see the module docstring

        return count_tokens(self._connected(), self._key, request)

    def close(self) -> None:
        """Close what is idle. A later call opens anew."""
        with self._lock:
            sdks, self._sdks = self._sdks, {}
        for sdk in sdks.values():
            sdk.close()

    def _connected(self, by_relay: bool = False) -> anthropic.Anthropic:
        from neuraphage.llm.streamed_call import open_sdk  # noqa: PLC0415 - see the module docstring

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
