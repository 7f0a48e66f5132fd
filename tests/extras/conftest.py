"""What tests of other packages share: a server of PostgreSQL."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


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
