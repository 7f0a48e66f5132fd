"""The report page: its content; it is valid, self-contained HTML, and safe with any data."""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score, roc_auc_score

from naively import AutoBayes, Categorical, GaussianBayes, NaiveBayes, Student, TextNB, load
from naively.cli.main import run
from naively.cli.results.report import TableResults, fields
from naively.model_summary import left_out

pytest.importorskip("jinja2", reason="needs naively[report]")
pytest.importorskip("matplotlib", reason="needs naively[report]")
html5lib = pytest.importorskip("html5lib", reason="needs html5lib")

NODE = shutil.which("node")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
GENERATOR = np.random.default_rng(0)
KIND = GENERATOR.integers(3, size=240)
HOSTILE = "</script><img src=x onerror=alert(1)>"
TABLE = pd.DataFrame({
    "size": KIND + GENERATOR.normal(size=240),
    HOSTILE: np.array(["red", HOSTILE, "it's \"", "𝔘 naïve ‮"])[
        (KIND + GENERATOR.integers(3, size=240)) % 4],
    "__proto__": GENERATOR.integers(3, size=240) + KIND,
    "$x_1^2$ {{ 7 * 7 }} <b>": GENERATOR.normal(size=240) * (1 + KIND),
    "only one": "x",
})  # fmt: skip
TABLE.loc[::5, "size"] = None
LABELS = np.array(["low", HOSTILE, "__proto__"])[KIND]
WORDS = np.array(["one", "two", "three", "four", "five", "six", "seven", "eight"])
TEXTS = np.array([
    f"{['meeting &amp;', 'cheap', ''][k]} {HOSTILE} {' '.join(GENERATOR.choice(WORDS, 4))}"
    for k in KIND
])  # fmt: skip


def page_of(folder, *arguments):
    path = folder / "page.html"
    assert run(["report", *map(str, arguments), "-o", str(path)]) == 0
    return path


def parsed(path):
    """The page as a tree; an error if it is no HTML."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(
        path.read_text("utf-8")
    )


def texts(tree, path):
    return ["".join(one.itertext()) for one in tree.iterfind(path)]


def check_alone(path):
    """Nothing in the page, or in its pictures, is loaded from elsewhere."""
    tree = parsed(path)
    for one in tree.iter():
        assert one.tag not in {"link", "iframe", "object", "embed", "base", "audio", "video"} or (
            one.get("href") == "data:,"
        )
        for name, value in one.attrib.items():
            assert not name.startswith("on"), (one.tag, name)
            if name in {"src", "href", "srcset", "action", "data", "poster"}:
                assert value.startswith(("data:", "#")), value
        if one.tag == "img":
            assert one.get("alt")
            svg = base64.b64decode(one.get("src").partition(",")[2]).decode()
            assert not re.search(r"(?:href|src)=\"(?!#|data:)|url\((?!#)|<script|@import", svg)
    style = "".join(texts(tree, ".//style"))
    assert "url(" not in style
    assert "@import" not in style
    assert "http" not in re.sub(r"data:image/svg[^\"]*|http-equiv", "", path.read_text("utf-8"))
    return tree


@pytest.fixture(scope="module")
def table_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    TABLE.assign(y=LABELS).to_csv(folder / "rows.csv", index=False)
    assert run(["fit", str(folder / "rows.csv"), "--target", "y", "-o", str(folder / "m")]) == 0
    return page_of(folder, folder / "m", folder / "rows.csv"), folder


def test_a_page_is_alone_and_escaped(table_page):
    path, _ = table_page
    tree = check_alone(path)
    assert len(list(tree.iterfind(".//script"))) == 3
    heads = texts(tree, ".//h3")
    for name in ("size", HOSTILE):
        assert name in heads
    said = "".join(tree.itertext())
    for name in (*TABLE.columns, *set(LABELS), "it's \""):
        assert name in said
    assert "49 <b>" not in said
    assert not list(tree.iterfind(".//figure//b"))


def test_its_numbers_are_those_of_fit(table_page, capsys):
    path, folder = table_page
    tree = parsed(path)
    capsys.readouterr()
    report = folder / "fit.json"
    assert run(["fit", str(folder / "rows.csv"), "--target", "y", "-o", str(folder / "n"),
                "--json"]) == 0  # fmt: skip
    report = json.loads(capsys.readouterr().out)["cross_validation"]
    tiles = texts(tree, ".//div[@class='tiles']/div/b")
    assert tiles == [
        f"{100 * report['accuracy']:.2f}%", f"{report['log_loss']:#.4g}",
        f"{100 * report['calibration_error']:.2f}%",
    ]  # fmt: skip
    assert "-fold cross-validation on" in texts(tree, ".//section[@id='quality']//h3")[0]
    model = load(folder / "m")
    shapes = {" × ".join(one.names): one for one in model.evidence_}
    figures = list(tree.iterfind(".//section[@id='shapes']//figure"))
    assert figures
    for figure in figures:
        shape = shapes[texts(figure, ".//h3")[0]]
        lines = texts(figure, ".//tbody/tr/td[@class='n']")
        assert len(lines) == len(texts(figure, ".//tbody/tr")) * 4  # rows, and three classes
        numbers = np.array([one.replace(",", "") for one in lines], float).reshape(-1, 4)
        own = np.hstack([
            shape.rows.sum(axis=-1).reshape(-1, 1), shape.contribution.reshape(-1, 3),
        ])  # fmt: skip
        assert_allclose(numbers, own[own[:, 0] > 0], atol=6e-4)


def test_its_curves_are_those_of_the_out_of_fold_predictions(table_page):
    path, folder = table_page
    roc, precision_recall = parsed(path).iterfind(
        ".//section[@id='quality']/div[@class='side']/figure"
    )
    assert texts(roc, ".//h3") == ["ROC curve, each class against the others"]
    found = AutoBayes().out_of_fold(pd.read_csv(folder / "rows.csv"), "y")
    expected = {}
    for c, label in enumerate(found.classes.tolist()):
        scores = found.codes == c, found.proba[:, c]
        expected[label] = [f"{scores[0].sum()}", f"{roc_auc_score(*scores):.4f}",
                           f"{average_precision_score(*scores):.4f}"]  # fmt: skip
    for figure in (roc, precision_recall):
        rows = [[cell.text for cell in row] for row in figure.iterfind(".//tbody/tr")]
        assert {name: numbers[:3] for name, *numbers in rows} == expected


def test_two_classes_have_the_curves_of_the_rarer_one(tmp_path):
    two = TABLE.assign(y=np.where(KIND == 0, "rare", "usual"))
    two[::2].to_csv(tmp_path / "rows.csv", index=False)
    two[1::2].to_csv(tmp_path / "new.csv", index=False)
    assert run(["fit", str(tmp_path / "rows.csv"), "-t", "y", "-o", str(tmp_path / "m")]) == 0
    tree = check_alone(page_of(tmp_path, tmp_path / "m", tmp_path / "new.csv"))
    figure = next(tree.iterfind(".//section[@id='quality']/div[@class='side']/figure"))
    chance = load(tmp_path / "m").predict_proba(pd.read_csv(tmp_path / "new.csv"))[:, 0]
    truth = two["y"][1::2] == "rare"
    assert texts(figure, ".//figcaption") == [
        f"ROC curve of rareAUC {roc_auc_score(truth, chance):.4f}"
    ]
    for row in figure.iterfind(".//tbody/tr"):
        threshold, recall, precision, _, flagged = [cell.text for cell in row]
        above = chance >= float(threshold)
        assert flagged == f"{above.sum()}"
        assert recall == f"{above[truth].mean():.1%}"
        assert precision == f"{truth[above].mean():.1%}"


def test_rows_that_are_new(table_page, tmp_path):
    _, folder = table_page
    TABLE[:100].assign(y=LABELS[:100]).to_csv(tmp_path / "new.csv", index=False)
    tree = check_alone(page_of(tmp_path, folder / "m", tmp_path / "new.csv"))
    assert texts(tree, ".//section[@id='quality']//h3")[0].startswith("On 100 rows of")
    model = load(folder / "m")
    right = (model.predict(TABLE[:100]) == LABELS[:100]).mean()
    assert texts(tree, ".//div[@class='tiles']/div/b")[0] == f"{100 * right:.2f}%"
    counts = texts(tree, ".//section[@id='quality']//table[1]//td")
    assert sum(int(one) for one in counts[:9]) == 100


def test_rows_without_labels(table_page, tmp_path):
    _, folder = table_page
    TABLE[:50].to_csv(tmp_path / "new.csv", index=False)
    tree = parsed(page_of(tmp_path, folder / "m", tmp_path / "new.csv"))
    assert (
        "-fold cross-validation on" in texts(tree, ".//section[@id='quality']//h3")[0]
    )  # from the file
    assert texts(tree, ".//article//h3")
    assert "Errors with the highest probabilities" not in texts(tree, ".//h2")


def engine_and_model(path):
    """(the script of a page without its form, the numbers that it predicts by, its form)."""
    tree = parsed(path)
    scripts = {one.get("id"): "".join(one.itertext()) for one in tree.iterfind(".//script")}
    engine = scripts[None].partition("// ---- the form of the page")[0]
    return engine, json.loads(scripts["data-model"]), json.loads(scripts["data-form"])


@pytest.mark.skipif(NODE is None, reason="needs Node.js: apt-get install nodejs")
def test_the_form_answers_as_python_does(table_page):
    path, folder = table_page
    engine, numbers, form = engine_and_model(path)
    assert "only one" not in {one["name"] for one in form["form"]}
    rows = [{one["name"]: one["value"] for one in form["form"]}]
    rows += json.loads(TABLE[:40].to_json(orient="records"))
    ask = f"""{engine}
    const [model, rows] = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
    const predict = predictor(model);
    console.log(JSON.stringify(rows.map((row) => Object.values(predict(row).probabilities))))"""
    answer = subprocess.run(
        [NODE, "-e", ask], input=json.dumps([numbers, rows]), capture_output=True, check=True,
        encoding="utf-8",
    )  # fmt: skip
    model = load(folder / "m")
    expected = [
        model.predict_proba(pa.Table.from_pylist([row | {"only one": "x"}]))[0] for row in rows
    ]
    assert_allclose(json.loads(answer.stdout), expected, rtol=0, atol=1e-9)


def test_the_form_begins_with_the_cells_of_the_first_example(tmp_path):
    """What was written otherwise than its level was (missing) there, and 1_000 was 1000."""
    flags, prices, clocks = ["TRUE", "false", "no"], ["1.50", "n/k"], ["12:30:00", "9 h"]
    model = AutoBayes().fit(
        {
            "flag": [flags[k % 3] for k in range(90)], "price": [prices[k % 2] for k in range(90)],
            "clock": [clocks[k % 2] for k in range(90)], "size": [k / 3 for k in range(90)],
            "job": ["abc"[k % 3] for k in range(90)],
        },
        [k % 2 for k in range(90)],
    )  # fmt: skip
    cells = {"flag": "TRUE", "price": " 1.50", "clock": "12:30:00", "size": "1_000", "job": "new"}
    found = {
        one["name"]: one
        for one in fields(model.model_, left_out(model.model_), TableResults(first=cells))
    }
    values = {name: one["value"] for name, one in found.items()}
    assert values == {"flag": "true", "price": "1.5", "clock": "12:30", "size": None, "job": "new"}
    assert all(
        one["value"] in one["categories"] for one in found.values() if one["kind"] == "categorical"
    )
    table = {name: [value] for name, value in values.items()}
    with pytest.warns(UserWarning, match="'1_000' cannot be read"):
        expected = model.predict_proba({name: [cell] for name, cell in cells.items()})
    assert model.predict_proba(table).tolist() == expected.tolist()


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
def test_a_browser_fills_in_the_form(table_page, tmp_path):
    path, folder = table_page
    found = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
         f"--user-data-dir={tmp_path}", "--virtual-time-budget=5000", path.as_uri()],
        capture_output=True, check=True, encoding="utf-8", timeout=60,
    )  # fmt: skip
    tree = html5lib.parse(found.stdout, namespaceHTMLElements=False)
    _, _, form = engine_and_model(path)
    row = pa.Table.from_pylist([
        {one["name"]: one["value"] for one in form["form"]} | {"only one": "x"}
    ])  # fmt: skip
    model = load(folder / "m")
    (said,) = texts(tree, ".//p[@id='predicted']")
    assert said.startswith(f"{model.predict(row)[0]} ")
    assert f"{100 * model.predict_proba(row).max():.1f}%" in said or "%" in said
    assert len(texts(tree, ".//tbody[@id='why']/tr")) > 1
    assert len(texts(tree, ".//form//label")) == len(form["form"])


def test_text(tmp_path):
    frame = pd.DataFrame({"text": TEXTS, "label": LABELS})
    frame.to_csv(tmp_path / "texts.csv", index=False)
    assert run(["fit", str(tmp_path / "texts.csv"), "--target", "label", "--columns", "text=text",
                "-o", str(tmp_path / "m")]) == 0  # fmt: skip
    tree = check_alone(page_of(tmp_path, tmp_path / "m", tmp_path / "texts.csv"))
    tables = list(tree.iterfind(".//section[@id='words']//table"))
    assert len(tables) == 3
    # "cheap", or n-grams of its characters
    assert any({"cheap", "ch", "ea"} & {*texts(one, ".//tbody/tr/th")} for one in tables)
    assert list(tree.iterfind(".//p[@class='marked']/span"))
    assert HOSTILE in "".join(texts(tree, ".//p[@class='marked']"))


def test_text_beside_other_columns_and_dates(tmp_path):
    """Words in place of whole texts, parts of dates told apart, and what is not shown."""
    draw = np.random.default_rng(1)
    y = draw.integers(0, 2, 600)
    said = np.array(["meeting at noon", "cheap pills now"])[y]
    letters = [f"{one} {' '.join(draw.choice(WORDS, 9))}" for one in said]
    letters[:12] = [f"the same letter, each time, of class {k}" for k in y[:12]]
    hours = np.where(y == 1, draw.integers(0, 9, 600), draw.integers(6, 24, 600))
    stamps = np.datetime64("2021-03-01T00:00") + draw.integers(0, 300, 600) * 1440 + hours * 60
    size = draw.normal(size=600) + y
    table = pd.DataFrame({
        "body": letters, "sent": stamps.astype(str), "size": size, "more": size + draw.random(600),
        "label": np.array(["ham", "spam"])[y],
    })  # fmt: skip
    table.to_csv(tmp_path / "t.csv", index=False)
    table[:60].to_csv(tmp_path / "new.csv", index=False)
    assert run(["fit", str(tmp_path / "t.csv"), "--target", "label",
                "-o", str(tmp_path / "m")]) == 0  # fmt: skip
    tree = check_alone(page_of(tmp_path, tmp_path / "m", tmp_path / "new.csv"))
    words = texts(tree, ".//section[@id='words']//h3")
    assert words == ["body: ham", "body: spam"]
    terms = [
        texts(one, ".//tbody/tr/th") for one in tree.iterfind(".//section[@id='words']//table")
    ]
    assert {"meeting", "noon"} & set(terms[0])
    assert {"cheap", "pills"} & set(terms[1])
    heads = texts(tree, ".//section[@id='shapes']//h3")
    assert "sent: hours" in heads
    assert "body" not in heads
    assert len(heads) == len(set(heads))
    drawn = "".join(texts(tree, ".//section[@id='shapes']"))
    assert "letter, each time" not in drawn
    assert "Not shown: the texts of 'body', whose terms are above" in drawn
    model = load(tmp_path / "m")
    many = sum(len(one.bins) > 2 for one in model.evidence_)
    assert ("of three features or more" in drawn) == bool(many)
    dense = {" × ".join(one.names) for one in model.evidence_ if not one.bins and not one.of_text}
    assert dense
    assert all(f"{name} (" in drawn for name in dense)
    sure = [one for one in texts(tree, ".//article/h3/small") if "0.9999" in one or "1.0" in one]
    assert set(sure) <= {"P > 0.9999"}
    assert "not exported to JavaScript" in "".join(texts(tree, ".//section[@id='try']"))  # dates


def test_columns_that_may_be_numbers_are_reported(tmp_path, table_page):
    draw = np.random.default_rng(2)
    y = draw.integers(0, 2, 200)
    price = [f"${one:,.2f}" for one in draw.normal(9000, 10, 200).round(2)]
    frame = pd.DataFrame({"price": price, "size": draw.normal(size=200) + y, "y": y})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert run(["fit", str(tmp_path / "t.csv"), "-t", "y", "-o", str(tmp_path / "m")]) == 0
    cards = texts(check_alone(page_of(tmp_path, tmp_path / "m")), ".//section[@id='data']/div/div")
    (card,) = [one for one in cards if "Not read as numbers or dates" in one]
    assert "price" in card
    assert "amounts of money, write 1234.5" in card
    assert "size" not in card
    assert "Not read as" not in table_page[0].read_text("utf-8")


def test_of_many_files_it_is_said_how_many(tmp_path):
    for k in range(5):
        TABLE[20 * k : 20 * k + 20].assign(y=LABELS[20 * k : 20 * k + 20]).to_csv(
            tmp_path / f"{k}.csv", index=False
        )
    NaiveBayes().fit(TABLE.assign(y=LABELS), "y").save(tmp_path / "m")
    tree = parsed(page_of(tmp_path, tmp_path / "m", *(tmp_path / f"{k}.csv" for k in range(5))))
    head, *_ = texts(tree, ".//section[@id='quality']//h3")
    assert head.startswith("On 100 rows of")
    assert head.endswith("2.csv and 2 more")


def test_files_may_hold_a_column_as_numbers_and_as_text(tmp_path):
    rows = TABLE.assign(y=LABELS)
    name = next(name for name in rows if rows[name].dtype.kind == "f")
    NaiveBayes().fit(rows, "y").save(tmp_path / "m")
    rows[:30].to_parquet(tmp_path / "a.parquet")
    as_text = rows[name][30:].map(lambda one: None if pd.isna(one) else repr(one))
    rows[30:].assign(**{name: as_text}).to_parquet(tmp_path / "b.parquet")
    rows.to_parquet(tmp_path / "whole.parquet")
    parts = parsed(
        page_of(tmp_path, tmp_path / "m", tmp_path / "a.parquet", tmp_path / "b.parquet")
    )
    whole = parsed(page_of(tmp_path, tmp_path / "m", tmp_path / "whole.parquet"))
    cells = ".//section[@id='quality']//td"
    assert texts(parts, cells) == texts(whole, cells) != []


def test_weighed_text_of_python(tmp_path):
    TextNB(weights="auto").fit(TEXTS, LABELS).save(tmp_path / "m")
    tree = check_alone(page_of(tmp_path, tmp_path / "m"))
    assert "ross-validation on" in texts(tree, ".//section[@id='quality']//h3")[0]
    assert tree.find(".//textarea") is None  # which the script makes
    assert tree.find(".//form") is not None


def test_a_plain_product(tmp_path):
    NaiveBayes().fit(TABLE, LABELS).save(tmp_path / "m")
    tree = check_alone(page_of(tmp_path, tmp_path / "m"))
    assert "stores no training rows" in texts(tree, ".//section[@id='quality']/p")[0]
    assert len(list(tree.iterfind(".//section[@id='shapes']//img"))) >= 3
    left = "".join(texts(tree, ".//section[@id='data']"))
    assert "only one" in left


def test_models_that_are_not_exported_say_why(tmp_path):
    NaiveBayes({"size": Student()}).fit(TABLE, LABELS).save(tmp_path / "m")
    tree = check_alone(page_of(tmp_path, tmp_path / "m"))
    assert "student cannot be exported" in "".join(texts(tree, ".//section[@id='try']"))
    assert not list(tree.iterfind(".//script"))
    NaiveBayes({"__proto__": Categorical(alpha=0)}).fit(TABLE, LABELS).save(tmp_path / "z")
    assert "alpha > 0" in "".join(page_of(tmp_path, tmp_path / "z").read_text("utf-8")).replace(
        "&gt;", ">"
    )


def test_the_same_page_each_time(tmp_path):
    AutoBayes().fit(TABLE, LABELS).save(tmp_path / "m")
    first = page_of(tmp_path, tmp_path / "m").read_bytes()
    assert page_of(tmp_path, tmp_path / "m").read_bytes() == first


def test_the_command_says_what_it_wrote(tmp_path, capsys):
    NaiveBayes().fit(TABLE, LABELS).save(tmp_path / "m")
    page_of(tmp_path, tmp_path / "m")
    assert capsys.readouterr().out.startswith("saved  ")


def test_what_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["report", "none", "-o", "r.html"]) == 1
    NaiveBayes().fit(TABLE, LABELS).save("m")
    assert run(["report", "m", "-o", "m"]) == 2
    assert "among the files that are read" in capsys.readouterr().err
    assert run(["report", "m"]) == 2
    Path("other.csv").write_text("a,b\n1,2\n")
    assert run(["report", "m", "other.csv", "-o", "r.html"]) == 1
    assert "none of the features" in capsys.readouterr().err
    assert not Path("r.html").exists()


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_without_the_extra(package, tmp_path):
    """What is missing is said in one line."""
    NaiveBayes().fit(TABLE, LABELS).save(tmp_path / "m")
    code = f"import sys; sys.modules[{package!r}] = None; from naively.cli.main import run; "
    code += f"sys.exit(run(['report', {str(tmp_path / 'm')!r}, '-o', {str(tmp_path / 'p')!r}]))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert found.returncode == 1
    assert "pip install 'naively[report]'" in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_one_class_and_models_of_arrays(tmp_path):
    NaiveBayes().fit(TABLE, ["one"] * 240).save(tmp_path / "one")
    tree = check_alone(page_of(tmp_path, tmp_path / "one"))
    assert texts(tree, ".//section[@id='data']//tbody/tr/th")[0] == "one"
    GaussianBayes().fit(TABLE[["__proto__"]].assign(b=range(240)).to_numpy(), LABELS).save(
        tmp_path / "array"
    )
    tree = check_alone(page_of(tmp_path, tmp_path / "array"))
    assert "cannot be exported" in "".join(texts(tree, ".//section[@id='try']"))


def test_real_data(tmp_path):
    folder = os.environ.get("NAIVELY_DATA")
    if folder is None:
        pytest.skip("NAIVELY_DATA is not set")
    table = pd.read_csv(Path(folder, "titanic", "titanic-seaborn-891.csv"))
    table.to_csv(tmp_path / "t.csv", index=False)
    arguments = [str(tmp_path / "t.csv"), "--target", "survived", "-o", str(tmp_path / "m")]
    assert run(["fit", *arguments]) == 0
    tree = check_alone(page_of(tmp_path, tmp_path / "m", tmp_path / "t.csv"))
    assert "-fold cross-validation on" in texts(tree, ".//section[@id='quality']//h3")[0]
    assert "sex" in texts(tree, ".//section[@id='shapes']//h3")
    assert "name" not in {
        one["name"] for one in engine_and_model(tmp_path / "page.html")[2]["form"]
    }


def test_a_row_lists_no_part_that_adds_nothing(tmp_path):
    frame = TABLE.assign(y=np.array(["low", "high"])[KIND % 2])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    assert run(["fit", str(tmp_path / "rows.csv"), "-t", "y", "-o", str(tmp_path / "m")]) == 0
    tree = parsed(page_of(tmp_path, tmp_path / "m", tmp_path / "rows.csv"))
    said = "".join(tree.itertext())
    assert "+0.000 together" not in said
    ranked = texts(tree, ".//section[@id='columns']//tbody/tr/th")
    assert "size" in ranked
    assert "only one" not in ranked
