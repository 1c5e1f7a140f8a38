"""write_file and edit: checkable, so an interrupted call is looked at before it is made again."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import ProbeVerdict, SightKind, ToolDeclaration
from neuraphage.ports import ToolContext
from neuraphage.tools.base import Params, PathText, Text, ToolCallError, input_schema
from neuraphage.tools.builtin_traits import BUILTIN_TRAITS
from neuraphage.tools.change_tool import Change, ChangeTool
from neuraphage.tools.files import RawFile, decode, read_raw, read_raw_or_none, require_size
from neuraphage.tools.freshness import require_fresh
from neuraphage.tools.paths import ResolvedPath, resolve
from neuraphage.tools.read_tools import FILE_TIMEOUT_S
from neuraphage.tools.text_edit import happened, kept_of_replaced, replaced, rewritten


class WriteFileParams(Params):
    """Parameters of write_file."""

    path: Annotated[PathText, Field(description="File, relative to the working directory or absolute inside it.")]
    content: Annotated[Text, Field(description="The whole new content; written as UTF-8.")]


class WriteFile(ChangeTool[WriteFileParams]):
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


class Edit(ChangeTool[EditParams]):
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
