"""Messages taken without a promise to acknowledge cost the broker nothing more."""

from __future__ import annotations

from collections import OrderedDict

from neuraphage.queue.patched.unacked import acknowledge_only_kept


class RecordingQoS:
    """A channel's record of messages, as kombu keeps it."""

    def __init__(self) -> None:
        self._delivered = OrderedDict({"kept": "message"})
        self.acknowledged: list[str] = []

    def ack(self, delivery_tag: str) -> None:
        self.acknowledged.append(delivery_tag)


def test_only_kept_messages_are_acknowledged() -> None:
    """A message without a record is not acknowledged, one with a record is."""
    qos = RecordingQoS()
    acknowledge_only_kept(qos)
    qos.ack("not-kept")
    qos.ack("kept")
    assert qos.acknowledged == ["kept"]
