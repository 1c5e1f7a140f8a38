"""Whether a conversation is to be sent in a shorter form from now on, and in which. Pure.

In order, and no further than is needed: old images are left out, old results of tools shortened, thoughts of old
replies left out, and a summary made of the older part. What was asked for first is always sent as it is, and so is what
people said since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from neuraphage.decide.anomaly_text import is_note
from neuraphage.decide.attachments import left_out
from neuraphage.decide.compacted import Rows, compaction_in, sent_blocks
from neuraphage.decide.context_bounds import ContextBounds
from neuraphage.decide.context_size import tokens_of
from neuraphage.decide.conversation import CONTINUE_TEXT, numbered_visible
from neuraphage.decide.git_notes import is_git_note
from neuraphage.decide.replies import NUDGES, Stop, stop_of
from neuraphage.model.compaction import Compaction, Shortening

_OURS = frozenset({CONTINUE_TEXT, *NUDGES})
SAID_CHARS = 20_000
"""Of words of people that a summary would stand for, so many are sent as they are; the newest ones."""
WORTHWHILE = 0.9
"""A compaction that leaves more than this share of the request is none."""

GUESS_ERROR = 0.4
"""An estimate may be wrong by this share of itself."""

Entries = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Measured:
    """How long the next request would be.

    Args:
        tokens: of it.
        counted: of these, those that the provider has counted.
        just_compacted: whether no reply has come since the last compaction.
    """

    tokens: int
    counted: int
    just_compacted: bool


def measured(entries: Entries, bounds: ContextBounds) -> Measured:
    """The provider's count of the last request and reply, and an estimate of what came since.

    Without a count, as after a compaction, all is estimated.
    """
    for at in range(len(entries) - 1, -1, -1):
        entry = entries[at]
        if entry.get("compaction") is not None:
            return Measured(_estimate(entries, bounds), 0, just_compacted=True)
        if entry["role"] == "assistant" and entry.get("tokens"):
            since = sum(tokens_of(later["content"]) for later in entries[at + 1 :])
            return Measured(entry["tokens"] + since + bounds.waiting_tokens, entry["tokens"], just_compacted=False)
    return Measured(_estimate(entries, bounds), 0, just_compacted=False)


def is_due(entries: Entries, bounds: ContextBounds, counted: int | None = None) -> bool:
    """Whether the next request would be too long. One that was just made shorter is tried first.

    Args:
        entries: the stored conversation.
        bounds: sizes.
        counted: what the provider says of it; None or 0 where nobody has asked, or got no answer.
    """
    found = measured(entries, bounds)
    tokens = counted + bounds.waiting_tokens if counted else found.tokens
    return not found.just_compacted and tokens > bounds.limit_tokens


def is_near(entries: Entries, bounds: ContextBounds) -> bool:
    """Whether the estimate may say either, so that it is worth to ask the provider."""
    found = measured(entries, bounds)
    guessed = found.tokens - found.counted
    off = abs(found.tokens - bounds.limit_tokens)
    return not found.just_compacted and off <= guessed * GUESS_ERROR


def filled_the_window(entries: Entries) -> bool:
    """Whether the last reply ended as the window was full, and nothing was made shorter since."""
    for entry in reversed(entries):
        if entry.get("compaction") is not None:
            return False
        if entry["role"] == "assistant":
            return stop_of(entry.get("stop_reason")) is Stop.FULL
    return False


def fills_it_again(entries: Entries, turn: int) -> bool:
    """Whether the reply of a turn has filled the window although the conversation was made shorter for it, or after one
    for which nothing could be.

    Args:
        entries: the stored conversation; the reply is its last one.
        turn: of the reply.
    """
    replies = islice((at for at in range(len(entries) - 1, -1, -1) if entries[at]["role"] == "assistant"), 2)
    last = next(replies, None)
    if last is None or stop_of(entries[last].get("stop_reason")) is not Stop.FULL:
        return False
    since = entries[next(replies, last) :]
    compacted = any(e.get("compaction") is not None for e in since if e.get("turn", 0) == turn)
    return compacted or filled_the_window(entries[:last])


def planned(entries: Entries, bounds: ContextBounds, *, refused: bool = False) -> Compaction | None:
    """The mildest compaction that makes the next request as short as it should be; else the strongest one.

    Args:
        entries: the stored conversation.
        bounds: sizes.
        refused: the provider found the request too long, whatever the estimate says; then nothing mild is tried.

    Returns:
        None where nothing can be left out that would be worth it. A summary has still to be made.
    """
    rows = numbered_visible(entries)
    point = compaction_in(rows)
    raw = bounds.head_tokens + _sent_tokens(rows, point)
    found = measured(entries, bounds)
    before = max(found.tokens, bounds.window_tokens) if refused else found.tokens
    scale = before / max(1, raw + bounds.waiting_tokens)  # what we count against what the provider counts
    best: Compaction | None = None
    for candidate in _candidates(rows, point, len(entries), bounds.keep_entries):
        if refused and candidate.how is not Shortening.SUMMARY:
            continue
        left = bounds.head_tokens + bounds.waiting_tokens + _sent_tokens(rows, candidate)
        after = int(left * scale)
        if candidate.how is Shortening.SUMMARY:
            after += bounds.summary_tokens
        if best is None or after < best.after_tokens:
            best = candidate.model_copy(update={"before_tokens": before, "after_tokens": after})
        if after <= bounds.target_tokens:
            break
    return best if best is not None and best.after_tokens < before * WORTHWHILE else None


def _estimate(entries: Entries, bounds: ContextBounds) -> int:
    rows = numbered_visible(entries)
    return bounds.head_tokens + bounds.waiting_tokens + _sent_tokens(rows, compaction_in(rows))


def _sent_tokens(rows: Rows, point: Compaction | None) -> int:
    return sum(tokens_of(blocks) for _, _, blocks in sent_blocks(rows, point))


def _candidates(rows: Rows, point: Compaction | None, end: int, keep: int) -> Iterator[Compaction]:
    """What may be tried, the mildest first."""
    cuts = _cuts(rows, keep)
    if not cuts:
        return
    first = next(number for number, entry in rows if entry["role"] == "assistant")
    old = point or Compaction(how=Shortening.RESULTS, first=first, to=first, results_to=0, thoughts_to=0)
    images = old.model_copy(update={"how": Shortening.IMAGES, "images_to": max(old.images_to, cuts[0])})
    if _has_media(rows, images.images_to):
        yield images
    mild = images.model_copy(update={"how": Shortening.RESULTS, "results_to": max(old.results_to, cuts[0])})
    yield mild
    yield mild.model_copy(update={"how": Shortening.THOUGHTS, "thoughts_to": max(old.thoughts_to, cuts[0])})
    further = [cut for cut in cuts if cut > old.to]
    for cut in further:
        yield _summarized(rows, old, cut, results_to=cut)
    if further:
        yield _summarized(rows, old, further[-1], results_to=end)


def _summarized(rows: Rows, old: Compaction, cut: int, *, results_to: int) -> Compaction:
    return Compaction(
        how=Shortening.SUMMARY,
        first=old.first,
        to=cut,
        results_to=max(old.results_to, results_to),
        images_to=max(old.images_to, results_to),
        thoughts_to=max(old.thoughts_to, cut),
        said=_said(rows, old, cut),
    )


def _has_media(rows: Rows, to: int) -> bool:
    blocks = (block for number, entry in rows if number < to and entry["role"] == "user" for block in entry["content"])
    return any(left_out(block) is not block for block in blocks)


def _cuts(rows: Rows, keep: int) -> list[int]:
    """Numbers of entries from which on a conversation may be kept, those that keep most first.

    Each begins a reply: so no call is parted from its result. Results that no request has held yet are always kept.
    """
    begins = [
        at
        for at in range(1, len(rows))
        if rows[at][1]["role"] == "assistant" and rows[at - 1][1]["role"] == "user" and rows[at][1]["content"]
    ]
    cuts: list[int] = []
    while begins:
        keep = max(1, keep)
        fitting = [at for at in begins if at <= len(rows) - keep]
        number = rows[fitting[-1]][0] if fitting else None
        if number is not None and (not cuts or number > cuts[-1]):
            cuts.append(number)
        if keep == 1:
            break
        keep //= 2
    return cuts


def _said(rows: Rows, old: Compaction, cut: int) -> tuple[str, ...]:
    """What people said in the part that is summarized, the newest of it, oldest first."""
    texts = [*old.said]
    for number, entry in rows:
        if old.to <= number < cut and entry["role"] == "user":
            texts += [block["text"] for block in entry["content"] if _is_said(block)]
    kept: list[str] = []
    room = SAID_CHARS
    for text in reversed(texts):
        room -= len(text)
        if room < 0:
            break
        kept.append(text)
    return tuple(reversed(kept))


def _is_said(block: Mapping[str, Any]) -> bool:
    if block.get("type") != "text" or not block["text"].strip():
        return False
    text = block["text"]
    return text not in _OURS and not is_git_note(text) and not is_note(text)
