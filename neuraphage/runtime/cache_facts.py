"""What a reply says of the provider's cache, as it is stored with it."""

from __future__ import annotations

from neuraphage.decide.prompt_cache import lifetime
from neuraphage.decide.request_head import head_of, system_blocks
from neuraphage.model.cache_use import CacheUse
from neuraphage.model.usage import Usage
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork


def cache_use(services: Services, work: UnitOfWork, usage: Usage) -> CacheUse:
    """What of a request was read from the cache, and written to it, and when."""
    return CacheUse(
        read=usage.cache_read_input_tokens,
        written=usage.cache_creation_input_tokens,
        hour=lifetime(work.entries) == "1h",  # as the request had it: it may have written nothing
        at_ms=work.now_ms(),
        head=head_of(work.record.choice.model, system_blocks(work.record.spec), services.tools_hash),
    )
