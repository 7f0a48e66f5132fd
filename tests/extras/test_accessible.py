"""The pages of `naively report` and `naively serve` break no rule of axe-core, in Chromium."""

import json
import os
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_serve import Served

from naively.cli.main import run

pytest.importorskip("jinja2", reason="needs naively[report]")
pytest.importorskip("matplotlib", reason="needs naively[report]")

NODE = shutil.which("node")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FOLDER = os.environ.get("NAIVELY_NODE")
PACKAGES = "axe-core", "puppeteer-core"
MAILS = {
    "ham": [
        "Lunch at noon? Anna brings the plan of the house.",
        "The meeting is moved to Monday, the plan is below.",
        "Thank you for the photos of the house, see you at lunch.",
        "Can you send the notes of the meeting to Anna?",
    ],
    "spam": [
        "Cheap watches, free delivery: order now!",
        "You won a free prize, claim your money now.",
        "Order cheap pills now and win money.",
        "Free money! Claim the prize of this week.",
    ],
}
TYPED = "Claim your free lunch at the meeting now"


def table(folder):
    """(a file of rows, the target): those of the Titanic where they are, others elsewhere."""
    data = Path(os.environ.get("NAIVELY_DATA", ""), "titanic", "titanic-seaborn-891.csv")
    if data.exists():
        return data, "survived"
    generator = np.random.default_rng(0)
    kind = generator.integers(2, size=200)
    rows = pd.DataFrame({
        "age": 30.0 + 10 * kind + 8 * generator.normal(size=200),
        "job": np.array(["clerk", "cook", "pilot"])[kind + generator.integers(2, size=200)],
        "member": generator.random(200) < 0.3 + 0.4 * kind,
        "rich": np.array(["no", "yes"])[kind],
    })  # fmt: skip
    rows.loc[::9, "age"] = None
    rows.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv", "rich"


def mails(folder):
    """A folder of mails, those of a class in a folder of its own."""
    for label, texts in MAILS.items():
        (folder / "mails" / label).mkdir(parents=True)
        for k, text in enumerate(texts):
            (folder / "mails" / label / f"{k}.txt").write_text(text, "utf-8")
    return folder / "mails"


def missing():
    """What this test lacks, and how to have it; nothing if all is there."""
    if NODE is None:
        return "needs Node.js: apt-get install nodejs"
    if CHROMIUM is None:
        return "needs Chromium: apt-get install chromium"
    if FOLDER is None or not all(Path(FOLDER, "node_modules", one).exists() for one in PACKAGES):
        install = "npm install --prefix FOLDER axe-core@4 puppeteer-core@24"
        return f"needs axe-core: {install}, and NAIVELY_NODE=FOLDER"
    return ""


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_no_page_breaks_a_rule(tmp_path):
    rows, target = table(tmp_path)
    texts = mails(tmp_path)
    for name, data, options in (("table", rows, ["--target", target]), ("texts", texts, [])):
        model = str(tmp_path / name)
        assert run(["fit", str(data), *options, "-o", model]) == 0
        assert run(["report", model, str(data), "-o", f"{model}.html"]) == 0
    with ExitStack() as stack:
        pages = []
        for name, typed in (("table", ""), ("texts", TYPED)):
            served = Served(tmp_path / name)
            stack.callback(served.ended)
            stack.callback(served.process.terminate)
            pages += [
                {"name": f"report, {name}", "url": (tmp_path / f"{name}.html").as_uri()},
                {"name": f"serve, {name}", "url": served.url, "typed": typed},
            ]
        asked = [NODE, Path(__file__).with_name("axe.mjs"), FOLDER, CHROMIUM, json.dumps(pages)]
        done = subprocess.run(asked, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == 4 * len(pages)
    assert all("color-contrast" in one["passed"] for one in found)  # there was something to see
    broken = [
        f"{one['page']}, {one['mode']}: {it['rule']}: {it['element']}: {'; '.join(it['said'])}"
        for one in found
        for it in one["violations"]
    ]
    assert not broken, "\n".join(broken)
