"""The files of a working directory on this machine, read as the tools read them. Most commands need none of it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from neuraphage.model.tool import FileSight

if TYPE_CHECKING:
    from neuraphage.decide.files_seen import SeenFile


class LocalFiles:
    """Implements ports.WorkingFiles."""

    def is_here(self, folder: str) -> bool:
        """See ports.WorkingFiles."""
        return Path(folder).is_dir()

    def too_wide(self, folder: str, data_dir: Path) -> str | None:
        """See ports.WorkingFiles."""
        from neuraphage.decide.wide_folder import too_wide  # noqa: PLC0415 - see the module docstring

        homes = {resolved(Path(home)) for home in _homes()}
        return too_wide(resolved(Path(folder)), homes - {Path("/")}, resolved(data_dir))

    def text(self, path: str, folder: str | None) -> str | None:
        """See ports.WorkingFiles."""
        from neuraphage.tools.base import ToolCallError  # noqa: PLC0415 - see the module docstring
        from neuraphage.tools.files import decode, read_raw_or_none  # noqa: PLC0415 - as above
        from neuraphage.tools.paths import resolve  # noqa: PLC0415 - as above

        try:
            place = resolve(path, folder)
            raw = read_raw_or_none(place)
            return None if raw is None else decode(raw.data, place.shown).text
        except (ToolCallError, OSError, UnicodeError):
            return None

    def is_absent(self, path: str, folder: str | None) -> bool:
        """See ports.WorkingFiles."""
        from neuraphage.tools.base import ToolCallError  # noqa: PLC0415 - see the module docstring
        from neuraphage.tools.beneath import is_there  # noqa: PLC0415 - as above
        from neuraphage.tools.paths import resolve  # noqa: PLC0415 - as above

        try:
            place = resolve(path, folder)
            return not is_there(place.pin, place.parts)
        except (ToolCallError, OSError):
            return False

    def place(self, path: str, folder: str) -> str:
        """See ports.WorkingFiles."""
        named = os.path.join(folder, path)  # noqa: PTH118 - a Path would drop what is spelt twice
        try:
            if self.is_here(folder):
                return os.path.realpath(named)
        except (OSError, ValueError, RecursionError):  # a NUL in it, or links upon links
            pass
        return os.path.normpath(named)

    def is_as_approved(self, approved: FileSight, folder: str, seen: SeenFile | None) -> bool | None:
        """See ports.WorkingFiles."""
        from neuraphage.tools.base import ToolCallError  # noqa: PLC0415 - see the module docstring
        from neuraphage.tools.files import read_raw_or_none  # noqa: PLC0415 - as above
        from neuraphage.tools.freshness import digest, is_as_approved  # noqa: PLC0415 - as above
        from neuraphage.tools.paths import resolve  # noqa: PLC0415 - as above

        try:
            raw = read_raw_or_none(resolve(approved.path, folder))
        except (ToolCallError, OSError):
            return None
        return is_as_approved(approved, digest(raw.data) if raw else None, seen)


def resolved(path: Path) -> Path:
    """A path with its links followed, as far as they can be: a loop is what it is."""
    return Path(os.path.realpath(path))


def _homes() -> set[str]:
    """Homes of this user: as the environment has it, and as the machine does."""
    import pwd  # noqa: PLC0415 - see the module docstring

    named = {os.environ.get("HOME", "")}
    with suppress(KeyError):  # a user id without a name, as containers have them
        named.add(pwd.getpwuid(os.geteuid()).pw_dir)
    return {home for home in named if home.startswith("/")}
