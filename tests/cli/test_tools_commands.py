"""`tools list`, `show` and `check`, and the option --tool."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from clikit import CommandLine, run_process
from neuraphage.tools.registry import default_toolbox

MODULE = '''
import logging
import sys
from neuraphage.tools import tool, ToolContext, ToolTraits

world = {}

@tool(effect="keyed")
def charge(customer: str, cents: int, context: ToolContext) -> str:
    """Charge a customer.

    Once.
    """
    world[context.effect_id] = cents
    return "charged"

@charge.count_with
def charges(context):
    return int(context.effect_id in world)

@tool(effect="keyed", asks=False)
def careless(context: ToolContext) -> str:
    """Act each time."""
    world[len(world)] = context.effect_id
    return f"act {len(world)}"

@careless.count_with
def acts(context):
    return list(world.values()).count(context.effect_id)

@tool(effect="checkable", traits=ToolTraits(title="Post a text"))
def post(text: str) -> str:
    """Post."""
    world["post"] = text
    return "posted"

@post.probe_with
def posted(text):
    return "post" in world

@tool(effect="checkable")
def blind() -> str:
    """Act."""
    return "acted"

@blind.probe_with
def sees():
    return True

@tool(effect="opaque", timeout_s=100_000)
def slow() -> str:
    """Act."""
    raise RuntimeError("no luck")

KEY = "sk-" + "ant-api03-" + "Zx9" * 12

@tool(effect="opaque")
def exits(how: str) -> str:
    """Exit, or fail with a secret."""
    if how == "exit":
        sys.exit(4)
    if how == "log":
        logging.getLogger("shop").error("log of %s", KEY)
        return "logged"
    raise RuntimeError(f"failed with {KEY}")
'''


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module with tools, in reach of this process."""
    (tmp_path / "tools_of_test.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "tools_of_test", raising=False)


def checked(cli: CommandLine, name: str, params: object = None) -> dict[str, bool | None]:
    """What `check` found of a tool, by the name of the check."""
    given = () if params is None else ("--params", json.dumps(params))
    ran = cli("tools", "check", name, "--tool", f"tools_of_test:{name}", *given, "--json")
    found = ran.json
    assert ran.code == (0 if found["ok"] else 1)
    assert found["tool"] == name
    return {row["check"]: row["ok"] for row in found["findings"]}


def test_all_tools_are_listed(cli: CommandLine) -> None:
    """The built-in ones in their order, then one's own, each with its effect and where it comes from."""
    ran = cli("tools", "list", "--tool", "tools_of_test:charge", "--tool", "tools_of_test:post", "--json")
    rows = {row["name"]: row for row in ran.json["tools"]}
    assert ran.code == 0
    assert list(rows) == [*(one.name for one in default_toolbox().declarations()), "charge", "post"]
    assert (rows["charge"]["effect"], rows["charge"]["asks"], rows["charge"]["from"]) == (
        "keyed", True, "tools_of_test:charge",
    )  # fmt: skip
    assert [rows[name]["title"] for name in ("charge", "post", "edit")] == [
        "Charge a customer.", "Post a text", "Change a part of a file",
    ]  # fmt: skip
    table = cli("tools", "list", "--tool", "tools_of_test:charge").out
    assert "charge\tkeyed\tyes\ttools_of_test:charge\tCharge a customer." in table


def test_a_tool_that_is_not_loaded_is_told_of(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """By exit code and a line, and the others are listed all the same; a name that is not there says it, too."""
    ran = cli("tools", "list", "--tool", "tools_of_test:none", "--tool", "tools_of_test:charge")
    assert ran.code == 1
    assert "charge" in ran.out
    assert "not loaded: tools_of_test:none: it cannot be imported" in ran.err
    unknown = cli("tools", "show", "chrge", "--tool", "tools_of_test:charge", "--tool", "tools_of_test:none")
    assert unknown.code == 2
    assert "did you mean charge?; not loaded: tools_of_test:none" in unknown.err
    monkeypatch.setenv("NEURAPHAGE_TOOLS", "tools_of_test:none")
    finding = next(f for f in cli("doctor", "--json").json["findings"] if f["check"] == "tools")
    assert finding["level"] == "problem"
    assert "tools_of_test:none" in finding["found"]


def test_one_tool_is_shown(cli: CommandLine) -> None:
    """All that it declares, with the schema that the model gets."""
    row = cli("tools", "show", "charge", "--tool", "tools_of_test:charge", "--json").json
    assert row["description"] == "Charge a customer.\n\nOnce."
    assert row["parameters"]["required"] == ["customer", "cents"]
    shown = cli("tools", "show", "charge", "--tool", "tools_of_test:charge").out
    assert all(text in shown for text in ("effect:       keyed", '"cents": {', "from:         tools_of_test:charge"))


def test_what_is_declared_is_held_against_what_is_done(cli: CommandLine) -> None:
    """Each fault shows in the check that is for it, and a sound tool has none."""
    params = {"customer": "c", "cents": 1}
    assert checked(cli, "charge", params) | {"run": True, "repeat": True, "one effect": True} == checked(
        cli, "charge", params
    )
    assert checked(cli, "careless", {})["one effect"] is False
    assert checked(cli, "careless", {})["repeat"] is False, "its two results differ"
    assert checked(cli, "careless")["effect"] is None, "nobody is asked, which may be meant"
    post = checked(cli, "post", {"text": "t"})
    assert (post["probe before"], post["run"], post["probe after"]) == (True, True, True)
    assert checked(cli, "blind", {})["probe before"] is False
    slow = checked(cli, "slow", {})
    assert (slow["time"], slow["run"]) == (False, False)
    assert checked(cli, "charge", {"customer": "c"})["parameters"] is False


def test_nothing_is_run_without_parameters(cli: CommandLine) -> None:
    """Its effects may be real ones."""
    assert checked(cli, "charge")["run"] is None
    assert "charge" in sys.modules["tools_of_test"].__dict__
    assert sys.modules["tools_of_test"].world == {}


def test_a_tool_that_exits_is_a_problem(cli: CommandLine) -> None:
    """With the exit code of a problem and all that was found, whatever code the tool has asked for."""
    assert checked(cli, "exits", {"how": "exit"})["run"] is False
    ran = cli("tools", "check", "exits", "--tool", "tools_of_test:exits", "--params", '{"how": "exit"}')
    assert ran.code == 1
    assert "PROBLEM  run: it raised SystemExit: 4" in ran.out
    assert "1 of 6 checks found a problem" in ran.out


@pytest.mark.parametrize("how", ["fail", "log"])
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_no_secret_and_no_traceback_is_shown(tmp_path: Path, how: str, more: tuple[str, ...]) -> None:
    """Neither in what was found nor by Python, which shows what is logged where nobody has asked for a log."""
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    given = ("--tool", "tools_of_test:exits", "--params", json.dumps({"how": how}))
    ran = run_process("tools", "check", "exits", *given, *more, env=env)
    assert (ran.code, ran.err) == (int(how == "fail"), "")
    assert "sk-ant" not in ran.out
    assert "Traceback" not in ran.out
    assert ("RuntimeError: failed with" in ran.out) is (how == "fail")


def test_where_it_runs_may_be_chosen(cli: CommandLine, tmp_path: Path) -> None:
    """The working directory of the call; otherwise a folder that is gone afterwards."""
    given = ("--params", '{"path": "a.txt", "content": "x"}')
    assert cli("tools", "check", "write_file", *given, "--dir", str(tmp_path)).code == 0
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "x"
    assert "nothing is wrong" in cli("tools", "check", "write_file", *given).out


ENTRY_POINTS = "[neuraphage.tools]\nshop = tools_of_test:charge\n"


def test_an_installed_package_brings_its_tools(tmp_path: Path) -> None:
    """By what a wheel leaves in the folder of packages; its name and version are told."""
    info = tmp_path / "packages" / "shop-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.2\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    shutil.copy(tmp_path / "tools_of_test.py", info.parent)
    env = {**os.environ, "PYTHONPATH": str(info.parent)}
    rows = run_process("tools", "list", "--json", env=env).json["tools"]
    assert [row["from"] for row in rows if row["name"] == "charge"] == ["tools_of_test:charge (shop 1.2)"]
    without = run_process("tools", "list", "--json").json["tools"]
    assert "charge" not in [row["name"] for row in without]


def test_the_file_of_the_person_names_tools_and_that_of_a_project_may_not(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cloned repository would have its code run by every worker of the person."""
    own = tmp_path / "config" / "neuraphage" / "neuraphage.toml"
    own.parent.mkdir(parents=True)
    own.write_text('tools = ["tools_of_test:charge", "tools_of_test:post"]\n', encoding="utf-8")
    rows = cli("tools", "list", "--json").json["tools"]
    assert [row["name"] for row in rows][-2:] == ["charge", "post"]
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    Path("neuraphage.toml").write_text('tools = ["tools_of_test:careless"]\n', encoding="utf-8")
    ran = cli("tools", "list")
    assert ran.code == 2
    assert "neuraphage.toml" in ran.err
    assert "tools" in ran.err
    assert "tools_of_test" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("check", "edit", "--params", "{"), "--params: this is no JSON"),
        (("check", "edit", "--params", "[1]"), "--params: an object is wanted"),
        (("check", "edit", "--dir", "/nowhere"), "there is no such directory"),
        (("show", "nothing"), "there is no tool 'nothing'"),
        (("list", "--tool", "a b"), "--tool: 'a b': write package.module:object"),
        (("list", "--tool", "a.b"), "--tool: 'a.b': write package.module:object"),
        (("list", "--tool", "a:b" + "c" * 600), "write package.module:object"),
    ],
)
def test_what_is_wrong_is_said(cli: CommandLine, arguments: tuple[str, ...], words: str) -> None:
    """In a line, with exit code 2."""
    ran = cli("tools", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
