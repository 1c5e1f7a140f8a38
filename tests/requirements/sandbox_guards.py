"""Guards of the sandbox, each as a change of the product that takes it away, with a test that misses it."""

from __future__ import annotations

from bugs import Bug

REACH = "tests/unit/sandbox/test_reach.py::"
REPOSITORY = "tests/unit/sandbox/test_repository.py::"
GROUPS = "tests/unit/sandbox/test_cgroup_plan.py::"
ENDS = "tests/unit/sandbox/test_ends.py::"
PROXY = "tests/unit/sandbox/test_sandbox_proxy.py::"
BUBBLEWRAP = "neuraphage/sandbox/bubblewrap.py"
VIEW = "neuraphage/sandbox/view.py"
GIT = "neuraphage/sandbox/repository.py"
CONFINEMENT = "neuraphage/sandbox/confinement.py"
FOLDERS = "neuraphage/sandbox/task_folders.py"
WAY_FOLDER = "neuraphage/sandbox/way_folder.py"
HOSTS = "tests/unit/runtime/test_refused_hosts.py::"
WAYS = "tests/unit/sandbox/test_way_folder.py::"
JUDGING = "neuraphage/decide/rules/judging.py"

SANDBOX_GUARDS = (
    Bug(
        "blocked-host-by-its-name", "neuraphage/sandbox/gate.py",
        "        if is_denied(self._denied, head.host, head.port):", "        if False:",
        PROXY + "test_a_blocked_host_is_refused_though_it_is_listed[a.org-addresses0]",
    ),
    Bug(
        "blocked-host-by-its-address", "neuraphage/sandbox/gate.py",
        "for text in found if not is_denied(self._denied, bare_address(text), head.port)]", "for text in found]",
        PROXY + "test_a_blocked_host_is_refused_though_it_is_listed[127.0.0.1-addresses2]",
    ),
    Bug(
        "blocked-host-named", JUDGING,
        "    denying = denying or _naming_denied_host(", "    denying = denying or (lambda *_: None)(",
        "tests/unit/decide/test_named_hosts.py::test_what_names_one_is_denied",
    ),
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
        "    for path in view.guarded:\n        above =", "    for path in ():\n        above =",
        REACH + "test_orders_for_a_persons_git_cannot_be_left",
    ),
    Bug(
        "sandbox-git-led-back", GIT,
        "return (common, own) if os.path.realpath(os.path.join(own, back)) == entry else None", "return (common, own)",
        REPOSITORY + "test_a_forged_pointer_opens_nothing[one with a tree]",
    ),
    Bug(
        "sandbox-git-of-a-worktree", GIT,
        'kind != "worktrees" or led != common or', 'kind != "worktrees" or',
        REPOSITORY + "test_a_pointer_is_followed_only_to_where_it_is_pointed_back",
    ),
    Bug(
        "sandbox-git-of-a-submodule", GIT,
        "_is_git_folder(own) and _work_tree(own) == top else None", "_is_git_folder(own) else None",
        REPOSITORY + "test_a_forged_pointer_opens_nothing[a pointer]",
    ),
    Bug(
        "sandbox-git-pointer-stays", GIT,
        "        pointer = [entry] if is_own and stat.S_ISREG(mode) else []", "        pointer: list[str] = []",
        REPOSITORY + "test_no_command_leaves_orders_for_git[a worktree]",
    ),
    Bug(
        "sandbox-git-of-this-user", GIT,
        " and all(_is_mine(path) for path in (top, entry, common, own or common))", "",
        REPOSITORY + "test_a_repository_of_another_user_is_not_opened",
    ),
    Bug(
        "sandbox-git-of-no-home", GIT,
        'any(_lies_in(home, top) for home in homes)', "False",
        REPOSITORY + "test_a_repository_of_more_than_a_project_is_not_opened[a home]",
    ),
    Bug(
        "sandbox-git-not-of-private-places", GIT,
        "any(_lies_in(common, one) for one in private)", "False",
        REPOSITORY + "test_a_repository_of_more_than_a_project_is_not_opened[the data folder]",
    ),
    Bug(
        "sandbox-git-other-worktrees", GIT,
        "        places += [path for path in others if path != own]", "        pass",
        REPOSITORY + "test_no_command_leaves_orders_for_git[a folder]",
    ),
    Bug(
        "sandbox-git-orders-of-a-worktree", GIT,
        '        places += [f"{own}/{name}" for name in _OF_WORKTREE]', "        pass",
        REPOSITORY + "test_no_command_leaves_orders_for_git[a worktree]",
    ),
    Bug(
        "sandbox-git-submodules", GIT,
        'modules = [one for folder in folders for one in _modules_in(f"{folder}/modules")]', "modules: list[str] = []",
        REPOSITORY + "test_no_command_leaves_orders_for_git[the top]",
    ),
    Bug(
        "sandbox-git-hooks-that-are-not-there", CONFINEMENT,
        "        if make_orders(view.kept):", "        if False:",
        REPOSITORY + "test_hooks_that_are_not_there_are_not_made_either",
    ),
    Bug(
        "sandbox-groups-handed-over", "neuraphage/sandbox/cgroup_plan.py",
        "(above.is_marked or is_moved) and above.is_writable", "above.is_writable",
        GROUPS + "test_a_group_of_systemds_own_is_left_alone",
    ),
    Bug(
        "sandbox-groups-move-no-others", "neuraphage/sandbox/cgroup_plan.py",
        "    if own.processes <= ours:", "    if True:",
        GROUPS + "test_else_there_are_none",
    ),
    Bug(
        "sandbox-groups-not-in-a-unit", "neuraphage/sandbox/cgroup_plan.py",
        "    if own.is_marked and not own.is_root:", "    if False:",
        GROUPS + "test_else_there_are_none",
    ),
    Bug(
        "sandbox-groups-that-begin-stay", "neuraphage/sandbox/cgroups.py",
        "            if time.time() - folder.stat().st_ctime > _LEFTOVER_S:", "            if True:",
        GROUPS + "test_leftovers_are_removed",
    ),
    Bug(
        "sandbox-groups-have-limits", "neuraphage/spool/command_cgroup.py",
        '        self._write(b"memory.max", self._memory_bytes)\n', "",
        "tests/unit/spool/test_command_cgroup.py::test_its_limits_are_set_before_a_process_is_in_it",
    ),
    Bug(
        "sandbox-kept-put-back", "neuraphage/spool/kept_files.py",
        "                _make(folder, name, before)\n", "                pass\n",
        "tests/unit/spool/test_kept_files.py::test_what_has_changed_is_put_back[removed]",
    ),
    Bug(
        "sandbox-kept-folders-move-back", "neuraphage/spool/kept_files.py",
        "                if _move_back(self._above[path], name, self._folders[path]):", "                if False:",
        "tests/unit/spool/test_kept_files.py::test_what_took_the_place_of_a_folder_is_not_followed",
    ),
    Bug(
        "sandbox-kept-only-what-a-command-moves", "neuraphage/spool/kept_files.py",
        "sorted(one for one in self._folders if one.startswith(self._inside))", "sorted(self._folders)",
        "tests/unit/spool/test_kept_files.py::test_the_working_directory_itself_is_not_moved_back",
    ),
    Bug(
        "sandbox-landlock-puts-back", CONFINEMENT,
        "return tuple(path for path in all_kept(view.guarded, view.kept) if path.startswith(inside))", "return ()",
        "tests/unit/sandbox/test_by_landlock.py::test_orders_for_a_persons_git_are_undone",
    ),
    Bug(
        "sandbox-kept-folders-are-held", "neuraphage/spool/kept_files.py",
        "_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW", "_FOLDER = os.O_RDONLY | os.O_DIRECTORY",
        "tests/unit/spool/test_kept_files.py::test_a_link_in_place_of_a_folder_is_not_looked_into",
    ),
    Bug(
        "sandbox-hears-no-term", BUBBLEWRAP,
        'trap "" TERM\n', "",
        ENDS + "test_it_is_asked_to_end_before_it_is_killed",
    ),
    Bug(
        "sandbox-command-hears-term", BUBBLEWRAP,
        '"--default-signal=TERM", ', "",
        ENDS + "test_it_is_asked_to_end_before_it_is_killed",
    ),
    Bug(
        "sandbox-hides-homes", VIEW,
        "*private, *homes]", "*private]",
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
    Bug(
        "host-inner-not-asked", "neuraphage/sandbox/way_out.py",
        "return not is_known and not is_inner(host)", "return not is_known",
        HOSTS + "test_addresses_of_this_machine_are_never_asked_about",
    ),
    Bug(
        "host-answer-holds-for-one", "neuraphage/runtime/host_step.py",
        "remember_grant(subject(place), permission.value)", "remember_grant('host: example', permission.value)",
        HOSTS + "test_each_host_is_a_prompt_and_few_are_asked",
    ),
    Bug(
        "host-is-a-network", "neuraphage/decide/host_requests.py",
        '"confined": tool.confined and not reach.allowed', '"confined": tool.confined',
        HOSTS + "test_an_allowed_host_is_a_network",
    ),
    Bug(
        "host-denied", "neuraphage/sandbox/way_out.py",
        "denied=(*reach.denied, *self._blocked)", "denied=self._blocked",
        HOSTS + "test_a_host_that_a_rule_denies_is_not_reached_under_another_name_for_it",
    ),
    Bug(
        "host-without-secrets", "neuraphage/runtime/tool_step.py",
        "return refused if host == refused.host else", "return refused if True else",
        HOSTS + "test_a_name_that_holds_a_secret_is_not_kept",
    ),
    Bug(
        "host-edit-is-no-yes", "neuraphage/runtime/host_step.py",
        " and answer.changes is None", "",
        HOSTS + "test_a_no_holds_for_the_task",
    ),
    Bug(
        "host-rule-not-inner", "neuraphage/decide/rules/reading.py",
        "elif is_inner(read_allowed_host(pattern).host):", "elif False:",
        "tests/unit/decide/test_host_requests.py::test_what_is_no_rule_about_a_host",
    ),
    Bug(
        "sandbox-way-read-only", BUBBLEWRAP,
        'places[PROXY_FOLDER] = ("--ro-bind", ', 'places[PROXY_FOLDER] = ("--bind", ',
        WAYS + "test_a_command_can_change_nothing_of_its_way",
    ),
    Bug(
        "sandbox-way-of-others-hidden", CONFINEMENT,
        "() if way_out is None else (str(way_out.folders.root),)", "()",
        WAYS + "test_a_command_sees_no_other_ones_way",
    ),
    Bug(
        "sandbox-way-keeps-its-hosts", WAY_FOLDER,
        "            if not (self.path / _HOSTS).exists():", "            if True:",
        WAYS + "test_a_command_keeps_the_hosts_that_it_was_started_with",
    ),
    Bug(
        "sandbox-way-is-a-folder", BUBBLEWRAP,
        '("--ro-bind", str(PurePosixPath(view.proxy_socket).parent), PROXY_FOLDER)',
        '("--ro-bind", view.proxy_socket, PROXY_SOCKET)',
        WAYS + "test_the_way_is_there_again_after_the_one_before_has_ended",
    ),
    Bug(
        "sandbox-way-is-given-back", "neuraphage/runtime/begun_calls.py",
        "if isinstance(tool, Accompanies):", "if False:",
        "tests/unit/runtime/test_way_given_back.py::test_who_attaches_to_a_command_gives_it_its_way_back",
    ),
)  # fmt: skip
