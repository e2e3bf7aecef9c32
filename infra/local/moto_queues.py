"""moto's queues made fit for use: changed by one thread at a time, waited for without looking, sent on.

moto forgets messages that are sent while another is deleted, and its own way from a queue to a function
ignores delays, retries and partial failures. Here every change is behind one lock, and whoever waits for a
message is woken by it or by the moment at which the next one is due. What a mapping means is said elsewhere.
"""

import contextlib
import functools
import json
import math
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from moto.core.utils import unix_time_millis
from moto.sqs import models
from moto.sqs.models import Message, Queue, SQSBackend, sqs_backends

from infra.local.batches import Answer, failures
from infra.local.deployment import ACCOUNT, REGION
from infra.local.event_sources import QueueSource

CHANGED: Final = threading.Condition(threading.RLock())
"""Held by whoever changes a queue, and told of every change that may be waited for."""

CHANGING: Final = (
    (Queue, "add_message"),
    (SQSBackend, "change_message_visibility"),
    (SQSBackend, "change_message_visibility_batch"),
    (SQSBackend, "delete_message"),
    (SQSBackend, "delete_message_batch"),
    (SQSBackend, "purge_queue"),
)

MOST_AT_ONCE: Final = 100
"""Batches of one mapping that are with a function at once, whatever the mapping allows."""

A_DAY: Final = 86_400

Invoke = Callable[[str, bytes], Answer]


def lock_queues() -> None:
    """Put every change of a queue behind the lock, and every wait upon it."""
    # Asked for every message of a request: the time takes moto 10 µs, the other a walk through the queue.
    setattr(models, unix_time_millis.__name__, milliseconds)
    SQSBackend.is_message_valid_based_on_retention_period = is_retained  # type: ignore[assignment,method-assign]
    for owner, name in CHANGING:
        setattr(owner, name, changing(getattr(owner, name)))
    SQSBackend.receive_message = waiting(SQSBackend.receive_message)  # type: ignore[method-assign]


def milliseconds() -> float:
    """Return the time as moto's queues count it."""
    return time.time() * 1000


def is_retained(backend: SQSBackend, queue_name: str, message: Message) -> bool:
    """Say whether a message is not so old that its queue forgets it."""
    retention = vars(backend.get_queue(queue_name))["message_retention_period"]
    return bool(message.sent_timestamp + retention * 1000 > milliseconds())


def changing(change: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of moto's change queues alone, and tell those who wait."""

    @functools.wraps(change)
    def changed(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever moto's method takes and gives
        with CHANGED:
            try:
                return change(*arguments, **named)
            finally:
                CHANGED.notify_all()

    return changed


def waiting(receive: Callable[..., list[Message]]) -> Callable[..., list[Message]]:
    """Let moto's way to receive wait for messages instead of looking for them once a second."""

    def receive_message(  # noqa: PLR0917 - moto's own way to call it
        backend: SQSBackend,
        queue_name: str,
        count: int,
        wait_seconds_timeout: int,
        visibility_timeout: int,
        message_attribute_names: list[str] | None = None,
    ) -> list[Message]:
        until = time.monotonic() + wait_seconds_timeout
        with CHANGED:
            while True:
                looked_at = milliseconds()
                found = receive(backend, queue_name, count, 0, visibility_timeout, message_attribute_names)
                left = until - time.monotonic()
                if found or left <= 0:
                    return found
                CHANGED.wait(min(left, seconds_until_next(backend.get_queue(queue_name), looked_at)))

    return receive_message


def seconds_until_next(queue: Queue, looked_at: float) -> float:
    """Return when the next message can be received that could not be when somebody looked, in milliseconds.

    A moment more, since moto wants that time to be past; one that has come since is received at once.
    """
    dues = (max(message.visible_at, message.delayed_until) for message in queue._messages)  # noqa: SLF001 - moto has no other way
    due = min((due for due in dues if due >= looked_at), default=math.inf)
    return max(due - milliseconds() + 1, 1) / 1000


class QueuePoller:
    """Sends the messages of one queue to one function, as an event source mapping does."""

    def __init__(self, source: QueueSource, invoke: Invoke) -> None:
        self._source = source
        self._invoke = invoke
        at_once = min(source.most_at_once, MOST_AT_ONCE)
        self._free = threading.Semaphore(at_once)
        self._senders = ThreadPoolExecutor(at_once, thread_name_prefix=source.queue)
        self._backend = sqs_backends[ACCOUNT][REGION]
        self._queue = self._backend.get_queue(source.queue)

    def start(self) -> None:
        """Send from now on."""
        threading.Thread(target=self._poll, name=self._source.queue, daemon=True).start()

    def _poll(self) -> None:
        while True:
            self._free.acquire()
            self._senders.submit(self._send, self._next())

    def _next(self) -> Sequence[Message]:
        """Wait for messages; how long they are out of sight then is as the queue says at that moment."""
        with CHANGED:
            while True:
                looked_at = milliseconds()
                visibility = int(vars(self._queue)["visibility_timeout"])
                if found := self._backend.receive_message(
                    self._queue.name, self._source.batch_size, 0, visibility
                ):
                    return found
                CHANGED.wait(min(A_DAY, seconds_until_next(self._queue, looked_at)))

    def _send(self, messages: Sequence[Message]) -> None:
        """Send a batch; what the function failed at shows again when its time out of sight is over."""
        with contextlib.ExitStack() as ending:
            ending.callback(self._free.release)
            try:
                answer = self._invoke(self._source.function, event_of(messages, self._queue))
            except OSError:
                return
            failed = failures(answer, [message.id for message in messages], reports=self._source.reports)
            take_out(self._queue, {message.id for message in messages} - failed)


def take_out(queue: Queue, ids: Collection[str]) -> None:
    """Delete messages, all of them in the time that moto takes for one."""
    with CHANGED:
        queue._messages = [message for message in queue._messages if message.id not in ids]  # noqa: SLF001 - as above
        queue._pending_messages = {each for each in queue._pending_messages if each.id not in ids}  # noqa: SLF001 - as above


def event_of(messages: Sequence[Message], queue: Queue) -> bytes:
    """Return the event of a batch: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html."""
    records = [
        {
            "messageId": message.id,
            "receiptHandle": message.receipt_handle,
            "body": message.body,
            "attributes": {
                "ApproximateReceiveCount": str(message.approximate_receive_count),
                "SentTimestamp": str(message.sent_timestamp),
                "SenderId": message.sender_id,
                "ApproximateFirstReceiveTimestamp": str(message.approximate_first_receive_timestamp),
            },
            "messageAttributes": {},
            "md5OfBody": message.body_md5,
            "eventSource": "aws:sqs",
            "eventSourceARN": queue.queue_arn,
            "awsRegion": REGION,
        }
        for message in messages
    ]
    return json.dumps({"Records": records}).encode()
