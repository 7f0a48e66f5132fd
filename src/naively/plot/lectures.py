"""Plot examples of the lectures: a coin, dice, identical rows, the Bayes error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch
from matplotlib.ticker import MaxNLocator
from scipy import stats

from naively.core.exact import Float64, Int64
from naively.core.labels import Label, Labels
from naively.explain.importance import bits_of_event
from naively.families.base import CurveKind, Events, in_order
from naively.families.discrete.joint import Joint
from naively.model.model import Model
from naively.plot import style
from naively.plot.learning import COUNT, DENSITY, curves_of
from naively.plot.models import displayed, feature, log_density, model_of, part_of
from naively.plot.models import feature as feature_of
from naively.predictor import Predictor
from naively.tables.names import few

THROWS = 1000  # drawn from a model by default
SHOWN = 10, 100, 1000, 10_000, 100_000  # throws after which the density is drawn, as at the end
MANY = 20  # throws from which their axis is logarithmic
POINTS = 1001  # of θ, including both ends
SIZES = 200  # points of the interval along the number of throws
INTERVAL_MASS = 0.95
MOST_THROWS = 10_000_000


@dataclass(kw_only=True, eq=False, repr=False)
class CoinDisplay:
    """The posterior of the bias θ of a coin after n throws, which becomes narrower.

    Lecture 2, "How many training data needed to learn one parameter (bias of a coin)?" On the left
    is the density of θ after some throws, Beta(l + heads, l + tails), relative to its peak: it
    starts with l virtual throws of each side, as smoothing does. On the right are its mean and the
    95% credible interval, against the number of throws: four times the throws halve the width.

    Parameters
    ----------
    heads : (n,) heads among the first 1, 2, ..., n throws.
    alpha : l, above 0.
    theta : the bias, if it is known.
    name : of the coin.

    Attributes
    ----------
    axes_ : list of two Axes.
    lines_ : list of Line2D, one for each density; those after more throws are darker.
    figure_, legend_
    """

    heads: Int64
    alpha: float = 1.0
    theta: float | None = None
    name: str = "P(heads)"

    @classmethod
    def from_throws(cls, throws: Any, *, alpha: float = 1.0, ax: Axes | None = None) -> Self:
        """Plot the posterior after throws in this order.

        Parameters
        ----------
        throws : (n,) zeros and ones, or truth values; n > 0.
        alpha : l > 0, virtual throws of each side: 1 is a uniform prior of θ.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        ValueError : if there are no throws, or they are not 0 and 1.
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
        label: Label,
        n_throws: int = THROWS,
        random_state: int = 0,
        alpha: float = 1.0,
        feature_names: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Simulate throws of a coin of a model, to see how fast its bias is learned.

        Parameters
        ----------
        estimator : fitted, such as `BernoulliNB`; its coin is θ = P(x_α = 1 | y = c).
        feature : name or position of α, a binary feature.
        label : c, one of the classes.
        n_throws : 1 to 10,000,000.
        random_state : int
        alpha : l > 0, virtual throws of each side.
        feature_names : for a model that was fitted to an array.
        ax : axes of `subplots` in whose place to draw; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is not one of naively, or has no such coin.
        """
        if not isinstance(n_throws, int | np.integer) or not 1 <= n_throws <= MOST_THROWS:
            raise ValueError(f"n_throws must be from 1 to {MOST_THROWS:,}, not {n_throws!r}")
        model = model_of(estimator, feature_names)
        name, theta = _coin(model, feature, label)
        throws = np.random.default_rng(random_state).random(n_throws) < theta
        return cls(
            heads=np.cumsum(throws), alpha=_checked(alpha), theta=theta,
            name=f"P({style.label(name)} = 1 | {style.label(label)})",
        ).plot(ax)  # fmt: skip

    def posterior(self, throws: Any) -> Any:
        """The posterior of θ after some throws, as a distribution of SciPy; accepts an array."""
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
        """Draw the density of θ after more and more throws."""
        n = len(self.heads)
        shown_throws = [0, *(size for size in SHOWN if size < n), n]
        theta = np.linspace(0.0, 1.0, POINTS)
        self.lines_ = []
        for k, throws in enumerate(shown_throws):
            fraction = (k + 1) / len(shown_throws)
            density = self.posterior(throws).pdf(theta)
            peak = density[np.isfinite(density)].max(initial=0.0) or 1.0
            (line,) = panel.plot(
                theta, np.minimum(density / peak, 1.0), c=style.shade(fraction), lw=2.0,
                label=f"{throws:,} throw{'' if throws == 1 else 's'}",
                zorder=2 + k / len(shown_throws),
            )  # fmt: skip
            self.lines_.append(line)
        panel.set(xlim=(0.0, 1.0), ylim=(0.0, 1.05))
        panel.set(xlabel=f"θ = {self.name}", ylabel="density of θ, as a part of its peak")

    def _draw_intervals(self, panel: Axes) -> None:
        """Draw the mean and the 95% interval of θ against the number of throws."""
        n = len(self.heads)
        sizes = np.unique(np.geomspace(1, n, SIZES).round().astype(np.int64))
        posteriors = self.posterior(sizes)
        low, high = posteriors.ppf((1 - INTERVAL_MASS) / 2), posteriors.ppf((1 + INTERVAL_MASS) / 2)
        panel.fill_between(sizes, low, high, color=style.shade(0.15), lw=0.0, zorder=1)
        panel.plot(sizes, posteriors.mean(), c=style.shade(1.0), lw=2.0, zorder=2)
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


def _coin(model: Model, selector: Any, label: Any) -> tuple[str, float]:
    """The name of a binary feature, and its probability of 1 in a class."""
    families = model.schema.family_of
    coins = [n for n in model.schema.ordered if families[n].name == "bernoulli"]
    if not coins:
        raise ValueError("no feature of this model is a coin: BernoulliNB has such")
    name = feature_of(model, selector, coins)
    classes = model.classes.tolist()
    if label not in classes:
        raise ValueError(f"label must be one of the classes, not {label!r}")
    parameters, index = part_of(model, name)
    presence: Float64 = parameters.presence()
    return name, float(presence[classes.index(label), index])


# ---- dice ----------------------------------------------------------------------------------------


DICE = 9  # features that are shown by default
FACES = 12  # categories of a feature, the rest in one bar; or the most informative sides and coins
BARS, FEWEST = 72, 3  # bars of all classes, at most; but at least 3 sides or coins
LEVEL, SIDE, HEADS = "P(category | class)", "P(side | class)", "P(x = 1 | class)"


@dataclass(frozen=True)
class Die:
    """The probabilities of one feature, or of binary features or counts side by side."""

    name: str  # of the feature, or a title
    levels: list[str]  # (K,) names
    theta: Float64  # (C, K) [θ_jc]_α, the probability of category j in class c; or θ_αc or p_αc
    quantity: str = LEVEL  # the name of theta


def dice_of(model: Model, features: Sequence[Any] | Any | None) -> list[Die]:
    """A die for each categorical feature, one for all counts, and one for all binary features.

    Raises ValueError if there are none, or a feature is none of them.
    """
    families = model.schema.family_of
    categorical = [n for n in model.schema.ordered if families[n].summary.takes == "levels"]
    boards = _boards(model)
    names = [*categorical, *(name for _, _, events in boards for name in events.names)]
    if not names:
        raise ValueError("no feature of this model is categorical: there is no die or coin to draw")
    if features is None:
        dice = [_die(model, name) for name in displayed(model, None, categorical, DICE)]
        return dice + [_board(model, *board) for board in boards]
    selectors = [features] if isinstance(features, str | int | np.integer) else list(features)
    selected = [feature(model, selector, names) for selector in selectors]
    dice = [_die(model, name) for name in selected if name in categorical]
    for board in boards:
        if selected_events := [name for name in selected if name in board[2].names]:
            dice.append(_board(model, *board, selected_events))
    return dice


def _boards(model: Model) -> list[tuple[str, str, Events]]:
    """For binary features and counts: (title, name of their probability, events)."""
    boards = []
    for block, part in model.posterior().blocks:
        event = getattr(block.family, "event", block.family.name)
        if event in ("multinomial", "binary", "bernoulli"):
            events = part.events(block.names)
            assert events is not None
            faces, quantity = ("coins", HEADS) if event == "bernoulli" else ("sides", SIDE)
            if block.family.name == "text" and len(model.schema.names) > 1:
                faces = f"{faces}: {block.names[0]}"
            boards.append((faces, quantity, events))
    return boards


def _board(
    model: Model, what: str, quantity: str, events: Events, chosen: list[str] | None = None
) -> Die:
    """A die of the chosen events, or of the most informative ones."""
    counts = events.counts + events.alpha
    totals = np.broadcast_to(events.totals + events.whole, counts.shape)
    size = len(events.names)
    uniform = np.full(counts.shape, 0.5 if quantity == HEADS else 1.0 / size)
    theta = np.divide(counts, totals, out=uniform, where=totals > 0)
    if chosen is not None:
        positions = {name: k for k, name in enumerate(events.names)}
        indices = np.array([positions[name] for name in chosen])
    else:
        bits = bits_of_event(theta, model.posterior().class_prior)
        max_faces = max(FEWEST, min(FACES, BARS // len(counts)))
        indices = np.sort(np.argsort(-bits, kind="stable")[:max_faces])
    full_title = f"one die of {size:,} {what}" if quantity == SIDE else f"{size:,} {what}"
    title = full_title if len(indices) == size else f"{len(indices)} of {size:,} {what}"
    return Die(title, [events.names[k] for k in indices], theta[:, indices], quantity)


def _die(model: Model, name: str) -> Die:
    """The probabilities of a feature's categories; the least probable ones are merged."""
    parameters, index = part_of(model, name)
    levels = parameters.scored_levels[index]
    names = [str(level) for level in levels[in_order(levels.tolist())].tolist()]
    theta = np.exp(log_density(model, {name: pa.array(names)}))
    if len(names) <= FACES:
        return Die(name, names, theta)
    top = np.sort(np.argsort(-(model.posterior().class_prior @ theta), kind="stable")[: FACES - 1])
    other_theta = np.delete(theta, top, axis=1).sum(axis=1, keepdims=True)
    names = [names[k] for k in top] + [f"{len(names) - len(top):,} others"]
    return Die(name, names, np.hstack([theta[:, top], other_theta]))


# ---- identical -----------------------------------------------------------------------------------


MOST_ROWS = 2000  # rows up to which each is a dot
LINES = 8  # columns of the row that are listed
TURN = np.pi * (3.0 - np.sqrt(5.0))  # the golden angle spreads dots evenly in a disc (Vogel 1979)
EDGE = 0.05  # from a dot to the edge of its disc, in radii of the largest disc
SHADES = "0.93", style.COLOURS[5], style.COLOURS[1]
DOTS = "0.6", style.COLOURS[0], style.style(1).dark


@dataclass(kw_only=True, eq=False, repr=False)
class IdenticalRowsDisplay:
    """Estimate P(y | x) = |C| / |B| from A ⊃ B ⊃ C: all rows, those equal to x, those in class y.

    Lecture 1, "we can estimate P(y | x) as |C| / |B|", and its problem: in many dimensions B is
    empty. Areas are to scale; up to 2,000 rows are dots.

    Parameters
    ----------
    counts : (|A|, |B|, |C|), weights of rows.
    row : the values of x, by column.
    label : y.

    Attributes
    ----------
    ax_, figure_
    discs_ : list of Circle: A, and B and C if they are not empty.
    """

    counts: tuple[float, float, float]
    row: Mapping[str, Any]
    label: Label

    @classmethod
    def from_estimator(
        cls, estimator: Any, row: Mapping[str, Any] | Sequence[Any], label: Any,
        ax: Axes | None = None,
    ) -> Self:  # fmt: skip
        """Count the training rows of a fitted `JointBayes`.

        Parameters
        ----------
        estimator : fitted `JointBayes`.
        row : the values of x by column, or in the order of the columns; columns that are not named
            may have any value.
        label : y, one of the classes.
        ax : axes to draw in; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is no joint table, the row does not fit it, or the
            label is not one of the classes.
        """
        model = model_of(estimator)
        values = _named(model, row)
        classes = model.classes.tolist()
        if label not in classes:
            raise ValueError(f"label must be one of the classes, {few(classes)}, not {label!r}")
        posterior = model.posterior()
        parameters: Any = posterior.parameters
        columns = {name: pa.array([str(value)]) for name, value in values.items()}
        rows = Predictor(posterior).encode(pa.table(columns))
        row_weights, matching = parameters.count.sum(axis=1), parameters.matching(rows)[0]
        counts = (
            float(row_weights.sum()),
            float(matching.sum()),
            float(matching[classes.index(label)]),
        )
        return cls(counts=counts, row=values, label=label).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the given axes, or in a new figure."""
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        n_rows = self.counts[0]
        self.discs_ = [
            ax.add_patch(Circle((0.0, 0.0), np.sqrt(count / n_rows), fc=colour, ec="black", lw=1.2))
            for count, colour in zip(self.counts, SHADES, strict=True)
            if count > 0
        ]
        self._draw_dots(ax)
        self._draw_names(ax)
        ax.set(xlim=(-1.05, 2.6), ylim=(-1.15, 1.05), aspect="equal")
        ax.set_axis_off()
        ax.set_title(self._estimate(), fontsize="medium")
        return self

    def _estimate(self) -> str:
        """The estimate |C| / |B| as a title."""
        _, same, both = self.counts
        ratio = (
            rf"$\hat P$({style.label(self.label)} | x) = |C| / |B| = {both:,.10g} / {same:,.10g}"
        )
        return f"{ratio} = {both / same:.3g}" if same > 0 else f"{ratio}: no estimate, B is empty"

    def _draw_dots(self, ax: Axes) -> None:
        """Draw rows as dots, if few and whole: C in the middle, B around it, then the others."""
        if self.counts[0] > MOST_ROWS or any(count % 1 for count in self.counts):
            return
        total, same, both = map(int, self.counts)
        k = np.arange(total)
        ends = np.array([0, both, same, total])
        ring = np.searchsorted(ends[1:3], k, "right")
        inner, outer = np.sqrt(ends / total)[[ring, ring + 1]]
        gap = np.minimum(EDGE, (outer - inner) / 3)  # so that no dot lies on an edge
        inner, outer = np.where(ring > 0, inner + gap, 0.0), outer - gap
        fraction = (k - ends[ring] + 0.5) / (ends[ring + 1] - ends[ring])
        radius = np.sqrt(inner**2 + fraction * (outer**2 - inner**2))
        kind = 2 - ring
        size = min(1600.0 / total, 60.0)
        ax.scatter(
            radius * np.cos(TURN * k), radius * np.sin(TURN * k), s=size, lw=0,
            c=[DOTS[dot_kind] for dot_kind in kind], zorder=3,
        )  # fmt: skip

    def _draw_names(self, ax: Axes) -> None:
        """Label each set, with a line to its edge."""
        values = [f"{name} = {value}" for name, value in self.row.items()]
        lines = [style.label(value) for value in values[:LINES]]
        if len(values) > LINES:
            lines.append(f"and {len(values) - LINES:,} more")
        total, same, both = (f"{count:,.10g}" for count in self.counts)
        of_class = style.label(self.label)
        texts = (
            (0.85, f"A: all rows, {total}"),
            (0.45, "\n".join([f"B: identical to x, {same}", *(f"    {line}" for line in lines)])),
            (-0.85, f"C: of these y = {of_class}, {both}"),
        )
        for (height, text), count, angle in zip(texts, self.counts, (55, 10, -60), strict=True):
            radius = np.sqrt(count / self.counts[0])
            turn = np.radians(angle)
            ax.annotate(
                text, (radius * np.cos(turn), radius * np.sin(turn)), (1.2, height),
                va="top", ha="left", fontsize="small",
                arrowprops={
                    "arrowstyle": "-", "color": "black", "lw": 0.9, "relpos": (0.0, 1.0),
                    "shrinkA": 2.0, "shrinkB": 0.0,
                } if count > 0 else None,
            )  # fmt: skip


def _named(model: Model, row: Any) -> dict[str, Any]:
    """The checked values of a row, by column."""
    if not isinstance(model.family, Joint):
        raise ValueError("rows are counted by a joint table alone: fit JointBayes")
    names = model.schema.ordered
    if isinstance(row, Mapping):
        if unknown := [str(name) for name in row if name not in names]:
            raise ValueError(f"row names {few(unknown)}, but the columns are {few(names)}")
        return {str(name): value for name, value in row.items()}
    values = [row] if isinstance(row, str) else list(row)
    if len(values) != len(names):
        raise ValueError(f"row has {len(values)} values, but there are {len(names)} columns")
    return dict(zip(names, values, strict=True))


# ---- Bayes error ---------------------------------------------------------------------------------


FINE = 1 << 14  # points of the numerical integral
BEYOND = 2.0  # its range beyond the drawn range on either side, in multiples of the latter
STRIP = 0.035  # height of the strip of decisions, as a share of the axes


@dataclass(kw_only=True, eq=False, repr=False)
class BayesErrorDisplay:
    """The Bayes error R(f*) as an area: the error of the best classifier where classes overlap.

    Lecture 2, "Optimal Classification". The lines are P(y) p(x | y), which is P(y | x) up to p(x);
    f*(x) is the class of the highest line, and the strip below has its colour. The sum of all other
    lines is hatched; its area is R(f*) = P(f*(X) ≠ Y). It is the error with one feature, if the
    model's densities are true.

    Parameters
    ----------
    name : of the feature.
    x : (m,) its values.
    joint : (C, m) P(c) p(x | c), per unit of the feature, or a probability.
    quantity : what p(x | c) is.
    error : R(f*), from 0 to 1.
    classes : (C,) labels.

    Attributes
    ----------
    ax_, figure_, legend_
    lines_ : list of Line2D, one for each class.
    lost_ : PolyCollection, the area of the error.
    boundaries_ : list of Line2D, where f* changes.
    """

    name: str
    x: Float64
    joint: Float64
    quantity: CurveKind
    error: float
    classes: Labels

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature: Any = None,
        feature_names: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Evaluate one feature of a fitted estimator of naively, and draw.

        Parameters
        ----------
        estimator : fitted; `from_parameters` makes one of given densities.
        feature : name or position of a numeric feature, which is used alone; by default the only
            one.
        feature_names : for a model that was fitted to an array.
        ax : axes to draw in; a new figure by default.

        Raises
        ------
        TypeError, ValueError : if the estimator is not one of naively, or has no such feature.
        """
        model = model_of(estimator, feature_names)
        name = _chosen(model, feature)
        curves = curves_of(model, name, None)
        prior = model.posterior().class_prior[:, np.newaxis]
        return cls(
            name=name, x=curves.x, joint=prior * curves.density, quantity=curves.quantity,
            error=_error(model, name, curves.x, curves.quantity), classes=model.classes,
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in the given axes, or in a new figure."""
        self.ax_ = ax = style.axes(ax)
        self.figure_ = ax.figure
        steps = self.quantity == COUNT
        error = self.joint.sum(axis=0) - self.joint.max(axis=0)
        self.lost_ = ax.fill_between(
            self.x, error, step="mid" if steps else None, facecolor="0.85", edgecolor="0.35",
            hatch="////", lw=0.0, zorder=1,
        )  # fmt: skip
        styles = style.styles(len(self.classes))
        self.lines_ = [
            ax.plot(
                self.x, joint_line, c=look.colour, ls=look.line, lw=2.2, zorder=3,
                drawstyle="steps-mid" if steps else "default",
            )[0]
            for joint_line, look in zip(self.joint, styles, strict=True)
        ]  # fmt: skip
        peak = max(float(self.joint.max()), float(error.max())) or 1.0
        self._draw_decisions(ax, styles, 0.5 if steps else 0.0)
        ax.set_ylim(-2.0 * STRIP * peak, 1.05 * peak)
        ax.set_xlabel(style.label(self.name))
        ax.set_ylabel("P(y) P(x | y)" if steps else "P(y) p(x | y)")
        style.plain(ax)
        handles = [Line2D([], [], c=look.colour, ls=look.line, lw=2.2) for look in styles]
        shaded = Patch(facecolor="0.85", edgecolor="0.35", hatch="////", lw=0.0)
        names = [style.label(name) for name in self.classes.tolist()]
        texts = [*names, f"R(f*) = {self.error:.3g}"]
        self.legend_ = style.legend(ax, [*handles, shaded], texts)
        return self

    def _draw_decisions(self, ax: Axes, styles: list[style.Style], half: float) -> None:
        """Draw the strip of decisions f*(x), and lines where they change."""
        decisions, low, high = self.joint.argmax(axis=0), self.x[0] - half, self.x[-1] + half
        edges = np.concatenate([[low], (self.x[:-1] + self.x[1:]) / 2, [high]])
        ax.set_xlim(low, high)
        starts = np.flatnonzero(np.diff(decisions, prepend=-1))
        for start, stop in zip(starts, [*starts[1:], len(decisions)], strict=True):
            look = styles[decisions[start]]
            ax.axvspan(
                edges[start], edges[stop], 0.0, STRIP, facecolor=look.colour, hatch=look.hatch,
                edgecolor="white", lw=0.0, zorder=2,
            )  # fmt: skip
        self.boundaries_ = [
            ax.axvline(edges[start], c="black", lw=1.0, ls=(0, (1, 2)), zorder=2)
            for start in starts[1:]
        ]


def _chosen(model: Model, selector: Any) -> str:
    """The feature to evaluate, by its name or position; by default the only one."""
    families = model.schema.family_of
    curved = [n for n in model.schema.ordered if families[n].curve in (DENSITY, COUNT)]
    if not curved:
        raise ValueError(
            "no feature of this model has a density or counts, under which to shade; "
            "`bayes_error()` computes the Bayes error of all features"
        )
    if selector is None and len(curved) > 1:
        raise ValueError(
            f"the model has {len(curved)} features of numbers: name the one to show by "
            "`feature`; `bayes_error()` computes that of all features"
        )
    return feature(model, curved[0] if selector is None else selector, curved)


def _error(model: Model, name: str, x: Float64, quantity: CurveKind) -> float:
    """R(f*): the sum or integral of all but the highest line, including the tails."""
    tail = BEYOND * (x[-1] - x[0])
    lower, upper = model.schema.family_of[name].summary.bounds
    low, high = max(x[0] - tail, lower), min(x[-1] + tail, upper)
    if quantity == COUNT:
        points: npt.NDArray[Any] = np.arange(np.floor(low), min(high, low + (1 << 20)) + 1.0)
    else:
        points = np.union1d(np.linspace(low, high, FINE), x)
    with np.errstate(over="ignore"):
        density = np.exp(log_density(model, {name: points}))
    joint = model.posterior().class_prior[:, np.newaxis] * density
    widths = np.ones(len(points)) if quantity == COUNT else np.gradient(points)
    total = joint.sum(axis=0)
    return float((total - joint.max(axis=0)) @ widths / (total @ widths))
