"""Write docs/events.md from the types of the events: `python docs/make_events.py`. A test says when that is due."""

from __future__ import annotations

import ast
import inspect
import re
from enum import StrEnum
from pathlib import Path

from neuraphage.model.event import RESERVED, Cause, EventGroup, EventKind
from neuraphage.model.event_data import DATA, EventData
from neuraphage.model.event_data.iteration import OpenPrompt
from neuraphage.model.event_stream import GapKind

_COLUMNS = "| event | meaning | data |\n| --- | --- | --- |\n"
PAGE = Path(__file__).with_name("events.md")
_HEAD = """# Events

<!-- made by docs/make_events.py from neuraphage/model/event.py and neuraphage/model/event_data -->

Every change of a task is told by events, in the very write that makes it true: an event is there if and only if what it
tells has happened, and once, whatever crashed. They are a record for people and programs, and never what a task is
recovered from.

```sh
neuraphage events TASK                              # all that happened to one task
neuraphage events --follow                          # what happens to all tasks from now on
neuraphage events --since 15m --kind security --kind TaskFailed --json
neuraphage events --follow --since 1796100000000-0  # go on behind an event, here or on another machine
```

```python
for item in client.follow(since=last_id):  # AsyncClient: async for
    if isinstance(item, EventGap):
        ...  # events may be missing: look at the tasks themselves
    else:
        deal_with(item.event_id, item.kind, item.typed())
```

`Client.events(task_id)` has one task's. An event has one id, in the history of its task and among those of all tasks;
ids grow, and who keeps the last one goes on behind it after any restart: of the reader, workers, the state server.
Events of a task are kept as long as the task, about `events_max` of them; of all tasks about the last
`namespace_events_max` can be followed. Where some may be missing, that is told in their place:

{gaps}

The stream of all tasks holds kind, task and id alone; the data is read from the task. Of an event whose task is deleted
these are left. Workers of a release before this one write to the history of their task alone.

## What every event has

| name | JSON | meaning |
| --- | --- | --- |
| `kind` | `event` | what happened: one of those below. A newer release may write others: leave them out |
| `event_id` | `id` | its id |
| `at_ms` | `at_ms` | when, by the state server's clock |
| `task_id` | `task_id` | whose it is |
| `group` | `group` | {groups}; none of an unknown kind |
| `turn` | `iteration` | the turn under way: how many the task had finished |
| `fence` | `fence` | of the lease under which it was written; none where nobody held one |
| `cause` | `cause` | {causes} |
| `schema_version` | `schema_version` | of stored shapes, as the writer knew it |
| `data` | `data` | what is below, by kind; `typed()` gives it as a value. Further names may come with a release |

`turn`, `fence`, `cause` and `schema_version` are none in what earlier releases have written.
"""


def text() -> str:
    """The whole page."""
    told = {name: members(kind) for name, kind in (("kinds", EventKind), ("causes", Cause), ("gaps", GapKind))}
    groups = members(EventGroup)
    parts = [
        _HEAD.replace("{gaps}", "\n".join(f"* `{name}`: {said}" for name, said in told["gaps"].items()))
        .replace("{groups}", ", ".join(groups))
        .replace("{causes}", "; ".join(f"{name}: {_small(said)}" for name, said in told["causes"].items()))
    ]
    for group in EventGroup:
        kinds = [kind for kind in EventKind if kind.group is group and kind not in RESERVED]
        parts.append(f"## {group.value}\n\n{groups[group.value]}\n")
        if kinds:
            parts.append(_COLUMNS + "".join(_row(kind, told["kinds"][kind.value]) for kind in kinds))
    names = ", ".join(f"`{kind.value}`" for kind in EventKind if kind in RESERVED)
    parts.append(f"## Reserved names\n\nNothing writes these yet: {names}.\n")
    return "\n".join(parts)


def members(kind: type[StrEnum]) -> dict[str, str]:
    """What is said of each member of an enum, by its value."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    if not isinstance(body, ast.ClassDef):
        raise TypeError(kind)
    found = {}
    for node, after in zip(body.body, body.body[1:], strict=False):
        is_member = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if is_member and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            found[kind[node.targets[0].id].value] = " ".join(str(after.value.value).split())  # type: ignore[attr-defined]
    return found


def fields(shape: type[EventData]) -> dict[str, str]:
    """What is said of each field of a class, by its name as it is stored."""
    told = (inspect.getdoc(shape) or "").partition("Args:\n")[2]
    rows = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", told, flags=re.MULTILINE)
    aliases = {name: field.alias or name for name, field in shape.model_fields.items()}
    return {aliases[name]: " ".join(said.split()) for name, said in rows}


def _row(kind: EventKind, told: str) -> str:
    said = [f"`{name}`: {_plain(meaning)}" for name, meaning in fields(DATA[kind]).items()]
    if kind is EventKind.USER_INPUT_NEEDED:
        said += [f"`prompts[].{name}`: {_plain(meaning)}" for name, meaning in fields(OpenPrompt).items()]
    return f"| `{kind.value}` | {told} | {'<br>'.join(said)} |\n"


def _plain(meaning: str) -> str:
    return meaning.removesuffix(".")


def _small(said: str) -> str:
    return said[0].lower() + said[1:].removesuffix(".")


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
