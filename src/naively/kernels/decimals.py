"""Text to float64: plain decimal numbers, rounded once."""

from typing import Any

import numpy as np
import numpy.typing as npt

from naively.kernels import native

LEAST, GREATEST = -300, 290  # exponents of ten; results beyond normal numbers are left to others


def _powers() -> npt.NDArray[np.uint64]:
    """The first 128 bits of 5^q, in two words; rounded up from 5^-27 to 5^-1."""
    words = []
    for q in range(LEAST, GREATEST + 1):
        if q >= 0:
            power = 5**q
            shift = power.bit_length() - 128
            power = power >> shift if shift > 0 else power << -shift
        else:
            divisor = 5**-q
            power = (1 << (divisor.bit_length() + 127)) // divisor + (q >= -27)
        words.append([power >> 64, power & (2**64 - 1)])
    return np.array(words, np.uint64)


POWERS = _powers()


def read_decimals(data: Any, offsets: Any, out: Any, others: Any) -> None:
    """out[i] = the number that data[offsets[i] : offsets[i + 1]] is.

    Parameters
    ----------
    data : uint8, with eight bytes or more beyond the last text.
    offsets : (n + 1,) int64
    out : (n,) float64
    others : (n,) bool, set where the text is no plain decimal number of 19 digits or fewer, of
        ordinary size: such are left alone.
    """
    native.read_decimals(data, offsets, out, others, POWERS, LEAST)
