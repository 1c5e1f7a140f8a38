"""Tools of others: where they are found, and what is said of those that cannot be used."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from neuraphage.proc import named_objects
from neuraphage.redaction.redactor import Redactor
from neuraphage.tools import loading
from neuraphage.tools.loading import load_tools
from neuraphage.tools.registry import default_toolbox

SHOP = '''
from neuraphage.tools import EffectClass, tool, ToolTraits

@tool(effect="keyed")
def charge(customer: str, cents: int) -> str:
    """Charge a customer."""
    return "charged"

@tool(effect="pure")
def prices() -> str:
    """List prices."""
    return "1"

@tool(effect="checkable")
def unprobed() -> str:
    """Act."""
    return ""

@tool(effect="pure", name="edit")
def mine() -> str:
    """Edit."""
    return ""

both = [charge, prices]
number = 7

class Inner:
    tool = prices

class Long:
    declaration = None
    def check(self, params): ...
    def prepare(self, params, context): ...
    def run(self, params, context): ...
    def probe(self, params, evidence, context): ...

long = Long()

class Failing(Long):
    @property
    def declaration(self):
        raise RuntimeError("not today")

failing = Failing()

class Exiting(Long):
    @property
    def declaration(self):
        raise SystemExit(4)

exiting = Exiting()

def control():
    declaration = charge.declaration.model_copy(update={"name": "end_all", "control": "complete_task"})
    made = Long()
    made.declaration = declaration
    return made

controlling = control()
detached = control()
detached.declaration = charge.declaration.model_copy(
    update={"name": "run_more", "detached": True, "effect_class": EffectClass.OPAQUE}
)
guessed = control()
guessed.declaration = charge.declaration.model_copy(
    update={"name": "guess", "detached": True, "effect_class": EffectClass.CHECKABLE}
)
billed = control()
billed.declaration = charge.declaration.model_copy(
    update={"name": "ask_a_model", "effect_class": EffectClass.BILLED}
)
spaced = control()
spaced.declaration = charge.declaration.model_copy(update={"name": "no spaces"})
'''


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop_of_test.py").write_text(SHOP, encoding="utf-8")
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    (tmp_path / "ends.py").write_text("import asyncio\nraise asyncio.CancelledError\n", encoding="utf-8")
    (tmp_path / "breaks.py").write_text("1 / 0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("shop_of_test", "exits", "ends", "breaks"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    announce(monkeypatch)
    return tmp_path


def announce(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    points = EntryPoints(EntryPoint(name, value, loading.GROUP) for name, value in values.items())
    monkeypatch.setattr(named_objects, "entry_points", lambda group: points.select(group=group))


def names(*references: str) -> list[str]:
    loaded = load_tools(references)
    assert loaded.problems == ()
    return [one.tool.declaration.name for one in loaded.tools]


def test_tools_are_found_where_they_are_named() -> None:
    """One, several in a list, or one inside an object."""
    assert names("shop_of_test:charge") == ["charge"]
    assert names("shop_of_test:both") == ["charge", "prices"]
    assert names("shop_of_test:Inner.tool") == ["prices"]
    assert names("shop_of_test:charge", "shop_of_test:charge") == ["charge"]


def test_installed_packages_announce_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once, also when it is named besides."""
    announce(monkeypatch, shop="shop_of_test:both", again="shop_of_test:both")
    assert names() == ["charge", "prices"]
    assert names("shop_of_test:both") == ["charge", "prices"]
    assert load_tools(()).tools[0].origin == "shop_of_test:both (an installed package)"


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("nowhere_of_test:charge", "it cannot be imported: ModuleNotFoundError: No module named 'nowhere_of_test'"),
        (
            "shop_of_test:refund",
            "it cannot be imported: AttributeError: module 'shop_of_test' has no attribute 'refund'",
        ),
        ("exits:tool", "it cannot be imported: SystemExit: 3"),
        ("breaks:tool", "it cannot be imported: ZeroDivisionError: division by zero"),
        ("shop_of_test:number", "it is no tool but a int"),
        ("shop_of_test:Long", "it is no tool but a class; name an instance of it"),
        ("shop_of_test:long", "its declaration is a NoneType, not a ToolDeclaration"),
        ("shop_of_test:failing", "its declaration fails: RuntimeError: not today"),
        ("shop_of_test:exiting", "its declaration fails: SystemExit: 4"),
        ("ends:tool", "it cannot be imported: CancelledError"),
        ("shop_of_test:billed", "ask_a_model declares the effect billed, which no tool can have"),
        ("shop_of_test:unprobed", "unprobed is checkable and has no probe"),
        ("shop_of_test:mine", "the name edit is taken by another tool"),
        ("shop_of_test:controlling", "end_all declares itself to be carried out by the turn"),
        ("shop_of_test:guessed", "guess is detached work and declares the effect checkable; declare it opaque"),
        ("shop_of_test:detached", "run_more declares its calls to be detached work and has no detached_result"),
        ("shop_of_test:spaced", "tool name 'no spaces'"),
    ],
)
def test_what_cannot_be_used_is_told_and_left_out(reference: str, why: str) -> None:
    """The others are there all the same, and the model is told of what is missing."""
    loaded = load_tools((reference, "shop_of_test:charge"))
    assert [one.tool.declaration.name for one in loaded.tools] == ["charge"]
    (problem,) = loaded.problems
    assert problem.origin == reference
    assert problem.reason.startswith(why), problem.reason
    box = default_toolbox(extra=(one.tool for one in loaded.tools), problems=loaded.problems)
    told = box.why_missing("refund")
    assert told.startswith("There is no tool 'refund'. The tools are: read_file,")
    assert f"{reference}: {why}" in told


def test_a_module_of_the_current_folder_is_hinted_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process of ours imports from there, which is what someone with a first tool meets."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "near_of_test.py").write_text(SHOP, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    (problem,) = load_tools(("near_of_test:charge",)).problems
    assert problem.reason.endswith(
        f"near_of_test.py is in the current folder, which is not looked into; set PYTHONPATH={tmp_path / 'here'}"
    )


def test_no_half_of_a_secret_is_told_of_a_tool_that_fails(shop: Path) -> None:
    """What the code of others says is redacted before it is shortened."""
    secret = "sk-" + "ant-api03-" + "Zx9" * 12
    for before in range(440, 500, 7):
        (shop / f"leaks{before}.py").write_text(f"raise RuntimeError('{'x' * before} {secret}')", encoding="utf-8")
        (problem,) = load_tools((f"leaks{before}:tool",), redact=Redactor().text).problems
        assert problem.reason.startswith("it cannot be imported: RuntimeError: xxx")
        assert secret[:8] not in problem.reason


def test_the_first_of_two_tools_of_one_name_counts() -> None:
    """The model could not tell them apart."""
    loaded = load_tools(("shop_of_test:charge", "shop_of_test:both"))
    assert [one.tool.declaration.name for one in loaded.tools] == ["charge", "prices"]
    assert [str(one) for one in loaded.problems] == [
        "shop_of_test:both: the name charge is taken by another tool; give it another one"
    ]


def test_a_box_without_problems_says_nothing_of_any() -> None:
    """Most workers have none."""
    assert "could not be loaded" not in default_toolbox().why_missing("refund")
