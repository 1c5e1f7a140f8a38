"""Images and documents: what bytes are, what a task may hold, what is sent and what is shown."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from mediakit import gif, jpeg, pdf, png, webp
from neuraphage.decide.attachments import (
    AttachmentLimits,
    attachment_of,
    checked,
    found_in,
    held,
    held_sizes,
    label,
    media_to_store,
    reference,
    refuse_over,
    takes_images,
    with_media,
)
from neuraphage.decide.compaction import planned
from neuraphage.decide.context_bounds import ContextBounds
from neuraphage.decide.context_size import tokens_of
from neuraphage.decide.conversation import request_messages, result_block
from neuraphage.decide.media_kinds import MOST_IMAGE_TOKENS, media_kind
from neuraphage.errors import BadInput
from neuraphage.model.attachment import Attachment
from neuraphage.model.compaction import Shortening
from neuraphage.model.model_facts import SMALLEST, ModelFacts
from neuraphage.model.tool import ToolResult

SEES = ModelFacts(200_000, 64_000, 1_024, vision=True)
LIMITS = AttachmentLimits(each_bytes=1_000, count=2, total_bytes=1_500)


@pytest.mark.parametrize(
    ("data", "media_type", "width", "height"),
    [
        (png(20, 30), "image/png", 20, 30),
        (jpeg(640, 480), "image/jpeg", 640, 480),
        (gif(7, 9), "image/gif", 7, 9),
        (webp(300, 200), "image/webp", 300, 200),
        (webp(300, 200, b"VP8L"), "image/webp", 300, 200),
        (webp(300, 200, b"VP8 "), "image/webp", 300, 200),
        (b"\xff\xd8\xff", "image/jpeg", 0, 0),
        (b"\xff\xd8\xff\xe0\xff\xff", "image/jpeg", 0, 0),
    ],
)
def test_images_are_known_by_their_bytes(data: bytes, media_type: str, width: int, height: int) -> None:
    """With their sizes, which the provider counts by; one without a size counts as the largest."""
    kind = media_kind(data)
    assert kind is not None
    assert (kind.media_type, kind.width, kind.height) == (media_type, width, height)
    assert kind.tokens == (-(-width * height // 750) if width else MOST_IMAGE_TOKENS)


def test_documents_count_by_their_pages() -> None:
    """By what they say, or by their bytes where they say nothing that can be read."""
    three, none = media_kind(pdf(3)), media_kind(b"%PDF-1.7\n" + b"x" * 100_000)
    assert three is not None
    assert none is not None
    assert (three.media_type, three.pages, none.pages) == ("application/pdf", 3, 3)
    assert three.tokens > 3 * 3_000


@pytest.mark.parametrize("data", [b"", b"<svg/>", b"text", b"BM\0\0", b"PK\3\4", b"RIFF\0\0\0\0WAVE", b"\x89PNG"])
def test_what_no_model_takes_is_refused(data: bytes) -> None:
    """Whatever it is called; and the message says what is taken."""
    assert media_kind(data) is None
    with pytest.raises(BadInput, match=r"a\.png: .*png, jpeg, gif, webp and pdf"):
        attachment_of(data, "a.png")


def test_an_image_that_the_provider_refuses_is_refused_at_once() -> None:
    """Its sides are limited."""
    with pytest.raises(BadInput, match="9000 x 10 pixels"):
        attachment_of(gif(9_000, 10), "wide.gif")


def test_each_limit_is_named() -> None:
    """Bytes of one, their number, and all together; the same one counts once."""
    one, two, three = (attachment_of(png(seed=n) + bytes(600), str(n)) for n in range(3))
    refuse_over(LIMITS, [one, one, two], held_sizes([{"role": "user", "content": [reference(one)]}]))
    for limits, given, setting in [
        (AttachmentLimits(600, 9, 9_999), [one], "attachment_max_bytes"),
        (LIMITS, [one, two, three], "attachments_max is 2"),
        (AttachmentLimits(1_000, 9, 1_500), [one, two, three], "attachments_total_max_bytes"),
    ]:
        with pytest.raises(BadInput, match=setting):
            refuse_over(limits, given)


def test_what_code_of_others_says_of_bytes_is_not_believed() -> None:
    """Kind, digest and size are those of the bytes."""
    right = attachment_of(png(), "x")
    wrong = right.model_copy(update={"media_type": "text/html", "sha256": "0" * 64, "size_bytes": 1, "tokens": 1})
    assert checked(wrong) == right
    for data in ("no base64!", base64.b64encode(b"text").decode()):
        with pytest.raises(BadInput):
            checked(right.model_copy(update={"data": data}))


def conversation(image: Attachment, paper: Attachment) -> list[dict[str, Any]]:
    """A prompt with a document, a result with an image, and the same image once more."""
    ask = {"type": "text", "text": "Look."}
    shown = ToolResult(text=label(image), media=(image,))
    calls = [{"role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "r", "input": {}}]} for i in "ab"]
    first = {"role": "user", "content": [reference(paper), ask], "media": media_to_store([paper], ())}
    second = {"role": "user", "content": [result_block("a", shown)], "media": media_to_store([image], [first])}
    third = {"role": "user", "content": [result_block("b", shown)], "media": media_to_store([image], [first, second])}
    return [first, calls[0], second, calls[1], third]


def test_each_is_stored_and_sent_once() -> None:
    """By its digest; the second time a line says that it is shown above, so earlier bytes stay as they were."""
    image, paper = attachment_of(png(), "a.png"), attachment_of(pdf(), "p.pdf")
    entries = conversation(image, paper)
    assert [list(entry.get("media") or {}) for entry in entries] == [[paper.sha256], [], [image.sha256], [], []]
    sent = with_media(request_messages(entries), held(entries), sees=True)
    assert sent[0]["content"][0] == {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": paper.data},
        "title": "p.pdf",
    }
    assert sent[2]["content"][0]["content"] == [
        {"type": "text", "text": label(image)},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image.data}},
    ]
    assert "shown further above" in sent[4]["content"][0]["content"][1]["text"]
    assert str(sent).count(image.data) == 1
    former = with_media(request_messages(entries[:3]), held(entries[:3]), sees=True)
    assert sent[: len(former)] == former


def test_a_model_that_sees_nothing_is_told_of_each() -> None:
    """No base64 goes to it, and nothing that its server would refuse."""
    image, paper = attachment_of(png(), "a.png"), attachment_of(pdf(), "p.pdf")
    entries = conversation(image, paper)
    sent = with_media(request_messages(entries), held(entries), sees=False)
    assert "you cannot see it" in sent[0]["content"][0]["text"]
    assert image.data not in str(sent)
    assert "stored" not in str(sent)
    assert takes_images("auto", "claude-x", SEES)
    assert takes_images("auto", "claude-brand-new", SMALLEST)
    assert not takes_images("auto", "openai:llama3", SMALLEST)
    assert takes_images("on", "openai:llama3", SMALLEST)
    assert not takes_images("off", "claude-x", SEES)


def test_people_are_shown_a_line() -> None:
    """Its kind, its size and the beginning of its digest."""
    image = attachment_of(png(), "a.png")
    line = f"[image/png {image.size_bytes} B sha256:{image.sha256[:12]} a.png]"
    assert label(image) == label(reference(image)) == line
    large = image.model_copy(update={"size_bytes": 34_400, "name": ""})
    assert label(large) == f"[image/png 34 kB sha256:{image.sha256[:12]}]"


def test_tokens_are_those_of_the_rule() -> None:
    """Not those of its bytes, whether they stand there or not."""
    image = attachment_of(png(750, 100), "a.png")
    assert tokens_of([reference(image)]) < image.tokens + 60
    assert tokens_of([reference(image)]) >= image.tokens == 100


def test_old_images_are_left_out_first_and_can_be_seen_again() -> None:
    """Before any result is shortened; the note names what read_result takes. The prompt's own stay."""
    paper = attachment_of(pdf(), "p.pdf")
    entries: list[dict[str, Any]] = [{"role": "user", "content": [reference(paper), {"type": "text", "text": "Go."}]}]
    images = [attachment_of(png(1_500, 1_500, seed), f"{seed}.png") for seed in range(6)]
    for number, image in enumerate(images):
        shown = ToolResult(text="word " * 500, media=(image,))
        use = {"type": "tool_use", "id": f"t{number}", "name": "r", "input": {}}
        entries += [{"role": "assistant", "content": [use]}]
        entries += [{"role": "user", "content": [result_block(f"t{number}", shown)]}]
    plan = planned(entries, ContextBounds(40_000, 25_000, 22_000, 100, 4))
    assert plan is not None
    assert plan.how is Shortening.IMAGES
    point = {"role": "user", "content": [], "compaction": plan.model_dump(mode="json")}
    messages = request_messages([*entries, point])
    assert messages[0] == request_messages(entries)[0]
    assert f'read_result with tool_use_id "sha256:{images[0].sha256[:12]}"' in str(messages[2])
    assert "word " * 500 in str(messages[2])
    assert "left out" not in str(messages[-1])
    bare = images[0].model_copy(update={"data": ""})
    assert found_in(entries, f"sha256:{images[0].sha256[:12]}") == found_in(entries, "t0") == (bare,)
    assert found_in(entries, "sha256:") == found_in(entries, "t9") == ()
