"""Rules that a person may want to make of a call that they are asked about: 1 to 3, or none. Pure.

Nothing is proposed by which more could run than its words say: no shell, no interpreter, nothing that runs another
program, and nothing of which one wrong word does harm that nobody can undo.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from neuraphage.decide.rules.judging import CalledTool, is_harmless, judge
from neuraphage.decide.rules.protected import is_protected, is_secret
from neuraphage.decide.rules.reading import MOST_CHARS, read_allowed
from neuraphage.decide.shell.line_takers import SHELLS
from neuraphage.decide.shell.programs import RUNNERS, runs_others
from neuraphage.errors import BadInput
from neuraphage.model.rule import RuleEffect
from neuraphage.model.shell import SimpleCommand

MOST = 3
_INTERPRETERS = (
    "awk", "bun", "clj", "deno", "elixir", "erl", "gawk", "ghci", "groovy", "guile", "irb", "java", "jshell", "julia",
    "lua", "mawk", "node", "nodejs", "osascript", "perl", "php", "pwsh", "python", "R", "Rscript", "ruby", "scala",
    "sed", "sqlite3", "tclsh", "ts-node", "tsx", "csh", "dotnet", "expect", "fish", "ipython", "jupyter", "mksh", "nu",
    "pypy", "rbash", "swift", "tcsh",
)  # fmt: skip
"""Programs that run what their words or a file say; also with a version behind (`python3.12`)."""
_NEVER = frozenset(
    {"rm", "rmdir", "unlink", "shred", "dd", "truncate", "mv", "cp", "ln", "chmod", "chown", "kill", "killall", "pkill",
     "find", "fd", "curl", "wget", "nc", "ncat", "scp", "rsync", "ssh", "docker", "podman", "kubectl",
     "terraform", "systemctl", "service", "crontab", "at", "mount", "umount", "reboot", "shutdown", "tee", "vi", "vim",
     "nano", "emacs", "less", "more", "man", "gdb", "lldb", "npx", "pnpx", "bunx", "uvx", "pipx", "tar", "zip", "sort"}
)  # fmt: skip
_BY_TARGET = frozenset({"gmake", "gradle", "just", "make", "mvn", "ninja", "rake", "task"})
"""Programs that take lines to run among their words: a rule names what they are to make, and nothing else."""
_SUBCOMMANDS = {
    "cargo": {"bench", "build", "check", "clippy", "doc", "fmt", "test", "tree"},
    "git": {"add", "blame", "commit", "diff", "log", "ls-files", "rev-parse", "show", "status"},
    "go": {"build", "fmt", "list", "test", "vet"},
    "npm": {"ls", "outdated", "test", "view"},
    "pip": {"check", "freeze", "list", "show"},
    "pnpm": {"ls", "outdated", "test"},
    "poetry": {"check", "lock", "show"},
    "uv": {"lock", "tree"},
    "yarn": {"list", "outdated", "test", "why"},
}
"""Programs of many kinds of work, and those of them that may stand in a rule."""
_SCRIPTS = frozenset({"npm", "pnpm", "yarn"})
"""Programs that run a script of the project by its name, behind `run`."""
_SPECIAL = frozenset("*?[]\\'\"\n\t;")


def proposals(called: CalledTool) -> tuple[str, ...]:
    """What `always: PATTERN` may be answered with, as `TOOL: PATTERN`; the narrower ones first.

    Args:
        called: the call that a person is asked about.
    """
    found = _of_line(called) if called.has_line else _of_paths(called)
    subjects = tuple(dict.fromkeys(f"{called.tool.name}: {pattern}" for pattern in found))[:MOST]
    return subjects if _are_enough(called, subjects) else ()


def _are_enough(called: CalledTool, subjects: Sequence[str]) -> bool:
    """Whether these would have allowed the call: what they leave out (a file that is written) is no matter for them."""
    try:
        rules = [read_allowed(subject) for subject in subjects if len(subject) <= MOST_CHARS]
    except BadInput:
        return False
    return bool(rules) and judge(called, rules).effect is RuleEffect.ALLOW


def _of_line(called: CalledTool) -> list[str]:
    line = called.line
    if line is None or line.unclear or line.assigned:
        return []
    commands = [one for one in line.commands if not is_harmless(one)]
    wide = [_pattern(one) for one in commands]
    kinds = list(dict.fromkeys(one for one in wide if one is not None))
    if None in wide or not kinds or len(kinds) > MOST:
        return []
    exact = _exact(commands[0]) if len(commands) == 1 else None
    return [*([exact] if exact is not None else []), *kinds]


def _pattern(command: SimpleCommand) -> str | None:
    """The rule for a command and others of its kind; None where none is to be proposed."""
    if command.within:
        return None
    words = [word.text for word in command.words]
    name = words[0]
    if name is None or not _is_plain(name) or "/" in name or is_never_proposed(name) or runs_others(command):
        return None
    if name in _BY_TARGET:
        return _exact(command)
    if name not in _SUBCOMMANDS:
        return f"{name} *"
    kind = words[1] if len(words) > 1 else None
    if name in _SCRIPTS and kind == "run":
        script = words[2] if len(words) > 2 else None
        return f"{name} run {script} *" if script is not None and _is_plain(script) and script[:1] != "-" else None
    return f"{name} {kind} *" if kind in _SUBCOMMANDS[name] else None


def is_never_proposed(program: str) -> bool:
    """Whether no rule about a program is ever proposed."""
    plain = program.rstrip("0123456789.-")
    others = SHELLS | RUNNERS.keys() | _NEVER
    return program in others or plain in others or program in _INTERPRETERS or plain in _INTERPRETERS


def _exact(command: SimpleCommand) -> str | None:
    """The rule for this very command; None where its words are no pattern of themselves."""
    words = [word.text for word in command.words if not word.is_pattern]
    if len(words) < len(command.words) or not all(word is not None and _is_plain(word) for word in words):
        return None
    return " ".join(word for word in words if word is not None)


def _is_plain(word: str) -> bool:
    return bool(word) and word.isprintable() and not any(char in _SPECIAL or char.isspace() for char in word)


def _of_paths(called: CalledTool) -> list[str]:
    """The file, and the folder that it is in; of calls with one path."""
    paths = called.paths
    if len(paths) != 1 or called.working_dir is None or any(char in _SPECIAL for char in paths[0]):
        return []
    guarded = is_protected if called.tool.traits.writes else is_secret
    root = posixpath.normpath(called.working_dir)
    whole = posixpath.normpath(posixpath.join(root, paths[0]))
    if guarded(paths[0], called.working_dir) or not whole.startswith(root.rstrip("/") + "/"):
        return []
    path = posixpath.relpath(whole, root)
    folder = posixpath.dirname(path)
    return [path, f"{folder}/**"] if folder else [path]
