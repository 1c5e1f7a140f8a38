"""The environment that commands get: little, and no secret of the worker's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from neuraphage.decide.redaction_environment import names_secret

PASSED_ON = (
    "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "VIRTUAL_ENV",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR",
)  # fmt: skip
"""Variables that commands get from the worker's environment."""

# A command has no terminal and nobody to press a key.
_FIXED = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_DEFAULTS = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/", "LANG": "C.UTF-8"}
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
_SECRET_PREFIXES = ("NEURAPHAGE_", "ANTHROPIC_")


def looks_secret(name: str) -> bool:
    """Whether a variable's name says that its value must not reach a command."""
    upper = name.upper()
    is_agent = upper == "SSH_AUTH_SOCK"  # a place, not what is kept there
    return not is_agent and (
        upper.startswith(_SECRET_PREFIXES) or any(word in upper for word in _SECRET_WORDS) or names_secret(name)
    )


def clean_environment(environ: Mapping[str, str], extra_names: Iterable[str] = ()) -> dict[str, str]:
    """Build the environment of a command.

    Args:
        environ: the worker's.
        extra_names: further variables to pass on; one that looks secret is left out all the same.
    """
    names = [name for name in (*PASSED_ON, *extra_names) if name in environ and not looks_secret(name)]
    return _DEFAULTS | {name: environ[name] for name in names} | _FIXED
