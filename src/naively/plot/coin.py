"""How many throws it takes to know one parameter: the bias of a coin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from scipy import stats

from naively.exact import Float64, Int64
from naively.model import Model
from naively.plot import style
from naively.plot.models import feature as feature_of
from naively.plot.models import model_of, part_of

THROWS = 1000  # that are drawn from a model
SHOWN = 10, 100, 1000, 10_000, 100_000  # throws after which the density is drawn, and after all
MANY = 20  # throws, from which their numbers are on a logarithmic scale
POINTS = 1001  # of θ, the ends included
SIZES = 200  # numbers of throws at which the interval is drawn
SURE = 0.95
MOST = 10_000_000


@dataclass(kw_only=True, eq=False, repr=False)
class CoinDisplay:
    """What n throws of a coin say about its bias θ: the posterior, ever narrower.

    Lecture 2, "How many training data needed to learn one parameter (bias of a coin)?" On the left
    the density of θ after some throws, Beta(l + heads, l + tails), as a part of its peak: it begins
    with l virtual throws of each side, as smoothing does. On the right its mean, and the interval
    that holds θ with 95%, against the number of throws: four times the throws for half the width.

    Parameters
    ----------
    heads : (n,) heads among the first 1, 2, ..., n throws.
    alpha : l, above 0.
    theta : the bias, if it is known.
    name : of the coin.

    Attributes
    ----------
    axes_ : list of two Axes.
    lines_ : list of Line2D, one a density; those after more throws are darker.
    figure_, legend_
    """

    heads: Int64
    alpha: float = 1.0
    theta: float | None = None
    name: str = "P(heads)"

    @classmethod
    def from_throws(cls, throws: Any, *, alpha: float = 1.0, ax: Axes | None = None) -> Self:
        """Draw what throws say that were made, in their order.

        Parameters
        ----------
        throws : (n,) zeros and ones, or truth values; n > 0.
        alpha : l > 0, virtual throws of each side: 1 begins with all θ alike.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        ValueError : if there are no throws, or they are other than 0 and 1.
        """
        values: npt.NDArray[Any] = np.asarray(throws)
        if values.ndim != 1 or len(values) == 0 or not np.isin(values, [0, 1]).all():
            raise ValueError("throws must be a flat list of zeros and ones, one or more")
        heads = np.cumsum(values.astype(np.int64))
        return cls(heads=heads, alpha=_checked(alpha)).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature: Any,
        label: Any,
        n_throws: int = THROWS,
        random_state: int = 0,
        alpha: float = 1.0,
        feature_names: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Throw a coin of a model, whose bias is known: how soon would it be learned?

        Parameters
        ----------
        estimator : fitted, such as `BernoulliNB`; its coin is θ = P(x_α = 1 | y = c).
        feature : name or position of α, a feature of yes or no.
        label : c, one of the classes.
        n_throws : 1 to 10,000,000.
        random_state : int
        alpha : l > 0, virtual throws of each side.
        feature_names : for a model that learned from an array.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is none of naively, or has no such coin.
        """
        if not isinstance(n_throws, int | np.integer) or not 1 <= n_throws <= MOST:
            raise ValueError(f"n_throws must be from 1 to {MOST:,}, not {n_throws!r}")
        model = model_of(estimator, feature_names)
        name, theta = _coin(model, feature, label)
        drawn = np.random.default_rng(random_state).random(n_throws) < theta
        return cls(
            heads=np.cumsum(drawn), alpha=_checked(alpha), theta=theta,
            name=f"P({style.label(name)} = 1 | {style.label(label)})",
        ).plot(ax)  # fmt: skip

    def posterior(self, throws: Any) -> Any:
        """The distribution of θ after so many throws, of SciPy; an array gives several."""
        n: Int64 = np.asarray(throws)
        heads = np.where(n > 0, self.heads[np.maximum(n, 1) - 1], 0)
        return stats.beta(self.alpha + heads, self.alpha + n - heads)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the place of the given axes, or in a new figure."""
        self.figure_, grid = style.grid(ax, 1, 2, (9.0, 3.6), width_ratios=(1.0, 1.15))
        self.axes_ = [self.figure_.add_subplot(grid[0, k]) for k in range(2)]
        left, right = self.axes_
        self._draw_densities(left)
        self._draw_intervals(right)
        for panel in self.axes_:
            if self.theta is not None:
                along = panel.axvline if panel is left else panel.axhline
                along(self.theta, c=TRUTH.colour, lw=1.6, ls=TRUTH.line, zorder=4)
            style.plain(panel)
        handles, names = left.get_legend_handles_labels()
        if self.theta is not None:
            handles.append(left.lines[-1])
            names.append(f"the coin: θ = {self.theta:.3g}")
        self.legend_ = style.legend(right, handles, names)
        return self

    def _draw_densities(self, panel: Axes) -> None:
        """Of θ, after ever more throws."""
        n = len(self.heads)
        after = [0, *(size for size in SHOWN if size < n), n]
        theta = np.linspace(0.0, 1.0, POINTS)
        self.lines_ = []
        for k, throws in enumerate(after):
            depth = (k + 1) / len(after)
            density = self.posterior(throws).pdf(theta)
            top = density[np.isfinite(density)].max(initial=0.0) or 1.0
            (line,) = panel.plot(
                theta, np.minimum(density / top, 1.0), c=style.shade(depth), lw=2.0,
                label=f"{throws:,} throw{'' if throws == 1 else 's'}", zorder=2 + k / len(after),
            )  # fmt: skip
            self.lines_.append(line)
        panel.set(xlim=(0.0, 1.0), ylim=(0.0, 1.05))
        panel.set(xlabel=f"θ = {self.name}", ylabel="density of θ, as a part of its peak")

    def _draw_intervals(self, panel: Axes) -> None:
        """The mean of θ, and where it lies with 95%, against the number of throws."""
        n = len(self.heads)
        sizes = np.unique(np.geomspace(1, n, SIZES).round().astype(np.int64))
        found = self.posterior(sizes)
        low, high = found.ppf((1 - SURE) / 2), found.ppf((1 + SURE) / 2)
        panel.fill_between(sizes, low, high, color=style.shade(0.15), lw=0.0, zorder=1)
        panel.plot(sizes, found.mean(), c=style.shade(1.0), lw=2.0, zorder=2)
        width = float(high[-1] - low[-1])
        panel.set_title(
            f"after {n:,} throw{'' if n == 1 else 's'}: θ known to ± {width / 2:.2g} (95%)",
            fontsize="medium",
        )
        if n >= MANY:
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter(lambda size, _: f"{size:,.0f}")
            panel.xaxis.set_minor_formatter(lambda size, _: "")
        else:
            panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        if n > 1:
            panel.set_xlim(1, n)
        panel.set(ylim=(0.0, 1.0), xlabel="throws", ylabel="θ: mean and 95% interval")


TRUTH = style.style(4)


def _checked(alpha: Any) -> float:
    if not isinstance(alpha, int | float) or not 0 < alpha < np.inf:
        raise ValueError(f"alpha must be a finite number above 0, not {alpha!r}")
    return float(alpha)


def _coin(model: Model, given: Any, label: Any) -> tuple[str, float]:
    """(the name of a feature of yes or no, its probability of yes in a class)."""
    known = model.schema.known
    coins = [n for n in model.schema.ordered if known[n].name == "bernoulli"]
    if not coins:
        raise ValueError("no feature of this model is a coin: BernoulliNB has such")
    name = feature_of(model, given, coins)
    classes = model.classes.tolist()
    if label not in classes:
        raise ValueError(f"label must be one of the classes, not {label!r}")
    part, place = part_of(model, name)
    presence: Float64 = part.presence()
    return name, float(presence[classes.index(label), place])
