"""Spark gives the bits of one machine, even if tasks and executors fail."""

import json
import os
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

pytest.importorskip("pyspark", reason="needs naively[spark]")

from cluster_tables import bits, silently, table
from hypothesis import given
from hypothesis import strategies as st
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

import naively
from naively import AutoBayes, JointBayes, NaiveBayes, TextNB, clusters
from naively.cli.main import run
from naively.clusters import CountingFiles
from naively.spark import Classifier, ClassifierModel
from naively.spark import engine as engine

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
SOURCES = str(Path(naively.__file__).parents[1])


# ---- the same bits ---------------------------------------------------------------------------


def test_documents_weights_and_a_given_plan(spark):
    rows = table(1, 120)
    rows = rows.filter(pa.compute.is_valid(rows["label"])).append_column(
        "heavy", pa.array(np.arange(rows["label"].length() - rows["label"].null_count) % 3)
    )
    frame = spark.createDataFrame(rows).repartition(3)
    texts = Classifier(TextNB(ngram_range=(1, 2)), features=["text"]).fit(frame).model_
    labels = rows["label"].to_pylist()
    assert bits(texts) == bits(TextNB(ngram_range=(1, 2)).fit(rows["text"], labels))
    plain = rows.drop_columns(["text", "heavy"])
    half = silently(AutoBayes().fit, plain.slice(0, 60), "label")
    features = [name for name in plain.column_names if name != "label"]
    found = silently(Classifier(weight="heavy", like=half, features=features).fit, frame).model_
    one = silently(AutoBayes().fit, plain, "label", rows["heavy"].to_numpy(), like=half)
    assert bits(found) == bits(one)


# ---- files that executors read ---------------------------------------------------------------


def in_files(rows, folder, kind, count=3):
    """A table in some files, the first one larger than the others."""
    folder.mkdir()
    ends = [0, *np.linspace(len(rows) // 2, len(rows), count).astype(int)]
    for k, (begin, end) in enumerate(pairwise(ends)):
        own = rows.slice(begin, end - begin)
        if kind == "parquet":
            pa.parquet.write_table(own, folder / f"{k}.parquet", row_group_size=50)
        elif kind == "csv":
            pa.csv.write_csv(own, folder / f"{k}.csv")
        else:
            lines = (json.dumps(one) for one in own.to_pylist())
            (folder / f"{k}.jsonl").write_text("\n".join(lines))
    return naively.scan(str(folder / f"*.{kind}"))


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_files_are_learned_as_on_one_machine(spark, tmp_path, kind):
    rows = numbered(300).append_column("heavy", pa.array(np.arange(300) % 4))
    rows = rows.append_column("text", pa.array([f"to be or {k % 7} not" for k in range(300)]))
    rows = rows.set_column(3, "label", pa.array([None, *rows["label"].to_pylist()[1:]]))
    source = in_files(rows, tmp_path / "rows", kind)
    for model in (NaiveBayes(family="auto"), AutoBayes()):
        one = silently(type(model)(**model.get_params(deep=False)).fit, source, "label")
        with pytest.warns(UserWarning, match="1 of 300 rows have no label"):
            fitted = Classifier(model).fit(source)
        assert bits(fitted.model_) == bits(one)
        assert fitted.model_.classes_.tolist() == [0, 1, 2]
    frame = spark.createDataFrame(rows.drop_columns("label"))
    answers = fitted.transform(frame).toArrow()
    assert len(answers) == 300
    weighed = silently(Classifier(NaiveBayes(), features=["z", "word"], weight="heavy").fit, source)
    known = rows.slice(1)
    X = known.select(["z", "word"])
    one = NaiveBayes().fit(X, known["label"].to_numpy(), known["heavy"].to_numpy())
    assert weighed.model_.model_ == one.model_
    labelled = in_files(known.select(["text", "label"]), tmp_path / "texts", kind)
    texts = Classifier(TextNB()).fit(labelled).model_
    assert bits(texts) == bits(TextNB().fit(known["text"], known["label"].to_numpy()))


def test_files_that_cannot_be_learned_are_refused(spark, tmp_path):
    source = in_files(numbered(60), tmp_path / "rows", "parquet")
    (tmp_path / "mails.txt").write_text("win a prize\nlunch at noon\n")
    with pytest.raises(ValueError, match=r"mails\.txt is not a table in files"):
        Classifier(target="text").fit(naively.scan(tmp_path / "mails.txt"))
    with pytest.raises(ValueError, match="RecordBatchReader is not a table in files"):
        Classifier().fit(naively.scan(numbered(60).to_reader()))
    with pytest.raises(ValueError, match="'labels'"):
        Classifier(target="labels").fit(source)
    with pytest.raises(ValueError, match="among the features"):
        Classifier(features=["x", "label"]).fit(source)
    with pytest.raises(ValueError, match="one column of text, but there are 3"):
        Classifier(TextNB()).fit(source)
    made = clusters.planned_of(source, NaiveBayes(), clusters.spec_of(NaiveBayes(), [], "label"))
    counting = CountingFiles(made, source.shares(3))
    (tmp_path / "rows" / "2.parquet").unlink()
    with pytest.raises(ValueError, match=r"2\.parquet is not found by a worker"):
        counting([pa.record_batch({"id": [2]})])


# ---- tasks that fail, executors that are lost ------------------------------------------------


def troubled(trouble, folder):
    """Passes rows on, with trouble in the first attempt at partition 1, after they were given."""

    def pass_on(batches):
        import signal
        import time

        from pyspark import TaskContext

        context = TaskContext.get()
        yield from batches
        if context.partitionId() != 1:
            return
        attempts = len(list(Path(folder).iterdir()))
        Path(folder, f"attempt {attempts}").touch()
        if attempts:
            return
        if trouble == "fails":
            raise RuntimeError("no luck")
        if trouble == "is killed":
            daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1]
            os.kill(int(daemon.split()[1]), signal.SIGKILL)  # the executor
            time.sleep(20)

    return pass_on


@pytest.mark.parametrize("trouble", ["fails", "is killed"])
def test_no_row_counts_twice_if_a_task(spark, tmp_path, trouble):
    if trouble == "is killed" and not Path("/proc/self/stat").exists():
        pytest.skip("looks for the executor in /proc, which this system has not")
    rows = table(5, 400).drop_columns(["nothing"])
    frame = spark.createDataFrame(rows).repartition(4)
    one = silently(AutoBayes().fit, rows, "label")
    frame = frame.mapInArrow(troubled(trouble, str(tmp_path)), frame.schema)
    found = silently(Classifier().fit, frame).model_
    assert len(list(tmp_path.iterdir())) > 1, "the task was made once only"
    assert bits(found) == bits(one)


@given(st.lists(st.binary(max_size=40), max_size=5), st.randoms(use_true_random=False))
def test_sums_travel_in_pieces(contents, luck):
    batches = []
    before, engine.PIECE = engine.PIECE, 7
    try:
        for part, content in enumerate(contents):
            batches += engine.pieces(part, content)
    finally:
        engine.PIECE = before
    luck.shuffle(batches)
    assert dict(engine.joined(batches)) == dict(enumerate(contents))
    if batches:
        chosen = luck.choice(batches)
        with pytest.raises(ValueError, match="arrived twice"):
            list(engine.joined([*batches, chosen]))
        total = chosen.to_pydict()["pieces"][0]
        if total > 1:
            with pytest.raises(ValueError, match="are lost"):
                list(engine.joined([one for one in batches if one is not chosen]))


# ---- what pyspark.ml expects -----------------------------------------------------------------


def numbered(rows=150, seed=3):
    """A table whose labels are 0, 1, 2, as the evaluators of Spark have it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    return pa.table({
        "x": rng.normal(size=rows) + y,
        "z": rng.normal(size=rows),
        "word": pa.array([f"w{k}" for k in rng.integers(0, 3, rows) + y]),
        "label": y,
    })  # fmt: skip


def test_a_pipeline_is_tuned_saved_and_loaded(spark, tmp_path):
    rows = numbered()
    frame = spark.createDataFrame(rows).repartition(2)
    classifier = Classifier(NaiveBayes(), features=["vector", "word"])
    assembler = VectorAssembler(inputCols=["x", "z"], outputCol="vector")
    pipeline = Pipeline(stages=[assembler, classifier])
    grid = ParamGridBuilder().addGrid(classifier.alpha, [0.5, 1e9]).build()
    evaluator = MulticlassClassificationEvaluator(metricName="logLoss")
    tuned = CrossValidator(
        estimator=pipeline, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, seed=1
    ).fit(frame)
    assert tuned.avgMetrics[0] < tuned.avgMetrics[1]
    best = tuned.bestModel
    X = {"vector[0]": rows["x"], "vector[1]": rows["z"], "word": rows["word"]}
    one = NaiveBayes(alpha=0.5).fit({**X, "label": rows["label"]}, "label")
    assert best.stages[-1].model_.get_params() == one.get_params()
    assert bits(best.stages[-1].model_) == bits(one)

    best.save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    assert bits(loaded.stages[-1].model_) == bits(one)
    answers = loaded.transform(frame).toArrow().to_pandas()
    place = {key: k for k, key in enumerate(zip(*X_of(rows), strict=True))}
    order = [place[key] for key in zip(answers["x"], answers["z"], strict=True)]
    assert (answers["prediction"] == one.predict(X)[order]).all()
    proba = np.array([row["values"] for row in answers["probability"]])
    np.testing.assert_array_equal(proba, one.predict_proba(X)[order])

    pipeline.save(str(tmp_path / "pipeline"))
    again = Pipeline.load(str(tmp_path / "pipeline")).getStages()[-1]
    assert again.inner().get_params() == classifier.inner().get_params()
    assert again.uid == classifier.uid
    assert again.getOrDefault("features") == ["vector", "word"]


TUNED_FAR = """
import sys
import pyarrow.parquet
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import SparkSession
from cluster_tables import bits
import naively
from naively import NaiveBayes
from naively.spark import Classifier

session = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
rows = pyarrow.parquet.read_table(sys.argv[2])
frame = session.createDataFrame(rows)
classifier = Classifier(NaiveBayes())
tuned = CrossValidator(
    estimator=classifier, numFolds=2, seed=1,
    estimatorParamMaps=ParamGridBuilder().addGrid(classifier.alpha, [0.5, 1e9]).build(),
    evaluator=MulticlassClassificationEvaluator(metricName="logLoss"),
).fit(frame)
assert tuned.avgMetrics[0] < tuned.avgMetrics[1], tuned.avgMetrics
assert bits(tuned.bestModel.model_) == bits(NaiveBayes(alpha=0.5).fit(rows, "label"))
read = Classifier(NaiveBayes(alpha=0.5)).fit(naively.scan(sys.argv[2])).model_
assert bits(read) == bits(tuned.bestModel.model_)
"""


def test_tuning_over_spark_connect(spark, remote, port, tmp_path):
    # evaluators ask the process, not the frame, so that it may have no classic session
    pa.parquet.write_table(numbered(90), tmp_path / "rows.parquet")
    path = os.pathsep.join([SOURCES, str(Path(__file__).parent)])
    ended = subprocess.run(
        [sys.executable, "-c", TUNED_FAR, f"sc://localhost:{port}", tmp_path / "rows.parquet"],
        env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]


def X_of(rows):
    return rows["x"].to_pylist(), rows["z"].to_pylist()


def test_tuning_learns_no_column_of_its_own(spark):
    frame = spark.createDataFrame(numbered(60))
    folds = frame.withColumn("CrossValidator_0123abcd_rand", frame["x"])
    assert Classifier().fit(folds).columns.names == ("x", "z", "word")


def test_predictions_are_what_labels_are_and_come_with_reasons(spark, remote, tmp_path):
    rows = numbered(50)
    for labels, kind in ((["no", "yes", "maybe"], "string"), ([True, False, True], "boolean")):
        named = rows.set_column(
            3, "label", pa.array([labels[k] for k in rows["label"].to_pylist()])
        )
        model = Classifier(NaiveBayes(), explanation="why").fit(remote.createDataFrame(named))
        found = model.transform(remote.createDataFrame(named.append_column("also", rows["x"])))
        assert dict(found.dtypes)["prediction"] == kind
        assert found.columns[:5] == ["x", "z", "word", "label", "also"]
        answers = found.toArrow()
        X = named.drop_columns("label")
        assert answers["prediction"].to_pylist() == model.model_.predict(X).tolist()
        for own, row in zip(answers["why"].to_pylist(), model.model_.explain(X), strict=True):
            assert [tuple(one.values()) for one in own] == row.parts()
    model.save(str(tmp_path / "model"))
    assert bits(ClassifierModel.load(str(tmp_path / "model")).model_) == bits(model.model_)


def test_what_cannot_be_learned_is_refused(spark):
    frame = spark.createDataFrame(numbered(20))
    text = frame.selectExpr("*", "array(x, z) as pair", "cast(label as string) as name")
    indexed = StringIndexer(inputCol="name", outputCol="index").fit(text).transform(text)
    for fitted, asked, said in (
        (frame, {"target": "labels"}, "'labels'"),
        (frame, {"features": ["label", "x"]}, "among the features"),
        (text, {}, r"column 'pair' holds array<double>"),
        (indexed.drop("pair"), {"target": "index"}, "StringIndexer"),
        (frame.where("x > 1000"), {}, "no rows"),
        (frame.selectExpr("x", "cast(null as string) as label"), {}, "every label"),
        (frame, {"model": TextNB()}, "one column of text, but there are 3"),
        (frame, {"model": NaiveBayes(alpha="auto")}, 'alpha="auto"'),
        (frame.selectExpr("x", "9007199254740993 as label"), {}, "not exact as a double"),
    ):
        with pytest.raises(ValueError, match=said):
            Classifier(**asked).fit(fitted)
    with pytest.raises(TypeError, match="not JointBayes"):
        Classifier(JointBayes())
    model = silently(Classifier(features=["x", "z"]).fit, frame)
    with pytest.raises(ValueError, match=r"no column.* 'z'"):
        model.transform(frame.drop("z"))
    with pytest.raises(ValueError, match=r"has the column.* 'prediction' already"):
        model.transform(frame.withColumnRenamed("label", "prediction"))
    with pytest.raises(ValueError, match="of type method_descriptor cannot be saved"):
        Classifier(TextNB(tokenizer=str.split), features=["word"]).fit(frame)


# ---- the command line ------------------------------------------------------------------------


def test_the_command_line_writes_the_same_file(spark, tmp_path, capsys):
    rng = random.Random(4)
    lines = ["size,colour,code,class"]
    for _ in range(90):
        c = rng.randint(1, 3)
        lines.append(f'{rng.gauss(c, 1):.3f},"{rng.choice("rgb")},{c}",0{rng.randint(1, 9)}, {c}')
    data = tmp_path / "rows.csv"
    data.write_text("\n".join(lines) + "\n")
    for kind in ([], ["--naive"]):
        fit = ["fit", str(data), "--target", "class", *kind, "-o"]
        assert run([*fit, str(tmp_path / "one")]) == 0
        alone = capsys.readouterr().out
        assert run([*fit, str(tmp_path / "two"), "--engine", "spark"]) == 0
        together = capsys.readouterr().out
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
        assert said(alone) == said(together)


def said(report):
    """The text of a report before the name of the file and the time."""
    return report.split("\nsaved ")[0].splitlines()


def test_without_java_an_error_says_what_to_install(tmp_path):
    data = tmp_path / "rows.csv"
    data.write_text("a,class\n1,x\n2,y\n")
    bare = {"PATH": str(tmp_path), "PYTHONPATH": SOURCES, "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "naively", "fit", str(data), "-t", "class", "-o"]
    done = subprocess.run(
        [*command, str(tmp_path / "model"), "--engine", "spark"],
        env=bare, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "openjdk-17-jre-headless" in done.stderr
    assert "Traceback" not in done.stderr
