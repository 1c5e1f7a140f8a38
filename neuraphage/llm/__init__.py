"""The model: one streamed call of a provider's API, its faults, its price.

This room is the only importer of the providers' SDKs, and imports them late (see `client.py`). It calls once and never
retries; the turn's timers do.
"""

from neuraphage.llm.chat.client import OpenAIClient
from neuraphage.llm.client import AnthropicClient
from neuraphage.llm.cloud import BedrockClient, VertexClient
from neuraphage.llm.model_table import ModelTable
from neuraphage.llm.pricing import PriceTable
from neuraphage.llm.router import RoutedClient
from neuraphage.llm.sdks import is_sdk_loaded, load_sdk

__all__ = [
    "AnthropicClient",
    "BedrockClient",
    "ModelTable",
    "OpenAIClient",
    "PriceTable",
    "RoutedClient",
    "VertexClient",
    "is_sdk_loaded",
    "load_sdk",
]
