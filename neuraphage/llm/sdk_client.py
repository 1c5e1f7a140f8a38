"""The life of a client over the Anthropic SDK, on whichever platform: made at the first call, anew after a fork."""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import SecretStr

from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.ports import Delta, Interrupt

if TYPE_CHECKING:
    import httpx2

    from neuraphage.llm.streamed_call import MessagesSdk


class SdkClient(ABC):
    """Implements ports.ModelClient. Thread-safe; one for a process is enough.

    The SDK's client is made at the first call, and again in a forked child, so no connection is ever shared
    between processes. Connections are not kept alive between calls: a stale one would fail a call that the
    provider never saw, and the turn could not tell that from a call that may have been billed.

    Args:
        key: the credential, to keep it out of what is told of a fault; None where the platform has others.
        call_timeout_s: longest whole call; a resolver that gives no answer may hold it up longer (see Hangup).
        transport: makes the way to the provider by a relay, for calls that have a call id; None for none.
    """

    def __init__(
        self,
        key: SecretStr | None,
        call_timeout_s: float,
        transport: Callable[[], httpx2.BaseTransport] | None = None,
    ) -> None:
        self._key = key
        self._call_timeout_s = call_timeout_s
        self._lock = threading.Lock()
        self._transport = transport
        self._sdks: dict[bool, MessagesSdk] = {}
        forget = weakref.WeakMethod(self._forget)
        os.register_at_fork(after_in_child=lambda: (method := forget()) and method())

    @abstractmethod
    def _open(self, way: httpx2.BaseTransport | None) -> MessagesSdk:
        """The SDK's client of this platform, over a way by a relay or connections of its own; imports the SDK."""

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
        from neuraphage.llm.streamed_call import StreamedCall  # noqa: PLC0415 - see sdks.py

        return StreamedCall(self._connected, self._key, self._call_timeout_s).run(request, on_delta, interrupt)

    def count_tokens(self, request: ModelRequest) -> int:
        """How long a request is by the provider's count; nothing is charged.

        Raises:
            ModelFault: the provider did not say.
            ImportError: the SDK is not installed, or broken.
        """
        from neuraphage.llm.streamed_call import count_tokens  # noqa: PLC0415 - see sdks.py

        return count_tokens(self._connected(), self._key, request)

    def close(self) -> None:
        """Close what is idle. A later call opens anew."""
        with self._lock:
            sdks, self._sdks = self._sdks, {}
        for sdk in sdks.values():
            sdk.close()

    def _connected(self, by_relay: bool = False) -> MessagesSdk:
        transport = self._transport if by_relay else None
        with self._lock:
            sdk = self._sdks.get(transport is not None)
            if sdk is None:
                sdk = self._open(None if transport is None else transport())
                self._sdks[transport is not None] = sdk
            return sdk

    def _forget(self) -> None:
        # In a forked child: the parent's lock may be held for ever and its connections are not ours.
        self._lock = threading.Lock()
        self._sdks = {}
