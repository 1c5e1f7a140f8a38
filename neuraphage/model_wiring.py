"""Composes calls of models: the providers that can be called, and the relay that holds calls."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from neuraphage.decide.model_ids import Provider
from neuraphage.llm import AnthropicClient, BedrockClient, OpenAIClient, RoutedClient, VertexClient
from neuraphage.llm.key_pool import key_pool_name
from neuraphage.model_access import require_access
from neuraphage.ports import ModelClient
from neuraphage.relay.reply_relay import ReplyRelay
from neuraphage.relay_wiring import relay_limits, relay_place
from neuraphage.settings import Settings

if TYPE_CHECKING:
    import httpx2


def build_relay(settings: Settings) -> ReplyRelay | None:
    """What holds calls of the model on this host; None where the settings want none."""
    if settings.relay == "off":
        return None
    return ReplyRelay(relay_place(settings), relay_limits(settings))


def build_model(settings: Settings, relay: ReplyRelay | None = None) -> ModelClient:
    """The clients of the providers that can be called, behind one that chooses by the model's id.

    Args:
        settings: where the provider is.
        relay: holds its calls; None for calls that end with this process.

    Raises:
        SettingsError: no model can be called, or an address is none.
    """
    access = require_access(settings)
    options: dict[str, Any] = {
        "connect_timeout_s": settings.connect_timeout_s,
        "read_timeout_s": settings.read_timeout_s,
        "call_timeout_s": settings.call_timeout_s,
        "transport": None if relay is None else partial(_relay_transport, relay),
    }
    clients: dict[Provider, ModelClient] = {}
    if access.anthropic_key is not None:
        clients[Provider.ANTHROPIC] = AnthropicClient(settings.anthropic_base_url, access.anthropic_key, **options)
    if access.openai is not None:
        clients[Provider.OPENAI] = OpenAIClient(access.openai.base_url, access.openai.key, **options)
    if access.bedrock_region:
        clients[Provider.BEDROCK] = BedrockClient(access.bedrock_region, **options)
    if access.vertex_region:
        clients[Provider.VERTEX] = VertexClient(access.vertex_region, access.vertex_project or None, **options)
    return RoutedClient(clients, access.missing)


def _relay_transport(relay: ReplyRelay) -> httpx2.BaseTransport:
    from neuraphage.relay.transport import RelayTransport  # noqa: PLC0415 - imports the HTTP client, as the SDK does

    return RelayTransport(relay)


def key_pool(settings: Settings) -> str:
    """The name of the key that models are called with; those of each provider have gates of their own."""
    access = require_access(settings)
    key = access.anthropic_key or (None if access.openai is None else access.openai.key)
    return key_pool_name("" if key is None else key.get_secret_value(), settings.namespace)
