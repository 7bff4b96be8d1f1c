"""The encoding of text files: UTF-8 is read, and the error of another one names it."""

from __future__ import annotations

import pytest

from kafka_groups.text_encoding import NotUtf8Error, decode_utf8, find_wide_encoding

CSV = "orders,topic,0,10\r\n注文,主題,1,20\r\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_utf_8_is_read_without_its_byte_order_mark_and_with_its_line_ends(encoding: str) -> None:
    assert decode_utf8(CSV.encode(encoding)) == CSV


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16LE"),
        ("utf-16-be", "UTF-16BE"),
        ("utf-32", "UTF-32"),
        ("utf-32-le", "UTF-32"),
        ("utf-32-be", "UTF-32"),
    ],
)
def test_utf_16_and_utf_32_are_named_with_a_byte_order_mark_and_without(encoding: str, name: str) -> None:
    for text in (CSV, "g,t,0,1", "注文,主題,0,10\n"):
        with pytest.raises(NotUtf8Error) as caught:
            decode_utf8(text.encode(encoding))
        assert str(caught.value) == (
            f"is {name} text, and not UTF-8; save it in UTF-8, for example with: iconv -f {name} -t UTF-8"
        )


@pytest.mark.parametrize("mark", [b"\xfe\xff", b"\x00\x00\xfe\xff"])
def test_a_big_endian_byte_order_mark_names_the_encoding(mark: bytes) -> None:
    assert find_wide_encoding(mark) == ("UTF-16" if len(mark) == 2 else "UTF-32")


def test_another_encoding_is_an_error_with_the_place_and_the_next_step() -> None:
    with pytest.raises(NotUtf8Error) as caught:
        decode_utf8("café,t,0,1".encode("latin-1"))
    assert str(caught.value) == "is not UTF-8 text: invalid continuation byte at byte 3; save it in UTF-8"


@pytest.mark.parametrize(
    "data", [b"", b"g,t,0,1", b'"a\0b",topic,0,10\n', bytes([0x30, 0x82, 0, 1]) + bytes(range(1, 90))]
)
def test_other_bytes_are_no_wide_encoding(data: bytes) -> None:
    assert find_wide_encoding(data) is None
