"""`diagnose` of texts: dependence of the most informative words given the class."""

import json
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import mutual_info_score

from naively import Text, diagnose
from naively.cli.main import run
from naively.families.text.pooled_text import PooledText
from naively.families.text.weighed_text import WeighedText
from naively.io.sources import open_source

NUMBER = [f"word{k}" for k in range(8)]


def documents(n=900, seed=0):
    """(texts of words that are independent given the class, but "new york", the labels)."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    p = np.array([np.linspace(0.2, 0.6, 8), np.linspace(0.6, 0.2, 8)])
    has = rng.random((n, 8)) < p[y]
    town = rng.random(n) < np.where(y == 1, 0.5, 0.2)
    texts = [
        " ".join(
            [w for w, h in zip(NUMBER, own, strict=True) if h] + ["new york"] * int(at) + ["end"]
        )
        for own, at in zip(has, town, strict=True)
    ]
    return texts, np.array(["ham", "spam"])[y]


TEXTS, Y = documents()


@cache
def of_texts():
    return diagnose(TEXTS, Y)


def test_only_words_that_come_together_depend_on_each_other():
    found = of_texts()
    dependent = [pair for pair in found.pairs if pair.dependent]
    assert [{one.first, one.second} for one in dependent] == [{"text: new", "text: york"}]
    assert dependent[0].correlation > 0.7
    assert "'text: new' and 'text: york'" in found.recommendation
    assert "pairs of words are dependent" in found.recommendation


def test_the_information_is_that_of_scikit_learn():
    has = {w: np.array([w in text.split() for text in TEXTS]) for w in [*NUMBER, "new", "york"]}
    for pair in of_texts().pairs:
        a, b = (has.get(name.removeprefix("text: ")) for name in (pair.first, pair.second))
        if a is None or b is None:  # "end", which is everywhere
            continue
        parts = [(np.mean(label == Y), label == Y) for label in np.unique(Y)]
        expected = sum(pi * mutual_info_score(a[of], b[of]) for pi, of in parts)
        assert pair.given_class == pytest.approx(expected, abs=1e-12)


def test_rungs_of_text_are_tried():
    found = of_texts()
    names = [one.name for one in found.rungs]
    assert names[0] == "class prior"
    assert "naive Bayes" in names
    assert "naive Bayes, Bernoulli" in names
    assert found.columns == {"text": "words"}
    assert json.loads(json.dumps(found.to_dict()))["words"]["text"] == found.words["text"]


def test_the_most_informative_words_are_chosen():
    rare = [f"{text} rare{k}" for k, text in enumerate(TEXTS)]
    found = diagnose(rare, Y)
    assert len(found.words["text"]) == 20
    assert {f"text: {w}" for w in ("word0", "word7", "new", "york")} <= {*found.words["text"]}
    assert "text: the 20 words with the most information" in str(found)


@pytest.mark.parametrize(
    "family",
    [Text("binary"), Text(n_features=64, alpha=0.1), Text(weighting="tfidf", length_norm="l2"),
     Text("complement", norm=True), Text(max_terms=10), WeighedText(),
     PooledText((WeighedText(analyzer="char"), WeighedText("binary")))],
    ids=["binary", "hashed", "tf-idf", "complement", "few", "weighed", "pooled"],
)  # fmt: skip
def test_words_have_names_whatever_is_counted(family):
    found = diagnose({"mail": TEXTS}, Y, columns={"mail": family})
    assert found.words["mail"] == [w.replace("text: ", "mail: ") for w in of_texts().words["text"]]
    given, usual = ({frozenset((p.first[6:], p.second[6:])): p.given_class for p in one.pairs}
                    for one in (found, of_texts()))  # fmt: skip
    assert given == usual


def test_words_beside_columns_and_missing_texts():
    rng = np.random.default_rng(3)
    texts = [None if k % 10 == 0 else text for k, text in enumerate(TEXTS)]
    sent = rng.normal((Y == "spam") * 1.0 + np.array(["york" in t for t in TEXTS]) * 2.0)
    found = diagnose({"mail": texts, "hour": sent}, Y, columns={"mail": "text"})
    (first, *_) = [pair for pair in found.pairs if "hour" in (pair.first, pair.second)]
    assert first.dependent
    assert {first.first, first.second} & {"mail: new", "mail: york"}
    assert first.rows == sum(text is not None for text in texts)
    assert "pairs of features and words are dependent" in found.recommendation
    assert found.columns == {"hour": "numbers", "mail": "words"}


def test_texts_without_words():
    found = diagnose({"mail": ["!", "?"] * 30, "a": np.arange(60) % 7 * 0.5}, [0, 1] * 30,
                     columns={"mail": "text"})  # fmt: skip
    assert found.words == {"mail": []}
    assert found.pairs == []


def test_a_list_of_documents_is_a_table_of_texts():
    table = diagnose(pa.table({"text": TEXTS}), Y, columns={"text": "text"})
    assert str(table) == str(of_texts())
    with pytest.raises(ValueError, match="X has 2 rows, y has 900"):
        diagnose(["one text", "another"], Y)


def test_files_of_texts_on_the_command_line(tmp_path, capsys):
    for label in ("ham", "spam"):
        own = [text for text, one in zip(TEXTS, Y, strict=True) if one == label]
        (tmp_path / f"{label}.txt").write_text("\n".join(own) + "\n")
    files = [str(tmp_path / "ham.txt"), str(tmp_path / "spam.txt")]
    assert run(["diagnose", *files]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "text: new × text: york" in out
    assert "1 text" in out
    assert open_source(files, missing=[""]).texts == ("text",)
    from_files = diagnose(files, "label")
    assert from_files.pairs[0].given_class == pytest.approx(of_texts().pairs[0].given_class)


def test_sms(data_folder):
    file = data_folder / "sms-spam" / "SMSSpamCollection"
    rows = [line.split("\t", 1) for line in file.read_text("utf-8").splitlines() if line]
    found = diagnose([text for _, text in rows], [label for label, _ in rows])
    assert {found.pairs[0].first, found.pairs[0].second} == {"text: prize", "text: won"}
    assert sum(pair.dependent for pair in found.pairs) > 40
