"""Guards of the sandbox, each as a change of the product that takes it away, with a test that misses it."""

from __future__ import annotations

from bugs import Bug

REACH = "tests/unit/sandbox/test_reach.py::"
ENDS = "tests/unit/sandbox/test_ends.py::"
BUBBLEWRAP = "neuraphage/sandbox/bubblewrap.py"
VIEW = "neuraphage/sandbox/view.py"
CONFINEMENT = "neuraphage/sandbox/confinement.py"
FOLDERS = "neuraphage/sandbox/task_folders.py"
JUDGING = "neuraphage/decide/rules/judging.py"

SANDBOX_GUARDS = (
    Bug(
        "sandbox-own-network", BUBBLEWRAP,
        '"--unshare-all", ', '"--unshare-pid", "--unshare-ipc", "--unshare-uts", ',
        REACH + "test_nothing_of_the_network_is_reached",
    ),
    Bug(
        "sandbox-own-processes", BUBBLEWRAP,
        '"--unshare-all", ', '"--unshare-net", "--unshare-ipc", "--unshare-uts", ',
        REACH + "test_other_processes_are_not_seen",
    ),
    Bug(
        "sandbox-filter", BUBBLEWRAP,
        'filtered = () if filter_path is None else ("--seccomp", _FILTER_FILE)', "filtered: tuple[str, ...] = ()",
        REACH + "test_it_has_no_rights_to_gain",
    ),
    Bug(
        "sandbox-hidden-stay-unwritten", BUBBLEWRAP,
        '        yield from ("--remount-ro", path)', "        pass",
        REACH + "test_the_home_is_read_only_and_its_secrets_are_not_there",
    ),
    Bug(
        "sandbox-guarded", BUBBLEWRAP,
        '        places[path] = ("--ro-bind", path, path)\n    if view', "        pass\n    if view",
        REACH + "test_orders_for_a_persons_git_cannot_be_left",
    ),
    Bug(
        "sandbox-guarded-cannot-be-moved-away", BUBBLEWRAP,
        "    for path in view.guarded:\n        found +=", "    for path in ():\n        found +=",
        REACH + "test_orders_for_a_persons_git_cannot_be_left",
    ),
    Bug(
        "sandbox-hears-no-term", BUBBLEWRAP,
        "_OUTER_FILTERED = 'trap \"\" TERM; ", "_OUTER_FILTERED = '",
        ENDS + "test_it_is_asked_to_end_before_it_is_killed",
    ),
    Bug(
        "sandbox-command-hears-term", BUBBLEWRAP,
        '"--default-signal=TERM", ', "",
        ENDS + "test_it_is_asked_to_end_before_it_is_killed",
    ),
    Bug(
        "sandbox-hides-homes", VIEW,
        "*private]), *homes]", "*private])]",
        REACH + "test_the_home_is_read_only_and_its_secrets_are_not_there",
    ),
    Bug(
        "sandbox-hides-secrets-of-a-working-home", VIEW,
        "            hidden += _secrets_of(root)", "            pass",
        REACH + "test_a_home_that_is_the_working_directory_keeps_its_secrets",
    ),
    Bug(
        "sandbox-not-over-own-data", CONFINEMENT,
        "            if os.path.realpath(place) == view.working_dir:", "            if False:",
        "tests/unit/sandbox/test_choice.py::test_the_data_folder_is_no_working_directory",
    ),
    Bug(
        "sandbox-limits", CONFINEMENT,
        "limited(command.argv, self._limits)", "command.argv",
        REACH + "test_its_files_and_memory_have_limits",
    ),
    Bug(
        "sandbox-tmp-of-each-task", FOLDERS,
        "        folder = self.root / (task_id if _TASK_ID.fullmatch(task_id) else _NAMELESS)",
        "        folder = self.root / _NAMELESS",
        ENDS + "test_a_tasks_tmp_is_its_own_and_stays",
    ),
    Bug(
        "sandbox-allows-what-is-in-it", JUDGING,
        "called.tool.confined and ", "",
        "tests/unit/decide/test_rules.py::test_what_runs_in_a_sandbox_without_a_network_may_be_allowed_as_such",
    ),
    Bug(
        "sandbox-sealed", "neuraphage/decide/sealing.py",
        "[tool.sandbox] if tool.sandbox else []", "[]",
        "tests/unit/runtime/test_outside_sandbox.py::test_an_approval_for_inside_does_not_hold_outside",
    ),
)  # fmt: skip
