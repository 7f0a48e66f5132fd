"""Run exported JavaScript models in Node.js."""

import json
import math
import shutil
import subprocess

from naively.export.js import to_js

NODE = shutil.which("node")
ASK = """
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const texts = (nats) => Object.values(nats).map(String); // JSON has no number without end
const { predict } = await import(process.argv[1]);
for await (const line of createInterface({ input: process.stdin })) {
  const rows = JSON.parse(line, (_, one) => one?.number ? Number(one.number) : one);
  const found = rows.map((row) => {
    try {
      const { label, probabilities, contributions } = predict(row);
      return { label, probabilities: Object.entries(probabilities),
               contributions: contributions.map((c) => ({ ...c, nats: texts(c.nats) })) };
    } catch (error) { return { error: `${error.name}: ${error.message}` }; }
  });
  console.log(JSON.stringify(found));
}
"""


def as_json(value):
    endless = isinstance(value, float) and not math.isfinite(value)
    return {"number": str(value).replace("inf", "Infinity")} if endless else value


class Node:
    """A model in a process of Node, which answers until it is closed."""

    def __init__(self, model, folder):
        path = folder / "model.mjs"
        path.write_text(to_js(model), encoding="utf-8")
        arguments = [NODE, "--input-type=module", "-e", ASK, path.as_uri()]
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def __repr__(self):
        return "Node"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait() == 0

    def ask(self, rows):
        # what JSON has no number for is written as text
        rows = [{name: as_json(value) for name, value in row.items()} for row in rows]
        self.process.stdin.write(json.dumps(rows) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())
