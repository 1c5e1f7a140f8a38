"""The model: one streamed call of the Messages API, its faults, its price.

This room is the only importer of the Anthropic SDK, and imports it late (see `client.py`). It calls once and never
retries; the turn's timers do.
"""

from neuraphage.llm.client import AnthropicClient, is_sdk_loaded, load_sdk
from neuraphage.llm.pricing import PriceTable

__all__ = ["AnthropicClient", "PriceTable", "is_sdk_loaded", "load_sdk"]
