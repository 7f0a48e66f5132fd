"""Naive Bayes and logistic regression as training sets grow: Figure 1 of Ng & Jordan (2001), again.

    NAIVELY_DATA=folder python experiments/ng_jordan.py --images FOLDER

15 UCI sets (`uci.py`): the mean error of 1,000 random splits in the paper, of `--splits` here, the
same for all models; at most 1,000 of the rows held out are judged.

The paper's naive Bayes: normal inputs with a mean a class and one variance a feature, shared by the
classes (`GaussianNB(tie="classes")`); discrete inputs with (n + 1) / (N + levels)
(`CategoricalNB`); class priors (n + 1) / (m + 2). Inputs are rescaled to [0, 1]. To each variance
1e-9 of the largest is added (the default), so that two examples, whose variances are zero, give
the nearest mean. Larger training sets are sums of smaller ones (`partial_fit`). Equal probabilities
count as the positive class, which was settled by the paper's curves.

Its logistic regression: no penalty (C = 1e6 here), levels as indicators. Where classes can be
separated, the paper drew one of the separating planes by Markov chain Monte Carlo. So does `drawn`:
uniform among those with weights in [-1, 1], by Gibbs sampling.

"nearest mean" is the model that was found to draw the paper's curves of continuous inputs: equal
priors, and one variance for all features too (`tie="both"`), which then does not matter.
`ng_jordan_choices.py` has the other models and readings that were tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from data import arguments, show
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder
from uci import BAYES, LOGISTIC, NEAREST, SOURCES, Curves, Rows, bundled, published, read

from naively import CategoricalNB, GaussianNB

JUDGED = 1000  # rows at most
SWEEPS = 30  # of the Gibbs sampler
NEAR = 0.02


def orders(these: Rows, seed: int) -> Iterator[tuple[int, np.ndarray, bool]]:
    """(m, rows in an order whose first m hold both classes, whether it goes on from the last m).

    One order serves all sizes; where its first m rows are of one class, another stands in for it.
    """
    rng = np.random.default_rng(seed)
    whole = rng.permutation(len(these.y))
    for m in these.sizes:
        order = whole
        while len(set(these.y[order[:m]].tolist())) < 2:
            order = rng.permutation(len(these.y))
        yield m, order, order is whole


def described(these: Rows, **other: Any) -> Any:
    """The paper's naive Bayes, as it is described but for the parameters that are given."""
    if these.levels is not None:
        usual = {"min_categories": these.levels, "prior_smoothing": 1.0, "n_jobs": 1}
        return CategoricalNB(**usual | other)
    return GaussianNB(**{"tie": "classes", "prior_smoothing": 1.0, "n_jobs": 1} | other)


def bayes(new: Callable[[], Any], these: Rows, seed: int) -> list[float]:
    """The error of naive Bayes by training size, of one split."""
    chain, learned, errors = new(), 0, []
    for m, order, goes_on in orders(these, seed):
        model, rows = (chain, order[learned:m]) if goes_on else (new(), order[:m])
        model.partial_fit(these.X[rows], these.y[rows])
        learned = m if goes_on else learned
        test = order[m : m + JUDGED]
        joint = model.predict_joint_log_proba(these.X[test])
        joint[:, -1] += 1e-9  # ties are positive
        errors.append(float((model.classes_[joint.argmax(axis=1)] != these.y[test]).mean()))
    return errors


def indicators(these: Rows) -> np.ndarray:
    """What logistic regression sees, and a column of ones."""
    discrete = these.levels is not None
    Z = OneHotEncoder(sparse_output=False).fit_transform(these.X) if discrete else these.X
    return np.column_stack([Z, np.ones(len(Z))])


def logistic(these: Rows, Z: np.ndarray, seed: int, sweeps: int = SWEEPS) -> list[float]:
    """The same of logistic regression; Z are the `indicators`."""
    planes, errors = np.random.default_rng((seed, 1)), []
    for m, order, _ in orders(these, seed):
        rows, test = order[:m], order[m : m + JUDGED]
        model = LogisticRegression(C=1e6, solver="liblinear", max_iter=1000)
        model.fit(Z[rows, :-1], these.y[rows])
        w = np.append(model.coef_, model.intercept_)
        sided = np.ascontiguousarray((Z[rows] * (2 * these.y[rows, np.newaxis] - 1)).T)
        if (w @ sided > 0).all():
            w = drawn(sided, w / abs(w).max(), planes.random((sweeps, len(w))))
        errors.append(float(((Z[test] @ w >= 0) != these.y[test]).mean()))
    return errors


def drawn(sided: np.ndarray, w: np.ndarray, random: np.ndarray) -> np.ndarray:
    """A separating plane at random: Gibbs sampling, uniform on {w in [-1, 1]^d : w · x y > 0}.

    sided : (d, m), the examples times their classes -1 and 1; w : (d,), a separating plane;
    random : (sweeps, d), uniform numbers from 0 to 1.
    """
    for sweep in random:
        margin = w @ sided
        for j in range(len(w)):
            low, high = -1.0 - w[j], 1.0 - w[j]
            above, below = sided[j] > 0, sided[j] < 0
            low = (-margin[above] / sided[j, above]).max(initial=low)
            high = (-margin[below] / sided[j, below]).min(initial=high)
            step = low + (high - low) * sweep[j]
            if low < high:
                w[j] += step
                margin += step * sided[j]
    return w


def curves(these: Rows, splits: int) -> dict[str, np.ndarray]:
    """The mean error of each model by training size. All see the same splits."""
    models = {BAYES: partial(bayes, partial(described, these), these)}
    if these.levels is None:
        nearest = partial(described, these, tie="both", priors="uniform")
        models[NEAREST] = partial(bayes, nearest, these)
    models[LOGISTIC] = partial(logistic, these, indicators(these))
    return {
        name: np.mean([errors(seed) for seed in range(splits)], axis=0)
        for name, errors in models.items()
    }


def leader(bayes: np.ndarray, logistic: np.ndarray) -> str:
    """Who errs less at the last size."""
    return "NB" if bayes[-1] < logistic[-1] else "LR"


def compare(ours: Curves, theirs: Curves, sizes: dict[str, list[int]]) -> None:
    columns = [
        "set", "m", "NB", "NM", "paper NB", "NB off", "NM off", "LR", "paper LR", "LR off",
        "ahead", "NM's", "paper's",
    ]  # fmt: skip
    rows, near, side = [], np.zeros(2, int), np.zeros(2, int)
    for name, own in ours.items():
        their, logit = theirs[name], own[LOGISTIC]
        both = [own[BAYES], own.get(NEAREST, own[BAYES])]  # of discrete inputs there is but one
        distances = [abs(curve - their[BAYES]).mean() for curve in both]
        ahead = [leader(curve, logit) for curve in both]
        paper = leader(their[BAYES], their[LOGISTIC])
        near += [distance <= NEAR for distance in distances]
        side += [one == paper for one in ahead]
        ends = [f"{curve[-1]:.3f}" for curve in both]
        apart = [f"{distance:.3f}" for distance in distances]
        if NEAREST not in own:
            ends[1] = apart[1] = ahead[1] = ""
        rows.append([
            name, str(sizes[name][-1]), *ends, f"{their[BAYES][-1]:.3f}", *apart,
            f"{logit[-1]:.3f}", f"{their[LOGISTIC][-1]:.3f}",
            f"{abs(logit - their[LOGISTIC]).mean():.3f}", *ahead, paper,
        ])  # fmt: skip
    show("Errors at the last m; off: mean distance of the curves; NM: nearest mean", columns, rows)
    for k, kind in enumerate(("as described", "nearest mean for continuous inputs")):
        print(
            f"Naive Bayes, {kind}: distance at most {NEAR} on {near[k]} of {len(rows)}, "
            f"the same side ahead on {side[k]}."
        )


def draw(path: Path, ours: Curves, theirs: Curves, sizes: dict[str, list[int]]) -> None:
    import matplotlib.pyplot as plt

    from naively.plot.style import COLOURS, plain

    across = min(5, len(ours))
    down = -(-len(ours) // across)
    figure, axes = plt.subplots(
        down, across, figsize=(3.2 * across, 2.7 * down + 0.6), layout="constrained", squeeze=False
    )
    blue, orange, green = COLOURS[0], COLOURS[4], COLOURS[2]
    looks = {LOGISTIC: (orange, "-"), NEAREST: (green, (0, (4, 1.5))), BAYES: (blue, "-")}
    handles: dict[str, Any] = {}
    for ax, (name, own) in zip(axes.flat, ours.items(), strict=True):
        m = sizes[name]
        for model, (colour, line) in looks.items():
            if model in own:
                handles[model] = ax.plot(m, own[model], color=colour, ls=line, lw=1.8)[0]
            if model in theirs.get(name, {}):
                label = f"{model}, in the paper"
                handles[label] = ax.plot(
                    m, theirs[name][model], "o", ms=4, mfc="white", mec=colour, mew=1.0, zorder=3
                )[0]
        kind = "discrete" if name.endswith("(d)") else "continuous"
        ax.set_title(f"{name.removesuffix(' (c)').removesuffix(' (d)')}, {kind}", fontsize=10)
        ax.set_ylim(bottom=0)
        ax.locator_params(nbins=5)
        ax.grid(alpha=0.3)
        ax.tick_params(labelsize=8)
        plain(ax)
    figure.supxlabel("training rows, m", fontsize=11)
    figure.supylabel("test error", fontsize=11)
    names = [
        name for name in (BAYES, f"{BAYES}, in the paper", NEAREST, LOGISTIC) if name in handles
    ]
    names += [name for name in handles if name not in names]
    figure.legend(
        [handles[name] for name in names], names, loc="outside upper center", ncols=len(names),
        frameon=False, fontsize=10,
    )  # fmt: skip
    figure.savefig(path, dpi=100)


def main() -> None:
    given = arguments(__doc__, "5 splits of bundled sets, no published curves", splits=200)
    if given.small:
        sets, theirs = bundled(), {}
    else:
        sizes, theirs = published(given.data)
        sets = {name: read(given.data, name, sizes[name]) for name in SOURCES}
    splits, jobs = (5, 1) if given.small else (given.splits, 2)
    work = (delayed(curves)(these, splits) for these in sets.values())
    ours = dict(zip(sets, Parallel(n_jobs=jobs)(work), strict=True))
    sizes = {name: these.sizes for name, these in sets.items()}
    if theirs:
        compare(ours, theirs, sizes)
    else:
        rows = [
            [name, model, *(f"{error:.3f}" for error in curve)]
            for name, own in ours.items()
            for model, curve in own.items()
        ]
        columns = ["set", "model", *map(str, next(iter(sizes.values())))]
        show("Error by training size", columns, rows)
    if given.images:
        draw(given.images / "ng-jordan.png", ours, theirs, sizes)


if __name__ == "__main__":
    main()
