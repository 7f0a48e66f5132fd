"""Random tables of every type that clusters have, and the model that one machine trains on them."""

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pyarrow as pa

from naively.storage.model_files import Saved, to_bytes

WORDS = ["bayes", "prior", "count", "été", "naïve", "sum", "table", "row"]


def table(seed, rows):
    """Mixed columns with missing values, text among them, and labels of some type."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)

    def column(values, kind=None, missing=0.1):
        gone = rng.random(rows) < missing
        known = [None if no else one for no, one in zip(gone, values, strict=True)]
        return pa.array(known, kind)

    labels = [y + 5, np.array(["no", "yes", "perhaps"])[y], y > 0, y.astype(float)][seed % 4]
    texts = [" ".join(rng.choice(WORDS, 8)) for _ in range(rows)]
    first = datetime.datetime(2024, 2, 28)
    times = [first + datetime.timedelta(hours=int(h)) for h in rng.integers(0, 90, rows)]
    days = [one.date() for one in times]
    return pa.table({
        "number": column((rng.normal(size=rows) * 10.0 ** rng.integers(-3, 9) + y).tolist()),
        "whole": column(rng.integers(-50, 50, rows).tolist(), pa.int32()),
        "few": column(rng.integers(0, 3, rows).tolist(), pa.int8()),
        "level": column([f"level {k}" for k in rng.integers(0, 9, rows) * (y + 1)]),
        "rare": column([f"only {k}" if k < 4 else "often" for k in range(rows)]),
        "truth": column((rng.random(rows) < 0.3 + 0.2 * y).tolist()),
        "price": column([Decimal(int(k)) / 4 for k in rng.integers(0, 40, rows)],
                        pa.decimal128(9, 2)),
        "day": column(days, pa.date32()),
        "time": column(times, pa.timestamp("us", "UTC")),
        "text": column(texts),
        "nothing": pa.nulls(rows, pa.string()),
        "label": column(labels.tolist(), missing=0.05),
    })  # fmt: skip


def silently(function, *given, **named):
    """What a function returns, which may warn of rows without a label and of silent columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return function(*given, **named)


def bits(estimator):
    """All that a fitted estimator counted, and what it estimated."""
    estimator.model_.posterior()  # `partial_fit` leaves it to the first prediction
    return to_bytes(Saved(estimator.model_))
