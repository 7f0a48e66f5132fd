"""naively on Spark beside Spark's own naive Bayes: seconds and accuracy, on one machine.

    NAIVELY_DATA=... python benchmarks/spark.py [--cores 1 2] [--only covtype adult newsgroups]
    NAIVELY_DATA=... python benchmarks/spark.py --parts --only covtype

All read the same Parquet files in the same session: `frame` by Spark, `files` by naively on the
executors. MLlib's pipelines are those of its guide: StringIndexer, VectorAssembler and GaussianNB's
kin for tables; Tokenizer, HashingTF and NaiveBayes for texts. Times are of `fit` alone, seconds and
those of processors (of Python, Java and its workers): medians of runs that take turns, after one of
each that starts the workers and compiles what is to be compiled. `overhead` is the part that is no
counting: the same fit on 100 rows, and its share. With several numbers of cores each is a session
of its own. `--parts` tells where the time of a `NaiveBayes` goes.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import json
import lzma
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as parquet

ADULT = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital", "occupation",
    "relationship", "race", "sex", "gain", "loss", "hours", "country", "label",
]  # fmt: skip
RUNS = 5
FILES = 8  # that a table is cut into, so that there are partitions


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--cores", type=int, nargs="+", default=[2])
    given.add_argument("--only", nargs="*", default=[*TABLES])
    given.add_argument("--runs", type=int, default=RUNS)
    given.add_argument("--parts", action="store_true", help="where the time of one fit goes")
    options = given.parse_args()
    if len(options.cores) > 1:  # a session cannot change how many it has
        more = ["--runs", str(options.runs), "--only", *options.only]
        more += ["--parts"] if options.parts else []
        for cores in options.cores:
            command = [sys.executable, __file__, "--cores", str(cores), *more]
            subprocess.run(command, check=True)
        return
    data = Path(os.environ["NAIVELY_DATA"])
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    import naively

    spark = (
        SparkSession.builder.master(f"local[{options.cores[0]}]")
        .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "6g").getOrCreate()
    )  # fmt: skip
    spark.sparkContext.setLogLevel("ERROR")
    print(f"\n{options.cores[0]} cores\n")
    if options.parts:
        print("| data | part | seconds | CPU seconds |\n| --- | --- | --- | --- |")
    else:
        print("| data | rows | learner | seconds | CPU s | rows/s | overhead | share | accuracy |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            learn, test = (TABLES[name](data, part) for part in ("train", "test"))
            paths = [
                _written(one, Path(folder, f"{name}-{k}")) for k, one in enumerate((learn, test))
            ]
            small = _written(learn.slice(0, 100), Path(folder, f"{name}-small"))
            if options.parts:
                parts(name, spark.read.parquet(paths[0]), options.runs)
                continue
            both = {
                "frame": [spark.read.parquet(path) for path in (paths[0], small)],
                "files": [naively.scan(f"{path}/*.parquet") for path in (paths[0], small)],
            }
            measured(name, learners(name, learn), both, spark.read.parquet(paths[1]), options.runs)


def parts(name, frame, turns) -> None:
    """The steps of a fit, each by itself; the first two are in all that follow but the head."""
    from naively import NaiveBayes, clusters
    from naively.clusters import Counting, added
    from naively.spark.engine import COLUMNS, converting, counted, first_rows, learnable, summed

    columns = learnable(frame, "label", None, None)
    spec = clusters.spec_of(NaiveBayes(), columns.features, "label")
    rows = clusters.rows_to_look_at(spec, columns.features)
    head = first_rows(frame, rows)
    made = clusters.planned(columns.unpacked(head), spec)
    count = converting(columns.unpacked, Counting(made))
    steps = {
        "Parquet is read": lambda: frame.write.format("noop").mode("overwrite").save(),
        "rows reach Python as Arrow": lambda: frame.mapInArrow(_eaten, "rows long").toArrow(),
        "and are counted": lambda: frame.mapInArrow(partial(counted, count), COLUMNS).toArrow(),
        "and added up": lambda: summed(frame, count, added),
        f"before: {head.num_rows:,} first rows": lambda: first_rows(frame, rows),
        "before: the plan": lambda: clusters.planned(columns.unpacked(head), spec),
    }
    for called, step in steps.items():
        step()
        runs = []
        for _ in range(turns):
            wall, cpu = time.perf_counter(), _cpu()
            step()
            runs.append((time.perf_counter() - wall, _cpu() - cpu))
        wall, cpu = map(median, zip(*runs, strict=True))
        print(f"| {name} | {called} | {wall:.2f} | {cpu:.2f} |", flush=True)


def _eaten(batches):
    yield pa.RecordBatch.from_pydict({"rows": [sum(one.num_rows for one in batches)]})


def _cpu() -> float:
    """CPU seconds of this process, of Java and of its workers so far."""
    tick, own = os.sysconf("SC_CLK_TCK"), {os.getpid()}
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            found[int(folder.name)] = int(fields[1]), sum(map(int, fields[11:15])) / tick
    while more := {pid for pid, (parent, _) in found.items() if parent in own} - own:
        own |= more
    return sum(found[pid][1] for pid in own)


def measured(name, learners, both, test, runs) -> None:
    from pyspark.sql.functions import col

    times = {called: ([], []) for called in learners}  # of all rows, of few
    models = {}
    for turn in range(runs + 1):
        for called, (learner, data) in learners.items():
            for k in (1, 0):
                wall, cpu = time.perf_counter(), _cpu()
                models[called] = learner().fit(both[data][k])
                if turn:
                    times[called][k].append((time.perf_counter() - wall, _cpu() - cpu))
    rows = both["frame"][0].count()
    for called, (whole, few) in times.items():
        (wall, cpu), (overhead, _) = (map(median, zip(*own, strict=True)) for own in (whole, few))
        answers = models[called].transform(test)
        truth = "index" if "index" in answers.columns else "label"
        right = answers.where(col("prediction") == col(truth)).count() / test.count()
        print(
            f"| {name} | {rows:,} | {called} | {wall:.2f} | {cpu:.2f} | {rows / wall:,.0f} | "
            f"{overhead:.2f} | {overhead / wall:.0%} | {right:.4f} |", flush=True,
        )  # fmt: skip


def learners(name: str, table: pa.Table) -> dict:
    """(what makes a learner, which data it takes), by what it is called."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes as SparkNB
    from pyspark.ml.feature import HashingTF, StringIndexer, Tokenizer, VectorAssembler

    from naively import AutoBayes, NaiveBayes, TextNB

    features = [one for one in table.column_names if one != "label"]
    label = StringIndexer(inputCol="label", outputCol="index")
    if name == "newsgroups":
        steps = [
            Tokenizer(inputCol="text", outputCol="words"),
            HashingTF(inputCol="words", outputCol="features"),
            SparkNB(labelCol="index"),
        ]
        textbook = TextNB(weights=None)
        return {
            "naively TextNB(weights=None), frame": (_classifier(textbook), "frame"),
            "naively TextNB(weights=None), files": (_classifier(textbook), "files"),
            "naively TextNB, files": (_classifier(TextNB()), "files"),
            "MLlib HashingTF, NaiveBayes": (lambda: Pipeline(stages=[label, *steps]), "frame"),
        }
    levels = [one for one in features if pa.types.is_string(table.schema.field(one).type)]
    numbers = [one for one in features if one not in levels]
    found = {
        f"naively {type(model).__name__}, {data}": (_classifier(model), data)
        for model in (NaiveBayes(), AutoBayes())
        for data in ("frame", "files")
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
            called = f"MLlib indexers, NaiveBayes {kind}"
            found[called] = lambda stages=stages: Pipeline(stages=stages), "frame"
    return found


def _classifier(model):
    from naively.spark import Classifier

    return lambda: Classifier(model)


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
