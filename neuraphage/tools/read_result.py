"""read_result: an old result of a tool, whole, after the request has it shortened."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from neuraphage.decide.attachments import label
from neuraphage.decide.compacted import READ_RESULT
from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import ToolDeclaration, ToolResult
from neuraphage.ports import ToolContext
from neuraphage.tools.base import Params, ParsedTool, Text, ToolCallError, input_schema
from neuraphage.tools.builtin_traits import BUILTIN_TRAITS

_TIMEOUT_S = 10.0
_NOTE_CHARS = 200


class ReadResultParams(Params):
    """Parameters of read_result."""

    tool_use_id: Annotated[
        Text, Field(min_length=1, max_length=200, description="Of the call, or sha256:... of an image or document.")
    ]
    offset: Annotated[int, Field(ge=0, description="Characters to leave out at its beginning.")] = 0


class ReadResult(ParsedTool[ReadResultParams]):
    """Show a result of this task as it is stored."""

    params_model = ReadResultParams

    def __init__(self) -> None:
        super().__init__(
            ToolDeclaration(
                name=READ_RESULT,
                description=(
                    "Read the whole result of an earlier tool call of this task, where it is shown shortened. It is"
                    " what the call came to then; files may have changed since."
                ),
                input_schema=input_schema(ReadResultParams),
                effect_class=EffectClass.PURE,
                side_effecting=False,
                timeout_s=_TIMEOUT_S,
                traits=BUILTIN_TRAITS[READ_RESULT],
            )
        )

    def carry_out(self, params: ReadResultParams, context: ToolContext) -> ToolResult:
        """A part as long as a result may be, and where the next one begins."""
        media = context.media_of(params.tool_use_id)
        text = context.result_of(params.tool_use_id)
        if text is None and media:  # by its digest
            text = "\n".join(map(label, media))
        if text is None:
            raise ToolCallError(f"No call {params.tool_use_id!r} of this task has a result. Take the id from the note.")
        if params.offset >= len(text) > 0:
            raise ToolCallError(f"The result has {len(text)} characters; offset {params.offset} is past its end.")
        room_chars = min(context.output_limit_chars, self.declaration.output_limit_chars) - _NOTE_CHARS
        end = params.offset + room_chars
        rest = f"\n[{len(text) - end} characters left out below; go on with offset={end}]" if end < len(text) else ""
        return ToolResult(text=text[params.offset : end] + rest, media=media)
