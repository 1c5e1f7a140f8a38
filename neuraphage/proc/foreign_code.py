"""Code of others in this process: what it raises is its own failure, unless it is an order to the process or the turn.

A tool may raise anything: `sys.exit` of a library, a class derived from BaseException, `asyncio.CancelledError`. None
of them may end a worker. What must go through was raised into that code from outside: by the interrupt that it asks, by
a signal handler of Celery, by Ctrl-C.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from neuraphage.errors import CancelRequested, LeaseLost

T = TypeVar("T")
_POOL_PACKAGES = frozenset({"billiard", "celery"})


class ForeignCodeFailed(Exception):
    """Code of others has failed.

    Args:
        error: whatever it raised.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}".rstrip(": "))
        self.error = error


@contextmanager
def foreign_code() -> Iterator[None]:
    """Around code of others.

    Raises:
        ForeignCodeFailed: it raised something.
        LeaseLost, CancelRequested: from the interrupt.
        SystemExit: Celery ends the process.
        KeyboardInterrupt: a person ends the process.
    """
    try:
        yield
    except BaseException as error:
        if is_order(error):
            raise
        raise ForeignCodeFailed(error) from error


def of_kind(returned: object, kind: type[T]) -> T:
    """What a tool returned, if it is what the port says.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(returned, kind):
        raise TypeError(f"it returned {type(returned).__name__}, not a {kind.__name__}")
    return returned


def is_order(error: BaseException) -> bool:
    """Whether an exception was raised into the code that ran, from outside, and is no failure of that code."""
    if isinstance(error, KeyboardInterrupt):
        return _is_interruptible()
    return isinstance(error, LeaseLost | CancelRequested) or is_of_the_pool(error)


def is_of_the_pool(error: BaseException) -> bool:
    """Whether it is a SystemExit of a signal handler of Celery, which ends the process."""
    if not isinstance(error, SystemExit):
        return False
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    raised_in = "" if where is None else str(where.tb_frame.f_globals.get("__name__", ""))
    return any(name.partition(".")[0] in _POOL_PACKAGES for name in (raised_in, *_modules_of(error)))


def _modules_of(error: BaseException) -> Iterator[str]:
    return (kind.__module__ for kind in type(error).__mro__)


def _is_interruptible() -> bool:
    """Whether Ctrl-C raises in this thread: only the main one hears it, and Celery's processes have other handlers."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
