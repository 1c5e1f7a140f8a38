"""What tells a command in a sandbox of the proxy: environment variables that programs and libraries heed. Pure."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from neuraphage.decide.allowed_hosts import read_allowed_host

PORT = 31_280
"""Where the bridge listens, in a network that nothing else is in."""
BRIDGE = Path(__file__).with_name("bridge.py")
_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")


def bridged(argv: Sequence[str], proxy_socket: str, port: int = PORT) -> list[str]:
    """A command with the bridge before it, to be run inside the sandbox.

    Args:
        argv: of the command.
        proxy_socket: path of the proxy's socket inside the sandbox.
        port: where the bridge listens.
    """
    return [sys.executable, "-I", "-S", str(BRIDGE), proxy_socket, str(port), "--", *argv]


def proxy_environment(allow_hosts: Iterable[str], port: int = PORT) -> dict[str, str]:
    """Variables for a command that has the bridge before it.

    What it starts itself it reaches directly, by names and addresses of its own machine; but those of them that the
    setting lists mean the machine outside, so they go through the proxy.

    Args:
        allow_hosts: entries of the setting.
        port: where the bridge listens.
    """
    url = f"http://127.0.0.1:{port}"
    listed = {read_allowed_host(entry).host for entry in allow_hosts}
    direct = ",".join(host for host in _OWN_HOSTS if host not in listed)
    variables = {"NODE_USE_ENV_PROXY": "1"}  # Node heeds the others from 24 on, if it is told to
    for name in _NAMES:
        variables |= {name: url, name.lower(): url}  # curl reads HTTP_PROXY in small letters alone
    return variables | {"NO_PROXY": direct, "no_proxy": direct}
