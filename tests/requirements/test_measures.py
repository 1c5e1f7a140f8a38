"""What success is measured by, in counts and bytes: times are those of the machine of the day."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from neuraphage.model.tool import ToolResult
from turnkit import FakeTool, Rig, calls, says

MakeRig = Callable[..., Rig]
UNIT_MAX_BYTES = 1_000_000


def stored_bytes(rig: Rig, task_id: str) -> int:
    """Bytes of everything that the server keeps under a task's name."""
    names = rig.client.scan_iter(match=f"*{task_id}*", count=1_000)
    return sum(len(rig.client.dump(name)) for name in names)


@pytest.mark.parametrize(
    "call",
    [
        ("run_command", {"command": f"head -c {3 * UNIT_MAX_BYTES} /dev/urandom | base64 -w 76"}),
        ("read_file", {"path": "large.txt"}),
        ("grep", {"pattern": "line", "path": "."}),
    ],
    ids=lambda call: call[0],
)
def test_large_results_stay_out_of_the_server(make_rig: MakeRig, call: tuple[str, dict[str, Any]]) -> None:
    """R192: what a task keeps in the server is below 1 MB, although its command wrote 4 MB and its file has 6."""
    rig = make_rig(calls(("t1", *call)), says("Done."))
    (rig.folder / "large.txt").write_text("".join(f"line {n} {n * 7919:x}\n" for n in range(300_000)), encoding="utf-8")
    task_id = rig.run()
    assert rig.get(task_id).detail.summary == "Done."
    assert len(rig.results(task_id)["t1"]["content"]) > 1_000, "there was something to be shortened"
    assert stored_bytes(rig, task_id) < UNIT_MAX_BYTES


def test_a_turn_with_a_tool_is_three_writes(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """R192, R224: claim with the first intent, outcome with the next one, and end. No marker costs a write of its own,
    and a step writes what is new: the last turn of ten sends no more than the second, whatever the conversation holds.
    """
    filler = "words " * 2_000

    def act(params: Mapping[str, Any], context: Any) -> ToolResult:
        return ToolResult(text=filler)

    turns_of = [calls((f"t{n}", "act", {"number": n})) for n in range(10)]
    rig = make_rig(*turns_of, says("Done."), extra=[FakeTool(act=act)])
    trips, real, sent = rig.store.context.round_trips, rig.store.context.round_trips.send, []

    def spy(*commands: Any) -> Any:
        sent.append(sum(len(str(part)) for command in commands for part in command))
        return real(*commands)

    monkeypatch.setattr(trips, "send", spy)
    rig.submit()
    turns: list[list[int]] = []
    for _ in range(10):
        sent.clear()
        rig.step()
        turns.append(list(sent))
    assert [len(sizes) for sizes in turns[1:]] == [3] * 9, turns  # the first may have to send the scripts themselves
    assert sum(turns[-1]) < sum(turns[1]) + 200, turns
