"""Every experiment runs on what scikit-learn bundles: tables, figures, pictures, refusals."""

import re
import runpy
import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.image import imread
from numpy.testing import assert_allclose
from programs import as_program
from sklearn.feature_extraction.text import CountVectorizer

from naively import TextNB

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).parent.parent / "experiments"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("data", "uci"))
DRAWN = {"sample_complexity"}  # whose rows are in no file
WITHOUT_PICTURES = {
    "bets", "calibration", "crossposts", "ng_jordan_choices", "student", "tokens",
}  # fmt: skip


@dataclass
class Table:
    title: str
    columns: list[str]
    rows: list[list[str]]

    def __getitem__(self, column):
        at = self.columns.index(column)
        return [row[at] for row in self.rows]

    def numbers(self, column, **where):
        """The figures of a column, in the rows that have these values."""
        kept = [self.columns.index(name) for name in where]
        rows = [row for row in self.rows if [row[k] for k in kept] == list(where.values())]
        assert rows, (column, where)
        found = [row[self.columns.index(column)] for row in rows]
        return [float(cell.replace(",", "")) for cell in found if cell]


def tables_of(printed):
    """The tables in Markdown, each with the line of text before it."""
    found, title = [], ""
    for line in printed.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.lstrip().startswith("|"):
            title = line.strip() or title
            in_table = False
        elif set(line.strip()) <= set("|-: "):
            continue
        elif in_table:
            found[-1].rows.append(cells)
        else:
            found.append(Table(title, cells, []))
            in_table = True
    return found


def timeless(table):
    """A table without how long things took."""
    kept = [k for k, name in enumerate(table.columns) if name != "seconds"]
    return table.title, [[row[k] for k in kept] for row in [table.columns, *table.rows]]


@pytest.fixture
def run(monkeypatch):
    """Runs an experiment as a program does: (exit code, standard output, standard error)."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delenv("NAIVELY_DATA", raising=False)

    def run(script, *arguments):
        with mpl.rc_context():
            return as_program(FOLDER / f"{script}.py", *arguments)

    before = mpl.get_backend()
    plt.switch_backend("agg")
    yield run
    plt.close("all")
    plt.switch_backend(before)
    sys.modules.pop("data", None)


def digits(tables):
    models, *_ = tables
    assert max(models.numbers("error %")) < 30  # chance: 90
    best = models["model"][np.argmin(models.numbers("error %"))]
    assert "full" in best


def fmri(tables):
    first = tables[0]
    assert min(first.numbers("σ_i")) > 75  # chance: 50


def ladder(tables):
    walk, curves = tables[0], tables[-1]
    prior = walk.numbers("error %", rung="class prior")[0]
    for name in walk["rung"]:
        if name not in ("class prior", "joint table"):
            assert walk.numbers("error %", rung=name)[0] < prior / 2
            rest = walk.numbers("log-loss", rung="class prior")[0]
            assert walk.numbers("log-loss", rung=name)[0] < rest
    # what assumes least gains most by more rows
    first, last = curves.columns[1], curves.columns[-1]
    gains = np.subtract(curves.numbers(first), curves.numbers(last))
    assert curves["rung"][gains.argmax()] == "joint tables of pairs"


def newsgroups(tables):
    protocol, *curves, by_date = tables
    commonest = 100 * 45 / 246
    for model in ("multinomial", "binary", "complement", "TF-IDF", "TWCNB"):
        figures = protocol.numbers(model)
        assert min(figures[:5]) > 1.4 * commonest, model
    for table, posts in zip(curves, ("as posted", "by date"), strict=True):
        for model in ("multinomial", "bernoulli", "complement", "TWCNB"):
            whole = protocol.numbers(model, posts=posts)
            assert table.numbers(model)[-1] == whole[0]  # the end of the curve is the table's
        everything = table.numbers("multinomial, all words")
        assert everything == sorted(everything)  # and it grows
    assert curves[1].numbers("band")[-1] == 0.0  # all posts, in any order
    # a model that went on learning ends where one that learned at once is
    at_once = by_date.numbers("naively", model="multinomial, α=1")
    assert at_once == curves[1].numbers("multinomial, all words")[-1:]
    for row in by_date.rows:
        equal = row[by_date.columns.index("equal predictions")]
        if equal and "log" not in row[0]:
            one, whole = equal.split(" of ")
            assert one == whole, row[0]


def ng_jordan(tables):
    table = tables[0]
    few, last = table.columns[3], table.columns[-1]
    assert max(table.numbers(last, model="naive Bayes")) < 0.2
    ours, other = (
        table.numbers(few, model=name) for name in ("naive Bayes", "logistic regression")
    )
    assert np.all(np.less(ours, other))  # Ng & Jordan: ahead while rows are few


def ng_jordan_choices(tables):
    discrete, continuous, planes = tables
    assert max(discrete.numbers("off")) < 0.1
    for name in continuous.columns[1:]:
        assert max(continuous.numbers(name)) < 0.25, name
    # a plane that leaves a margin errs less than one drawn from all that separate
    assert np.mean(planes.numbers("off, 0")) < np.mean(planes.numbers("off, 300"))


def sample_complexity(tables):
    table = tables[0]
    naive, logistic, means = (
        np.array(table.numbers(name)) for name in ("naive Bayes", "logistic regression", "means")
    )
    d = np.array(table.numbers("d"))
    assert np.all(naive < logistic)
    assert naive[-1] <= naive[0]  # more features are more evidence
    assert logistic[-1] / logistic[0] > np.sqrt(d[-1] / d[0])
    assert means[-1] / means[0] < np.sqrt(d[-1] / d[0])


def bets(tables):
    mails, news = tables
    asked, lost = mails.numbers("sure, %"), mails.numbers("ham lost")
    assert asked[0] == 100
    assert lost[-1] == 0
    for found in (asked, lost):
        assert list(found) == sorted(found, reverse=True)
    few, more = news.numbers("log-loss")
    assert more < min(few, np.log(2))


def calibration(tables):
    (table,) = tables
    assert min(table.numbers("accuracy")) > 0.6
    assert all(np.less(table.numbers("calibration error"), table.numbers("of decisions")))


def crossposts(tables):
    (table,) = tables
    assert table.numbers("micro F1", model="MultilabelNB")[0] > 0.9
    one, rest = (
        [table.numbers(name, model=model) for name in ("micro F1", "macro F1", "-log P")]
        for model in ("MultilabelNB, textbook", "one vs rest, textbook")
    )
    assert one == rest


def sentiment(tables):
    assert min(tables[0].numbers("naively")) > 1.2 * 100 * 134 / 246


def spam(tables):
    protocols, second = tables
    chance = 100 * 134 / 246
    for protocol in ("random", "halves", "batches"):
        for model in ("multinomial", "binary"):
            found = protocols.numbers("accuracy", protocol=protocol, model=model)
            assert found[0] > 1.2 * chance, (protocol, model)
    few, half, learned_on = np.add(
        second.numbers("ham lost, %"), second.numbers("spam missed, %")
    ).tolist()
    assert learned_on <= half < few


def student(tables):
    table = tables[0]
    columns = [name for name in table.columns if "rows: " in name]
    normal, own = (table.numbers(name) for name in columns)
    assert np.all(np.less(own, normal))  # with few rows a normal density is too sure
    normal, own = (table.numbers(f"all: {name}") for name in ("normal", "Student's t"))
    assert_allclose(own, normal, atol=0.05)  # with many it is the normal density


def tokens(tables):
    assert set(tables[0]["verdict"]) == {"equal"}
    assert min(tables[0].numbers("terms")) > 1000
    assert len(set(tables[0]["terms are"])) == 5


CHECKS = {name: globals()[name] for name in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS)
def test_small(script, run, tmp_path, monkeypatch):
    code, printed, _ = run(script, "--small", "--images", tmp_path / "new" / "images")
    assert code == 0
    tables = tables_of(printed)
    assert tables
    for table in tables:
        assert table.title
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows), table.title
        figures = [cell for row in table.rows for cell in row if re.fullmatch(r"[-+\d.,e]+", cell)]
        assert len(figures) >= len(table.rows), table.title
        assert not re.search(r"\b(nan|inf|None)\b", str(table.rows)), table.title
    CHECKS[script](tables)
    pictures = sorted((tmp_path / "new" / "images").iterdir())
    assert bool(pictures) == (script not in WITHOUT_PICTURES)
    for picture in pictures:
        assert picture.name.startswith(script.replace("_", "-")), picture.name
        pixels = imread(picture)[..., :3]
        assert min(pixels.shape[:2]) >= 200, picture.name
        inked = (pixels < 0.9).any(axis=2)
        assert 0.01 < inked.mean() < 0.9, picture.name
        across = [inked[:, part].any() for part in np.array_split(range(inked.shape[1]), 5)]
        assert all(across), picture.name
    # the same figures again; who wants no pictures needs no matplotlib
    with monkeypatch.context() as without:
        for name in ("matplotlib", "matplotlib.pyplot"):
            without.setitem(sys.modules, name, None)
        code, again, _ = run(script, "--small")
    assert code == 0
    assert [timeless(table) for table in tables_of(again)] == [timeless(table) for table in tables]


@pytest.mark.parametrize("script", sorted({*SCRIPTS} - DRAWN))
def test_no_folder(script, run, tmp_path):
    code, printed, error = run(script)
    assert (code, printed) == (2, "")
    assert "--data" in error
    assert "NAIVELY_DATA" in error
    code, printed, error = run(script, "--data", tmp_path / "nowhere")
    assert (code, printed) == (2, "")
    assert f"no folder {tmp_path / 'nowhere'}" in error


def test_newsgroups_counts(monkeypatch):
    """What learns the columns of the lecture's words predicts as `TextNB` with stop words."""
    monkeypatch.syspath_prepend(str(FOLDER))
    own = runpy.run_path(str(FOLDER / "newsgroups.py"), run_name="newsgroups")
    sys.modules.pop("data")
    _, posts, rest = own["small"]()
    counts, texts = own["counted"](posts + rest), posts + rest
    words = own["lecture_words"](counts[: len(posts)])
    terms = TextNB().fit(texts.texts, texts.labels).terms_
    total = CountVectorizer(vocabulary=terms).fit_transform(posts.texts).sum(axis=0).A1
    often = sorted(zip(-total, terms, strict=True))[:100]
    seen = set(terms[total >= 3]) - {word for _, word in often}
    assert set(terms[words]) == seen
    others = np.setdiff1d(terms, terms[words])
    models = {
        "multinomial": {},
        "binary": {"event": "binary"},
        "bernoulli": {"event": "bernoulli"},
        "complement": {"event": "complement"},
        "TF-IDF": own["TFIDF"],
        "TWCNB": own["TWCNB"],
    }
    assert models.keys() == own["MODELS"].keys()
    rows, judged = counts[: len(posts), words], counts[len(posts) :, words]
    for name, given in models.items():
        of_counts = own["MODELS"][name].fit(rows, posts.labels)
        of_texts = TextNB(**given, stop_words=others, weights=None).fit(posts.texts, posts.labels)
        assert of_texts.terms_.tolist() == terms[words].tolist()
        assert_allclose(
            of_counts.predict_proba(judged), of_texts.predict_proba(rest.texts), rtol=1e-9
        )
