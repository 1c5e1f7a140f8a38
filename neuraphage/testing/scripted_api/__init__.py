"""A scripted Messages API over real HTTP: for tests, and as the model of a demo without a key.

Answers follow from the request alone, so a request that is sent again after a crash gets the same answer,
byte for byte. Faults are ordered by request and attempt; the log counts what really arrived.
"""

from neuraphage.testing.scripted_api.faults import Fault
from neuraphage.testing.scripted_api.limit import RateLimit
from neuraphage.testing.scripted_api.script import (
    Pace,
    Script,
    ScriptedReply,
    ScriptRequest,
    ToolOutcome,
    echo,
    reply,
)
from neuraphage.testing.scripted_api.server import ScriptedServer

__all__ = [
    "Fault",
    "Pace",
    "RateLimit",
    "Script",
    "ScriptRequest",
    "ScriptedReply",
    "ScriptedServer",
    "ToolOutcome",
    "echo",
    "reply",
]
