"""A worker process as far as leases go: it claims what it is told to, and holds its interpreter for as long."""

from __future__ import annotations

import ctypes
import os
import sys
import time

from neuraphage.configuration import load_or_exit
from neuraphage.ports import Lease
from neuraphage.runtime.lease_keeper import LeaseKeeper
from neuraphage.standby import StandbyProcess
from neuraphage.store.presence import NamedConnection
from neuraphage.store.standby_order import standby_order
from neuraphage.wiring import build_store

settings = load_or_exit()
store = build_store(settings)
order = standby_order(store.context)
assert order is not None
standby = StandbyProcess(order, settings.heartbeat_s / 2)
presence = NamedConnection(settings.state_url.get_secret_value(), settings.namespace, "p1")
keeper = LeaseKeeper(store, presence, store.clock, settings, lambda _: None, standby=standby)
keeper.start()
# a thread of PyDLL keeps the lock for the whole call, as a pattern of `re` or a big sort does
libc = ctypes.PyDLL(None)
contexts = []
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word in ("hold", "claim", "effect"):
        claiming = keeper.claiming(rest, "c1")
        claiming.__enter__()
        contexts.append(claiming)
        claimed = store.claim(rest, 1, "p1", "c1")
        assert claimed.lease is not None, claimed.verdict
        if word != "claim":
            holding = keeper.hold(Lease(rest, claimed.lease.fence, "c1"), store.clock.boottime_s())
            held = holding.__enter__()
            contexts.append(holding)
            if word == "effect":
                held.effect_since_s = store.clock.boottime_s()
        print(standby.pid, flush=True)
    elif word == "stick":
        libc.usleep(int(float(rest) * 1e6))
        print("free", flush=True)
    elif word == "held":
        keeper.renew_now()
        print(not held.lost, flush=True)
    elif word == "beside":
        for _ in range(600):
            if standby.pid not in (None, int(rest)):
                break
            time.sleep(0.1)
        print(standby.pid, flush=True)
    elif word == "leak":  # a child that inherits every descriptor and outlives this process
        child = os.fork()
        if child == 0:
            time.sleep(3_600)  # its test ends it: no wait of a test outlasts it
            os._exit(0)
        print(child, flush=True)
    elif word == "leave":
        keeper.stop()
        print("left", flush=True)
