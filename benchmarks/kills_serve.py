"""Kill `naively serve` at random moments (kill -9) while clients train it, and start it again.

    python benchmarks/kills_serve.py             # 50 kills
    python benchmarks/kills_serve.py --kills 5

Four clients at once learn rows, and forget half of them again. One that gets no answer asks again
once the service is back, with the same Idempotency-Key. In the end each row must be there once: the
model is, bit for bit, the one that learned the rows that were not forgotten, without a service.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import naively

COMMAND = [sys.executable, "-m", "naively"]
CLIENTS = 4
FIRST = [{"age": k % 50 + 0.5, "job": "abc"[k % 3], "rich": "ny"[k % 2]} for k in range(60)]


class Service:
    """The service, at whatever port it is now."""

    def __init__(self, model: Path) -> None:
        self.model = model
        self.port = 0
        self.begin()

    def begin(self) -> None:
        """Start it, and wait until it answers."""
        serve = [*COMMAND, "serve", str(self.model), "--port", "0"]
        self.process = subprocess.Popen(
            serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        found = re.search(r"http://127.0.0.1:(\d+)/", self.process.stdout.readline())
        if found is None:
            raise RuntimeError(f"{self.model} cannot be served after a kill")
        self.port = int(found[1])

    def ask(self, path: str, row: dict[str, Any], key: str) -> bool:
        """Ask until there is an answer; whether it took more than one request."""
        body, again = json.dumps([row]), False
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        while True:
            try:
                to = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
                to.request("POST", path, body, headers)
                answer = to.getresponse()
                said = answer.read().decode()
                to.close()
            except (OSError, http.client.HTTPException):
                again = True
                time.sleep(0.05)
                continue
            if answer.status != 200:
                raise RuntimeError(f"{answer.status}: {said}")
            return again


class Client(threading.Thread):
    """Learns rows of its own, and forgets every other one, until it is told to stop."""

    def __init__(self, name: str, service: Service) -> None:
        super().__init__(name=name)
        self.service = service
        self.going = True
        self.learned: list[dict[str, Any]] = []
        self.asked = self.repeated = 0
        self.failed: Exception | None = None

    def run(self) -> None:
        """Ask."""
        chance = random.Random(self.name)
        try:
            while self.going:
                age, rich = chance.randrange(100) / 2, "ny"[self.asked % 2]
                row = {"age": age, "job": self.name, "rich": rich}
                self.ask("/learn", row)
                if chance.random() < 0.5:
                    self.ask("/forget", row)
                else:
                    self.learned.append(row)
        except Exception as error:
            self.failed = error

    def ask(self, path: str, row: dict[str, Any]) -> None:
        """Ask once, however often that takes."""
        self.asked += 1
        self.repeated += self.service.ask(path, row, f"{self.name}-{self.asked}")


def kills(count: int, seed: int = 0) -> str:
    """Kill the service so often; what came of it. RuntimeError if a row was lost or doubled."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "the.model")
        naively.NaiveBayes().fit(pa.Table.from_pylist(FIRST), "rich").save(path)
        service = Service(path)
        clients = [Client(f"client{k}", service) for k in range(CLIENTS)]
        for one in clients:
            one.start()
        for _ in range(count):
            time.sleep(chance.uniform(0.02, 0.8))
            service.process.kill()
            service.process.wait()
            service.begin()
        for one in clients:
            one.going = False
        for one in clients:
            one.join()
        service.process.terminate()
        if (code := service.process.wait()) != 0:
            raise RuntimeError(f"the service ended with {code}")
        if failed := [one.failed for one in clients if one.failed is not None]:
            raise RuntimeError(f"a client got an error: {failed[0]}")
        rows = [*FIRST, *(row for one in clients for row in one.learned)]
        expected = naively.NaiveBayes().fit(pa.Table.from_pylist(FIRST), "rich")
        expected.partial_fit(pa.Table.from_pylist(rows[len(FIRST) :]), "rich")
        found = naively.load(path).model_
        if found != expected.model_ or found.rows != len(rows):
            raise RuntimeError(f"{found.rows} rows, where {len(rows)} were learned and kept")
        asked = sum(one.asked for one in clients)
        again = sum(one.repeated for one in clients)
    return (
        f"naively serve: {count} kills, {asked:,} changes acknowledged, {again:,} asked again; "
        f"{len(rows) - len(FIRST):,} rows learned and kept, 0 lost or doubled"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(kills(given.kills, given.seed))


if __name__ == "__main__":
    main()
