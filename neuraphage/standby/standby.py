"""Starts the process beside this worker process, tells it what is held, and sees that it is there."""

from __future__ import annotations

import logging
import marshal
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from neuraphage.ports import HeldRow
from neuraphage.proc import own_session
from neuraphage.standby.shared_leases import SharedLeases

log = logging.getLogger(__name__)

_PROGRAM = str(Path(__file__).with_name("program.py"))
_TLS_NAMES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Whom TLS trusts."""
_AGAIN_S = 5.0
"""One that ended is started again after so long."""
_LEAVE_S = 1.0


class StandbyProcess:
    """Implements ports.Standby by a process. Made after a fork, never before.

    Args:
        order: where the server is and what to renew, see store.standby_order; it holds the password.
        pulse_s: how often the interpreter shows that it runs.
    """

    def __init__(self, order: Mapping[str, Any], pulse_s: float) -> None:
        data = marshal.dumps(dict(order))
        self._order = len(data).to_bytes(4, "little") + data
        self._pulse_s = pulse_s
        self._shared = SharedLeases()
        self._child: subprocess.Popen[bytes] | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="neuraphage-pulse", daemon=True)

    @property
    def pid(self) -> int | None:
        """Of the process; None when there is none now."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    def start(self) -> None:
        """See ports.Standby."""
        self._begin()
        self._thread.start()

    def stop(self) -> None:
        """See ports.Standby."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()  # it starts no other one behind our back
        child, self._child = self._child, None
        if child is None:
            return
        if child.stdin is not None:
            child.stdin.close()
        try:
            child.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def hold(self, row: HeldRow) -> None:
        """See ports.Standby."""
        self._shared.hold(row)

    def let_go(self, claim_id: str) -> None:
        """See ports.Standby."""
        self._shared.let_go(claim_id)

    def renewed(self, boottime_s: float) -> None:
        """See ports.Standby."""
        self._shared.renewed(boottime_s)

    def _begin(self) -> None:
        """Start it; a machine that has no room for it now is asked again later."""
        descriptor = self._shared.descriptor
        try:
            child = own_session.start(
                [sys.executable, "-I", "-S", _PROGRAM, str(descriptor), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                cwd="/",
                env=own_session.bare_environment(_TLS_NAMES),
                pass_fds=(descriptor,),
            )
        except OSError as error:
            log.warning("no process beside this one (%s): a tool that holds the interpreter loses its leases", error)
            return
        with suppress(OSError):  # it has ended: seen below
            assert child.stdin is not None  # noqa: S101 - PIPE was asked for
            child.stdin.write(self._order)
            child.stdin.flush()
        self._child = child

    def _run(self) -> None:
        again_s = time.monotonic() + _AGAIN_S
        while not self._stop.wait(self._pulse_s):
            now_s = time.monotonic()
            self._shared.pulse(now_s)
            if self.pid is None and now_s >= again_s:
                again_s = now_s + _AGAIN_S
                log.warning("the process beside this one has ended; another one is started")
                self._begin()
