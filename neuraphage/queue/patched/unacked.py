"""Acknowledges nothing for messages that were taken without the promise to do so.

Changes: `ack` of one channel's QoS, which reads what the channel keeps (`_delivered`).
Why: a queue with `no_ack` makes kombu keep no record of a message, but its virtual transports send the acknowledgement
all the same: one more transaction on the broker for every turn, which removes what is not there.
Read against: kombu 5.7.0.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

from celery import bootsteps


class UnackedStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery carries no types
    """Teaches the consumer's channel, each time it is made, to acknowledge only what it keeps."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def start(self, parent: Any) -> None:
        """Teach the consumer's new channel."""
        acknowledge_only_kept(parent.task_consumer.channel.qos)


def acknowledge_only_kept(qos: Any) -> None:
    """Leave out acknowledgements of messages that the channel keeps no record of.

    Args:
        qos: of a channel of kombu's Redis transport; changed in place, like Celery changes its can_consume.
    """
    acknowledge = qos.ack

    def ack(self: Any, delivery_tag: str) -> None:
        if delivery_tag in self._delivered:
            acknowledge(delivery_tag)

    qos.ack = MethodType(ack, qos)
