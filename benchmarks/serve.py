"""Requests a second and their latency, beside scikit-learn's pipelines behind the same FastAPI.

    python benchmarks/serve.py --data FOLDER              # the folder that NAIVELY_DATA names
    python benchmarks/serve.py --seconds 2 --only sms     # a quick look

`naively serve` and a FastAPI application that asks a pipeline of scikit-learn run in processes of
their own, one after the other, with the same uvicorn on loopback; this process sends them the same
requests over 1 and over 64 connections, each of which waits for its answer before it asks again.
Figures are requests a second, the 50th and 99th percentile of the time to the answer, and how long
processors worked for it in the service, which depends least on what else the machine does. With
`learning` five rows a second are learned meanwhile, each acknowledged once on the disk.

Tables: adult (a row of 14 columns, 1,000 rows) and sms-spam (a message, 1,000 messages). naively's
models are those of `naively fit --naive`, and with --auto those of `naively fit`. scikit-learn's:
one-hot and standardised columns with logistic regression; words with multinomial naive Bayes.

Sender and server share the machine: figures are of both together.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import gzip
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rich.box
import uvicorn
from fastapi import FastAPI, Request, Response
from rich.console import Console
from rich.table import Table

from naively.serve.app import listening

NAMES = (
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation",
    "relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week",
    "native_country", "income",
)  # fmt: skip
NUMBERS = {"age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"}
NAIVELY = [sys.executable, "-c", "from naively.cli.main import main; main()"]


def adult(folder: Path) -> list[dict[str, Any]]:
    with gzip.open(folder / "adult" / "adult-train.csv.gz", "rt") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == len(NAMES)]
    return [
        {
            name: float(cell) if name in NUMBERS else None if cell == "?" else cell
            for name, cell in zip(NAMES, row, strict=True)
        }
        for row in rows
    ]


def sms(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "sms-spam" / "SMSSpamCollection").read_text("utf-8").splitlines()
    pairs = (line.split("\t", 1) for line in lines)
    return [{"text": text, "label": label} for label, text in pairs]


# ---- the other service ---------------------------------------------------------------------------


def peer(rows: list[dict[str, Any]], target: str) -> None:
    """Serve scikit-learn's pipeline, as one would write it in a few lines."""
    import pandas as pd
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = pd.DataFrame(rows)
    labels = frame.pop(target)
    texts = list(frame) == ["text"]
    if texts:
        model = make_pipeline(CountVectorizer(), MultinomialNB()).fit(frame["text"], labels)
    else:
        columns = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
            (StandardScaler(), make_column_selector(dtype_include="number")),
        )
        model = make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(frame, labels)
    classes = model.classes_.tolist()
    app = FastAPI()

    async def predict(request: Request) -> Response:
        asked = json.loads(await request.body())["rows"]
        given = [row["text"] for row in asked] if texts else pd.DataFrame(asked)
        proba = model.predict_proba(given)
        found = [
            {"prediction": classes[k], "probabilities": dict(zip(classes, one, strict=True))}
            for k, one in zip(proba.argmax(axis=1).tolist(), proba.tolist(), strict=True)
        ]
        return Response(json.dumps({"rows": found}), media_type="application/json")

    app.add_api_route("/predict", predict, methods=["POST"])
    with listening("127.0.0.1", 0) as opened:
        print(f"serving at http://127.0.0.1:{opened.getsockname()[1]}/", flush=True)
        server = uvicorn.Config(app, log_config=None, access_log=False, loop="asyncio")
        uvicorn.Server(server).run(sockets=[opened])


# ---- sending -------------------------------------------------------------------------------------


class Connection(asyncio.Protocol):
    """Sends a request again and again, and notes how long each answer takes."""

    def __init__(self, request: bytes, until: float, seconds: list[float]) -> None:
        self.request, self.until, self.seconds = request, until, seconds
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        """Ask at once."""
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        """Send the request."""
        self.met, self.missing = b"", -1
        self.start = time.perf_counter()
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        """Take a part of the answer; after the last one, ask again."""
        self.met += data
        if self.missing < 0:
            end = self.met.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.met[:end].lower()
            if not head.startswith(b"http/1.1 200"):
                self.done.set_exception(RuntimeError(self.met.decode()))
                return
            length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            self.missing = end + 4 + length
        if len(self.met) >= self.missing:
            now = time.perf_counter()
            self.seconds.append(now - self.start)
            if now < self.until:
                self.ask()
            else:
                self.transport.close()
                self.done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        """Say so if an answer was missing."""
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the service closed the connection"))


def request(path: str, rows: list[dict[str, Any]]) -> bytes:
    body = json.dumps({"rows": rows}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def sent(port: int, asked: bytes, connections: int, seconds: float) -> list[float]:
    """The time to each answer."""
    found: list[float] = []
    until = time.perf_counter() + seconds
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: Connection(asked, until, found), "127.0.0.1", port)
        for _ in range(connections)
    ]
    await asyncio.gather(*(one.done for _, one in made))
    return found


async def taught(port: int, asked: bytes, seconds: float) -> list[float]:
    """The time to each acknowledgement, of five rows a second."""
    found: list[float] = []
    start = time.perf_counter()
    for k in range(int(5 * seconds)):
        await asyncio.sleep(max(0.0, start + k / 5 - time.perf_counter()))
        found += await sent(port, asked, 1, 0.0)
    return found


# ---- the runs ------------------------------------------------------------------------------------


@contextmanager
def served(command: list[str]) -> Iterator[tuple[int, int]]:
    """(the port, the number of the process) of a service, which ends with the block."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = next(iter(process.stdout.readline, ""))
            yield int(line.split("http://127.0.0.1:")[1].split("/")[0]), process.pid
        finally:
            process.terminate()


def worked(process: int) -> float:
    """Seconds that all processors have worked for a process; NaN where the system does not say."""
    try:
        said = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return math.nan
    return (int(said[11]) + int(said[12])) / os.sysconf("SC_CLK_TCK")


def run(
    service: tuple[int, int], cases: dict[str, bytes], lesson: bytes | None, seconds: float
) -> Iterator[Any]:
    """(case, connections, answers a second, p50 and p99 in ms, ms of work, p50 of learning)."""
    port, process = service
    for name, asked in cases.items():
        asyncio.run(sent(port, asked, 2, 0.3))  # warm
        for connections in (1, 64):
            start, before = time.perf_counter(), worked(process)
            found = asyncio.run(sent(port, asked, connections, seconds))
            took, work = time.perf_counter() - start, worked(process) - before
            own = 1e3 * work / len(found)
            yield name, connections, len(found) / took, *percentiles(found), own, math.nan
        if lesson is not None:

            async def both(asked: bytes = asked) -> Any:
                return await asyncio.gather(
                    sent(port, asked, 1, seconds), taught(port, lesson, seconds)
                )

            found, learned = asyncio.run(both())
            rate, learning = len(found) / seconds, percentiles(learned)[0]
            yield f"{name}, learning", 1, rate, *percentiles(found), math.nan, learning


def percentiles(seconds: list[float]) -> tuple[float, float]:
    """(p50, p99) in ms."""
    if len(seconds) < 2:
        return 1e3 * seconds[0], 1e3 * seconds[0]
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return 1e3 * cuts[49], 1e3 * cuts[98]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("NAIVELY_DATA"))
    parser.add_argument("--seconds", type=float, default=5.0, help="of each figure")
    parser.add_argument("--only", choices=("adult", "sms"))
    parser.add_argument("--auto", action="store_true", help="models of `naively fit`, not --naive")
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.data is None:
        parser.error("name the folder of the data sets with --data, or in NAIVELY_DATA")
    tables = {"adult": (adult, "income", "row"), "sms": (sms, "label", "message")}
    if given.peer:
        read, target, _ = tables[given.only]
        peer(read(given.data), target)
        return
    console = Console()
    table = Table(box=rich.box.SIMPLE_HEAD, pad_edge=False)
    for head in (
        "request",
        "of",
        "connections",
        "requests/s",
        "p50 ms",
        "p99 ms",
        "work ms",
        "learn ms",
    ):
        table.add_column(head, justify="left" if head in ("request", "of") else "right")
    for name in ("adult", "sms") if given.only is None else (given.only,):
        read, target, what = tables[name]
        rows = read(given.data)
        asked = [{key: row[key] for key in row if key != target} for row in rows[:1000]]
        cases = {f"{name}, 1 {what}": request("/predict", asked[:1])}
        cases[f"{name}, 1,000 {what}s"] = request("/predict", asked)
        with tempfile.TemporaryDirectory() as folder:
            data, model = Path(folder, "rows.jsonl"), Path(folder, f"{name}.model")
            data.write_text("".join(json.dumps(row) + "\n" for row in rows))
            fit = [*NAIVELY, "fit", str(data), "--target", target, "-o", str(model)]
            fit += ["--text", "text"] if name == "sms" else []
            subprocess.run(fit + ["--naive"] * (not given.auto), check=True, capture_output=True)
            serve = [*NAIVELY, "serve", str(model), "--port", "0"]
            with served(serve) as service:
                lesson = request("/learn", rows[:1])
                ours = list(run(service, cases, lesson, given.seconds))
        other = [sys.executable, __file__, "--peer", "--only", name, "--data", str(given.data)]
        with served(other) as service:
            theirs = list(run(service, cases, None, given.seconds))
        for of, found in (("naively", ours), ("scikit-learn", theirs)):
            for case, connections, rate, *times in found:
                cells = ["" if math.isnan(one) else f"{one:,.2f}" for one in times]
                table.add_row(case, of, str(connections), f"{rate:,.0f}", *cells)
    console.print(table)


if __name__ == "__main__":
    main()
