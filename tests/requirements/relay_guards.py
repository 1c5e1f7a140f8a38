"""Guards of the relay, each as a change of the product that takes it away, with a test that misses it."""

from __future__ import annotations

from bugs import Bug

HTTP = "neuraphage/relay/http1.py"
READ = "tests/unit/relay/test_http1.py::"
SAME = "tests/unit/relay/test_same_answers.py::"
HOUSE = "tests/unit/relay/test_relay_house.py::"

RELAY_GUARDS = (
    Bug(
        "relay-chunks-have-an-end", HTTP,
        '                raise BadAnswer(f"malformed end of a chunk: {frame!r}")',
        "                at, self._is_framed = at + 2, True\n                continue",
        SAME + "test_both_ways_read_the_same[no end of a chunk]",
    ),
    Bug(
        "relay-keeps-what-came-before", HTTP,
        "        except BadAnswer as error:\n            self._fault = error\n        return b\"\".join(pieces)",
        "        except BadAnswer as error:\n            raise error\n        return b\"\".join(pieces)",
        READ + "test_what_came_before_is_kept",
    ),
    Bug(
        "relay-no-coded-transfer", HTTP,
        'if codings and codings != ["chunked"]:', "if False:",
        SAME + "test_both_ways_read_the_same[coded transfer]",
    ),
    Bug(
        "relay-bounds-the-head", HTTP,
        "                if len(data) > MAX_HEAD_BYTES:", "                if False:",
        SAME + "test_both_ways_read_the_same[an endless head]",
    ),
    Bug(
        "relay-bounds-what-follows", HTTP,
        "        elif len(data) > MAX_HEAD_BYTES:", "        elif False:",
        READ + "test_what_follows_the_last_chunk_has_a_limit",
    ),
    Bug(
        "relay-half-is-not-whole", HTTP,
        "if self._body is not _Body.TO_THE_END and not self.is_over:", "if False:",
        READ + "test_each_cut_is_told[chunks]",
    ),
    Bug(
        "relay-bounds-an-answer", "neuraphage/relay/recording.py",
        "        if len(data) > self._left_bytes:", "        if False:",
        SAME + "test_an_answer_that_is_too_long_is_broken_off",
    ),
    Bug(
        "relay-torn-is-not-whole", "neuraphage/relay/kept.py",
        "is_whole = (size_bytes, zlib.crc32(data[:size_bytes])) == (end.size_bytes, end.crc)", "is_whole = True",
        HOUSE + "test_a_torn_answer_is_lost",
    ),
    Bug(
        "relay-headers-as-they-were-sent", "neuraphage/relay/transport.py",
        'headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.headers]',
        "headers = list(head.headers)",
        SAME + "test_a_reply_that_is_whole_is_had_whatever_is_odd_about_it[odd header]",
    ),
    Bug(
        "relay-tells-whose-trust-counts", "neuraphage/relay/sending.py",
        'return f"{text}; {_trusted()}" if _NOT_TRUSTED.search(text) else text', "return text",
        "tests/unit/relay/test_relay_tls.py::test_an_authority_that_only_the_worker_knows[own]",
    ),
)  # fmt: skip
