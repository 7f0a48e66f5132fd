"""naively on Spark beside Spark's own naive Bayes: seconds and accuracy, on one machine.

    NAIVELY_DATA=... python benchmarks/spark.py [--cores 2] [--only covtype adult newsgroups]

Both read the same Parquet files in the same session, after a small table that starts the workers
and compiles what is to be compiled. MLlib's pipelines are those of its guide: StringIndexer,
VectorAssembler and GaussianNB's kin for tables; Tokenizer, HashingTF and NaiveBayes for texts.
Times are of `fit` alone, the best of some runs. `overhead` is the part of them that is no counting:
the seconds of the same fit on 100 rows.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import lzma
import os
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as parquet

ADULT = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital", "occupation",
    "relationship", "race", "sex", "gain", "loss", "hours", "country", "label",
]  # fmt: skip
RUNS = 2
FILES = 8  # that a table is cut into, so that there are partitions


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--cores", type=int, default=2)
    given.add_argument("--only", nargs="*", default=["covtype", "adult", "newsgroups"])
    options = given.parse_args()
    data = Path(os.environ["NAIVELY_DATA"])
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master(f"local[{options.cores}]")
        .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "6g").getOrCreate()
    )  # fmt: skip
    spark.sparkContext.setLogLevel("ERROR")
    print(f"{options.cores} cores\n")
    print("| data | rows | learner | seconds | rows/s | overhead | accuracy |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            learn, test = (TABLES[name](data, part) for part in ("train", "test"))
            paths = [
                _written(one, Path(folder, f"{name}-{k}")) for k, one in enumerate((learn, test))
            ]
            small = _written(learn.slice(0, 100), Path(folder, f"{name}-small"))
            frames = [spark.read.parquet(path) for path in (*paths, small)]
            for called, learner in learners(name, learn).items():
                measured(called, learner, name, *frames)


def measured(called, learner, name, train, test, small) -> None:
    from pyspark.sql.functions import col

    learner().fit(small)  # starts what is to be started
    overhead = min(_seconds(learner, small)[0] for _ in range(RUNS))
    runs = [_seconds(learner, train) for _ in range(RUNS)]
    best, model = min(runs, key=lambda one: one[0])
    answers = model.transform(test)
    truth = "index" if "index" in answers.columns else "label"
    right = answers.where(col("prediction") == col(truth)).count() / test.count()
    rows = train.count()
    print(
        f"| {name} | {rows:,} | {called} | {best:.2f} | {rows / best:,.0f} | {overhead:.2f} | "
        f"{right:.4f} |", flush=True,
    )  # fmt: skip


def _seconds(learner, frame):
    start = time.perf_counter()
    model = learner().fit(frame)
    return time.perf_counter() - start, model


def learners(name: str, table: pa.Table) -> dict:
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes as SparkNB
    from pyspark.ml.feature import HashingTF, StringIndexer, Tokenizer, VectorAssembler

    from naively import AutoBayes, NaiveBayes, TextNB
    from naively.spark import Classifier

    features = [one for one in table.column_names if one != "label"]
    label = StringIndexer(inputCol="label", outputCol="index")
    if name == "newsgroups":
        steps = [
            Tokenizer(inputCol="text", outputCol="words"),
            HashingTF(inputCol="words", outputCol="features"),
            SparkNB(labelCol="index"),
        ]
        return {
            "naively TextNB": lambda: Classifier(TextNB(), features=["text"]),
            "MLlib HashingTF, NaiveBayes": lambda: Pipeline(stages=[label, *steps]),
        }
    levels = [one for one in features if pa.types.is_string(table.schema.field(one).type)]
    numbers = [one for one in features if one not in levels]
    found = {
        "naively NaiveBayes": lambda: Classifier(NaiveBayes()),
        "naively AutoBayes": lambda: Classifier(AutoBayes()),
    }
    for kind in ("gaussian", "multinomial"):
        indexer = StringIndexer(
            inputCols=levels, outputCols=[f"{one} index" for one in levels], handleInvalid="keep"
        )
        whole = VectorAssembler(
            inputCols=[*numbers, *(f"{one} index" for one in levels)], outputCol="features",
            handleInvalid="skip",
        )  # fmt: skip
        bayes = SparkNB(labelCol="index", modelType=kind)
        stages = [label, *([indexer] if levels else []), whole, bayes]
        if kind == "gaussian" or name == "adult":  # the other one takes no negative numbers
            found[f"MLlib indexers, NaiveBayes {kind}"] = lambda stages=stages: Pipeline(
                stages=stages
            )
    return found


def _written(table: pa.Table, path: Path) -> str:
    path.mkdir()
    files = min(FILES, max(1, table.num_rows // 100))
    size = -(-table.num_rows // files)
    for k in range(files):
        parquet.write_table(table.slice(k * size, size), path / f"{k}.parquet")
    return str(path)


def covtype(data: Path, part: str) -> pa.Table:
    with lzma.open(data / "covtype" / "covtype.csv.xz") as file:
        table = pyarrow.csv.read_csv(file)
    target = table.column_names[-1]
    table = table.rename_columns([*table.column_names[:-1], "label"]) if target else table
    keep = pa.array((k % 10 == 9) == (part == "test") for k in range(table.num_rows))
    return table.filter(keep)


def adult(data: Path, part: str) -> pa.Table:
    with gzip.open(data / "adult" / f"adult-{part}.csv.gz", "rt") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == len(ADULT)]
    columns = {name: list(own) for name, own in zip(ADULT, zip(*rows, strict=True), strict=True)}
    columns["label"] = [one.rstrip(".") for one in columns["label"]]
    numbers = ("age", "fnlwgt", "education_num", "gain", "loss", "hours")
    table = pa.table({
        name: pa.array([float(one) for one in own] if name in numbers else own)
        for name, own in columns.items()
    })  # fmt: skip
    return pa.concat_tables([table] * 20) if part == "train" else table


def newsgroups(data: Path, part: str) -> pa.Table:
    with lzma.open(data / "20news-bydate" / f"{part}.jsonl.xz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return pa.table({name: [row[name] for row in rows] for name in ("text", "label")})


TABLES = {"covtype": covtype, "adult": adult, "newsgroups": newsgroups}

if __name__ == "__main__":
    main()
