"""The environment that commands get: little, and no secret of the worker's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from neuraphage.inside_command import MARK
from neuraphage.redaction.environment import names_secret

PASSED_ON = (
    "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOCPATH", "LOCALE_ARCHIVE", "USER",
    "LOGNAME", "SHELL", "TMPDIR", "TZ", "VIRTUAL_ENV",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR",
)  # fmt: skip
"""Variables that commands get from the worker's environment."""

# A command has no terminal and nobody to press a key. These win over what git and others are configured to open.
_EDITORS = (
    "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "HGEDITOR", "SVN_EDITOR", "SUDO_EDITOR", "KUBE_EDITOR",
    "GH_EDITOR", "JJ_EDITOR", "FCEDIT",
)  # fmt: skip
_PAGERS = ("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "GH_PAGER", "AWS_PAGER", "BAT_PAGER", "DELTA_PAGER")
_NO_QUESTIONS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # set but empty: git then asks no program at all, whatever core.askPass says
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "POETRY_NO_INTERACTION": "1",
    "npm_config_yes": "true",  # npx installs what it is told to run
    "COMPOSER_NO_INTERACTION": "1",
    "TF_INPUT": "0",
    "GH_PROMPT_DISABLED": "1",
    "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
}
_FIXED = {
    "TERM": "dumb",
    # an editor that is content with what it finds: the message as prepared, the list of commits as proposed
    **dict.fromkeys(_EDITORS, "true"),
    **dict.fromkeys(_PAGERS, "cat"),
    **_NO_QUESTIONS,
}
_DEFAULTS = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/", "LANG": "C.UTF-8"}
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
_SECRET_PREFIXES = ("NEURAPHAGE_", "ANTHROPIC_", "OPENAI_")


def marked(environ: Mapping[str, str], task_id: str) -> dict[str, str]:
    """The environment of a command that names its task: what it starts then gives no orders to tasks."""
    return {**environ, MARK: task_id}


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
