"""The client of the Messages API at Anthropic's own address, or at one that speaks it. It needs no SDK to be made."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import SecretStr

from neuraphage.decide.model_url import model_url
from neuraphage.errors import BadInput
from neuraphage.llm.sdk_client import SdkClient

if TYPE_CHECKING:
    import anthropic
    import httpx2


class AnthropicClient(SdkClient):
    """Implements ports.ModelClient; see SdkClient.

    Args:
        base_url: address of the API; None for ANTHROPIC_BASE_URL or the provider's own.
        api_key: sent as the credential; never logged, never part of an error.
        connect_timeout_s: longest wait for a connection.
        read_timeout_s: longest silence of the server, before or inside the stream.
        call_timeout_s: longest whole call.
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
        self._credential = api_key if isinstance(api_key, SecretStr) else SecretStr(api_key)
        super().__init__(self._credential, call_timeout_s, transport)
        self._connect_timeout_s = connect_timeout_s
        self._read_timeout_s = read_timeout_s
        key = self._credential.get_secret_value()
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise BadInput("the API key is empty or holds spaces, control or non-ASCII characters: set a correct one")

    def _open(self, way: httpx2.BaseTransport | None) -> anthropic.Anthropic:
        from neuraphage.llm.streamed_call import open_sdk  # noqa: PLC0415 - see sdks.py

        return open_sdk(self._base_url, self._credential, self._connect_timeout_s, self._read_timeout_s, way)
