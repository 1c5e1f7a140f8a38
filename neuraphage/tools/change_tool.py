"""What every tool that changes a file shares: evidence, the probe of an interrupted call, and the write itself."""

from __future__ import annotations

import stat
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuraphage.model.tool import Probe, ProbeVerdict, SightKind, ToolResult
from neuraphage.ports import ToolContext
from neuraphage.tools.atomic_write import (
    ChangedMeanwhileError,
    FlushError,
    discard_leftover,
    flush_directory,
    replace_file,
)
from neuraphage.tools.base import P, ParsedTool, ToolCallError
from neuraphage.tools.files import RawFile, read_raw_or_none
from neuraphage.tools.freshness import digest, written
from neuraphage.tools.near import difference, look_alike
from neuraphage.tools.paths import ResolvedPath, os_failure, resolve


@dataclass(frozen=True, slots=True)
class Change:
    """A file's bytes before and after a call.

    Args:
        place: the file.
        before: as it is; None when there is none.
        after: as the call will leave it.
    """

    place: ResolvedPath
    before: RawFile | None
    after: bytes


class ChangeTool(ParsedTool[P]):
    """A checkable tool: an interrupted call is looked at before it is made again."""

    sight: SightKind

    @abstractmethod
    def plan(self, params: P, context: ToolContext) -> Change:
        """Work out the change without making it.

        Raises:
            ToolCallError: the call cannot be carried out.
        """

    @abstractmethod
    def success(self, params: P, place: ResolvedPath, data: bytes) -> str:
        """The text for a change that left these bytes; the same however often it is asked."""

    @abstractmethod
    def guess(self, params: P, place: ResolvedPath, now: RawFile | None) -> ProbeVerdict:
        """Verdict without evidence."""

    def facts_before(self, params: P, context: ToolContext) -> dict[str, Any]:
        """Path and hashes: of the bytes that are there, and of those that the call will leave."""
        change = self.plan(params, context)
        return {
            "path": str(change.place.path),
            "before_sha256": digest(change.before.data if change.before else None),
            "after_sha256": digest(change.after),
            **({"lost": told} if (told := _to_tell(change)) else {}),
        }

    def refusal(self, params: Mapping[str, Any], context: ToolContext) -> str | None:
        """Why the call can only fail as things stand, so that nobody is asked to allow it; None if it may succeed."""
        try:
            self.plan(self._parse(params), context)
        except ToolCallError as error:
            return str(error)
        return None

    def carry_out(self, params: P, context: ToolContext) -> ToolResult:
        """Make the change in one step."""
        change = self.plan(params, context)
        place = change.place
        told = _to_tell(change)
        unchanged = "The file was not changed." if change.before else "Nothing was written."
        try:
            replace_file(place, change.after, context.effect_id, change.before)
        except OSError as error:
            raise os_failure("write", place.shown, error, unchanged) from error
        except ChangedMeanwhileError as error:
            raise ToolCallError(
                f"{place.shown} was changed by another process while it was to be written. Its change was kept, and"
                " nothing was written. Read the file again, then decide."
            ) from error
        except FlushError as error:
            raise ToolCallError(
                f"{place.shown} was written, but its directory could not be flushed to disk ({error}): a power"
                " cut may undo it."
                " Read the file before you rely on it."
            ) from error
        return self._done(params, place, change.after, context, told)

    def _done(self, params: P, place: ResolvedPath, data: bytes, context: ToolContext, told: list[str]) -> ToolResult:
        text = " ".join([self.success(params, place, data), *told])
        return ToolResult(text=text, file=written(place, self.sight, data, context))

    def look_after(self, params: P, evidence: Mapping[str, Any], context: ToolContext) -> Probe:
        """Compare the file with the hashes taken before; also removes what a crashed write left."""
        place = resolve(params.path, context.working_dir)  # type: ignore[attr-defined]  # a tool that changes a file is told its path
        discard_leftover(place, context.effect_id)
        now = read_raw_or_none(place)
        verdict = self._compare(place, now, evidence) if "after_sha256" in evidence else self.guess(params, place, now)
        if verdict is not ProbeVerdict.HAPPENED or now is None:
            return Probe(verdict=verdict)
        try:
            with place.holder() as (fd, _):
                flush_directory(fd)  # the crash may have come between the rename and its flush
        except OSError:
            return Probe(verdict=ProbeVerdict.UNKNOWN)
        return Probe(
            verdict=verdict, result=self._done(params, place, now.data, context, list(evidence.get("lost", [])))
        )

    @staticmethod
    def _compare(place: ResolvedPath, now: RawFile | None, evidence: Mapping[str, Any]) -> ProbeVerdict:
        if evidence.get("path") != str(place.path):
            return ProbeVerdict.UNKNOWN  # a link was turned meanwhile: this is another file
        current = digest(now.data if now else None)
        if current == evidence["after_sha256"]:
            return ProbeVerdict.HAPPENED
        return ProbeVerdict.NOT_HAPPENED if current == evidence.get("before_sha256") else ProbeVerdict.UNKNOWN


def _to_tell(change: Change) -> list[str]:
    """Sentences about what a replaced file does not keep, or about what is there beside a new one."""
    if change.before is not None:
        return _lost(change.before)
    place = change.place
    found = look_alike(place.pin, place.parts)
    if found is None:
        return []
    wanted = "/".join(place.parts[: found.count("/") + 1])
    return [
        f"Beside it there is {found!a}, which differs from {wanted!a} by {difference(found, wanted)} alone: if"
        " you meant that, make the change there and remove this one."
    ]


def _lost(before: RawFile) -> list[str]:
    others = before.info.st_nlink - 1
    bits = [
        name
        for name, bit in (("set-user-id", stat.S_ISUID), ("set-group-id", stat.S_ISGID))
        if before.info.st_mode & bit
    ]
    split = f"It was a hard link: {others} other name{'s' * (others != 1)} of the file still have the old content."
    return [split] * (others > 0) + [f"Its {' and '.join(bits)} bit was taken off."] * bool(bits)
