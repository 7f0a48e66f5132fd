"""The cases of the law tests: a classifier each, with ordinary and awkward rows of its kind.

Rows are arrays whose first axis is the row: numbers, cells of a table (None if missing), documents.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from corpora import ALIKE as TEXTS_ALIKE
from corpora import (
    DOCUMENTS,
    VARIANTS,
    corpus,
    document_forms,
    new_text,
    options,
    refers,
    without_weights,
)
from corpora import EVENTS as TEXT_EVENTS
from hypothesis import strategies as st
from kit import CLASSIFIERS, TIES, domain, new, numbers
from scipy import sparse

from naively import (
    AutoBayes,
    Bernoulli,
    Categorical,
    Discretized,
    Exponential,
    Gamma,
    Gaussian,
    GaussianBayes,
    Joint,
    JointBayes,
    KernelDensity,
    LogNormal,
    Multinomial,
    MultivariateGaussian,
    NaiveBayes,
    Poisson,
    Text,
)
from naively.families.registry import FAMILIES
from naively.text.documents import Documents

NAN = float("nan")
SIZES = [0.0, 1.0, 3.0, 0.1, 1 / 3, 1e8, 1e8 + 1, 1e-300, 1e300, 5e-324, 2.0**60 + 256, 1.7e308]
WEIGHTS = st.sampled_from([0.0, 1.0, 1.0, 2.0, 0.1, 1e-300, 5e-324, 1e8 + 1 / 3, 1e200])
POSITIVE = WEIGHTS.filter(bool)
SIGNED = [*SIZES, *(-x for x in SIZES)]


def reals(low, high):
    """Numbers that have a density, many of which are awkward to add, square or divide."""
    return st.sampled_from([x for x in SIGNED if low <= x <= high]) | st.floats(low, high)


def eighths(low):
    """Few numbers above `low`, so that they are often equal, and sums of them exact."""
    return st.integers(-40 if low < 0 else int(low > 0), 40).map(lambda k: k / 8)


HOSTILE = {
    "reals": reals(-1.7976931348623157e308, 1.7976931348623157e308),
    "counts": reals(0.0, 1.7976931348623157e308),
    "fractions": st.sampled_from([0.0, 1.0, 0.5, 0.1, 5e-324, 1e-300]) | st.floats(0, 1),
    "levels": st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0, 40.0, 1e6, 2.0**40]),
}
TAME = {
    "reals": eighths(-1),
    "counts": st.integers(0, 40).map(lambda k: k / 4),
    "fractions": st.integers(0, 8).map(lambda k: k / 8),
    "levels": st.integers(0, 4).map(float),
}
FAR = np.array([[1e308, 1e308], [1.7e308, 0], [0, 1.7e308], [1e300, 1e-300]])


@dataclass(frozen=True, eq=False, repr=False)
class Case:
    """What the laws are tried on.

    Attributes
    ----------
    new : a fresh classifier, by its parameters.
    row : (tame, width) -> a strategy of rows; any width if that is None.
    large : (n, seed) -> tame random rows, and labels 0, 1, 2.
    pack : a list of rows as an array.
    given : rows as the classifier takes them.
    forms : (draw, rows) -> the same rows in something else that it takes.
    makers : a strategy of `new`, where there are many.
    far, bad, wide : rows to predict, of two columns; two rows without a meaning; (rows, labels) of
        many columns or words. None if there are none.
    many : names of kinds of many rows, and a function from such a name to (rows, labels).
    probe : rows whose scores are compared besides those that were learned.
    hole : (rows, column) -> the rows without the values of that column; None: no columns.
    nothing : a missing value.
    unsmoothed : whether the parameters stay as they are if all rows weigh less.
    apart : parameters with which each column is learned for itself; None if never.
    explain : (classifier, X) -> what each column adds to each class.
    slack : nats a row by which a model of samples may be further off than chance has it.
    but : laws that do not hold, with the reason; `near`: laws that hold up to rounding.
    """

    new: Callable[..., Any]
    row: Callable[..., Any]
    large: Callable[..., Any]
    pack: Callable[..., Any] = np.array
    given: Callable[..., Any] = np.asarray
    forms: Callable[..., Any] = lambda draw, rows: rows
    makers: Any = None
    far: Any = None
    bad: Any = None
    wide: Callable[[], Any] | None = None
    many: tuple[tuple[str, ...], Callable[..., Any]] = ((), None)
    probe: Any = None
    hole: Callable[..., Any] | None = None
    nothing: Any = NAN
    unsmoothed: bool = False
    apart: dict[str, Any] | None = None
    slack: float = 0.0
    explain: Callable[..., Any] = lambda classifier, X: classifier.explain(X)
    but: dict[str, str] = field(default_factory=dict)
    near: dict[str, str] = field(default_factory=dict)


@dataclass
class Example:
    """Rows to learn, and who learns them."""

    new: Callable[..., Any]
    rows: Any
    y: Any
    weights: Any


@cache
def lists(values, least, most):
    """Lists of values. A strategy that is made anew for each example is checked anew, too."""
    return st.lists(values, min_size=least, max_size=most)


@cache
def with_labels(row):
    return st.tuples(row, st.integers(0, 2))


@cache
def arrays(values, size, or_none):
    """Arrays of so many values."""
    found = lists(values, size, size).map(np.array)
    return st.none() | found if or_none else found


@st.composite
def examples(draw, case, tame=False, least=1, most=12, weights=None):
    """Few rows, their labels and weights: by default those of WEIGHTS, or none."""
    drawn = draw(lists(with_labels(case.row(draw, tame, None)), least, most))
    y = np.array([label for _, label in drawn])
    w = draw(arrays(WEIGHTS if weights is None else weights, len(y), weights is None))
    if w is not None and not w.any():
        w[0] = 1.0
    maker = st.just(case.new) if case.makers is None else case.makers
    return Example(draw(maker), case.pack([x for x, _ in drawn]), y, w)


# ---- arrays of numbers ---------------------------------------------------------------------------


def array_forms(draw, X, takes_sparse=True):
    """The same numbers as another kind of array."""
    kinds = ["C", "F", "strided", "reversed", "list", "read-only", "big-endian"]
    kinds += ["csr", "csc"] * takes_sparse
    with np.errstate(over="ignore"):
        if np.array_equal(X.astype(np.float32), X, equal_nan=True):
            kinds.append("float32")
    if (np.abs(X) < 100).all() and (np.floor(X) == X).all():
        kinds += ["int8", "int64"]
    kind = draw(st.sampled_from(kinds))
    if kind == "strided":
        return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    if kind == "reversed":
        return X[::-1, ::-1].copy()[::-1, ::-1]
    if kind == "csr":
        return sparse.csr_array(X)
    if kind == "csc":
        return sparse.csc_matrix(X)
    if kind == "list":
        return X.tolist()
    if kind == "read-only":
        X = X.copy()
        X.flags.writeable = False
        return X
    if kind == "big-endian":
        return X.astype(">f8")
    if kind in ("C", "F"):
        return np.array(X, order=kind)
    return X.astype(kind)


@cache
def or_nan(values):
    return values | st.just(NAN)


def array_row(hostile, tame, most, draw, is_tame, width):
    """A row of numbers; most is the greatest width, and the only one if below 0."""
    if width is None:
        width = -most if most < 0 else draw(st.integers(1, most))
    return lists(or_nan(tame if is_tame else hostile), width, width)


def awkward(pattern, n, d):
    """Rows that lead the bulk kernels off their fast path."""
    rng = np.random.default_rng(len(pattern))
    X = rng.normal(size=(n, d))
    if pattern == "offset":
        X += 1e8
    elif pattern == "growing":  # each part of another magnitude, up and down again
        X *= 10.0 ** np.repeat([0, 40, -60, 3, 60, -50], -(-n // 6))[:n, None]
    elif pattern == "extreme in the middle":
        X[n // 2, 1], X[n // 2 + 1, 0], X[n // 2 + 2, 2] = 1e150, 1e-300, 5e-324
    elif pattern == "heavy tails":
        X = rng.standard_cauchy((n, d)) ** 3
    elif pattern == "columns of all scales":
        X *= 10.0 ** np.linspace(-110, 110, d)
    elif pattern == "zeros then numbers":
        X[: n // 2] = 0.0
        X[:, 0] = 0.0
    elif pattern == "missing":
        X[rng.random((n, d)) < 0.05] = NAN
        X[: n // 9, 1] = NAN
    elif pattern == "float32":
        X = X.astype(np.float32)
    elif pattern == "integers":
        X = rng.integers(-100, 100, (n, d)).astype(np.int16)
    y = np.where(np.arange(n) < n // 2, rng.integers(0, 3, n), rng.integers(0, 2, n))
    return X, y


PATTERNS = (
    "normal", "offset", "growing", "extreme in the middle", "heavy tails", "columns of all scales",
    "zeros then numbers", "missing", "float32", "integers",
)  # fmt: skip


def awkward_of(kind, n, pattern):
    """Such rows in a domain."""
    X, y = awkward(pattern, n, 12)
    if kind == "counts":
        X = abs(X)
    elif kind == "levels":
        X = abs(X.astype(np.float64) % 37 // 1)
    return X, y


def without(X, column):
    """Numbers without those of a column."""
    X = np.array(X, float)
    X[:, column] = NAN
    return X


def far(kind):
    """Extreme rows of two columns."""
    if kind == "fractions":
        return FAR / 1.7e308
    if kind == "levels":
        return np.minimum(FAR // 1, 2.0**52)
    return np.vstack([FAR, -FAR]) if kind == "reals" else FAR


ONE_EACH = {"gaussian-None-0", "multinomial", "complement", "bernoulli", "categorical", "poisson"}
ORDER = "sums over the classes are rounded in the order of their names"
APART = {
    "gaussian-None-1": {"var_smoothing": 0.0}, "gaussian-classes-0": {"var_smoothing": 0.0},
    "gaussian-feature-floor": {"var_smoothing": 1e-3}, "bernoulli": {}, "bernoulli-soft": {},
    "categorical": {}, "poisson": {},
}  # fmt: skip
RATES = {"test_a_row_without_values_is_no_evidence": "rates are taken off the sum of all"}
NO_DENSITY = "its samples are those of the multinomial model of the same counts"


def classifier_case(name):
    """A classifier of arrays."""
    kind = domain(name)
    tied = name.startswith("gaussian") and not name.endswith("1")
    return Case(
        partial(new, name, n_jobs=1), partial(array_row, HOSTILE[kind], TAME[kind], 4),
        lambda n, seed=0: numbers(kind, n, 4, seed), forms=array_forms, far=far(kind),
        bad=np.array([np.full(4, np.inf), np.full(4, -1e300)]),
        wide=lambda: numbers(kind, 100, 800),
        many=(PATTERNS if name in ONE_EACH else (), partial(awkward_of, kind, 24_001)),
        hole=without, unsmoothed=tied or name == "poisson-unsmoothed", apart=APART.get(name),
        but={"test_samples_teach_what_drew_them": NO_DENSITY} if "complement" in name
        else {"score_samples": "the factorials of huge counts are infinite"}
        if "multinomial" in name else {},
        near={"complement-norm": {
            "test_permuted_features_give_the_permuted_model": "its norm sums over the features"
        }, "poisson": RATES, "poisson-unsmoothed": RATES}.get(name, {}),
    )  # fmt: skip


# ---- families of numbers, each column by itself --------------------------------------------------

LEVELS = {"bernoulli", "categorical", "complement", "joint", "multinomial", "multivariate",
          "poisson", "pooled", "pooled_text", "text", "weighed_text"}  # fmt: skip
"""Families whose rows are something else than any numbers: they have cases of their own."""
NUMERIC = {
    **{name: family() for name, family in FAMILIES.items() if name not in LEVELS},
    "lognormal-1": LogNormal(ddof=1, var_smoothing=1e-3),
    "john-langley": KernelDensity("john-langley"),
    "fixed width": KernelDensity(0.3),
    "equal frequency": Discretized("frequency", bins=3),
    "unsmoothed bins": Discretized("frequency", alpha=0),
}
LARGE = {
    "exponential": lambda rng, y: rng.exponential(1.0 + y, (3, len(y))),
    "gamma": lambda rng, y: rng.gamma(0.7 + 2.0 * y, 1.0, (3, len(y))),
    "lognormal": lambda rng, y: rng.lognormal(y / 2, 0.3 + 0.2 * y, (3, len(y))),
}
ON_A_GRID = "where a feature has more than 4096 values, a model stays on the grid that it needed"
SLACK = {"kernel_density": 0.1, "discretized": 0.02}
"""Kernels smooth twice; cuts that are found in samples need not be those they came from."""


def numeric_many(family, pattern):
    """More rows than a table learns in one piece."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 140_001)
    X = rng.gamma(1.0 + y, 1.0, (2, len(y))).T
    X[::7, 1], X[1234] = NAN, X[1234] * (1e200 if pattern == "extreme" else 1.0)
    return np.column_stack([X, np.arange(len(y)) % 50 + 1.0]), y


def numeric_case(name):
    """A family of numbers in three columns of a table."""
    family = NUMERIC[name]
    low, high = family.summary.bounds

    def large(n, seed=0):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 3, n)
        if family.name in LARGE:
            return LARGE[family.name](rng, y).T, y
        X = rng.normal(y, 1.0 + y, (3, n)).T
        return (X if low < 0 else np.exp(X)), y

    grid = {"kernel_density", "discretized"} & {family.name}
    return Case(
        partial(NaiveBayes, {f"x{j}": family for j in range(3)}, n_jobs=1),
        partial(array_row, reals(low, high), eighths(low), -3), large,
        forms=partial(array_forms, takes_sparse=False),
        far=far("reals")[:, [0, 1, 0]] if low < 0 else np.maximum(FAR, 1e-300)[:, [0, 1, 0]],
        bad=np.array([[1e300] * 3, [1e-300] * 3]),
        many=(("extreme",), partial(numeric_many, family)),
        hole=without, unsmoothed=name in ("lognormal", "exponential", "gamma"),
        apart=None if name == "gaussian" else {}, slack=SLACK.get(family.name, 0.0),
        but={"test_many_rows_are_forgotten": ON_A_GRID} if grid else {},
    )  # fmt: skip


# ---- covariances ---------------------------------------------------------------------------------


def clouds(n=300, d=4, classes=3, seed=0):
    """Rows of correlated normal values, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    mix = rng.normal(size=(classes, d, d)) / np.sqrt(d) + np.eye(d)
    return np.einsum("nij,nj->ni", mix[y], rng.normal(size=(n, d))) + 2.0 * y[:, np.newaxis], y


COVARIANCES = {
    "full": GaussianBayes(),
    "full, shrunk": GaussianBayes(shrinkage=0.5),
    "full, unbiased": GaussianBayes(shrinkage="auto", ddof=1),
    "full, virtual rows": GaussianBayes(alpha=0.5),
    "tied": GaussianBayes("tied"),
    "tied, shrunk": GaussianBayes("tied", "oas", ddof=1),
    "tied diagonal, shrunk": GaussianBayes("tied_diagonal", 0.25),
}
IN_TURN = "a column adds what it does given those before it"
SHRUNK = "a model of samples is drawn to the mean variance once more"


def covariance_case(name):
    """A Gaussian with covariances."""
    params = COVARIANCES[name].get_params()
    patterns = tuple(p for p in PATTERNS if p != "columns of all scales" and p[:5] != "zeros")
    plain, own = name in ("full", "tied"), params["covariance"] in ("full", "tied")

    def many(pattern):
        return awkward(pattern, 4001, 12)

    return Case(
        partial(GaussianBayes, **{**params, "n_jobs": 1}),
        partial(array_row, HOSTILE["reals"] | TAME["reals"], TAME["reals"], 3),
        lambda n, seed=0: clouds(n, seed=seed), forms=partial(array_forms, takes_sparse=False),
        far=far("reals"), bad=np.array([np.full(4, np.inf), np.full(4, -1e300)]),
        wide=lambda: clouds(300, 70), many=(patterns if "shrunk" in name else (), many),
        hole=without, unsmoothed=name in ("full", "tied", "full, shrunk"),
        but={**({"test_a_missing_value_drops_its_feature_from_the_score": IN_TURN} if own else {}),
             **({} if plain else {"test_samples_teach_what_drew_them": SHRUNK})},
        near={"test_permuted_features_give_the_permuted_model": IN_TURN,
              "test_renamed_classes_give_the_permuted_model": ORDER},
    )  # fmt: skip


# ---- tables --------------------------------------------------------------------------------------

LONG = [f"a-level-that-is-longer-than-sixteen-bytes,-number-{k}" for k in range(3)]  # no prose
STRANGE = ["", "a", "b", "a\0", "\0", '"', "\\", ",", '","', "[", '["a","b"]', "\x1f", "ü", "😀",
           LONG[0]]  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column of a table: its type, hostile and tame values, random ones given the classes."""

    type: pa.DataType
    hostile: Any
    tame: Any
    random: Callable[..., Any]


def table_of(columns, rows):
    """Rows as a table."""
    return {name: pa.array(rows[:, j].tolist(), column.type)
            for j, (name, column) in enumerate(columns.items())}  # fmt: skip


def table_forms(columns, draw, rows):
    """Rows as another kind of table."""
    table = pa.table(table_of(columns, rows))
    kind = draw(st.sampled_from(["dict", "table", "chunked", "pandas", "dictionary"]))
    if kind == "dict":
        return table_of(columns, rows)
    if kind == "chunked":
        return pa.concat_tables([table[:1], table[1:]])
    if kind == "pandas":
        return table.to_pandas()
    if kind == "dictionary":
        name = next(name for name in table.column_names if table[name].type == pa.string())
        at = table.column_names.index(name)
        return table.set_column(at, name, table[name].dictionary_encode())
    return table


def table_large(columns, n, seed=0):
    """Random rows of a table, some values missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    rows = np.empty((n, len(columns)), object)
    for j, column in enumerate(columns.values()):
        rows[:, j] = column.random(rng, y).tolist()
        rows[j :: 17 + j, j] = None
    return rows, y


def cells_without(rows, column):
    rows = rows.copy()
    rows[:, column] = None
    return rows


def table_case(new, columns, **more):
    """Rows of cells of different kinds."""
    few = len(columns) < 5
    tame, hostile = (
        st.tuples(*(getattr(column, kind) | st.none() for column in columns.values()))
        for kind in ("tame", "hostile")
    )
    return Case(
        new, lambda draw, is_tame, width: tame if is_tame else hostile,
        partial(table_large, columns), lambda rows: np.array(rows, object),
        partial(table_of, columns), partial(table_forms, columns), hole=cells_without, nothing=None,
        many=(("plain",), lambda _: table_large(columns, 140_001 if few else 20_001)), **more,
    )  # fmt: skip


def some(column):
    """A column of numbers of any size."""
    return Column(pa.float64(), reals(-1e300, 1e300), eighths(-1), column)


def positive(column):
    return Column(pa.float64(), reals(5e-324, 1e300), eighths(1), column)


def whole(most):
    values = st.integers(0, most)
    return Column(pa.int64(), values, values, lambda rng, y: rng.poisson(1.0 + y))


WORDY = st.lists(st.sampled_from(["one", "two", "drei", "ΟΔΟΣ", "five"]), min_size=1).map(" ".join)
PROSE = Column(
    pa.string(), WORDY, WORDY,
    lambda rng, y: np.array([" ".join(rng.choice(["the", "one", "two"], 3)) for _ in y], object),
)  # fmt: skip
LETTERS = st.sampled_from(["a", "b", "ü", "d e", 'q"', "x,y", *LONG])
LEVEL = Column(pa.string(), LETTERS, LETTERS, lambda rng, y: rng.choice(["a", "b", "ü"], len(y)))
FLAG = Column(pa.bool_(), st.booleans(), st.booleans(), lambda rng, y: rng.random(len(y)) < 0.3)
NORMAL = some(lambda rng, y: rng.normal(y, 1.0 + y))
AMOUNT = positive(lambda rng, y: rng.gamma(1.0 + y, 1.0))
COLUMNS = {
    "level": LEVEL, "few": whole(3), "flag": FLAG, "normal": NORMAL, "tied": NORMAL,
    "count": whole(30), "wait": AMOUNT, "size": AMOUNT, "amount": AMOUNT, "shape": NORMAL,
    "cut": NORMAL, "w1": whole(9), "w2": whole(9), "w3": whole(9),
}  # fmt: skip
MIXED = {
    "level": Categorical(),
    "few": Categorical(alpha=0.5, unseen="ignore"),
    "flag": Bernoulli(binarize=None),
    "normal": Gaussian(floor="feature"),
    "tied": Gaussian(tie="classes"),
    "count": Poisson(),
    "wait": Exponential(),
    "size": LogNormal(),
    "amount": Gamma(),
    "shape": KernelDensity(),
    "cut": Discretized(),
    ("w1", "w2", "w3"): Multinomial(),
}
"""A column of every family, and one of three columns."""
BLOCKS = {"a": LEVEL, "b": PROSE, "c": PROSE, "d": LEVEL, "e": NORMAL}
IN_BLOCKS = {
    ("d", "a"): Joint(0.5), "b": Text(), "e": Gaussian(floor="feature"),
    "c": Text(event="bernoulli", ngram_range=(1, 2), alpha=0.5),
}  # fmt: skip
JOINT = {f"c{k}": replace(LEVEL, hostile=st.sampled_from(STRANGE[:2] + STRANGE[k::3]))
         for k in range(4)}  # fmt: skip
MATRICES = {"a": NORMAL, "b": NORMAL, "c": NORMAL, "d": LEVEL}
POOLED = {"level": LEVEL, "few": whole(3), "flag": FLAG, "normal": NORMAL, "shape": NORMAL}
IN_MATRICES = {("c", "a"): MultivariateGaussian(shrinkage=0.5), "b": Gaussian(), "d": Categorical()}
FINER = {"test_many_rows_are_forgotten": ON_A_GRID}
MISSING_TELLS = "a missing value is evidence of its own"
STOPS = "the search for weights stops nearby, where depends on the order of sums"
DROPPED = "the most frequent words of its samples are dropped again"
SINGLE = "only single words that are kept are drawn"
TABLES = {
    "mixed table": table_case(partial(NaiveBayes, MIXED, n_jobs=1), COLUMNS, but=FINER,
                              slack=0.2, near={"test_contributions_sum_to_the_score": "sums"}),
    "table with text": table_case(
        partial(NaiveBayes, IN_BLOCKS, n_jobs=1), BLOCKS,
        but={"test_a_missing_value_drops_its_feature_from_the_score": IN_TURN,
             "test_samples_teach_what_drew_them": SINGLE, "test_a_sample_is_repeatable": SINGLE},
        near={"test_permuted_features_give_the_permuted_model": IN_TURN},
    ),
    "joint": table_case(
        partial(JointBayes, missing=[], n_jobs=1), JOINT,
        but={"test_a_missing_value_drops_its_feature_from_the_score": IN_TURN},
        near={"test_permuted_features_give_the_permuted_model": IN_TURN},
    ),
    "joint, unsmoothed": table_case(
        partial(JointBayes, alpha=0, missing=[], n_jobs=1), JOINT, unsmoothed=True,
        but={"test_a_missing_value_drops_its_feature_from_the_score": IN_TURN},
        near={"test_permuted_features_give_the_permuted_model": IN_TURN},
    ),
    "pooled": table_case(
        partial(AutoBayes, n_jobs=1), POOLED,
        but={"test_a_missing_value_drops_its_feature_from_the_score": MISSING_TELLS,
             "test_a_row_without_values_is_no_evidence": MISSING_TELLS,
             "test_permuted_features_give_the_permuted_model": STOPS,
             "test_renamed_classes_give_the_permuted_model": STOPS,
             "test_samples_teach_what_drew_them": "its samples are the rows that it learned"},
    ),
    "table with a matrix": table_case(
        partial(NaiveBayes, IN_MATRICES, n_jobs=1), MATRICES,
        but={"test_a_missing_value_drops_its_feature_from_the_score": IN_TURN,
             "test_samples_teach_what_drew_them": SHRUNK},
        near={"test_permuted_features_give_the_permuted_model": IN_TURN},
    ),
}  # fmt: skip


# ---- documents -----------------------------------------------------------------------------------

PROBE = ["the ab", None, "", "unknown words", "ΟΔΟΣ οδος naïve x1 x1 x1", "zz " * 50,
         " AB\0 \ud800"]  # fmt: skip


def long_documents():
    texts, y = corpus(100)
    present = " ".join(text for text in texts if text)
    return np.array([present * 100, *texts], object), np.append(0, y)


def text_case(chosen, makers=None):
    """Documents, of one choice of options or of any."""
    but = {}
    if chosen.get("weights") or "models" in chosen:
        but["test_samples_teach_what_drew_them"] = NO_DENSITY
        but["test_renamed_classes_give_the_permuted_model"] = "weights are found to six digits"
    if chosen.get("event") == "complement":
        but["test_samples_teach_what_drew_them"] = NO_DENSITY
    elif {
        *("ngram_range", "analyzer", "n_features", "weighting", "length_norm", "stop_words"),
        "models",
    } & {*chosen}:
        but["test_samples_teach_what_drew_them"] = SINGLE
        but["test_a_sample_is_repeatable"] = SINGLE
    if "drop_most_frequent" in chosen:
        but["test_samples_teach_what_drew_them"] = DROPPED
    if refers(chosen):
        but["test_rows_without_weight_may_hold_anything"] = "each fit refers to its own documents"
    return Case(
        partial(new_text, chosen), lambda draw, tame, width: DOCUMENTS,
        lambda n, seed=0: (np.array(corpus(n, seed)[0], object), corpus(n, seed)[1]),
        lambda rows: np.array(rows, object), np.ndarray.tolist, document_forms, makers,
        bad=np.array(["never learned", None], object), wide=long_documents,
        many=(("plain",), lambda _: (np.tile(corpus(250)[0], 24), np.tile(corpus(250)[1], 24))),
        explain=lambda classifier, X: classifier.model_.posterior().explain(Documents.of(X)),
        probe=np.array(PROBE, object), nothing=None, unsmoothed=chosen.get("alpha") == 0, but=but,
        near={"test_renamed_classes_give_the_permuted_model": ORDER}
        if chosen.get("event") == "complement" else {},
    )  # fmt: skip


OTHERS = {
    **{name: classifier_case(name) for name in CLASSIFIERS},
    **{name: numeric_case(name) for name in NUMERIC},
    **{name: covariance_case(name) for name in COVARIANCES},
    **TABLES,
}
EVENTS = {
    f"text, {event}": text_case(
        {"event": event}, options(event).map(lambda chosen: partial(new_text, chosen))
    )
    for event in TEXT_EVENTS
} | {
    "text, weighed": text_case(
        {"weights": "auto"},
        options("binary", "auto").map(lambda chosen: partial(new_text, chosen)),
    ),
    "text, pooled": text_case(
        {"models": "auto"},
        st.sampled_from([VARIANTS[name] for name in VARIANTS if name.startswith("pooled")]).map(
            lambda chosen: partial(new_text, chosen)
        ),
    ),
}
UNBIASED = "the unbiased variance of one value, of which most drawn rows have some, is refused"
for name in ("lognormal-1", *(f"gaussian-{tie}-1" for tie in TIES)):
    OTHERS[name].but.update({
        "test_a_missing_value_drops_its_feature_from_the_score": UNBIASED,
        "test_a_feature_is_learned_from_the_rows_that_have_it": UNBIASED,
    })  # fmt: skip
DRAWN = {**OTHERS, **EVENTS}
"""For laws over drawn rows: of documents, the options are drawn as well."""
ALIKE = {*CLASSIFIERS, *NUMERIC, *COVARIANCES, "joint, unsmoothed"} - {
    *ONE_EACH,
    *FAMILIES,
    "bernoulli-soft",
    "bernoulli-unsmoothed",
    "full",
    "tied, shrunk",
}
COUNTED = {name: case for name, case in DRAWN.items() if name not in ALIKE}
"""For laws of what is counted: without the cases that count what another one counts."""
FIXED = OTHERS | {
    f"text, {name}": text_case(without_weights(chosen)) for name, chosen in VARIANTS.items()
}
"""For laws over given rows."""
REPEATED = ALIKE | {f"text, {name}" for name in TEXTS_ALIKE} | {"text, complement", "text, binary"}
"""Cases of which another one has all that they have: the gate tries the laws on them, too."""
