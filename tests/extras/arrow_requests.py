"""Sends Arrow bodies to a service in this process: `python arrow_requests.py FOLDER SEED COUNT`.

Prints the statuses as JSON, by the name of a body or the path of damaged ones.
"""

import asyncio
import json
import logging
import random
import sys
from collections import Counter
from itertools import cycle
from pathlib import Path

from naively import NaiveBayes
from naively.cli.serving import service_of
from naively.serve.app import application
from naively.serve.bodies import ARROW

sys.path.insert(0, str(Path(__file__).parents[1]))
import arrow_bodies

PATHS = ("/predict", "/explain", "/learn", "/forget")


async def status_of(app, path, body):
    """The status of the answer to a request."""
    headers = {"host": "localhost", "content-type": ARROW, "content-length": str(len(body))}
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": path, "root_path": "",
        "raw_path": path.encode(), "query_string": b"", "scheme": "http",
        "server": ("localhost", 80), "client": ("localhost", 1),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    statuses = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        statuses.append(message.get("status"))

    try:
        await app(scope, receive, send)
    except Exception as error:
        logging.error("%s: %r", path, error)
        return 500
    return statuses[0]


async def main(folder, seed, count):
    """Send all bodies, and damaged ones."""
    path = Path(folder, "m.model")
    NaiveBayes().fit(arrow_bodies.LEARNED, "rich").save(path)
    service = service_of(path, None, False, (1 << 20, 200))
    app = application(service)
    found = {}
    whole = {
        f"{name} in {column}": arrow_bodies.with_column(column, own)
        for name, own in arrow_bodies.odd().items() for column in ("age", "day", "rich")
    }  # fmt: skip
    for name, body in (whole | arrow_bodies.unreadable()).items():
        found[name] = [await status_of(app, path, body) for path in PATHS]
    every, generator = arrow_bodies.bodies(), random.Random(seed)
    tally = {path: Counter() for path in PATHS}
    for path, _ in zip(cycle(PATHS), range(count), strict=False):
        body = arrow_bodies.damaged(generator, generator.choice(every), generator.choice(every))
        tally[path][await status_of(app, path, body)] += 1
    service.stop()
    print(json.dumps({"named": found, "damaged": tally}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
