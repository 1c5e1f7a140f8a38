"""Runs the application: in a thread of this process, or as the process itself."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import uvicorn

from neuraphage.testing.scripted_api.app import ServerState, create_app
from neuraphage.testing.scripted_api.faults import Fault, Kind
from neuraphage.testing.scripted_api.limit import RateLimit
from neuraphage.testing.scripted_api.log import RequestLog
from neuraphage.testing.scripted_api.prompt_cache import PromptCache
from neuraphage.testing.scripted_api.script import Script, echo

_BACKLOG = 1_024
_STOP_TIMEOUT_S = 10.0


def server_state(
    scripts: Mapping[str, Script] | None = None,
    *,
    default: str | None = None,
    accepted_keys: Iterable[str] = (),
    log_file: Path | None = None,
    window_tokens: int | None = None,
    cache: PromptCache | None = None,
    limit: RateLimit | None = None,
) -> ServerState:
    """A state whose default script is the named one, else the only one, else `echo`."""
    known: dict[str, Script] = dict(scripts or {})
    if default is None:
        default = next(iter(known)) if len(known) == 1 else "echo"
    known.setdefault("echo", echo)
    log, kept = RequestLog(log_file), cache or PromptCache()
    more = {"window_tokens": window_tokens, "cache": kept, "limit": limit}
    return ServerState(known, default, frozenset(accepted_keys), log, **more)  # type: ignore[arg-type]  # its own names


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 for any free one. Connections wait in it until the server runs.

    Raises:
        OSError: the address is in use or is none of this machine.
        OverflowError: there is no such port.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(_BACKLOG)
    except BaseException:
        sock.close()
        raise
    return sock


def uvicorn_server(state: ServerState) -> uvicorn.Server:
    """The server over a state. It is the same everywhere, whatever speed-ups are installed."""
    config = uvicorn.Config(
        create_app(state),
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        # Faults end responses in mid-air, which uvicorn would report as errors.
        log_level="critical",
        access_log=False,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


class ScriptedServer:
    """The scripted API in a thread, as a context manager.

    Args:
        scripts: script name -> script.
        default: script of conversations without a marker; None for the only one, else `echo`.
        accepted_keys: API keys that are let in; empty for any.
        log_file: gets a line of JSON at each arrival and each end.
        port: 0 for any free one.
        window_tokens: context window, which is enforced; None for one without an end.
        cache: of prompts; None for one of its own.
        limit: how often it may be asked; None for as often as anybody likes.
    """

    def __init__(
        self,
        scripts: Mapping[str, Script] | None = None,
        *,
        default: str | None = None,
        accepted_keys: Iterable[str] = (),
        log_file: Path | None = None,
        port: int = 0,
        window_tokens: int | None = None,
        cache: PromptCache | None = None,
        limit: RateLimit | None = None,
    ) -> None:
        self._state = server_state(
            scripts,
            default=default,
            accepted_keys=accepted_keys,
            log_file=log_file,
            window_tokens=window_tokens,
            cache=cache,
            limit=limit,
        )
        self._port = port
        self._running: tuple[uvicorn.Server, threading.Thread, socket.socket] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start to serve; clients may connect when this returns."""
        if self._running is not None:
            raise RuntimeError("the server runs already: stop it first")
        sock = listen("127.0.0.1", self._port)
        self._state.log.open()
        self._port = sock.getsockname()[1]
        server = uvicorn_server(self._state)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, name="scripted-api", daemon=True)
        thread.start()
        self._running = (server, thread, sock)

    def stop(self) -> None:
        """Stop; open streams are closed. Does nothing when it does not run."""
        if self._running is None:
            return
        server, thread, sock = self._running
        self._running = None
        server.force_exit = True
        server.should_exit = True
        thread.join(_STOP_TIMEOUT_S)
        with contextlib.suppress(OSError):
            sock.close()
        self._state.log.close()

    def log(self) -> dict[str, Any]:
        """What reached the server: totals, counts by request hash, entries."""
        return self._state.log.as_json()

    def set_fault(self, kind: Kind, **conditions: Any) -> None:
        """Order a fault; see Fault for the conditions."""
        self._state.faults.add(Fault(kind=kind, **conditions))

    def set_limit(self, limit: RateLimit | None) -> None:
        """Enforce a limit from now on, or none."""
        self._state.limit = limit

    def reset(self) -> None:
        """Forget the log, the faults, the prompt cache and the limit."""
        self._state.reset()
