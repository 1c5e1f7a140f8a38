"""The scripted API as a process: `python -m neuraphage.testing.scripted_api --port 0 --port-file P ...`."""

from __future__ import annotations

import argparse
import importlib
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from neuraphage.testing.scripted_api.limit import RateLimit
from neuraphage.testing.scripted_api.script import Script
from neuraphage.testing.scripted_api.server import listen, server_state, uvicorn_server


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until a signal ends the process.

    Returns:
        Exit code: 0, or 2 for wrong arguments.
    """
    options = _parser().parse_args(argv)
    scripts: dict[str, Script] = {}
    if options.script_dir is not None:
        sys.path.append(str(options.script_dir.absolute()))  # last: nothing in it hides a library
    try:
        for spec in options.script:
            scripts.update(load_scripts(spec))
        state = server_state(
            scripts,
            default=options.default,
            accepted_keys=options.accept_key,
            log_file=options.log_file,
            window_tokens=options.window_tokens,
            limit=None if options.limit is None else RateLimit(options.limit, options.limit_window_s),
        )
        sock = _listening(options.host, options.port)
        if options.port_file is not None:
            _write_whole(options.port_file, f"{sock.getsockname()[1]}\n")
    except (ImportError, AttributeError, TypeError, ValueError, OSError) as error:
        sys.stderr.write(f"scripted_api: cannot start: {error}\n")
        return 2
    uvicorn_server(state).run(sockets=[sock])
    state.log.close()
    return 0


def load_scripts(spec: str) -> dict[str, Script]:
    """Load `[NAME=]module:attribute`: a script, or an object that maps names to scripts.

    Raises:
        ValueError: it is not of this form.
        ImportError, AttributeError: there is no such module or attribute.
        TypeError: the attribute is neither.
    """
    name, _, target = spec.rpartition("=")
    module, colon, attribute = target.partition(":")
    if not colon or not module or not attribute:
        raise ValueError(f"--script {spec!r} must be module:attribute or NAME=module:attribute")
    loaded = getattr(importlib.import_module(module), attribute)
    if isinstance(loaded, Mapping):
        return dict(loaded)
    if callable(loaded):
        return {name or attribute: loaded}
    raise TypeError(f"--script {spec!r} is {type(loaded).__name__}: expected a function or a mapping of functions")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripted_api", description="A scripted Messages API for tests and demos.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=0, help="0 for any free one")
    parser.add_argument("--port-file", type=Path, help="file that gets the port once clients may connect")
    parser.add_argument("--script", action="append", default=[], metavar="[NAME=]MODULE:ATTR", help="may be repeated")
    parser.add_argument("--script-dir", type=Path, help="where modules of scripts are, that are not installed")
    parser.add_argument("--default", help="script of conversations without a [script:NAME] marker")
    parser.add_argument("--accept-key", action="append", default=[], help="an API key to let in (default: any)")
    parser.add_argument("--log-file", type=Path, help="gets a line of JSON at each arrival and each end")
    parser.add_argument("--window-tokens", type=int, help="context window, which is enforced (default: none)")
    parser.add_argument("--limit", type=int, help="requests within a window; others get 429 (default: no limit)")
    parser.add_argument("--limit-window-s", type=float, default=60.0, help="length of that window (default: 60)")
    return parser


def _listening(host: str, port: int) -> socket.socket:
    try:
        return listen(host, port)
    except (OSError, OverflowError) as error:
        raise ValueError(f"cannot listen on {host}, port {port}: {error}; --port 0 takes any free one") from error


def _write_whole(path: Path, text: str) -> None:
    """Write a file that is never seen half written."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main())
