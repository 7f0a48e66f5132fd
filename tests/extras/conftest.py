"""Shared fixtures of optional packages: servers of PostgreSQL and Spark."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest

import naively

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def pytest_ignore_collect(config):
    """Run these tests where they are asked for, `pytest tests/extras`: they need other packages."""
    return None if any("extras" in argument for argument in config.args) else True


@pytest.fixture(scope="session")
def postgresql():
    """The address of a server in a temporary folder, which no root may run."""
    if not BINARIES:
        pytest.skip("needs PostgreSQL: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="naively-pg-"))
    own = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
    if own:
        shutil.chown(folder, "nobody", "nogroup")

    def call(name, *arguments):
        subprocess.run(
            [BINARIES[-1] / name, "-D", folder / "data", *arguments],
            check=True, capture_output=True, cwd=folder, **own,
        )  # fmt: skip

    call("initdb", "-U", "me", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    call("pg_ctl", "-w", "-o", options, "-l", folder / "log", "start")
    yield f"postgresql://me:hush@/postgres?host={quote(str(folder), safe='')}"
    call("pg_ctl", "-w", "-m", "immediate", "stop")
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def port():
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return one.getsockname()[1]


@pytest.fixture(scope="session")
def spark(port):
    """Two executors, each a process; and a server for Spark Connect."""
    pytest.importorskip("pyspark", reason="needs naively[spark]")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java: the package openjdk-17-jre-headless")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    conf = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "Europe/Paris",
        "spark.executorEnv.PYTHONPATH": str(Path(naively.__file__).parents[1]),
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in conf.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def remote(spark, port):
    pytest.importorskip("grpc", reason="needs pyspark[connect]")
    from pyspark.sql.connect.session import SparkSession as Remote

    session = Remote.builder.remote(f"sc://localhost:{port}").getOrCreate()
    yield session
    session.stop()
