"""Where a tool shortens its own text: a secret across a cut leaves no part of itself behind."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import ToolDeclaration, ToolResult
from neuraphage.ports import Spool, SpoolCommand, SpoolStatus, ToolContext
from neuraphage.redaction.ends import GAP_CHARS
from neuraphage.redaction.redactor import Redactor
from neuraphage.settings import Settings
from neuraphage.spool.command_spool import CommandSpool
from neuraphage.spool.output import read_output
from neuraphage.testing.output_buffer import OutputBuffer
from neuraphage.testing.unspooled_commands import UnspooledCommands
from neuraphage.tools.base import Params, ParsedTool, input_schema
from neuraphage.tools.read_tools import ReadFile
from neuraphage.tools.search_child import MARGIN_CHARS, MAX_LINE_CHARS, long_line
from neuraphage.tools.search_tools import Grep, cut_line
from neuraphage.wiring import build_spool
from turnkit import FakeModel, calls, new_rig, says

KNOWN = "correct horse+battery 77 staple"
REDACTOR = Redactor(secrets=[KNOWN, "hunter2-hunter2"])
LIMIT_CHARS = 1_000

# Built at run time, so that no scanner takes this file for a leak. Text before, the secret itself, text after.
PLANTED = [
    ("key ", "sk-" + "ant-api03-" + "Zx9" * 12, " "),
    ("key ", "sk-" + "proj-Ab3" + "dE5f" * 8, ","),
    ("(", "gh" + "p_" + "a1B2c3D4e5F6" * 3, ")"),
    ("'", "github" + "_pat_" + "11ABCDEFG0" * 4, "'"),
    ("id=", "AK" + "IAIOSFODNN7EXAMPLE", "\n"),
    ("=", "AI" + "zaSy" + "a1B2c3D4e" * 4, " "),
    (" ", "xo" + "xb-123456789012-abcdefABCDEF", " "),
    (" ", "gl" + "pat-" + "a1B2c3D4e5F6g7H8i9J0", " "),
    (" ", "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0In0." + "s5Kd0tGfL3pQm8RzXw2Y" * 9, " "),
    ("Authorization: Bearer ", "abc123DEF456ghiJKL", "\n"),
    ("x-api-key: ", "9f8e7d6c5b4a", "\n"),
    ("redis://:", "pa55w0rd-of-redis", "@127.0.0.1:6379/0"),
    ('DB_PASSWORD = "', "w0rds-0f-Wisdom!", '"'),
    ("AWS_SECRET_ACCESS_KEY=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY", " "),
    (
        "\n-----BEGIN " + "RSA PRIVATE KEY-----\n",
        "MIIEpAIBAAKCAQEA7bq+/9Zk\n" * 40,
        "-----END " + "RSA PRIVATE KEY-----\n",
    ),
    ("says ", KNOWN, " to"),
    ("-", "hunter2-hunter2", "-"),
]


def parts_of(secret: str, text: str) -> list[str]:
    """Pieces of 8 characters of a secret that a text holds; line numbers do not hide them."""
    bare = re.sub(r"(?m)^ *\d+\t", "", text)
    return [secret[at : at + 8] for at in range(len(secret) - 7) if secret[at : at + 8] in bare]


class Telling(ParsedTool[Params]):
    """Returns a text of any length."""

    params_model = Params

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(
            ToolDeclaration(
                name="tell",
                description="Tells.",
                input_schema=input_schema(Params),
                effect_class=EffectClass.PURE,
                side_effecting=False,
                timeout_s=1,
            )
        )

    def carry_out(self, params: Params, context: ToolContext) -> ToolResult:
        return ToolResult(text=self.text)


class NoInterrupt:
    """Nothing stops the work."""

    def check(self) -> None:
        return

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        return lambda: None


def context_in(folder: Path, spool: Any = None) -> ToolContext:
    return ToolContext(
        "t", "e", str(folder), spool, NoInterrupt(), output_limit_chars=LIMIT_CHARS, redact=REDACTOR.text
    )


def printed(spool: Spool, folder: Path) -> SpoolStatus:
    """What comes of a command that prints the file f."""
    effect_id = token_hex(16)
    spool.start(SpoolCommand(effect_id, ("/bin/cat", "f"), str(folder), 60.0, {}, "t"))
    return spool.wait(effect_id, LIMIT_CHARS, NoInterrupt())


def by_a_tool(text: str, folder: Path) -> str:
    return Telling(text).run({}, context_in(folder)).text


def by_read_file(text: str, folder: Path) -> str:
    (folder / "f").write_text(text, newline="", encoding="utf-8")
    context = context_in(folder)
    middle = text.count("\n") // 2 or 1  # a reader may begin in the middle of a key
    params: list[dict[str, int]] = [{}, {"offset": middle}, {"limit": middle}, {"offset": middle, "limit": 3}]
    return "\n".join(ReadFile().run({"path": "f", **more}, context).text for more in params)


def by_the_spool(text: str, folder: Path) -> str:
    (folder / "f").write_text(text, newline="", encoding="utf-8")
    return read_output(folder / "f", LIMIT_CHARS, REDACTOR.text)


def by_the_buffer(text: str, folder: Path) -> str:
    buffer = OutputBuffer(GAP_CHARS + 2 * LIMIT_CHARS)
    buffer.add(text.encode(), final=True)
    return buffer.text(LIMIT_CHARS, REDACTOR.text)


def by_grep(text: str, folder: Path) -> str:
    """The search process's own lines, cut around a match anywhere in them."""
    line = text.replace("\n", "\\n")
    spots = [*range(0, min(len(line), 9_000), 450), *range(max(0, len(line) - 9_000), len(line), 450)]
    return "\n".join(cut_line(long_line("f:1:", line, at), REDACTOR.text) for at in spots if len(line) > MAX_LINE_CHARS)


SHORTENERS = [by_grep, by_a_tool, by_read_file, by_the_spool, by_the_buffer]
WINDOW_CHARS = (LIMIT_CHARS + 1) * 2 + GAP_CHARS * 4
"""Of a longer output the spool reads so much of each end."""
EDGES = [324, 460, 481, 650, GAP_CHARS + 2 * LIMIT_CHARS, WINDOW_CHARS]
"""Where read_file, the spool and the other tools cut, and where what is kept or read of an output ends."""


@pytest.mark.parametrize("shortened", SHORTENERS)
@given(data=st.data())
@settings(max_examples=100, suppress_health_check=list(HealthCheck))
def test_no_part_of_a_secret_is_left_at_a_cut(
    tmp_path: Path, shortened: Callable[[str, Path], str], data: st.DataObject
) -> None:
    """Every known kind of secret, across the cut of the head, the cut of the tail, and the edges of what is read."""
    before, secret, after = data.draw(st.sampled_from(PLANTED))
    planted = before + secret + after
    edge = data.draw(st.sampled_from(EDGES))
    head_chars = max(0, edge - data.draw(st.integers(0, len(planted))))
    filler = data.draw(st.sampled_from(["x ", "some words\n", "\u00e9 ", "y"]))
    far = (filler * (data.draw(st.sampled_from([1_500, 4 * WINDOW_CHARS])) // len(filler))) + " "
    near = (filler * head_chars)[:head_chars] + (" " if filler == "y" else "")
    more = "".join(data.draw(st.sampled_from(PLANTED))) * data.draw(st.sampled_from([0, 0, 0, 1, 3]))
    head = data.draw(st.booleans())
    text = more + near + planted + far if head else far + planted + near
    result = REDACTOR.text(shortened(text, tmp_path))
    assert parts_of(secret, result) == []


def test_no_part_of_a_secret_is_left_of_a_place_that_is_gone() -> None:
    """The path of a working directory is shown whole to the redaction, wherever a cut of it would be."""
    secret = PLANTED[0][1]
    for before in range(60, 160):
        place = Path("/gone", f"{'y' * before} {secret}", "z" * 250)
        said = ReadFile().run({"path": "f"}, context_in(place)).text
        assert "[redacted:" in said
        assert parts_of(secret, said) == []


def test_no_part_of_a_secret_is_left_of_a_link_into_a_long_path(tmp_path: Path) -> None:
    """Where a link leads to is read from the disk: nobody has redacted it before."""
    secret = PLANTED[0][1]
    for before in range(60, 160, 4):
        place = tmp_path / f"{'y' * before} {secret}" / ("z" * 250)
        place.mkdir(parents=True)
        link = tmp_path / f"link{before}"
        link.symlink_to(place)
        said = ReadFile().run({"path": link.name}, context_in(tmp_path)).text
        assert "[redacted:" in said
        assert parts_of(secret, said) == []


def test_what_is_left_out_is_counted_of_the_text_without_secrets(tmp_path: Path) -> None:
    """Head, note and tail add up to the whole, also where only the ends of an output are read."""
    secret = PLANTED[0][1]
    text = f"{secret} " * 20 + "x" * 1_000_000 + f" {secret}" * 20
    whole = REDACTOR.text(text)
    for shortened in (by_a_tool, by_the_spool, by_the_buffer):
        result = shortened(text, tmp_path)
        found = re.search(r"\n\[\.\.\. ([\d,]+) \w+ (of output )?left out \.\.\.\]\n", result)
        assert found is not None
        head, tail = result[: found.start()], result[found.end() :]
        assert len(result) <= LIMIT_CHARS
        assert min(len(head), len(tail)) >= LIMIT_CHARS // 2 - 50
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert len(head) + len(tail) + int(found[1].replace(",", "")) == len(whole)


def test_lines_after_a_key_keep_their_numbers(tmp_path: Path) -> None:
    """A key shows as one line; a reader that starts inside it sees that line, and goes on behind it."""
    before, body, after = PLANTED[14]
    (tmp_path / "f").write_text(f"one{before}{body}{after}last\n", encoding="utf-8")
    key, last = "     2\t[redacted:private_key]", "    44\tlast"
    context = context_in(tmp_path)
    assert ReadFile().run({"path": "f"}, context).text == f"     1\tone\n{key}\n{last}"
    assert ReadFile().run({"path": "f", "offset": 9}, context).text == f"{key}\n{last}"
    left_out = "[1 lines left out below; go on with offset=44]"
    assert ReadFile().run({"path": "f", "offset": 9, "limit": 2}, context).text == f"{key}\n{left_out}"


def test_grep_takes_secrets_out_before_it_cuts_a_long_line(tmp_path: Path) -> None:
    """The part around the match would begin within the secret; what is left out is counted all the same."""
    secret = PLANTED[0][1]
    (tmp_path / "f").write_text("x " * 500 + secret + " " + "y" * 230 + "needle" + " z" * 5_000, encoding="utf-8")
    result = Grep().run({"pattern": "needle"}, context_in(tmp_path))
    assert "needle" in result.text
    assert parts_of(secret, result.text) == []
    found = re.fullmatch(r"f:1:(.{500}) \[(\d+) characters left out\]", result.text)
    assert found is not None
    assert 500 + int(found[2]) == len(REDACTOR.text((tmp_path / "f").read_text(encoding="utf-8")))


def test_a_long_line_that_shrinks_does_not_show_the_edge_of_what_was_sent(tmp_path: Path) -> None:
    """A key of thousands of characters becomes some; what the search process had cut before it stays hidden."""
    secret = PLANTED[0][1]
    before, body, after = (part.replace("\n", "\\n") for part in PLANTED[14])
    key = before + body * 4 + after
    sent_before_chars = MAX_LINE_CHARS // 2 + MARGIN_CHARS
    padding = "-" * (sent_before_chars - len(key) - 21)
    line = "y " * 3_000 + secret + " " + key + padding + "needle" + " z" * 5_000
    sent = long_line("f:1:", line, line.index("needle"))
    assert sent["text"].startswith(secret[-20:] + " ")
    shown = cut_line(sent, REDACTOR.text)
    assert parts_of(secret, shown) == []
    assert "characters left out]" in shown


@pytest.mark.parametrize("build", [build_spool, lambda made, redact: UnspooledCommands(redact=redact)])
def test_the_spool_of_a_worker_cuts_no_secret(tmp_path: Path, build: Callable[[Settings, Any], Spool]) -> None:
    """As it is put together for a worker, and its negative control."""
    secret = PLANTED[0][1]
    (tmp_path / "f").write_text("x" * 449 + f" {secret}" + " y" * 1_000, encoding="utf-8")
    made = Settings(data_dir=tmp_path / "data")
    assert parts_of(secret, printed(build(made, REDACTOR.text), tmp_path).output) == []
    assert parts_of(secret, printed(build(made, str), tmp_path).output) != []


def test_an_output_that_reached_its_limit_ends_before_the_cut(tmp_path: Path) -> None:
    """The file ends where the limit is, and that may be in the middle of a secret."""
    secret = PLANTED[0][1]
    (tmp_path / "f").write_text("a line\n" * 10_000 + f"key {secret}\n" + "a line\n" * 10_000, encoding="utf-8")
    limit_bytes = 70_000 + len("key ") + 15
    status = printed(CommandSpool(tmp_path / "data", limit_bytes, redact=REDACTOR.text), tmp_path)
    assert (status.reason, parts_of(secret, status.output)) == ("output_limit", [])
    assert status.output.endswith("a line")


@pytest.mark.parametrize(
    ("call", "before"),
    [
        (("t1", "run_command", {"command": "cat f"}), 14_945),
        (("t1", "read_file", {"path": "f"}), 14_810),
    ],
    ids=["run_command", "read_file"],
)
def test_no_half_of_a_secret_is_stored_where_a_tool_cuts(tmp_path: Path, call: Any, before: int) -> None:
    """Through a whole turn: a file of one line holds a secret just where the tool cuts."""
    secret = PLANTED[0][1]
    rig = new_rig(tmp_path, FakeModel(calls(call), says("Done.")), redactor=REDACTOR)
    (tmp_path / "f").write_text("x" * (before - 1) + f" {secret}" + " y" * 150_000, encoding="utf-8")
    stored = rig.results(rig.run(allow=("run_command",)))["t1"]["content"]
    assert "left out" in stored
    assert parts_of(secret, stored) == []
