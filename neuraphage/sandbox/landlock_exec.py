"""The program that gives up what a command must not have, and then becomes the command: a sandbox without bubblewrap.

Started as `python -I -S landlock_exec.py --working-dir W --tmp T [--guarded P] [--hidden P] [--shown P] -- argv...`,
which landlock.landlocked builds; landlock.py says what this way cannot do. It needs no rights. What it cannot restrict
it does not run (exit code 126).

Standard library only, see spool/runner.py.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # type checkers know this name; importing typing would double the start
if TYPE_CHECKING:
    from typing import NoReturn

    from neuraphage.sandbox import becoming, kernel_limits, landlock, seccomp
else:
    # run by path, outside the package: importing the package would load the whole library
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib doubles the start
    import becoming
    import kernel_limits
    import landlock
    import seccomp


class Orders:
    """As model.sandbox.SandboxView, which lies in the package.

    Args:
        arguments: of this program; what is behind `--` is the command.

    Raises:
        ValueError: they are none.
    """

    def __init__(self, arguments: list[str]) -> None:
        split = arguments.index("--")
        words, self.argv = arguments[:split], arguments[split + 1 :]
        paths: dict[str, list[str]] = {}
        for option, path in zip(words[::2], words[1::2], strict=True):
            if not path.startswith("/"):
                raise ValueError(f"{option} wants an absolute path, not {path!r}")
            paths.setdefault(option, []).append(path)
        (self.working_dir,) = paths.pop("--working-dir")
        (self.tmp_dir,) = paths.pop("--tmp")
        self.guarded = tuple(paths.pop("--guarded", ()))
        self.hidden = tuple(paths.pop("--hidden", ()))
        self.shown = tuple(paths.pop("--shown", ()))
        if paths or not self.argv:
            raise ValueError(f"options that there are not: {', '.join(paths)}" if paths else "no command behind --")


def main() -> NoReturn:
    """Give up what the command must not have, become the command."""
    step = "understand its arguments"
    try:
        view = Orders(sys.argv[1:])
        step = "restrict the command"
        limit(view)
    except (OSError, ValueError, KeyError) as error:
        becoming.end(step, error)
    becoming.become(view.argv)


def limit(view: Orders) -> None:
    """Restrict this process and all that it starts.

    Raises:
        OSError: the kernel refused.
        ValueError: it cannot.
    """
    machine = os.uname().machine
    abi, program = kernel_limits.landlock_abi(), seccomp.compiled_filter(machine, namespaces=False)
    if abi < landlock.LEAST_ABI:
        raise ValueError(
            f"this kernel has Landlock in version {abi} (0: not at all), and {landlock.LEAST_ABI} is wanted"
        )
    if program is None:
        raise ValueError(f"the system calls of this machine ({machine}) are not known")
    allowed = landlock.rules(view, view.tmp_dir, landlock.Folders())
    kernel_limits.forbid_new_privileges()
    kernel_limits.restrict(allowed, landlock.handled(abi), landlock.OF_FILES)
    kernel_limits.drop_capabilities(machine)
    kernel_limits.filter_calls(program)


if __name__ == "__main__":
    main()
