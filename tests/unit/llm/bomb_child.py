"""Call the model once, in a process with little memory to spare; print the fault and what the call took at most."""

import gc
import json
import resource
import sys
import tracemalloc
from pathlib import Path

from neuraphage.errors import ModelFault
from neuraphage.llm import AnthropicClient
from neuraphage.model.message import ModelRequest

ROOM_BYTES = 400 * 1024 * 1024
"""Of address space, beyond what the process has before the call."""


class _Never:
    def check(self):
        pass

    def subscribe(self, _wake):
        return lambda: None


def used_bytes():
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()


def main():
    client = AnthropicClient(sys.argv[1], "a-key-of-tests", read_timeout_s=60)
    client._connected()
    request = ModelRequest(
        request_id="r", model="m", system=[], messages=[{"role": "user", "content": "hi"}], tools=[], max_tokens=10
    )
    gc.collect()
    limit = used_bytes() + ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    tracemalloc.start()
    try:
        client.call(request, lambda _: None, _Never())
        told = {"kind": "none", "detail": ""}
    except ModelFault as fault:
        told = {"kind": fault.kind.value, "detail": fault.detail}
    print(json.dumps(told | {"peak_bytes": tracemalloc.get_traced_memory()[1]}))


main()
