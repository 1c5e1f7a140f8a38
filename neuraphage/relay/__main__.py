"""`python -m neuraphage.relay ROOT HOST LIMITS [stay]`: how a worker starts one."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path

import orjson

from neuraphage.proc import kernel_ties
from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.place import RelayPlace
from neuraphage.relay.program import run_relay


def main() -> None:
    """Run until nobody uses it."""
    kernel_ties.hide_memory()  # from commands, which are of the same user: requests have keys of the model
    root, host, limits, *rest = sys.argv[1:]
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    asyncio.run(run_relay(RelayPlace(Path(root), host), RelayLimits(**orjson.loads(limits)), stays=rest == ["stay"]))


if __name__ == "__main__":
    main()
