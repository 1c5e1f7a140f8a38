"""One door for every surface: what people and programs ask of tasks, over ports.

    tasks       new ones, and what changes one
    people      messages and answers
    recovering  those of them that a report of recoveries tells of
    reads       one task, lists, conversation, history, reasons
    asked_files files that are no longer what a person was asked about
    shown_prompts, transcript  what a person is shown of open prompts, and what a conversation says of calls
    inbox       open prompts of all tasks
    approving   answers by a program
    follow      a task as it goes

`Api` has all of it. Commands and both clients are made of it; `client_wiring` binds it to real servers.
"""

from __future__ import annotations

from neuraphage.api.application import Api
from neuraphage.api.base import ApiPorts
from neuraphage.api.reads import FIRST_EVENT

__all__ = ["FIRST_EVENT", "Api", "ApiPorts"]
