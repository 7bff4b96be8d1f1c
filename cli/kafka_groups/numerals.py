"""Numbers that users write: ASCII digits, and nothing else that Python reads as a number.

`int` and `float` also read underscores (`1_000`), digits of other scripts, exponents and `inf`. A typing error would
then be another number.
"""

from __future__ import annotations

import re
from typing import Final

# Other white space, such as a no-break space, is there by mistake.
BLANKS: Final = " \t"
# Patterns are compiled at their first use, because most commands parse no number.
_INTEGER: Final = r"[+-]?[0-9]+"
_DECIMAL: Final = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
# Groups of three digits, as people write large numbers.
_GROUPED: Final = r"[+-]?[0-9]{1,3}(?P<mark>[,'\u2019 \u00a0\u202f])[0-9]{3}(?:(?P=mark)[0-9]{3})*"
_EXPONENT: Final = r"(?P<digits>[+-]?[0-9]+)[eE]\+?(?P<zeros>[0-9]{1,2})"
_HEXADECIMAL: Final = r"[+-]?0[xX][0-9a-fA-F]+"
# Dashes and signs that word processors and input methods write.
_MINUS_SIGNS: Final = "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"
_PLUS_SIGNS: Final = "\ufe62\uff0b"
# A number of 64 bits has 19 digits, and Python refuses to convert thousands of them.
_LONGEST: Final = 40
_MAX_ZEROS: Final = 18
_MAX_SHOWN: Final = 80


def parse_integer(text: str) -> int:
    """Return the number of ASCII digits with an optional sign, between optional blanks.

    Raises ValueError for other text, with the number to write if that is clear.
    """
    digits = text.strip(BLANKS)
    if re.fullmatch(_INTEGER, digits) is None:
        msg = f"{quote(text)} is not a whole number{hint_of_integer(text)}"
        raise ValueError(msg)
    significant = digits.lstrip("+-").lstrip("0") or "0"
    if len(significant) > _LONGEST:
        msg = f"{quote(text)} is too large"
        raise ValueError(msg)
    return -int(significant) if digits.startswith("-") else int(significant)


def parse_decimal(text: str) -> float:
    """Return the number of ASCII digits with an optional sign and point, between optional blanks.

    Raises ValueError for other text, with the number to write if that is clear.
    """
    digits = text.strip(BLANKS)
    if re.fullmatch(_DECIMAL, digits) is None:
        plain = to_ascii(text).strip()
        hint = f"; write {plain}" if re.fullmatch(_DECIMAL, plain) else ""
        msg = f"{quote(text)} is not a number{hint}"
        raise ValueError(msg)
    return float(digits)


def hint_of_integer(text: str) -> str:
    """Return `; write 1000` for `1_000` and other spellings of a whole number; an empty text for all else."""
    plain = to_ascii(text).strip()
    if re.fullmatch(_GROUPED, plain):
        plain = re.sub(r"[^0-9+-]", "", plain)
    elif found := re.fullmatch(_EXPONENT, plain):
        zeros = int(found["zeros"])
        plain = found["digits"] + "0" * zeros if zeros <= _MAX_ZEROS else ""
    elif re.fullmatch(_HEXADECIMAL, plain) and len(plain) <= _LONGEST:
        plain = str(int(plain, 16))
    if plain == text or len(plain) > _LONGEST or re.fullmatch(_INTEGER, plain) is None:
        return ""
    return f"; write {int(plain)}"


def to_ascii(text: str) -> str:
    """Return the text with ASCII digits and signs for those of other scripts, and numbers without underscores."""
    # It takes a millisecond to import, and most texts are ASCII.
    import unicodedata

    characters = []
    for character in text:
        digit = unicodedata.decimal(character, None)
        sign = "-" if character in _MINUS_SIGNS else "+" if character in _PLUS_SIGNS else character
        characters.append(sign if digit is None else str(digit))
    return re.sub(r"(?<=[0-9])_(?=[0-9])", "", "".join(characters))


def quote(text: str) -> str:
    """Return a text in quotes, without control characters and not too long for an error."""
    return repr(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…")
