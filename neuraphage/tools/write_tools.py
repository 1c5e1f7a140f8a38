"""write_file and edit: checkable, so an interrupted call is looked at before it is made again."""

from __future__ import annotations

import errno
import os
import stat
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import Probe, ProbeVerdict, SightKind, ToolDeclaration, ToolResult
from neuraphage.ports import ToolContext
from neuraphage.tools.atomic_write import (
    ChangedMeanwhileError,
    FlushError,
    discard_leftover,
    flush_directory,
    replace_file,
)
from neuraphage.tools.base import P, Params, ParsedTool, PathText, Text, ToolCallError, input_schema
from neuraphage.tools.builtin_traits import BUILTIN_TRAITS
from neuraphage.tools.files import RawFile, decode, read_raw, read_raw_or_none, require_size
from neuraphage.tools.freshness import digest, require_fresh, written
from neuraphage.tools.paths import ResolvedPath, os_failure, resolve
from neuraphage.tools.read_tools import FILE_TIMEOUT_S
from neuraphage.tools.text_edit import happened, kept_of_replaced, replaced, rewritten


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


class _ChangeTool(ParsedTool[P]):
    """What write_file and edit share: evidence, probe and the write itself."""

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
            **({"lost": lost} if (lost := _lost(change.before)) else {}),
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
        unchanged = "The file was not changed." if change.before else "Nothing was written."
        try:
            if change.before is not None and not os.access(place.path, os.W_OK):
                # A rename would get past the file's own write protection, so it is asked here.
                raise PermissionError(errno.EACCES, "write protected")
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
        return self._done(params, place, change.after, context, _lost(change.before))

    def _done(self, params: P, place: ResolvedPath, data: bytes, context: ToolContext, lost: list[str]) -> ToolResult:
        text = " ".join([self.success(params, place, data), *lost])
        return ToolResult(text=text, file=written(place, self.sight, data, context))

    def look_after(self, params: P, evidence: Mapping[str, Any], context: ToolContext) -> Probe:
        """Compare the file with the hashes taken before; also removes what a crashed write left."""
        place = resolve(params.path, context.working_dir)  # type: ignore[attr-defined]  # every params model of this file has it
        discard_leftover(place.path, context.effect_id)
        now = read_raw_or_none(place)
        verdict = self._compare(place, now, evidence) if "after_sha256" in evidence else self.guess(params, place, now)
        if verdict is not ProbeVerdict.HAPPENED or now is None:
            return Probe(verdict=verdict)
        try:
            flush_directory(place.path.parent)  # the crash may have come between the rename and its flush
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


def _lost(before: RawFile | None) -> list[str]:
    """Sentences about what a replaced file does not keep."""
    if before is None:
        return []
    others = before.info.st_nlink - 1
    bits = [
        name
        for name, bit in (("set-user-id", stat.S_ISUID), ("set-group-id", stat.S_ISGID))
        if before.info.st_mode & bit
    ]
    split = f"It was a hard link: {others} other name{'s' * (others != 1)} of the file still have the old content."
    return [split] * (others > 0) + [f"Its {' and '.join(bits)} bit was taken off."] * bool(bits)


class WriteFileParams(Params):
    """Parameters of write_file."""

    path: Annotated[PathText, Field(description="File, relative to the working directory or absolute inside it.")]
    content: Annotated[Text, Field(description="The whole new content; written as UTF-8.")]


class WriteFile(_ChangeTool[WriteFileParams]):
    """Create or replace a file."""

    params_model = WriteFileParams
    sight = SightKind.WRITTEN

    def __init__(self) -> None:
        super().__init__(
            ToolDeclaration(
                name="write_file",
                description="Create a file, or replace all of one that was read or written before. Missing directories"
                " are made. A replaced file keeps"
                " its mode, its byte order mark and, if all its lines end in CRLF and content has no CRLF, its line"
                " ends. To change a part, use edit.",
                input_schema=input_schema(WriteFileParams),
                effect_class=EffectClass.CHECKABLE,
                side_effecting=True,
                timeout_s=FILE_TIMEOUT_S,
                traits=BUILTIN_TRAITS["write_file"],
            )
        )

    def plan(self, params: WriteFileParams, context: ToolContext) -> Change:
        """The content, with the byte order mark and the line ends of the file that it replaces."""
        place = resolve(params.path, context.working_dir)
        if params.path.endswith("/"):
            raise ToolCallError(
                f"Could not write {place.shown}/: it ends with a slash, as a directory does; name a file."
            )
        require_size(len(params.content), place.shown, "write")
        before = read_raw_or_none(place, "write")
        require_fresh(place, before, context, replaces=True)
        after = rewritten(before.data if before else None, params.content)
        require_size(len(after), place.shown, "write")
        return Change(place, before, after)

    def success(self, params: WriteFileParams, place: ResolvedPath, data: bytes) -> str:
        """Say how much was written, and what of the replaced file was kept; a probe sees both in the bytes."""
        kept = kept_of_replaced(params.content, data)
        but = f", with the {' and '.join(kept)} of the file that was replaced" if kept else ""
        return f"Wrote {place.shown}: {len(data)} bytes{but}."

    def guess(self, params: WriteFileParams, place: ResolvedPath, now: RawFile | None) -> ProbeVerdict:  # noqa: ARG002 - the base's shape
        """Without evidence: the same bytes are there or they are not; why not, nobody knows."""
        same = now is not None and now.data == rewritten(now.data, params.content)
        return ProbeVerdict.HAPPENED if same else ProbeVerdict.UNKNOWN


class EditParams(Params):
    """Parameters of edit."""

    path: Annotated[PathText, Field(description="File, relative to the working directory or absolute inside it.")]
    old_string: Annotated[
        Text, Field(min_length=1, description="Text to replace, exactly as in the file; must occur once.")
    ]
    new_string: Annotated[Text, Field(description="Text to put there.")]
    replace_all: Annotated[bool, Field(description="Replace every occurrence instead.")] = False


class Edit(_ChangeTool[EditParams]):
    """Replace a string in a file."""

    params_model = EditParams
    sight = SightKind.EDITED

    def __init__(self) -> None:
        super().__init__(
            ToolDeclaration(
                name="edit",
                description=(
                    "Replace old_string by new_string in a UTF-8 file that was read or written before. Line"
                    " ends, byte order mark"
                    " and mode are kept. old_string must be unique unless replace_all is set."
                ),
                input_schema=input_schema(EditParams),
                effect_class=EffectClass.CHECKABLE,
                side_effecting=True,
                timeout_s=FILE_TIMEOUT_S,
                traits=BUILTIN_TRAITS["edit"],
            )
        )

    def plan(self, params: EditParams, context: ToolContext) -> Change:
        """The file with the string replaced."""
        place = resolve(params.path, context.working_dir)
        before = read_raw(place, "edit")
        require_fresh(place, before, context, replaces=False)
        file = decode(before.data, place.shown)
        text = replaced(file, params.old_string, params.new_string, every=params.replace_all, shown=place.shown)
        after = file.encode(text)
        require_size(len(after), place.shown, "write")
        return Change(place, before, after)

    def success(self, params: EditParams, place: ResolvedPath, data: bytes) -> str:  # noqa: ARG002 - the base's shape
        """Say what was replaced; without a count, which a probe could not tell."""
        what = "every occurrence of old_string" if params.replace_all else "the one occurrence of old_string"
        return f"Edited {place.shown}: {what} was replaced."

    def guess(self, params: EditParams, place: ResolvedPath, now: RawFile | None) -> ProbeVerdict:
        """Without evidence: look for the two strings."""
        if now is None:
            return ProbeVerdict.UNKNOWN
        found = happened(decode(now.data, place.shown), params.old_string, params.new_string)
        if found is None:
            return ProbeVerdict.UNKNOWN
        return ProbeVerdict.HAPPENED if found else ProbeVerdict.NOT_HAPPENED
