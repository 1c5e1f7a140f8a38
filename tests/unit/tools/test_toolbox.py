"""The tool box and the shared base: declarations, parameters, control tools, limits of the text."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tools_fakes import FakeInterrupt

from neuraphage.decide.shorten import join_ends, shorten
from neuraphage.errors import BadInput, CancelRequested
from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import ControlKind, ProbeVerdict
from neuraphage.ports import ToolBox, ToolContext
from neuraphage.sandbox.confinement import NoSandbox
from neuraphage.testing.output_buffer import OutputBuffer
from neuraphage.tools.read_tools import ReadFile
from neuraphage.tools.registry import StaticToolBox, default_toolbox

CALLS: dict[str, dict[str, Any]] = {
    "read_file": {"path": "a"},
    "write_file": {"path": "a", "content": ""},
    "edit": {"path": "a", "old_string": "x", "new_string": ""},
    "list_directory": {"path": "."},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "x"},
    "read_result": {"tool_use_id": "t1"},
    "run_command": {"command": "true"},
    "ask_user": {"question": "Which?"},
    "spawn_task": {"prompt": "Do a part."},
    "wait_for_tasks": {},
    "complete_task": {"summary": "Done."},
    "fail_task": {"reason": "No way."},
}


def test_the_built_in_tools_in_their_order_with_their_classes() -> None:
    """Decisions rest on these: what is pure, checkable, opaque, asked first, detached or done by the turn."""
    box: ToolBox = default_toolbox()
    pure, checkable = (EffectClass.PURE, False, False, None), (EffectClass.CHECKABLE, True, False, None)
    expected = {
        "read_file": pure,
        "write_file": checkable,
        "edit": checkable,
        "list_directory": pure,
        "glob": pure,
        "grep": pure,
        "read_result": pure,
        "run_command": (EffectClass.OPAQUE, True, True, None),
        "ask_user": (EffectClass.PURE, False, False, ControlKind.ASK_USER),
        "spawn_task": (EffectClass.PURE, True, False, ControlKind.SPAWN_TASK),
        "wait_for_tasks": (EffectClass.PURE, False, False, ControlKind.WAIT_FOR_TASKS),
        "complete_task": (EffectClass.PURE, False, False, ControlKind.COMPLETE_TASK),
        "fail_task": (EffectClass.PURE, False, False, ControlKind.FAIL_TASK),
    }
    found = {one.name: (one.effect_class, one.side_effecting, one.detached, one.control) for one in box.declarations()}
    assert found == expected
    assert list(found) == list(expected)
    assert all(one.output_limit_chars == 30_000 for one in box.declarations())


@pytest.mark.parametrize("name", CALLS)
def test_required_parameters_and_no_others_are_demanded(name: str) -> None:
    """The smallest call fits; without any one part of it, or with a foreign part, it does not."""
    tool = default_toolbox().get(name)
    assert tool is not None
    params = CALLS[name]
    assert tool.check(params) is None
    assert sorted(tool.declaration.input_schema.get("required", ())) == sorted(params)
    for left_out in params:
        complaint = tool.check({key: value for key, value in params.items() if key != left_out})
        assert complaint is not None
        assert left_out in complaint
    assert "misspelt" in (tool.check({**params, "misspelt": 1}) or "")


@pytest.mark.parametrize("name", CALLS)
def test_schemas_are_plain_and_described(name: str) -> None:
    """Every parameter has one type and a description, and nothing generated is in the way."""
    tool = default_toolbox().get(name)
    assert tool is not None
    schema = tool.declaration.input_schema
    assert schema["type"] == "object"
    for prop in schema["properties"].values():
        assert {"type", "description"} <= prop.keys()
        assert not {"title", "anyOf"} & prop.keys()


def test_a_complaint_does_not_repeat_the_input() -> None:
    """The input may be large or secret; the sentence stays short."""
    complaint = ReadFile().check({"path": ["s3cret" * 1_000]})
    assert complaint is not None
    assert "s3cret" not in complaint
    assert len(complaint) < 500


@pytest.mark.parametrize("name", ["ask_user", "spawn_task", "wait_for_tasks", "complete_task", "fail_task"])
def test_control_tools_are_not_run_here(name: str, context: ToolContext) -> None:
    """A turn that forgets to carry one out hears of it."""
    tool = default_toolbox().get(name)
    assert tool is not None
    assert tool.run(CALLS[name], context).is_error


def test_an_interrupted_task_starts_nothing(root: Path, context: ToolContext, interrupt: FakeInterrupt) -> None:
    """A flag that is up before the start stops every tool."""
    interrupt.fire()
    box = default_toolbox()
    for name, params in CALLS.items():
        tool = box.get(name)
        assert tool is not None
        with pytest.raises(CancelRequested):
            tool.run(params, context)
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("name", ["read_file", "glob", "run_command", "ask_user"])
def test_what_cannot_be_probed_is_unknown(name: str, context: ToolContext) -> None:
    """Only checkable tools give a verdict."""
    tool = default_toolbox().get(name)
    assert tool is not None
    assert tool.prepare(CALLS[name], context) == {}
    assert tool.probe(CALLS[name], {}, context).verdict is ProbeVerdict.UNKNOWN


def test_third_parties_can_add_tools_but_not_replace_them() -> None:
    """An extra tool comes last; a name that is taken is refused."""

    class Own(ReadFile):
        @property
        def declaration(self) -> Any:
            return super().declaration.model_copy(update={"name": self.own_name})

        own_name = "own"

    assert default_toolbox(extra=[Own()]).declarations()[-1].name == "own"
    with pytest.raises(BadInput, match="two tools"):
        default_toolbox(extra=[ReadFile()])
    bad = Own()
    bad.own_name = "no spaces"
    with pytest.raises(BadInput, match="no spaces"):
        StaticToolBox([bad])
    assert StaticToolBox([]).get("read_file") is None


# --- the limit of the text ---------------------------------------------------------------------------

NOTE = re.compile(r"\n\[\.\.\. (\d+) characters left out \.\.\.\]\n")


@given(st.text(max_size=400), st.integers(0, 300))
def test_shortened_text_is_head_note_tail(text: str, limit_chars: int) -> None:
    """Within the limit always; what is kept is the real head and tail, and the number is exact."""
    short = shorten(text, limit_chars)
    assert len(short) <= max(limit_chars, 0)
    if len(text) <= limit_chars:
        assert short == text
    elif found := NOTE.search(short):
        head, tail = short[: found.start()], short[found.end() :]
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + len(tail) + int(found[1]) == len(text)


@given(
    st.lists(
        st.sampled_from(["x", "é", "e\u0301\u0302", "\U0001f469\u200d\U0001f4bb", "\u2601\ufe0f"]),
        min_size=60,
        max_size=90,
    ),
    st.integers(40, 59),
)
def test_no_mark_is_torn_off_its_letter(letters: list[str], limit_chars: int) -> None:
    """An accent or a joined picture is kept or left out as one."""
    text = "".join(letters)
    short = shorten(text, limit_chars)
    found = NOTE.search(short)
    assert found
    ends = set(itertools.accumulate((len(letter) for letter in letters), initial=0))
    assert found.start() in ends
    assert len(text) - (len(short) - found.end()) in ends


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=300),
    st.integers(1, 40),
    st.integers(1, 7),
    st.integers(0, 200),
)
@example("00000", 3, 1, 4)
def test_the_output_buffer_never_splits_a_character(text: str, kept: int, step: int, limit_chars: int) -> None:
    """However the bytes are cut on arrival, the shown text is that of the whole, shortened."""
    data = text.encode()
    buffer = OutputBuffer(kept)
    for start in range(0, len(data), step):
        buffer.add(data[start : start + step])
    buffer.add(b"", final=True)
    if len(text) <= 2 * kept:  # nothing of it is gone
        assert buffer.text(limit_chars) == shorten(text, limit_chars)
    else:
        assert buffer.text(limit_chars) == join_ends(text[:kept], text[-kept:], len(text), limit_chars)
    assert buffer.total_bytes == len(data)
    if len(text) <= min(2 * kept, limit_chars):
        assert buffer.text(limit_chars) == text


def test_a_torn_last_character_is_shown_as_one() -> None:
    """A command killed in the middle of a character shows one replacement mark."""
    buffer = OutputBuffer()
    buffer.add("é".encode()[:1])
    buffer.add(b"", final=True)
    assert buffer.text(100) == "\ufffd"


@pytest.mark.parametrize(("is_closed", "confined"), [(True, True), (False, False)])
def test_a_command_is_declared_confined_where_it_reaches_nothing(is_closed: bool, confined: bool) -> None:
    """Policy may allow it for that; the model is told of the sandbox."""

    class Somewhat(NoSandbox):
        told = " In a sandbox."

    sandbox = Somewhat("")
    sandbox.is_closed = is_closed
    tool = default_toolbox(sandbox=sandbox).get("run_command")
    assert tool is not None
    assert tool.declaration.confined is confined
    assert tool.declaration.description.endswith(" In a sandbox.")
