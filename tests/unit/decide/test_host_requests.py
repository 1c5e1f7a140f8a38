"""Hosts in rules, answers and prompts."""

from __future__ import annotations

import pytest

from neuraphage.decide.allowed_hosts import read_denied_host
from neuraphage.decide.host_requests import host_asked, hosts_to_ask, reach_by, subject, with_reach
from neuraphage.decide.rules.reading import read_allowed, read_rule
from neuraphage.decide.sealing import seal
from neuraphage.errors import BadInput
from neuraphage.model.effect import EffectClass, EffectState, ToolEffect
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.sandbox import NO_HOSTS, HostReach, RefusedHost
from neuraphage.model.tool import ToolDeclaration
from neuraphage.tools.tool_names import name_problem


def declared(**more: object) -> ToolDeclaration:
    fields = {"sandbox": "bubblewrap", "confined": True, "has_way_out": True, **more}
    return ToolDeclaration(
        name="run_command", description="", input_schema={}, effect_class=EffectClass.OPAQUE, side_effecting=True,
        timeout_s=1.0, **fields,
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "allow host", "deny host", "ask host: a.org", "outside host: a.org", "allow host: *", "allow host: *.org",
        "allow host: a.org/b", "allow host: http://a.org", "allow host: 127.0.0.1:80", "allow host: [::1]:80",
        "allow host: localhost", "allow host: 169.254.169.254", "allow host: 10.0.0.1", "allow host: a.org b.org",
        "allow host: [::ffff:127.0.0.1]:80", "allow host: a.localhost:80",
    ],
)  # fmt: skip
def test_what_is_no_rule_about_a_host(text: str) -> None:
    """It names no host or too many, or one that only this machine or its network has."""
    with pytest.raises(BadInput):
        read_rule(text)


def test_rules_and_answers_say_what_is_reached() -> None:
    """In whatever order; a denied answer is no rule, and rules about tools say nothing of hosts."""
    rules = [
        read_rule("deny host: *.com"),
        read_rule("allow host: b.org"),
        read_rule("allow *"),
        read_allowed("host: a.org:1"),
    ]
    grants = {"host: c.org:443": "granted", "host: d.org:443": "denied", "run_command": "granted", "host": "granted"}
    assert reach_by(rules, grants) == HostReach(("a.org:1", "b.org", "c.org:443"), ("*.com",))


def test_a_denied_host_is_denied_at_every_port() -> None:
    """Unless the rule names one; a whole domain can be denied."""
    assert read_denied_host("*.com").fits("a.com", 5)
    assert read_denied_host("a.org").fits("a.org", 5)
    assert not read_denied_host("a.org:443").fits("a.org", 80)


def test_hosts_are_part_of_what_confines_a_tool() -> None:
    """Of its digest, and of whether it has a network; a tool without a way out stays as it is."""
    tool, reach = declared(), HostReach(("a.org",))
    assert not with_reach(tool, reach).confined
    assert with_reach(tool, HostReach(denied=("a.org",))).confined
    digests = {
        seal(with_reach(tool, one), {}, [], [])
        for one in (NO_HOSTS, reach, HostReach(denied=("a.org",)), HostReach(("b.org",)))
    }
    assert len(digests) == 4
    assert with_reach(declared(has_way_out=False), reach) == declared(has_way_out=False)


def test_a_prompt_about_a_host_is_known_by_its_tool() -> None:
    """Which no tool can be named."""
    asked = Prompt(prompt_id="p", kind=PromptKind.PERMISSION, text="?", tool=subject("[2a00::1]:80"))
    assert host_asked(asked) == "[2a00::1]:80"
    assert host_asked(asked.model_copy(update={"tool": "host"})) is None
    assert host_asked(asked.model_copy(update={"tool": None})) is None
    assert name_problem("host") is not None


def test_what_names_no_host_is_not_asked_about() -> None:
    """Whatever was stored."""
    refused = ("", "a.org", "a b:1", "x:0", "b.org:1")
    effect = ToolEffect(key="t", state=EffectState.COMPLETED, refused=refused)
    assert hosts_to_ask(effect, NO_HOSTS, {}) == ("b.org:1",)
    assert RefusedHost(host="2a00::1", port=80).place == "[2a00::1]:80"
