"""What is left in a terminal when nobody reads an answer any more."""

from __future__ import annotations

import os
import select
import threading
import time
import tty

from neuraphage.cli.line_reader import PASTE_REST_S, QUIET_S, LineReader


def test_the_rest_of_a_paste_whose_beginning_was_an_answer_is_dropped() -> None:
    """Enter had come with its text, so more may come: later than a paste halts otherwise, it would run in the shell."""
    person, terminal = os.openpty()
    try:
        tty.setraw(terminal)
        reader = LineReader(terminal, rest_until_s=time.monotonic() + PASTE_REST_S)
        late = threading.Timer(QUIET_S * 4, os.write, (person, b"touch MINE\r"))
        late.start()
        reader.discard()
        late.join()
        assert not select.select([terminal], [], [], 0)[0]
    finally:
        os.close(person)
        os.close(terminal)
