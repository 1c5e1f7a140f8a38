"""What a program runs in its turn: `sudo`, `env`, `xargs`, `find -exec`, `bash -c` and their like. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from neuraphage.model.shell import ShellWord, SimpleCommand


@dataclass(frozen=True, slots=True)
class _Runner:
    """How a program takes the command that it runs.

    Args:
        valued: its options that take the next word as their value.
        operands: how many words of its own stand before the command.
        assigns: whether NAME=VALUE may stand before it too.
        queries: options with which it runs nothing.
    """

    valued: frozenset[str] = frozenset()
    operands: int = 0
    assigns: bool = False
    queries: frozenset[str] = frozenset()


def _runner(valued: str = "", operands: int = 0, *, assigns: bool = False, queries: str = "") -> _Runner:
    return _Runner(frozenset(valued.split()), operands, assigns, frozenset(queries.split()))


_SUDO = "-u --user -g --group -p --prompt -C --close-from -h --host -r --role -t --type -T -U -D --chdir -R --chroot"
RUNNERS: Mapping[str, _Runner] = {
    "builtin": _runner(),
    "fakeroot": _runner("-l -s -i -f"),
    "gosu": _runner(operands=1),
    "parallel": _runner("-j --jobs -n -I -a --delay --joblog --results"),
    "pkexec": _runner("--user"),
    "systemd-run": _runner("-p --property -u --unit -M --machine -t --on-active"),
    "busybox": _runner(),
    "chroot": _runner(operands=1),
    "chrt": _runner("-T -P -D", operands=1),
    "command": _runner(queries="-v -V"),
    "doas": _runner("-u -C"),
    "env": _runner("-u --unset -C --chdir", assigns=True),
    "exec": _runner("-a"),
    "flock": _runner("-w --wait --timeout -E --conflict-exit-code", operands=1),
    "ionice": _runner("-c --class -n --classdata"),
    "nice": _runner("-n --adjustment"),
    "nohup": _runner(),
    "setsid": _runner(),
    "stdbuf": _runner("-i --input -o --output -e --error"),
    "strace": _runner("-o -e -p -s -u -E -I -O -S -P -a -b"),
    "sudo": _runner(_SUDO, assigns=True),
    "taskset": _runner(operands=1),
    "time": _runner("-f --format -o --output"),
    "timeout": _runner("-s --signal -k --kill-after", operands=1),
    "toybox": _runner(),
    "unshare": _runner(),
    "xargs": _runner("-I -L -n -P -s -d -a -E --max-args --max-procs --max-lines --max-chars --delimiter --arg-file"),
}
"""Programs that run the command which their words end with."""
SHELLS = frozenset({"ash", "bash", "dash", "ksh", "sh", "zsh"})
_LINE_TAKERS = frozenset({"flock", "runuser", "script", "su"})
"""Programs that take a whole line behind `-c`; shells do too."""
_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_EVALUATES: Mapping[str, _Runner] = {
    "eval": _runner(),
    "ssh": _runner("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w", operands=1),
    "watch": _runner("-n --interval"),
}
"""Programs that put their words together into a line, with what stands before it."""


@dataclass(frozen=True, slots=True)
class Inner:
    """What a program runs.

    Args:
        commands: as words.
        lines: as command lines of their own, still to be read.
        unclear: what it runs that nobody but the program can tell, in words for people.
    """

    commands: tuple[SimpleCommand, ...] = ()
    lines: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()


NOTHING = Inner()


def inner_of(command: SimpleCommand) -> Inner:
    """What a command runs in its turn."""
    name, words = command.name, command.words[1:]
    if name is None:
        return Inner(unclear=(f"which program it runs is not certain: {command.words[0].source}",))
    within = (*command.within, name)
    if name in SHELLS or name in _LINE_TAKERS:
        line = _line_of(name, words)
        if line is not NOTHING or name in SHELLS:
            return line
    if name in _EVALUATES:
        return _together(name, _behind(_EVALUATES[name], words))
    if name == "find":
        return Inner(tuple(SimpleCommand(found, within) for found in _executed(words)))
    if name == "git":
        return _of_git(words)
    if name in (".", "source"):
        return Inner(unclear=(f"it runs the lines of a file: {' '.join(word.source for word in words[:1])}",))
    if name == "trap":
        return _lines(name, [word for word in words if not (word.text or "").startswith("-")][:1]) if words else NOTHING
    if name == "alias" and words:
        return Inner(unclear=("it gives a program another name (alias)",))
    if name == "env" and (split := _value_of(words, ("-S", "--split-string"))) is not None:
        return Inner(lines=(split,))
    runner = RUNNERS.get(name)
    rest = () if runner is None else _behind(runner, words)
    return Inner((SimpleCommand(rest, within),)) if rest else NOTHING


def _behind(runner: _Runner, words: Sequence[ShellWord]) -> tuple[ShellWord, ...]:
    """The words of the command that a runner runs; none where it runs none."""
    at, operands = 0, runner.operands
    while at < len(words):
        text = words[at].text or ""
        if text in runner.queries:
            return ()
        if text == "--":
            return tuple(words[at + 1 + operands :])
        if text.startswith("-") and len(text) > 1:
            at += 2 if text in runner.valued else 1
        elif runner.assigns and "=" in text.lstrip("=") and text.partition("=")[0].replace("_", "a").isalnum():
            at += 1
        elif operands:
            operands -= 1
            at += 1
        else:
            return tuple(words[at:])
    return ()


def _line_of(name: str, words: Sequence[ShellWord]) -> Inner:
    """The line behind `-c`; a shell without it runs a file or its input."""
    for at, word in enumerate(words):
        text = word.text or ""
        is_option = text.startswith("-") and not text.startswith("--")
        if text == "--command" or (is_option and text.endswith("c")):
            return _lines(name, words[at + 1 : at + 2])
        if name in SHELLS and not text.startswith(("-", "+")):
            break
    return NOTHING if name not in SHELLS else Inner(unclear=(f"{name} runs lines that are not written here",))


def _together(name: str, words: Sequence[ShellWord]) -> Inner:
    texts = [word.text for word in words]
    if any(text is None for text in texts):
        return Inner(unclear=(f"{name} runs a line that is not certain",))
    line = " ".join(text for text in texts if text)
    return Inner(lines=(line,), unclear=(f"{name} reads its words as a line once more",)) if line else NOTHING


def _lines(name: str, words: Sequence[ShellWord]) -> Inner:
    text = words[0].text if words else None
    return Inner(lines=(text,)) if text is not None else Inner(unclear=(f"{name} runs a line that is not certain",))


def _executed(words: Sequence[ShellWord]) -> list[tuple[ShellWord, ...]]:
    """The commands behind find's `-exec` and its like."""
    found, begun = [], None
    for at, word in enumerate(words):
        if begun is None:
            begun = at + 1 if word.text in _EXEC else None
        elif word.text in (";", "+"):
            found.append(tuple(words[begun:at]))
            begun = None
    if begun is not None:
        found.append(tuple(words[begun:]))
    return [one for one in found if one]


def _of_git(words: Sequence[ShellWord]) -> Inner:
    """Settings that make git run what they say; an alias with `!` is a line."""
    lines, unclear = [], []
    for option, value in pairwise(words):
        if option.text not in ("-c", "--config-env"):
            continue
        setting, _, what = (value.text or "").partition("=")
        if setting.lower().startswith("alias.") and what.startswith("!"):
            lines.append(what[1:])
        unclear.append(f"a setting of git may run programs: {value.source}")
    return Inner(lines=tuple(lines), unclear=tuple(unclear))


def _value_of(words: Sequence[ShellWord], names: tuple[str, ...]) -> str | None:
    """The value of an option, as the next word or in the same one."""
    for at, word in enumerate(words):
        text = word.text or ""
        if text in names:
            return words[at + 1].text if at + 1 < len(words) else None
        for name in names:
            if text.startswith(f"{name}=" if name.startswith("--") else name):
                return text[len(name) :].removeprefix("=")
        if not text.startswith("-"):
            return None
    return None
