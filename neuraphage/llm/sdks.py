"""When the SDKs of providers are imported: by `load_sdk`, or by the first call.

An SDK takes longer to import than all the rest of a worker's start. So only one module of each provider and what is
below it import it, and nothing imports that before it is needed.
"""

from __future__ import annotations

import importlib
import sys

from neuraphage.decide.model_ids import Provider

_MESSAGES = "neuraphage.llm.streamed_call"
PARTS = {
    Provider.ANTHROPIC: _MESSAGES,
    Provider.OPENAI: "neuraphage.llm.chat.call",
    Provider.BEDROCK: _MESSAGES,
    Provider.VERTEX: _MESSAGES,
}
"""The one door to each SDK. Who comes while another thread imports it waits at this module, and holds no other."""


def load_sdk(provider: Provider = Provider.ANTHROPIC) -> None:
    """Import the SDK, unless it is; a second caller waits for the first.

    Raises:
        ImportError: it is not installed, or broken.
    """
    importlib.import_module(PARTS[provider])


def is_sdk_loaded(provider: Provider = Provider.ANTHROPIC) -> bool:
    """Whether the SDK is imported, or on its way."""
    return PARTS[provider] in sys.modules
