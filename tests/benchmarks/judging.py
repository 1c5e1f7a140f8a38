"""What rules cost a call: reading a command line and judging it, and judging a call that reads a file."""

from __future__ import annotations

import time
from collections.abc import Callable

from neuraphage.decide.policy import Ruling, ruled
from neuraphage.decide.rules.judging import CalledTool
from neuraphage.decide.rules.reading import read_rule
from neuraphage.model.rule import RuleSource
from neuraphage.shell import ShfmtReader
from neuraphage.tools.registry import default_toolbox

RULES = (
    "deny run_command: git push *", "deny host: *.example.net", "ask read_file: **/.env*", "ask run_command: make *",
    "allow run_command: pytest *", "allow run_command: git log *", "allow write_file: docs/**",
)  # fmt: skip
LINES = (
    "git status", "pytest -q && git log -3", "cd src && ls -la | head -5", "grep -rn total . --include=*.py",
    "for f in *.py; do python3 -m compileall -q \"$f\"; done", "cat <<'X' > docs/a.md\nwords\nX",
    "env A=b timeout 5 make test > log 2>&1", "find . -name '*.py' -exec wc -l {} +",
)  # fmt: skip
_READ = {"path": "src/shop/basket.py"}


def wall_ms(times: int) -> tuple[list[float], list[float]]:
    """Milliseconds to judge one command line, read anew each time, and one call of `read_file`.

    Args:
        times: looks at each line.

    Raises:
        RuntimeError: a call was not judged as it should be.
    """
    rules = [read_rule(text, RuleSource.SETTINGS) for text in RULES]
    reader, tools = ShfmtReader(), default_toolbox()
    command, read = (tool.declaration for name in ("run_command", "read_file") if (tool := tools.get(name)))
    writing = frozenset({"write_file", "edit"})

    def judged(line: str) -> Ruling:
        called = CalledTool(command, {"command": line}, reader.read(line), "/work", writing)
        return ruled(called, rules, {}, None).ruling

    def looked_at() -> Ruling:
        return ruled(CalledTool(read, _READ, None, "/work", writing), rules, {}, None).ruling

    if judged("git push origin") is not Ruling.DENIED or looked_at() is not Ruling.ALLOWED:
        raise RuntimeError("the rules of the benchmark do not judge as they should")
    # each another text: a reader remembers the last ones
    texts = [f": {number}; {line}" for number in range(times) for line in LINES]
    lines = [_ms(lambda text=text: judged(text)) for text in texts]
    return lines, [_ms(looked_at) for _ in range(times * len(LINES))]


def _ms(work: Callable[[], object]) -> float:
    begun_s = time.perf_counter()
    work()
    return (time.perf_counter() - begun_s) * 1000
