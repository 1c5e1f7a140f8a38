"""The gate that a command line has inside: it tells that all stands, and begins the command when its runner says so."""

from __future__ import annotations

import os
import threading

import pytest
from test_spool_crashes import dying_runner, runs

from neuraphage.errors import ConfinementFailed, SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.spool import CommandSpool, command_spool
from neuraphage.spool.gate import Gate
from patience import PATIENCE_S

RUNNING, ABSENT, DONE, SEALED = (
    DetachedState.RUNNING,
    DetachedState.ABSENT,
    DetachedState.DONE,
    DetachedState.SEALED,
)


@pytest.fixture
def gated(order):
    """Makes a command with a gate inside, and what its command line does before."""

    def make(line, *, before="", gate=(7, 8), then=""):
        tells, begins = gate
        passing = f"printf . >&{tells}; read -r -n 1 -u {begins} go || exit 126; {then}"
        return order("", argv=("/bin/bash", "-c", f"{before}\n{passing}\n{line}"), gate=gate)

    return make


@pytest.mark.parametrize("gate", [(7, 8), (8, 7), (3, 4), (4, 3), (5, 6), (9, 3), (6, 9)])
def test_it_begins_whatever_numbers_its_files_have(spool, gated, calm, tmp_path, gate):
    """Also where the runner has others of that number open, or they are those of each other."""
    command = gated("echo x >> ran; echo out", gate=gate)
    assert spool.start(command) is RUNNING
    status = spool.wait(command.effect_id, 100, calm)
    assert (status.state, status.output, status.exit_code, runs(tmp_path)) == (DONE, "out\n", 0, 1)


@pytest.mark.parametrize("gate", [(one, one + 1) for one in range(3, 20)])
def test_words_about_a_failure_are_no_word_that_all_stands(spool, order, gate):
    """Wherever they would be written to: nothing is decided about a program that is not there."""
    command = order("", argv=("/no/such/program",), gate=gate)
    with pytest.raises(ConfinementFailed, match="cannot run '/no/such/program': No such file or directory"):
        spool.start(command)
    assert spool.look(command.effect_id, 10).state is ABSENT


def test_a_command_line_that_ends_before_it_stands(spool, gated, calm, tmp_path):
    """It did not begin, and its last words are told; what is started next by this id begins, and finds no old words."""
    failing = gated("echo x >> ran", before="echo first; echo last; echo; exit 1")
    with pytest.raises(ConfinementFailed, match=r"did not come up: last$"):
        spool.start(failing)
    command = gated("echo x >> ran")
    command = type(command)(failing.effect_id, command.argv, command.cwd, 30.0, command.env, gate=command.gate)
    assert spool.start(command) is RUNNING
    assert spool.wait(command.effect_id, 100, calm).output == ""
    assert runs(tmp_path) == 1


def test_one_that_says_nothing_is_told_so(spool, gated):
    """No word is missing a sentence."""
    with pytest.raises(ConfinementFailed, match="did not come up: it said nothing"):
        spool.start(gated("true", before="exit 1"))


def test_words_before_it_stands_hold_nothing_up(spool, gated, calm):
    """More than a pipe takes; they are part of the output, as they are without a gate."""
    command = gated("echo over", before="head -c 300000 /dev/zero | tr '\\0' x; echo")
    assert spool.start(command) is RUNNING
    assert spool.wait(command.effect_id, 1_000, calm).output.endswith("x\nover\n")


@pytest.mark.parametrize("before", ["sleep {token}", "exec 7>&-; sleep {token}", "sleep {token} & exit 1"])
def test_one_that_never_stands_is_ended(spool, gated, living, token, eventually, monkeypatch, tmp_path, before):
    """With all that it has started; also where it cannot tell any more."""
    monkeypatch.setattr(command_spool, "_START_LIMIT_S", 1.0)
    command = gated("echo x >> ran", before=before.format(token=token))
    with pytest.raises(SpoolError, match=r"did not start in|did not come up"):
        spool.start(command)
    assert spool.cancel(command.effect_id) is SEALED
    eventually(lambda: living() == [])
    assert runs(tmp_path) == 0


def test_who_is_told_that_it_did_not_begin_finds_nothing_of_it(spool, gated, living, token, tmp_path):
    """What the command line had started is ended before; here nobody else would."""
    alone = dying_runner(tmp_path, "runner.keep = lambda runner, *_: os.waitpid(runner, 0)")
    with pytest.raises(ConfinementFailed):
        CommandSpool(spool._root, 1_000, alone).start(gated("true", before=f"sleep {token} & exit 1"))
    assert living() == []


@pytest.mark.parametrize("point", ["before.open = die", "runner.decide_to_start = die", "records.decide = die"])
def test_a_runner_that_dies_while_it_waits_begins_nothing(spool, gated, living, token, eventually, tmp_path, point):
    """The command line at the gate sees the end of its runner, and ends."""
    statement = point.replace("before.open", "runner.gate.Gate.open")
    dying = CommandSpool(spool._root, 1_000, dying_runner(tmp_path, statement))
    command = gated(f"echo x >> ran; sleep {token}", before=f"sleep {token} &")
    if "open" in point:
        dying.start(command)
    else:
        with pytest.raises(SpoolError, match="it was killed"):
            dying.start(command)
    eventually(lambda: living() == [])
    assert runs(tmp_path) == 0


def test_who_cannot_be_told_any_more_sleeps():
    """Not in circles: a pipe without writers is always ready."""
    gate = Gate((7, 8))
    gate.keep_own_side()
    wake, waker = os.pipe()
    assert not gate.wait(wake, PATIENCE_S), "that nobody can tell"
    is_woken = threading.Event()
    threading.Timer(0.1, lambda: (is_woken.set(), os.write(waker, b"x"))).start()
    assert not gate.wait(wake, PATIENCE_S)
    assert is_woken.is_set()
    for file in (wake, waker):
        os.close(file)
