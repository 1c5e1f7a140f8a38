"""Renews the leases of one worker process while its interpreter cannot. A script, with the standard library only.

    python -I -S program.py <descriptor of the shared memory> <pid of the worker>

A tool that holds the interpreter lock (a catastrophic pattern, a big sort) stops every other thread of its worker, the
heartbeat's too, while the worker is well and nobody died. This process looks at the shared memory in which the worker
writes what it holds (shared_leases.py), and renews when the worker has not. It is small: it speaks the few words of the
server's protocol itself.

It stands in for a worker that is stuck, never for one that is stopped by a signal, nor for a lease whose effect is past
effect_max_s. A worker that is stuck for so long is killed, as a hung thread ends its process otherwise. It
ends with its worker: the kernel tells it, whoever else has inherited its pipe.
"""

from __future__ import annotations

import _thread
import contextlib
import marshal
import mmap
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # type checkers know this name; importing typing would cost memory in every process
if TYPE_CHECKING:
    from typing import Any

    from neuraphage.proc import kernel_ties
    from neuraphage.standby import plain_server, shared_layout
else:
    # run by path, outside the package: importing the package would load the whole library
    _HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is heavy
    sys.path += [_HERE, os.path.join(os.path.dirname(_HERE), "proc")]  # noqa: PTH118, PTH120 - likewise
    import kernel_ties
    import plain_server
    import shared_layout

LATE_BEATS = 1.2
"""So many heartbeats after a renewal the next one is late; two, and the lease would become suspect."""
WAKE_S = 0.5
"""A look that comes so much too late tells that this process stood still itself."""
_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boottime_s() -> float:
    """The clock of runtime/clock.py."""
    return time.clock_gettime(_BOOTTIME)


def is_stopped(pid: int) -> bool:
    """Whether a signal or a debugger has stopped the process."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123 - pathlib is heavy
            return stat.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
        return False
    import subprocess  # noqa: PLC0415 - not needed on Linux

    argv = ["/bin/ps", "-o", "state=", "-p", str(pid)]
    return subprocess.run(argv, capture_output=True, check=False).stdout[:1] == b"T"  # noqa: S603 - fixed argv


class StandIn:
    """Looks at the shared memory again and again, and renews what is late.

    Args:
        shared: memory in which the worker writes what it holds.
        order: times, keys and the script.
        pid: of the worker.
    """

    def __init__(self, shared: mmap.mmap, order: dict[str, Any], pid: int) -> None:
        self._shared, self._order, self._pid = shared, order, pid
        self._server = plain_server.PlainServer(order)
        self._late_s = order["heartbeat_s"] * LATE_BEATS
        self._tick_s = order["heartbeat_s"] / 4
        self._renewed_s = 0.0
        self._pulse_s = 0.0
        self._silent_since_s = self._looked_s = time.monotonic()

    def stand(self) -> None:
        """Look four times a heartbeat, until this process is ended."""
        while True:
            time.sleep(self._tick_s)
            self.look()
            self._looked_s = time.monotonic()

    def look(self) -> None:
        """Renew what is due and was not renewed, or end a worker that is stuck for too long."""
        pulse_s, renewed_s = shared_layout.HEADER.unpack_from(self._shared, 0)
        now_s, awake_s = boottime_s(), time.monotonic()
        if pulse_s != self._pulse_s or awake_s - self._looked_s > self._tick_s + WAKE_S:
            self._pulse_s, self._silent_since_s = pulse_s, awake_s
        silent_s = awake_s - self._silent_since_s
        if now_s - renewed_s < self._late_s:
            self._server.close()
            return
        if is_stopped(self._pid):
            self._silent_since_s = awake_s
            return
        rows = shared_layout.rows_of(self._shared)
        longest_s = self._order["effect_max_s"]
        due = [row for row in rows if not row[3] or now_s - float(row[3]) < longest_s]
        if silent_s >= longest_s or (silent_s >= self._late_s and len(due) < len(rows)):
            self._end_worker(silent_s)
        elif due and now_s - self._renewed_s >= self._late_s:
            with contextlib.suppress(OSError, ValueError, ImportError):  # the server is away: the next look tries again
                self._renew(due)

    def _renew(self, due: list[list[str]]) -> None:
        order = self._order
        keys: list[str] = [order["leases_key"]]
        args: list[Any] = [order["lease_ms"]]
        sent_s = boottime_s()
        for task, fence, claim, _ in due:
            key = order["task_key"] + task
            if fence == "0":  # the answer to its claim may have come when nobody could read it
                try:
                    found = self._server.call("HMGET", key, "fence", "claim")
                except plain_server.Refused:
                    continue  # one damaged record must not cost the other tasks of this process their leases
                if found[1] != claim.encode():
                    continue
                args += [task, found[0], claim]
            else:
                args += [task, fence, claim]
            keys.append(key)
        if len(keys) > 1:
            self._server.call("EVAL", order["script"], len(keys), *keys, *args)
        self._renewed_s = sent_s

    def _end_worker(self, silent_s: float) -> None:
        if os.getppid() != self._pid:
            return
        sys.stderr.write(
            f"neuraphage: process {self._pid} is killed: its interpreter has been stuck for {silent_s:.0f} s, and an"
            f" effect is past effect_max_s ({self._order['effect_max_s']:g})\n"
        )
        os.kill(self._pid, signal.SIGKILL)


def end_with(pid: int) -> None:
    """End this process when the worker ends or closes its pipe; runs in a thread of its own."""
    watched = select.poll()
    watched.register(0, select.POLLIN)
    every_ms: int | None = 50
    with contextlib.suppress(OSError, AttributeError):  # an old kernel, or not Linux
        watched.register(os.pidfd_open(pid), select.POLLIN)
        every_ms = None
    while os.getppid() == pid and not watched.poll(every_ms):
        pass
    os._exit(0)


def read_order() -> dict[str, Any]:
    """The order, from standard input: it holds the password."""
    data = b""
    while len(data) < 4 + int.from_bytes(data[:4], "little"):
        piece = os.read(0, 65_536)
        if not piece:
            os._exit(0)
        data += piece
    order: dict[str, Any] = marshal.loads(data[4:])  # noqa: S302 - our own worker wrote it, with this interpreter
    return order


def main() -> None:
    """Stand in for the worker until it ends."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)  # a service manager signals all at once; the worker still works
    with contextlib.suppress(OSError):
        kernel_ties.hide_memory()  # the order holds the server's password
    descriptor, pid = int(sys.argv[1]), int(sys.argv[2])
    order = read_order()
    _thread.start_new_thread(end_with, (pid,))
    shared = mmap.mmap(descriptor, shared_layout.SHARED_BYTES, prot=mmap.PROT_READ)
    StandIn(shared, order, pid).stand()


if __name__ == "__main__":
    main()
