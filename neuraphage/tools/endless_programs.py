"""Why a command likely did not end: it has a program that needs a terminal, waits for input, or never ends. Pure."""

from __future__ import annotations

import re

_NO_TERMINAL = "needs a terminal and somebody at its keys, and commands have neither"
_KINDS = [
    (
        "vi vim nvim view vimdiff nano pico emacs joe mcedit micro hx kak",
        f"{_NO_TERMINAL}: change files with edit or write_file, or with sed -i",
    ),
    ("less more most", f"{_NO_TERMINAL}: show files with read_file or cat"),
    (
        "top htop btop atop watch iotop glances",
        "goes on until a key is pressed, and nobody presses one: ask once, with top -b -n 1, or the command itself"
        " in place of watch",
    ),
    (
        "tmux screen mc ranger lazygit tig k9s ncdu dialog whiptail fzf gdb lldb ipython psql mysql ssh telnet ftp"
        " sftp",
        f"{_NO_TERMINAL}: give what it is to do as options or on its standard input, and forbid questions (-c, -batch,"
        " BatchMode=yes)",
    ),
]
_NAMED = {name: advice for names, advice in _KINDS for name in names.split()}
_PROGRAM = re.compile(
    r"(?:\A|[|;&(\n])[ \t]*"
    r"(?:(?:\w+=\S*|sudo|env|exec|time|nohup|command|stdbuf|nice|timeout|script|-\S+|[\d.]+[smh]?)[ \t]+)*"
    r"[\"']?(?:[\w.~/-]*/)?(?P<name>[\w.-]+)(?P<rest>[^|;&\n]*)"
)
_MAX_COMMAND_CHARS = 4_000
_LOGS = re.compile(r"\blogs\b.*\s(?:-f|--follow)\b")
_FOLLOWS = {
    "tail": re.compile(r"\s(?:-\d*[fF]|--follow|--retry)"),
    "journalctl": re.compile(r"\s(?:-[a-z]*f|--follow\b)"),
    "dmesg": re.compile(r"\s(?:-[a-zA-Z]*[wW]|--follow)"),
    "inotifywait": re.compile(r"\s(?:-[a-z]*m|--monitor)"),
    **dict.fromkeys(("docker", "podman", "kubectl", "docker-compose", "oc"), _LOGS),
}
_ASKS = re.compile(
    r"(?:\[y(?:es)?/no?\]|\(y(?:es)?/no?\)|\bpass(?:word|phrase|code)\b.*:|\?|\bcontinue\b.*:)\s*\Z", re.IGNORECASE
)
_SCREEN = re.compile(r"\\x1b\[\?(?:1049|1047|47|2004)h|Output is not to a terminal")


def why_endless(command: str, output: str) -> str | None:
    """What of a command that was ended by its time limit likely kept it from ending, and what to do instead.

    Args:
        command: the command line.
        output: what it wrote, as it is shown.

    Returns:
        A sentence; None when nothing tells.
    """
    for found in _PROGRAM.finditer(command[:_MAX_COMMAND_CHARS]):
        name = found["name"]
        if name in _NAMED:
            return f"{name} {_NAMED[name]}."
        if name in _FOLLOWS and _FOLLOWS[name].search(found["rest"]):
            return (
                f"{name} was told to follow, so it never ends by itself: leave that option out, or put timeout 10"
                " before it."
            )
    if _SCREEN.search(output):
        return f"It drew a screen. A program that does so {_NO_TERMINAL}: use its options, or another program."
    if _ASKS.search(output[-300:]):
        return (
            "It seems to ask a question, and nobody answers: give the answer as an option (such as --yes), or on its"
            " standard input (printf 'y\\n' | ...)."
        )
    return None
