"""Covariances from exact sums of products: centred in the limbs, rounded once."""

import numpy as np

from naively.kernels.jit import jit
from naively.kernels.limbs import (
    add_integer,
    normalise,
    round_nearest,
)


@jit
def centre(
    products, start, sums, about, bit, mantissa, exponent, low, size, unit, rest, weight, freedom,
    first, last, out,
):  # fmt: skip
    """out[i, j] = Σ (x_i - μ_i)(x_j - μ_j) / freedom from sums of products; symmetric.

    Computed about centres r near the means, with r = Σ mantissa 2^exponent for each class c and
    feature, where Σ (x_i - r_i)(x_j - r_j) = Σ x_i x_j - Σ_c r_i s_j + r_j (s_i - n r_i) is
    rounded once. s_j is Σ x_j over the rows that have i too. What the centres are off costs
    Σ_c (s_i - n r_i)(s_j - n r_j) / n.

    Parameters
    ----------
    products : (cells, L) limbs of Σ x_i x_j, the lowest at position `start` of the result's.
    sums : (c, w, d, L') digits of s_j for feature i; about : those of s_j - n r_j. Their lowest
        bit is 2^bit. w is 1 if no value is missing, else d.
    mantissa, exponent : (p, c, d) int64, the mantissas up to 2^30.
    low, size : the exponent of the lowest bit, and the number, of the limbs to compute with.
    unit : the exponent of the unit of `rest`, `weight` and `freedom`.
    rest : (c, w, d), s_j - n r_j, rounded.
    weight : (c, w, d), n, infinity in the place of 0.
    freedom : (w, d), degrees of freedom, infinity in the place of 0.
    first, last : the features i to compute, with all j >= i.

    Returns
    -------
    Whether the centres are so near the means that no digits were lost.
    """
    features = out.shape[0]
    digits = sums.shape[3]
    wide = sums.shape[1]
    table = np.zeros((features, size), np.int64)
    flat = table.reshape(-1)
    at = first * features - first * (first - 1) // 2
    near = True
    for i in range(first, last):
        given_i = min(i, wide - 1)
        table[i:] = 0
        for j in range(i, features):
            given_j = min(j, wide - 1)
            for k in range(products.shape[1]):
                table[j, start + k] += products[at, k]
            at += 1
            for c in range(sums.shape[0]):
                for p in range(mantissa.shape[0]):
                    for k in range(digits):
                        place = bit + 32 * k - low
                        add_integer(
                            flat, j * size, place + exponent[p, c, i],
                            -mantissa[p, c, i] * sums[c, given_i, j, k],
                        )  # fmt: skip
                        add_integer(
                            flat, j * size, place + exponent[p, c, j],
                            -mantissa[p, c, j] * about[c, given_j, i, k],
                        )  # fmt: skip
        normalise(table[i:])
        rounded = round_nearest(table[i:], low - unit)
        for j in range(i, features):
            given_j = min(j, wide - 1)
            value = rounded[j - i]
            for c in range(sums.shape[0]):
                value -= rest[c, given_i, j] * (rest[c, given_j, i] / weight[c, given_i, j])
            if i == j:
                near = near and value >= 0.5 * rounded[0]
                value = max(value, 0.0)
            value /= freedom[given_i, j]
            out[i, j] = out[j, i] = value
    return near
