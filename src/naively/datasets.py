"""Generate example data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

CHECKING = {"none": (0.39, -1.1), "below 0": (0.27, 0.9), "0 to 200": (0.27, 0.4),
            "above 200": (0.07, -0.3)}  # fmt: skip
HISTORY = {"paid duly": (0.53, 0.0), "delays": (0.09, 0.5), "critical account": (0.29, -0.7),
           "no credits": (0.09, 0.8)}  # fmt: skip
PURPOSE = {"radio or TV": (0.28, -0.2), "new car": (0.24, 0.4), "furniture": (0.19, 0.1),
           "used car": (0.12, -0.8), "business": (0.1, 0.2), "education": (0.07, 0.5)}  # fmt: skip
HOUSING = {"own": (0.71, -0.2), "rent": (0.18, 0.4), "free": (0.11, 0.3)}
"""For each category: its share of the applicants, and its effect on the log-odds of "bad"."""


def make_credit(rows: int = 1000, seed: int = 0) -> pa.Table:
    """Generate loans and whether they were repaid; no row is of a real person.

    Categories are drawn independently; durations and amounts are log-normal and correlated. The
    class is Bernoulli with logit = -1.1 + Σ effects of the categories + 0.035 (duration - 21)
    + 0.00007 (credit_amount - 3300) - 0.02 (age - 35) - 0.06 (employment_years - 6)
    - 0.3 ln(savings / 500), so that about 30% are bad and the best possible classifier is known.
    A sixth of the savings is missing, at random.

    Parameters
    ----------
    rows : how many loans.
    seed : of the generator; the same seed gives the same table.

    Returns
    -------
    pyarrow.Table
        With the columns checking_status, duration (months), credit_history, purpose,
        credit_amount, savings, employment_years, age, housing and the target risk, which is
        "good" or "bad".

    Examples
    --------
    >>> from naively.datasets import make_credit
    >>> make_credit(1000).num_columns
    10
    """
    generator = np.random.default_rng(seed)
    logit = np.full(rows, -1.1)
    columns: dict[str, Any] = {}

    def categories(effects: dict[str, tuple[float, float]]) -> list[str]:
        shares = np.array([share for share, _ in effects.values()])
        codes = generator.choice(len(effects), rows, p=shares)
        logit[:] += np.array([effect for _, effect in effects.values()])[codes]
        names = list(effects)
        return [names[code] for code in codes.tolist()]

    columns["checking_status"] = categories(CHECKING)
    months = np.exp(generator.normal(2.9, 0.55, rows))
    duration = np.clip(3 * np.round(months / 3), 6, 60)
    columns["duration"] = duration.astype(np.int64)
    columns["credit_history"] = categories(HISTORY)
    columns["purpose"] = categories(PURPOSE)
    amount = np.exp(generator.normal(5.5, 0.55, rows)) * duration**0.75
    amount = np.clip(10 * np.round(amount / 10), 250, 18000)
    columns["credit_amount"] = amount.astype(np.int64)
    savings = np.exp(generator.normal(6.2, 1.2, rows))
    has_savings = generator.random(rows) > 1 / 6
    columns["savings"] = pa.array(np.round(savings).astype(np.int64), mask=~has_savings)
    employment = np.round(generator.gamma(1.2, 5.0, rows)).clip(0, 40)
    columns["employment_years"] = employment.astype(np.int64)
    age = np.round(19 + employment + generator.gamma(2.0, 5.0, rows)).clip(19, 75)
    columns["age"] = age.astype(np.int64)
    columns["housing"] = categories(HOUSING)
    logit += 0.035 * (duration - 21) + 0.00007 * (amount - 3300) - 0.02 * (age - 35)
    logit -= 0.06 * (employment - 6) + 0.3 * np.log(savings.clip(1) / 500)
    bad = generator.random(rows) < 1 / (1 + np.exp(-logit))
    columns["risk"] = np.where(bad, "bad", "good").tolist()
    return pa.table(columns)
