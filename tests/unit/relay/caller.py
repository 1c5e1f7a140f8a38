"""A worker process that calls the model by the relay, and tells each piece; a test kills it."""

from __future__ import annotations

import sys
from pathlib import Path

from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.place import RelayPlace
from relaykit import HELD, Host


def main() -> None:
    root, url, call_id = sys.argv[1:]
    host = Host(RelayPlace(Path(root)), url, RelayLimits())
    _, client = host.process()
    request = host.request(call_id, HELD)
    client.call(request, lambda delta: print(delta.text, flush=True), host.interrupt)
    print("whole", flush=True)


main()
