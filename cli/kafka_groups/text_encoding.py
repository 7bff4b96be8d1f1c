"""The encoding of text files that users write: UTF-8, and the name of another one for the error."""

from __future__ import annotations

import codecs
from typing import Final

# A byte order mark of UTF-32 begins with one of UTF-16, so it is compared first.
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
# In UTF-16, every second byte of ASCII text is zero. Names in other scripts have fewer zeros, commas and digits do not.
_LEAST_ZEROS: Final = 0.2
_SAMPLE: Final = 65_536


class NotUtf8Error(ValueError):
    """Bytes that are not UTF-8; its text is the rest of a sentence about the file, with the next step."""


def decode_utf8(data: bytes) -> str:
    """Return UTF-8 text without its byte order mark. Raises NotUtf8Error for other bytes, and for UTF-16 and UTF-32."""
    encoding = find_wide_encoding(data)
    if encoding is not None:
        msg = f"is {encoding} text, and not UTF-8; save it in UTF-8, for example with: iconv -f {encoding} -t UTF-8"
        raise NotUtf8Error(msg)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"is not UTF-8 text: {error.reason} at byte {error.start}; save it in UTF-8"
        raise NotUtf8Error(msg) from error


def find_wide_encoding(data: bytes) -> str | None:
    """Return the encoding of text in units of two or four bytes, as iconv names it; None for other bytes.

    Without a byte order mark, such text is also valid UTF-8 with NUL characters, so the zeros decide.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    sample = data[:_SAMPLE]
    zeros = sample.count(0)
    if zeros < max(1, len(sample) * _LEAST_ZEROS):
        return None
    in_even = 0 in sample[0::2]
    in_odd = 0 in sample[1::2]
    if in_even != in_odd:
        return "UTF-16BE" if in_even else "UTF-16LE"
    # Each character of ASCII text has three zeros.
    return "UTF-32" if zeros > len(sample) / 2 else None
