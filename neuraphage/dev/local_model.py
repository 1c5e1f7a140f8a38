"""What a scripted model on this machine needs: a free port, and an environment without ways to the outside."""

from __future__ import annotations

import socket
from collections.abc import Mapping

_OUTSIDE = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir"})


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def scripted_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment for a stack with a scripted model: plain HTTP on this machine needs no proxy and no
    certificates, and a proxy or a missing certificate file would only break it.

    Args:
        environ: of the user.
    """
    return {name: value for name, value in environ.items() if name.lower() not in _OUTSIDE}
