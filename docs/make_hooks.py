"""Write the tables of docs/hooks.md from the types of the hooks: `python docs/make_hooks.py`. A test says when due."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from make_events import fields, members

from neuraphage.model.hook import GUARD_POINTS, MAY_SAY, OBSERVER_POINTS, HookPoint, VerdictKind
from neuraphage.model.hook_payload import GIVEN, Payload

PAGE = Path(__file__).with_name("hooks.md")
BEGIN, END = (
    "<!-- made by docs/make_hooks.py from neuraphage/model/hook.py and hook_payload.py -->",
    "<!-- made until here -->",
)


def tables() -> str:
    """What is made of the types."""
    told = members(HookPoint)
    rows = ["| point | when | may say, beside allow and block | is given |", "| --- | --- | --- | --- |"]
    for point in GUARD_POINTS:
        given = "<br>".join(f"`{name}`: {said.removesuffix('.')}" for name, said in fields(GIVEN[point]).items())
        rows.append(f"| `{point.value}` | {told[point.value]} | {_may_say(point)} | {given} |")
    common = "<br>".join(f"`{name}`: {said.removesuffix('.')}" for name, said in fields(Payload).items())
    observed = [f"| `{point.value}` | {told[point.value]} |" for point in OBSERVER_POINTS]
    return "\n".join(
        [
            BEGIN,
            f"\n### {len(GUARD_POINTS)} points of guards\n",
            *rows,
            f"\nEvery hook is given as well: {common}",
            f"\n### {len(OBSERVER_POINTS)} points of observers\n",
            "| point | when |",
            "| --- | --- |",
            *observed,
            f"\n{END}",
        ]
    )


def _may_say(point: HookPoint) -> str:
    kinds = MAY_SAY[point]
    return (
        "; ".join(f"{kind.value} ({', '.join(sorted(kinds[kind]))})" for kind in VerdictKind if kind in kinds)
        or "no more"
    )


def text(page: str) -> str:
    """The page with its tables made anew."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{tables()}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(text(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
