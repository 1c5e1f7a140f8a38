"""The message of a turn as Celery and kombu write it, made without them.

Importing the two takes a command as long as all the rest of it, and their general way a tenth of a turn. A message is a
hint with three arguments, always of one form, so the form stands here: Celery's task message of protocol 2, in the
envelope of kombu's virtual transports. A test holds it against what the installed Celery sends.
Read against: Celery 5.7.0, kombu 5.7.0.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import uuid
from base64 import b64encode
from functools import cache

import orjson

from neuraphage.queue.names import RUN_QUEUE, RUN_TURN

_MESSAGE_ID = re.compile(r"(\S+)\.(\d{1,15})\.\d{1,15}\.[0-9a-f]{4}")
_EMBEDDED = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
_PERSISTENT = 2


def message_id(task_id: str, iteration: int, seq: int) -> str:
    """A new id for the message of a turn: one that is sent again hides no other's outcome."""
    return f"{task_id}.{iteration}.{seq}.{secrets.token_hex(2)}"


def turn_of(message_id: str) -> tuple[str, int] | None:
    """The task and the iteration that a message is about, by its id; None for any other message."""
    found = _MESSAGE_ID.fullmatch(message_id)
    return None if found is None else (found[1], int(found[2]))


@cache
def _origin(pid: int) -> str:
    """Who sent it, as Celery names a process that is no worker."""
    return f"gen{pid}@{socket.gethostname()}"


def turn_message(task_id: str, iteration: int, seq: int, after: str) -> bytes:
    """What is pushed into the list of RUN_QUEUE.

    Args:
        task_id: the task.
        iteration: its turn.
        seq: of the step that the message announces.
        after: what the turn follows, for people; may be empty.
    """
    own_id = message_id(task_id, iteration, seq)
    headers: dict[str, object] = {
        "lang": "py",
        "task": RUN_TURN,
        "id": own_id,
        "shadow": None,
        "eta": None,
        "expires": None,
        "group": None,
        "group_index": None,
        "retries": 0,
        "timelimit": [None, None],
        "root_id": own_id,
        "parent_id": None,
        # a list in Flower shows the first 40 characters
        "argsrepr": f"turn {iteration + 1}{after and f' after {after}'}, {task_id}",
        "kwargsrepr": "{}",
        "origin": _origin(os.getpid()),
        "ignore_result": True,
        "replaced_task_nesting": 0,
        "stamped_headers": None,
        "stamps": {},
    }
    properties = {
        "correlation_id": own_id,
        "reply_to": "",
        "delivery_mode": _PERSISTENT,
        "delivery_info": {"exchange": "", "routing_key": RUN_QUEUE},
        "priority": 0,
        "body_encoding": "base64",
        "delivery_tag": str(uuid.uuid4()),
    }
    body = orjson.dumps([[task_id, iteration, seq], {}, _EMBEDDED])
    return orjson.dumps(
        {
            "body": b64encode(body).decode("ascii"),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": headers,
            "properties": properties,
        }
    )
