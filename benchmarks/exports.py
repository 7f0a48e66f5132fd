"""Models as queries and ONNX graphs: how far from Python, how large, how fast.

    NAIVELY_DATA=folder python benchmarks/exports.py            # a million rows each
    NAIVELY_DATA=folder python benchmarks/exports.py --rows 20000 --only iris adult

It prints the table of docs/export.md. Models are those of `AutoBayes()`, `NaiveBayes()` and
`TextNB()`, with weights and without. All rows of a table are predicted, also in DuckDB, where they
are repeated until there are enough. Seconds are those of all processors, planning included.
Needs `naively[export,sql]` and onnxruntime.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import duckdb
import numpy as np
import onnxruntime
import pandas as pd

from naively import AutoBayes, NaiveBayes, TextNB
from naively.export.formulas import NotExportableError
from naively.export.onnx import to_onnx
from naively.export.sql import to_sql


def tables(folder: Path) -> dict[str, tuple[pd.DataFrame, pd.Series]]:
    """(columns, labels) of each data set."""
    adult = pd.read_csv(folder / "adult/adult-train.csv.gz", header=None, skipinitialspace=True)
    iris = pd.read_csv(folder / "iris/iris.csv", header=None, skiprows=1)
    titanic = pd.read_csv(folder / "titanic/titanic-seaborn-891.csv")
    lines = (folder / "sms-spam/SMSSpamCollection").read_text("utf-8").split("\n")[:-1]
    spam = pd.DataFrame([line.split("\t", 1) for line in lines], columns=["label", "text"])
    targets = {"adult": (adult, 14), "iris": (iris, 4), "titanic": (titanic, "survived"),
               "sms-spam": (spam, "label")}  # fmt: skip
    return {
        name: (table.drop(columns=target).rename(columns=str), table[target])
        for name, (table, target) in targets.items()
    }


def fed(graph: onnxruntime.InferenceSession, table: pd.DataFrame) -> dict[str, np.ndarray]:
    """The columns of a table as a graph takes them."""
    given = {}
    for one in graph.get_inputs():
        column = table[one.name]
        text = ["" if pd.isna(v) else str(v) for v in column]
        numbers = one.type == "tensor(double)"
        given[one.name] = column.to_numpy(float) if numbers else np.array(text, object)
    return {name: values[:, np.newaxis] for name, values in given.items()}


def compared(found: np.ndarray, proba: np.ndarray, export: bytes) -> list[str]:
    """The largest difference, and the size."""
    return [f"{np.abs(found - proba).max():.0e}", f"{len(export) / 1e3:,.0f} kB"]


def measured(name: str, model, table: pd.DataFrame, rows: int) -> str:
    """A row of the table."""
    texts = table["text"].tolist() if name == "sms-spam" else table
    proba = model.predict_proba(texts)
    column = "x0" if name == "sms-spam" else None
    numbered = table.rename(columns={"text": column} if column else {})
    numbered = numbered.assign(naively_id=range(len(table)))
    query = to_sql(model.model_, "duckdb", "few", ["naively_id"])
    many = to_sql(model.model_, "duckdb", "many", ["naively_id"])
    with duckdb.connect() as database:
        database.register("given", numbered)
        database.execute("create table few as from given")
        found = np.array(sorted(database.execute(query).fetchall()), object)[:, 2:].astype(float)
        times = -(-rows // len(table))
        database.execute(
            f"create table many as select g.* from given g, range({times}) limit {rows}"
        )
        database.execute(f"create table warm as {many}").fetchall()
        start = time.process_time()
        database.execute(f"create table answers as {many}").fetchall()
        spent = time.process_time() - start
    made = str(model).replace("TextNB()", 'TextNB(weights="auto")')
    cells = [name, f"`{made}`", *compared(found, proba, query.encode()), f"{spent:.1f}"]
    try:
        graph = to_onnx(model.model_)
    except NotExportableError:
        cells += ["", ""]
    else:
        session = onnxruntime.InferenceSession(graph)
        _, probabilities = session.run(None, fed(session, table))
        cells += compared(probabilities, proba, graph)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", help="data sets; all unless named")
    asked = parser.parse_args()
    print("| data | model | query: largest difference | its size | seconds in DuckDB | "
          "graph: largest difference | its size |")  # fmt: skip
    print("| --- | --- | --: | --: | --: | --: | --: |")
    for name, (table, labels) in tables(Path(os.environ["NAIVELY_DATA"])).items():
        if name not in (asked.only or [name]):
            continue
        models = (
            [TextNB(), TextNB(weights=None)] if name == "sms-spam" else [AutoBayes(), NaiveBayes()]
        )
        for model in models:
            model.fit(table["text"].tolist() if name == "sms-spam" else table, labels)
            print(measured(name, model, table, asked.rows), flush=True)


if __name__ == "__main__":
    main()
