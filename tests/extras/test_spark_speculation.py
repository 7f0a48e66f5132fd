"""Spark runs slow tasks a second time, on another machine: no row counts twice.

A machine of that other name is needed, so that the cluster is made of processes of its own: two
workers at two addresses of this machine. What runs there is in a process of its own, too.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs naively[spark]")

import pyspark

import naively

HOME = Path(pyspark.__file__).parent
PATIENCE = 600  # seconds that a cluster may take to start

SCRIPT = '''
import sys, time
from pathlib import Path

from cluster_tables import bits, silently, table
from pyspark import TaskContext
from pyspark.sql import SparkSession

from naively import NaiveBayes
from naively.spark.engine import summed
from naively.spark import Classifier

master, folder = sys.argv[1:]
session = (
    SparkSession.builder.master(master)
    .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    .config("spark.executor.memory", "512m").config("spark.driver.host", "127.0.0.1")
    .config("spark.speculation", "true").config("spark.speculation.interval", "100ms")
    .config("spark.speculation.quantile", "0.5").config("spark.speculation.multiplier", "1.1")
    .config("spark.sql.shuffle.partitions", "4").getOrCreate()
)


def slow(name):
    """Whether this is the first attempt at partition 1; it is noted."""
    context = TaskContext.get()
    if context.partitionId() != 1:
        return False
    notes = Path(folder, name)
    notes.mkdir(exist_ok=True)
    attempts = len(list(notes.iterdir()))
    (notes / str(context.taskAttemptId())).touch()
    return attempts == 0


def pass_on(batches):
    yield from batches
    if slow("rows"):
        time.sleep(60)


def counted(rounds):
    def count(batches):
        total = sum(sum(batch.column(0).to_pylist()) for batch in batches)
        if slow(f"sums {rounds}"):
            time.sleep(60)
        return str(total).encode()
    return count


def add(contents):
    return str(sum(map(int, contents))).encode()


rows = table(5, 400).drop_columns(["nothing", "text"])
frame = session.createDataFrame(rows).repartition(4)
given = frame.mapInArrow(pass_on, frame.schema)
columns = {name: "gaussian" for name in ("number", "whole")}  # whichever rows are the first ones
columns |= dict.fromkeys(["few", "level", "rare", "truth", "price", "day", "time"], "skip")
found = silently(Classifier(NaiveBayes(columns)).fit, given).model_
assert bits(found) == bits(silently(NaiveBayes(columns).fit, rows, "label")), "other bits"
for rounds in range(3):
    sums = summed(session.range(0, 1000, 1, 4), counted(rounds), add, rounds)
    assert len(sums) <= (4, 4, 1)[rounds], sums
    assert sum(map(int, sums)) == 499500, sums
for one in sorted(Path(folder).iterdir()):
    print(one.name, len(list(one.iterdir())))
session.stop()
'''


@pytest.fixture
def cluster(tmp_path):
    """The address of a cluster of two machines."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java: the package openjdk-17-jre-headless")
    for host in ("127.0.0.1", "127.0.0.2"):
        with socket.socket() as one:
            try:
                one.bind((host, 0))
            except OSError:
                pytest.skip(f"needs a second address of this machine, such as {host}")
            port = one.getsockname()[1]
    address = f"spark://127.0.0.1:{port}"
    own = os.environ | {
        "SPARK_HOME": str(HOME), "SPARK_WORKER_DIR": str(tmp_path / "work"),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(
            [str(Path(naively.__file__).parents[1]), str(Path(__file__).parent)]
        ),
    }  # fmt: skip
    deploy, processes = "org.apache.spark.deploy", []

    def start(name, *arguments):
        command = [HOME / "bin/spark-class", f"{deploy}.{name}", *arguments]
        with (tmp_path / f"log {len(processes)}").open("w") as log:
            started = subprocess.Popen(
                [*command, "--webui-port", "0"], env=own, stdout=log, stderr=log
            )
        processes.append(started)

    start("master.Master", "--host", "127.0.0.1", "--port", str(port))
    for host in ("127.0.0.1", "127.0.0.2"):
        start("worker.Worker", "--host", host, "-c", "1", "-m", "1g", address)
    try:
        _wait(lambda: (tmp_path / "log 0").read_text().count("Registering worker") == 2)
        yield address, own
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(PATIENCE)


def _wait(done):
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, "the cluster did not start"
        time.sleep(0.1)


def test_no_row_counts_twice_if_a_slow_task_is_made_twice(cluster, tmp_path):
    address, own = cluster
    notes = tmp_path / "notes"
    notes.mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, address, str(notes)],
        env=own, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    attempts = dict(line.rsplit(" ", 1) for line in ended.stdout.splitlines())
    assert attempts.keys() == {"rows", "sums 0", "sums 1", "sums 2"}
    assert all(int(count) > 1 for count in attempts.values()), f"made once only: {attempts}"
