"""Hosts that a command was refused: told, asked about, and reached once a person has allowed them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from neuraphage.api.service import TaskService
from neuraphage.model.event import Event
from neuraphage.model.prompt import Prompt
from neuraphage.model.task import Status
from neuraphage.sandbox import way_out
from neuraphage.sandbox.choice import filter_in
from neuraphage.sandbox.confinement import Bubblewrap
from neuraphage.sandbox.proxy import Proxy
from neuraphage.sandbox.way_folder import WayFolders
from neuraphage.sandbox.way_out import WayOut
from neuraphage.store import queries
from neuraphage.tools.command_tool import RunCommand
from proxykit import web_server
from sandboxkit import LIMITS, SandboxedHost, find_bubblewrap
from turnkit import Killed, Rig, calls, says, texts

MakeRig = Callable[..., Rig]
FETCH = (
    "import sys, urllib.error, urllib.request\n"
    "for url in sys.argv[1:]:\n"
    "    try: print('reached', urllib.request.urlopen(url).status)\n"
    "    except urllib.error.HTTPError as error: print(error.code)\n"
)


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Of a web server at which every name is found that a proxy lets through."""

    def proxy(path: Path, allow: tuple[str, ...], *arguments: Any, **options: Any) -> Proxy:
        more = [f"127.0.0.1:{number}"] if allow else []
        return Proxy(path, [*allow, *more], *arguments, resolve=lambda *_: ["127.0.0.1"], **options)

    with web_server() as number:
        monkeypatch.setattr(way_out, "Proxy", proxy)
        yield number


@pytest.fixture
def ways(host: SandboxedHost) -> WayFolders:
    """Of that host."""
    (host.work / "fetch.py").write_text(FETCH, encoding="utf-8")
    return WayFolders(host.data / "ways")


@pytest.fixture
def make(make_rig: MakeRig, host: SandboxedHost, ways: WayFolders) -> MakeRig:
    """A worker whose commands are confined, and have a way to hosts that are allowed."""

    def made(*steps: Any, **options: Any) -> Rig:
        rig = make_rig(*steps, **options)
        out = WayOut(ways, rig.settings.allow_hosts, asks=rig.settings.ask_refused_hosts != "off")
        box = Bubblewrap(find_bubblewrap(), host.folders, LIMITS, [], filter_in(host.folders.root), out)
        tool = RunCommand(sandbox=box)
        rig.services.tools._tools["run_command"] = tool
        rig.services.declarations["run_command"] = tool.declaration
        return rig

    return made


def fetch(key: str, *urls: str) -> tuple[str, str, dict[str, Any]]:
    """A call that asks for these."""
    return key, "run_command", {"command": f"{sys.executable} fetch.py {' '.join(urls)}"}


def prompts(rig: Rig, task_id: str) -> dict[str, Prompt]:
    """Open prompts by what they are about."""
    return {prompt.tool or "": prompt for prompt in rig.get(task_id).prompts}


def events(rig: Rig, task_id: str, kind: str) -> list[Event]:
    return [event for event in queries.events(rig.store.context, task_id) if event.kind == kind]


def answer(rig: Rig, task_id: str, text: str) -> None:
    task = rig.get(task_id)
    assert len(task.prompts) == 1, (task.status, rig.results(task_id))
    rig.people.answer(task_id, task.prompts[0].prompt_id, text)
    rig.drain()


def test_a_person_is_asked_and_the_command_reaches_the_host_then(make: MakeRig, host: SandboxedHost, port: int) -> None:
    """The first run is refused, at once; what it was refused is in the history and in its result. A yes holds for the
    task: the model is told, and the same command reaches the host."""
    url = f"http://a.example:{port}/"
    rig = make(calls(fetch("t1", url)), calls(fetch("t2", url)), says("Done."))
    task_id = rig.run(working_dir=str(host.work), permission_timeout_s=300.0)
    assert list(prompts(rig, task_id)) == [f"host: a.example:{port}"]
    (refused,) = events(rig, task_id, "HostRefused")
    assert refused.data == {"tool": "run_command", "id": "t1", "host": "a.example", "port": port}
    assert f"refused hosts: a.example:{port}." in rig.results(task_id)["t1"]["content"]
    (prompt,) = rig.get(task_id).prompts
    assert prompt.text.startswith(f"May commands of this task reach a.example:{port}?")
    assert (prompt.default_answer, prompt.tool_use_id) == ("no", "t1")
    answer(rig, task_id, "yes")
    assert rig.get(task_id).status is Status.COMPLETED
    assert "reached 200" in rig.results(task_id)["t2"]["content"]
    assert f"allows commands of this task to reach a.example:{port}" in texts(rig.model.requests[1].messages)[-1]
    (granted,) = (one for one in events(rig, task_id, "PermissionGranted") if one.data["by"] == "user")
    assert granted.data["tool"] == f"host: a.example:{port}"


@pytest.mark.parametrize("text", ["no", "never", "no: use the mirror", 'edit: {"a": 1}'])
def test_a_no_holds_for_the_task(make: MakeRig, host: SandboxedHost, port: int, text: str) -> None:
    """It is asked once, and the host stays refused; words of the person reach the model. An edit is no yes."""
    url = f"http://a.example:{port}/"
    rig = make(calls(fetch("t1", url)), calls(fetch("t2", url)), says("Done."))
    task_id = rig.run(working_dir=str(host.work))
    answer(rig, task_id, text)
    assert rig.get(task_id).status is Status.COMPLETED
    assert "403" in rig.results(task_id)["t2"]["content"]
    assert len(events(rig, task_id, "HostRefused")) == 2
    assert ("use the mirror" in texts(rig.model.requests[1].messages)[-1]) is ("mirror" in text)


def test_nobody_answers(make: MakeRig, host: SandboxedHost) -> None:
    """At the deadline it is a no, which the model is told as such."""
    rig = make(calls(fetch("t1", "http://a.example/")), says("Done."))
    task_id = rig.run(working_dir=str(host.work), permission_timeout_s=300.0)
    (member,) = rig.client.zrange(rig.kit.keys.deadlines, 0, -1)
    rig.client.zadd(rig.kit.keys.deadlines, {member: 1})
    rig.sweep.run(guarded=False)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert "Nobody answered in time" in texts(rig.model.requests[1].messages)[-1]


def test_each_host_is_a_prompt_and_few_are_asked(make: MakeRig, host: SandboxedHost) -> None:
    """One yes is for one host; of many hosts a person is asked about five, and the history has them."""
    urls = [f"http://h{number}.example/" for number in range(7)]
    rig = make(calls(fetch("t1", *urls, *urls)), calls(fetch("t2", urls[0])), says("Done."))
    task_id = rig.run(working_dir=str(host.work))
    asked = prompts(rig, task_id)
    assert set(asked) == {f"host: h{number}.example:80" for number in range(5)}
    assert len(events(rig, task_id, "HostRefused")) == 7
    rig.people.answer(task_id, asked["host: h1.example:80"].prompt_id, "yes")
    rig.drain()
    assert len(prompts(rig, task_id)) == 4
    assert rig.get(task_id).grants == {"host: h1.example:80": "granted"}


def test_addresses_of_this_machine_are_never_asked_about(make: MakeRig, host: SandboxedHost, port: int) -> None:
    """Nor those of clouds' metadata; they are told like any."""
    urls = (f"http://127.0.0.2:{port}/", "http://169.254.169.254/", "http://10.0.0.1/")
    rig = make(calls(fetch("t1", *urls)), says("Done."))
    task_id = rig.run(working_dir=str(host.work))
    assert rig.get(task_id).status is Status.COMPLETED
    assert len(events(rig, task_id, "HostRefused")) == len(urls)


def test_a_name_that_holds_a_secret_is_not_kept(make: MakeRig, host: SandboxedHost) -> None:
    """A command can put anything into a name; nobody is asked about what stands for it."""
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    rig = make(
        calls(("t1", "run_command", {"command": f"{sys.executable} fetch.py http://$(cat name).example/"})), says(".")
    )
    (host.work / "name").write_text(secret, encoding="utf-8")
    task_id = rig.run(working_dir=str(host.work))
    assert rig.get(task_id).status is Status.COMPLETED
    (refused,) = events(rig, task_id, "HostRefused")
    assert secret.lower() not in refused.data["host"].lower()


@pytest.mark.parametrize(
    ("rules", "allow_hosts", "said"),
    [
        (("allow host: *.b.example:{port}", "allow host: a.example:{port}"), (), "reached 200"),
        (("deny host: a.example",), (), "no command may reach"),
        (("deny host: a.example:{port}",), ("a.example:{port}",), "no command may reach"),
    ],
)
def test_rules_decide_about_hosts_and_nobody_is_asked(
    make: MakeRig, host: SandboxedHost, port: int, rules: tuple[str, ...], allow_hosts: tuple[str, ...], said: str
) -> None:
    """One that denies beats the setting."""
    filled = [tuple(one.format(port=port) for one in texts) for texts in (rules, allow_hosts)]
    rig = make(calls(fetch("t1", f"http://a.example:{port}/")), says("."), rules=filled[0], allow_hosts=filled[1])
    task_id = rig.run(working_dir=str(host.work))
    assert rig.get(task_id).status is Status.COMPLETED
    assert said in rig.results(task_id)["t1"]["content"]


def test_a_host_that_a_rule_denies_is_not_reached_under_another_name_for_it(
    make: MakeRig, host: SandboxedHost, port: int
) -> None:
    """The line does not name it, so it runs; the proxy holds the rule against what the command really asks for."""
    hidden = f"import sys\nsys.argv[1:] = ['http://a.exa' + 'mple:{port}/']\n{FETCH}"
    (host.work / "hidden.py").write_text(hidden, encoding="utf-8")
    line = ("t1", "run_command", {"command": f"{sys.executable} hidden.py"})
    listed = (f"a.example:{port}",)
    rig = make(calls(line), says("."), rules=(f"deny host: a.example:{port}",), allow_hosts=listed)
    task_id = rig.run(working_dir=str(host.work))
    assert rig.get(task_id).status is Status.COMPLETED, "nobody is asked"
    assert rig.results(task_id)["t1"]["content"].startswith("403")


def test_an_answer_between_two_calls_of_a_reply_stands_behind_their_results(make: MakeRig, host: SandboxedHost) -> None:
    """The provider wants all results of a reply first; a note that lies between them is sent behind them."""
    rig = make(calls(fetch("t1", "http://a.example/"), ("t2", "run_command", {"command": "true"})), says("."))
    task_id = rig.run(working_dir=str(host.work))
    answer(rig, task_id, "yes")
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    kinds = [block["type"] for block in rig.model.requests[-1].messages[-1]["content"]]
    assert kinds == ["tool_result", "tool_result", "text"]


def test_nobody_is_asked_where_the_setting_says_so(make: MakeRig, host: SandboxedHost) -> None:
    """It is told, where there is a way out at all."""
    options = {"ask_refused_hosts": "off", "allow_hosts": ("b.example",)}
    rig = make(calls(fetch("t1", "http://a.example/")), says("Done."), **options)
    task_id = rig.run(working_dir=str(host.work))
    assert rig.get(task_id).status is Status.COMPLETED
    assert len(events(rig, task_id, "HostRefused")) == 1


def test_an_allowed_host_is_a_network(make: MakeRig, host: SandboxedHost) -> None:
    """What ran without asking since it reached no network is asked about from then on; an approval from before is
    for another confinement."""
    line = {"command": "touch made"}
    rig = make(
        calls(("t0", "run_command", line)), calls(fetch("t1", "http://a.example/")), calls(("t2", "run_command", line)),
        auto_allow_sandboxed=True,
    )  # fmt: skip
    task_id = rig.run(working_dir=str(host.work), allow=())
    assert "t0" in rig.results(task_id)
    answer(rig, task_id, "yes")
    assert list(prompts(rig, task_id)) == ["run_command"]


def test_the_answer_is_taken_by_the_next_worker(make: MakeRig, host: SandboxedHost) -> None:
    """The prompt is open while no worker has the task; the command is not run again."""
    rig = make(calls(fetch("t1", "http://a.example/")), says("Done."))
    task_id = rig.run(working_dir=str(host.work))
    (prompt,) = rig.get(task_id).prompts
    rig.people.answer(task_id, prompt.prompt_id, "yes")
    rig = rig.reborn()
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert rig.kinds(task_id).count("ToolStarted") == 1
    assert rig.kinds(task_id).count("HostRefused") == 1


@pytest.mark.parametrize("is_written", [False, True])
def test_a_death_around_the_asking_asks_once(
    make: MakeRig, host: SandboxedHost, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    """Result, events and prompt are one write. Before it the next process reads all of it anew from what the command
    left; behind it there is nothing to do."""
    rig = make(calls(fetch("t1", "http://a.example/")), says("Done."))
    suspend = rig.store.suspend

    def killed(*arguments: Any, **options: Any) -> None:
        if is_written:
            suspend(*arguments, **options)
        raise Killed

    monkeypatch.setattr(rig.store, "suspend", killed)
    task_id = rig.submit(working_dir=str(host.work))
    rig.dies()
    monkeypatch.undo()
    if not is_written:
        rig.sweep.recover(rig.kit.held(task_id), "gone")
    tool = rig.services.tools._tools["run_command"]
    rig = rig.reborn()
    rig.services.tools._tools["run_command"] = tool
    rig.services.declarations["run_command"] = tool.declaration
    rig.drain()
    assert list(prompts(rig, task_id)) == ["host: a.example:80"]
    assert rig.kinds(task_id).count("HostRefused") == 1
    answer(rig, task_id, "yes")
    assert rig.get(task_id).status is Status.COMPLETED
    assert rig.kinds(task_id).count("ToolStarted") == 1


def test_always_me_makes_a_rule_for_this_host_alone(make: MakeRig, host: SandboxedHost) -> None:
    """Not for all hosts, although no pattern is named."""
    rig = make(calls(fetch("t1", "http://a.example/")), says("Done."))
    task_id = rig.run(working_dir=str(host.work))
    made: list[tuple[str, str | None]] = []
    people = TaskService(
        rig.store, rig.dispatcher, rig.services.redaction, lambda: "key",
        add_rule=lambda rule, directory: made.append((str(rule), directory)),
    )  # fmt: skip
    (prompt,) = rig.get(task_id).prompts
    people.answer(task_id, prompt.prompt_id, "always here")
    rig.drain()
    assert made == [("allow host: a.example:80", str(host.work))]
    assert rig.get(task_id).grants == {"host: a.example:80": "granted"}
