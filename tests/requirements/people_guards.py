"""Guards of what a person sees and of what is reached without one, each as a change of the product that takes it away,
with a test that misses it.
"""

from __future__ import annotations

from bugs import Bug
from guards import UNIT, WORK

PEOPLE_GUARDS = (
    # approvals
    Bug(
        "approval-runs-as-it-was-shown", "neuraphage/decide/next_call.py",
        "return RunTool(call, entry.attempt, kept) if now == entry.digest else VoidApproval(call)",
        "return RunTool(call, entry.attempt, kept)",
        UNIT + "test_seals.py::test_a_link_that_was_turned_is_another_place",
    ),
    Bug(
        "sealed-call-is-judged-anew", "neuraphage/decide/machine.py",
        "return PutBack(call, entry.attempt + 1)", "return RunTool(call, entry.attempt + 1)",
        UNIT + "test_judged_again.py::test_a_sealed_command_that_a_rule_forbids_since_does_not_run",
    ),
    Bug(
        "sealed-call-keeps-its-approval", "neuraphage/runtime/tool_step.py",
        "            digest=before.digest if before else None,\n", "",
        UNIT + "test_judged_again.py::test_a_yes_is_held_against_what_a_sealed_command_would_run_under_now",
    ),
    Bug(
        "keyed-call-is-forbidden-meanwhile", "neuraphage/decide/machine.py",
        "case Move.RUN_AGAIN_KEYED if is_forbidden(snapshot, call):", "case Move.RUN_AGAIN_KEYED if False:",
        UNIT + "test_judged_again.py::test_an_interrupted_call_that_a_rule_forbids_since_is_not_made_again",
    ),
    Bug(
        "approval-is-bound-to-the-rules", "neuraphage/decide/sealing.py",
        "dict(params), named, rules_version(rules), *", "dict(params), named, *",
        UNIT + "test_seals.py::test_other_rules_are_asked_under",
    ),
    Bug(
        "edit-of-what-was-shown", "neuraphage/runtime/people_step.py",
        "if problem is not None or prompt.digest != self._seals.digest(call):", "if problem is not None:",
        UNIT + "test_edited_calls.py::test_what_changed_since_the_asking_is_asked_about_again",
    ),
    Bug(
        "edited-call-is-judged-anew", "neuraphage/runtime/turn.py",
        "                self._people.take(self._facts.calls())\n                self._facts.forget()\n",
        "                self._people.take(self._facts.calls())\n                self._facts._known_calls = ()\n",
        UNIT + "test_edited_calls.py::test_a_changed_call_is_judged_by_the_rules",
    ),
    Bug(
        "answer-unread-is-a-no", "neuraphage/decide/answers.py",
        "        return PermissionAnswer(Permission.DENIED)\n", "        return PermissionAnswer(Permission.GRANTED)\n",
        UNIT + "test_answers_in_turns.py::test_what_arrives_unread_is_a_no",
    ),
    Bug(
        "broken-rules-allow-nothing", "neuraphage/own_rules.py",
        "tuple(one for one in before if one.rule.effect is not RuleEffect.ALLOW)", "tuple(before)",
        "tests/unit/settings/test_own_rules.py::test_a_change_is_seen_at_the_next_look",
    ),
    Bug(
        "projects-only-tighten", "neuraphage/project_rules.py",
        "tuple(rule for rule in rules if rule.effect in TIGHTENING),", "rules,",
        "tests/unit/settings/test_trusted_projects.py::test_they_only_tighten",
    ),
    Bug(
        "trusted-rules-outlive-their-file", "neuraphage/trusted_projects.py",
        "for project in trusted_in(known[1], working_dir) for rule in project.rules)",
        "for project in trusted_in(known[1], working_dir) for rule in project.rules"
        " if (file := read_project_file(project.directory)) is not None and file.sha256 == project.sha256)",
        "tests/unit/runtime/test_project_rules.py::test_a_task_takes_no_rule_away_by_writing_the_file",
    ),
    Bug(
        "broken-trust-takes-nothing-away", "neuraphage/trusted_projects.py",
        "            return before\n", "            return ()\n",
        "tests/unit/settings/test_trusted_projects.py::test_a_change_is_seen_at_the_next_look",
    ),
    Bug(
        "approval-is-bound-to-the-projects-rules", "neuraphage/runtime/services.py",
        "for source in (self.own_rules, self.project_rules) if", "for source in (self.own_rules,) if",
        "tests/unit/runtime/test_project_rules.py::test_an_approval_is_bound_to_them",
    ),
    # what a person sees before they allow a call
    Bug(
        "asked-calls-stand-behind-a-bar", "neuraphage/cli/viewer.py",
        "[Text.assemble((GOES_ON if number else BAR, \"dim\"), row) for number, row in enumerate(rows)]", "rows",
        "tests/cli/test_prompt_corpus.py::test_no_line_of_a_call_passes_for_one_of_ours[a prompt]",
    ),
    Bug(
        "asked-marks-are-ours-alone", "neuraphage/decide/seen_text.py",
        "begins.sub(lambda found: number(found[0]), line)", "line",
        "tests/cli/test_prompt_corpus.py::test_all_that_runs_is_seen[a mark of ours]",
    ),
    Bug(
        "asked-look-alikes-are-marked", "neuraphage/decide/seen_text.py",
        "without_lookalikes(_seen(marked))", "_seen(marked)",
        "tests/cli/test_prompt_corpus.py::test_marks",
    ),
    Bug(
        "asked-unseen-is-refused", "neuraphage/cli/sending.py",
        " and prompt.prompt_id not in seen:", " and False:",
        "tests/cli/test_asked_text.py::test_a_yes_to_what_was_not_shown_is_refused",
    ),
    Bug(
        "told-of-what-is-open-alone", WORK,
        " and settled.verdict is CommitVerdict.COMMITTED", "",
        UNIT + "test_told_prompts.py::test_what_was_cancelled_is_not_told",
    ),
    Bug(
        "told-by-one", "neuraphage/runtime/notice_desk.py",
        " is not NoticeMark.NONE:\n            return", " is None:\n            return",
        "tests/contract/test_notices_contract.py::test_of_two_workers_one_tells",
    ),
    Bug(
        "told-mark-of-a-dead-teller-expires", "neuraphage/store/notices.py",
        "NoticeMark.TELLING.value, nx=True, px=hold_ms", "NoticeMark.TELLING.value, nx=True, px=10**9",
        "tests/contract/test_notices_contract.py::test_a_worker_that_died_while_it_told_is_followed",
    ),
    Bug(
        "told-mark-lasts-with-the-prompt", "neuraphage/runtime/notice_desk.py",
        "            elif mark is NoticeMark.TOLD:", "            elif False:",
        "tests/contract/test_notices_contract.py::test_what_was_told_is_known_as_long_as_it_is_open",
    ),
    Bug(
        "told-where-another-leads", "neuraphage/runtime/watcher.py",
        "if self._clock.boottime_s() >= self._next_notices_s:",
        "if self._election.leads() and self._clock.boottime_s() >= self._next_notices_s:",
        "tests/unit/runtime/test_watcher.py::test_notices_are_looked_for_wherever_somebody_is_told",
    ),
    # another try at a reply
    Bug(
        "another-try-forgets-no-effect", "neuraphage/decide/superseding.py",
        "            if not ends or not results <= calls:\n                break\n", "",
        "tests/unit/runtime/test_another_try.py::test_what_tools_did_stays_known",
    ),
    Bug(
        "another-try-of-what-was-seen", "neuraphage/cli/client_words.py",
        "        if now.seq != record.seq:", "        if False:",
        "tests/cli/test_client.py::test_another_try_is_of_the_reply_that_was_seen",
    ),
    Bug(
        "superseded-is-not-sent-again", "neuraphage/decide/assembly.py",
        "        if any(map(_reaches_back, added)):", "        if False:",
        "tests/unit/decide/test_assembly.py::test_a_grown_conversation_is_assembled_as_a_whole_one",
    ),
    # what reaches no further than it should
    Bug(
        "root-is-the-one-that-was-resolved", "neuraphage/tools/beneath.py",
        "    if (info.st_dev, info.st_ino) != (pin.device, pin.inode):", "    if False:",
        "tests/unit/tools/test_exchanged_paths.py::test_a_working_directory_that_is_replaced_in_mid_call",
    ),
    Bug(
        "no-link-on-the-way", "neuraphage/tools/beneath.py",
        "_ON_THE_WAY = os.O_DIRECTORY | os.O_NOFOLLOW |", "_ON_THE_WAY = os.O_DIRECTORY |",
        "tests/unit/tools/test_exchanged_paths.py::test_no_read_leaks",
    ),
    Bug(
        "no-orders-from-inside", "neuraphage/inside_command.py",
        "    if task:\n", "    if False:\n",
        "tests/cli/test_inside_commands.py::test_a_client_refuses_orders_from_inside",
    ),
    Bug(
        "no-wide-folder", "neuraphage/api/tasks.py",
        "        if working_dir is not None and not force:", "        if False:",
        "tests/cli/test_wide_folders.py::test_a_client_refuses_it_likewise",
    ),
)  # fmt: skip
