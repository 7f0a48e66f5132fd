"""How good the probabilities are: AutoBayes beside other classifiers on all real tables.

    NAIVELY_DATA=folder python benchmarks/quality.py --json results.json
    python benchmarks/quality.py --only adult car --methods AutoBayes HistGradientBoosting
    python benchmarks/quality.py --small                # what scikit-learn bundles; no folder
    python benchmarks/quality.py --steps                # what each step of docs/evidence.md brings

Five stratified, shuffled folds (seed 0), the same for all. Log-loss is in nats, probabilities
clipped at 1e-15. `--json FILE` keeps what was measured; what is there of others is not measured
again. `--limit SECONDS` leaves out others where a table would take them longer, and says so.
`--protocol ebm` is that of EBM's authors (adult's training file, three times a quarter to
predict, AUC), `--protocol wanbia` that of WANBIA's (twenty times two folds, errors; `--repeats 2`
does the first two of the twenty). `--protocol packages` is the five folds of 54 tables that two
Python packages bring (`benchmarks/suite_packages.py`): it needs no folder. `--protocol wide` is the
same of tables of many numeric columns (`benchmarks/suite_wide.py`).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import measuring
import numpy as np
import suite
import suite_packages
import suite_wide
from measuring import Entry, Results
from peers import METHODS, STEPS, SUBJECT
from rich.console import Console
from shown import check_folder, check_names, short, show
from sklearn.model_selection import (
    BaseCrossValidator,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

ADULT_TRAIN = "adult, training file"


@dataclass(frozen=True)
class Protocol:
    """Which rows of which tables are learned and predicted, and what is published of it."""

    tables: dict[str, Callable[[Path], suite.Rows]]
    splits: BaseCrossValidator
    shown: Callable[[Entry], str]
    published: dict[str, dict[str, str]]


def auc(entry: Entry) -> str:
    return f"{entry['auc']:.4f} ± {entry['auc_deviation']:.4f}"


def error(entry: Entry) -> str:
    return f"{1 - entry['accuracy']:.4f}"


def both(entry: Entry) -> str:
    """Accuracy and log-loss."""
    return f"{short(entry['accuracy'])}/{short(entry['log_loss'])}"


def errors(*figures: str) -> dict[str, str]:
    """Of WANBIA's table (Zaidi, Cerquides, Carman & Webb, JMLR 14, 2013)."""
    names = ("naive Bayes", "WANBIA", "A1DE", "TAN", "logistic regression", "random forest, 100")
    return {f"published: {name}": each for name, each in zip(names, figures, strict=True)}


FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
PROTOCOLS = {
    "folds": Protocol(suite.TABLES, FOLDS, both, {}),
    "packages": Protocol(suite_packages.TABLES, FOLDS, both, {}),
    "wide": Protocol(suite_wide.TABLES, FOLDS, both, {}),
    "ebm": Protocol(
        {ADULT_TRAIN: suite.adult_train},
        StratifiedShuffleSplit(3, test_size=0.25, random_state=1337),
        auc,
        {ADULT_TRAIN: {"published: EBM": ".928 ± .002", "published: XGBoost": ".927"}},
    ),
    "wanbia": Protocol(
        {name: suite.TABLES[name] for name in ("adult", "letter", "covtype", "nursery")},
        RepeatedStratifiedKFold(n_splits=2, n_repeats=20, random_state=0),
        error,
        {
            "adult": errors(".159", ".131", ".149", ".139", ".127", ".147"),
            "letter": errors(".256", ".248", ".103", ".151", ".150", ".090"),
            "covtype": errors(".312", ".291", ".241", ".251", ".257", ""),
        },
    ),
}


# ---- what is measured ------------------------------------------------------------------------


def run(given: argparse.Namespace, status: Callable[[str], None]) -> Results:
    """The entries of the tables and methods that are asked for."""
    protocol, found = PROTOCOLS[given.protocol], {}
    known = measuring.kept(given.json).get(given.protocol, {})
    for table in given.only:
        X, y = given.tables[table](given.data)
        own = known.get(table, {})
        for name in given.methods:
            method = (METHODS | STEPS)[name]
            again = method.ours or not measuring.usable(own.get(name), X)
            if again and not method.missing:
                status(f"{table}, {name}")
                splits = islice(protocol.splits.split(X, y), given.folds)
                limit = np.inf if method.ours else given.limit
                own[name] = measuring.measure(method, X, y, splits, limit)
                measuring.keep(given.json, given.protocol, table, {name: own[name]})
        found[table] = {name: own[name] for name in given.methods if name in own}
    return found


def notes(found: Results, methods: list[str]) -> Iterator[str]:
    """What failed, who warned, who is missing."""
    warned: dict[str, list[str]] = {}
    for table, entries in found.items():
        for name, entry in entries.items():
            if "failed" in entry:
                yield f"{name} failed on {table}: {entry['failed']}"
            for text in entry["warned"]:
                warned.setdefault(f"{name} warned: {text}", []).append(table)
    for text, tables in warned.items():
        yield f"{text} ({', '.join(tables)})"
    for name in methods:
        missing = (METHODS | STEPS)[name].missing
        if missing and not any(name in entries for entries in found.values()):
            yield f"{name} is missing: {missing}"


# ---- what is shown ---------------------------------------------------------------------------

Shown = tuple[str, list[str], list[list[str]]]
"""(title, names of columns, rows)."""


def by_table(found: Results, protocol: Protocol, methods: list[str], title: str) -> Shown:
    """A row for each table; of each method what the protocol shows."""
    others = list(dict.fromkeys(name for own in protocol.published.values() for name in own))
    rows = []
    for table, entries in found.items():
        figures = [
            protocol.shown(entries[name]) if measured(entries, name) else "" for name in methods
        ]
        theirs = [protocol.published.get(table, {}).get(name, "") for name in others]
        rows.append([*about(table, entries), *figures, *theirs])
    return title, ["table", "rows", "columns", "classes", *methods, *others], rows


def measured(entries: dict[str, Entry], name: str) -> bool:
    return name in entries and "failed" not in entries[name]


def about(table: str, entries: dict[str, Entry]) -> list[str]:
    """The table's name and size; a star if it is untouched."""
    name = f"{table}*" if table in suite.UNTOUCHED else table
    sizes = next(iter(entries.values()), None)
    return [name, *(f"{sizes[key]:,}" if sizes else "" for key in ("rows", "columns", "classes"))]


def alone(found: Results, name: str) -> Shown:
    """All figures of one method, by table."""
    rows = []
    for table in measuring.common(found, name):
        own = found[table][name]
        rows.append(
            [
                *about(table, found[table]), f"{own['accuracy']:.4f}", f"{own['log_loss']:.4f}",
                f"{own['auc']:.4f}" if "auc" in own else "", f"{own['calibration_error']:.4f}",
                *(f"{own[key]:.2f}" for key in ("fit", "predict", "processor")),
            ]
        )  # fmt: skip
    return f"{name}, all folds together", [
        "table", "rows", "columns", "classes", "accuracy", "log-loss", "AUC", "calibration error",
        "fit s", "predict s", "processor s",
    ], rows  # fmt: skip


def summary(found: Results, methods: list[str], title: str) -> Shown:
    """Each method beside AutoBayes, on the tables that both have."""
    rows = [compared(found, name) for name in methods if measuring.common(found, name)]
    return title, [
        "method", "tables", "log-loss ratio", "lower", "highest ratio", "accuracy",
        f"{SUBJECT}'s", "calibration error", "AUC", "fit s", "predict s", "processor s",
        f"{SUBJECT}: fit s", "predict s", "processor s",
    ], rows  # fmt: skip


def compared(found: Results, name: str) -> list[str]:
    """A row of `summary`; without results of AutoBayes what can be said of the method alone."""
    tables, theirs, ours = measuring.common(found, name), [""] * 3, [""] * 4
    if name != SUBJECT and measuring.common(found, name, SUBJECT):
        tables = measuring.common(found, name, SUBJECT)
        found_ratios = measuring.ratios(found, SUBJECT, name)
        lower = np.mean([ratio < 1 for ratio in found_ratios.values()])
        worst = max(found_ratios, key=found_ratios.__getitem__)
        theirs = [
            f"{measuring.geometric_mean(found_ratios.values()):.3f}",
            f"{lower:.0%}",
            f"{found_ratios[worst]:.2f} ({worst})",
        ]
        ours = figures(found, tables, SUBJECT)
    own = figures(found, tables, name)
    errors, area = (
        measuring.mean(found, tables, name, key) for key in ("calibration_error", "auc")
    )
    return [
        name, str(len(tables)), *theirs, own[0], ours[0], f"{errors:.4f}",
        "" if np.isnan(area) else f"{area:.4f}", *own[1:], *ours[1:],
    ]  # fmt: skip


def figures(found: Results, tables: list[str], name: str) -> list[str]:
    """Mean accuracy; seconds of fits, of predictions, of processors."""
    seconds = (measuring.total(found, tables, name, key) for key in ("fit", "predict", "processor"))
    return [
        f"{measuring.mean(found, tables, name, 'accuracy'):.4f}",
        *(f"{s:.1f}" for s in seconds),
    ]


def report(found: Results, methods: list[str]) -> Iterator[Shown]:
    """The tables of five folds."""
    starred = " (* not used while the method was chosen)"
    yield by_table(found, PROTOCOLS["folds"], methods, f"Accuracy/log-loss{starred}")
    if measuring.common(found, SUBJECT):
        yield alone(found, SUBJECT)
    looked_at = {table: own for table, own in found.items() if table not in suite.UNTOUCHED}
    untouched = {table: own for table, own in found.items() if table in suite.UNTOUCHED}
    yield summary(found, methods, "All tables")
    if looked_at and untouched:
        yield summary(looked_at, methods, "Tables that were looked at")
        yield summary(untouched, methods, "Untouched tables")


def floored(found: Results) -> str:
    """How many log-losses are too small for ratios."""
    tiny = {
        table: [
            name
            for name in entries
            if measured(entries, name) and entries[name]["log_loss"] < measuring.FLOOR
        ]
        for table, entries in found.items()
    }
    told = [f"{table} ({', '.join(names)})" for table, names in tiny.items() if names]
    return (
        f"Log-loss ratio: geometric mean of {SUBJECT}'s log-loss divided by the method's. Those "
        f"below {measuring.FLOOR} nats count as {measuring.FLOOR}; tables that this concerns: "
        f"{len(told)}{': ' if told else ''}{', '.join(told)}. `lower`: {SUBJECT} has the lower "
        "one, by this measure. Seconds are of five fits and five predictions of each table."
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("NAIVELY_DATA"), help="folder of the tables"
    )
    parser.add_argument("--small", action="store_true", help="tables that scikit-learn bundles")
    parser.add_argument(
        "--steps", action="store_true", help="the steps from naive Bayes to AutoBayes"
    )
    parser.add_argument("--only", nargs="+", metavar="TABLE", help="only these tables")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="only these methods")
    parser.add_argument("--protocol", choices=PROTOCOLS, default="folds", help="%(default)s")
    parser.add_argument("--repeats", type=int, help="of wanbia's two folds, the first so many")
    parser.add_argument(
        "--limit", type=float, default=np.inf, metavar="SECONDS",
        help="that others may take for a table; those that would take longer are named",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, help="keep what is measured in this file")
    parser.add_argument("--markdown", action="store_true", help="print tables for the docs")
    given = parser.parse_args()
    if given.small and given.protocol != "folds":
        parser.error("--small has no tables for this protocol")
    if given.repeats is not None and (given.protocol != "wanbia" or not 1 <= given.repeats <= 20):
        parser.error("--repeats is for --protocol wanbia: a number from 1 to 20")
    given.folds = None if given.repeats is None else 2 * given.repeats
    if given.protocol == "packages" and (absent := suite_packages.missing()):
        parser.error(f"--protocol packages: {absent}")
    if not given.small and given.protocol != "packages":
        check_folder(parser, given, "tables")
    given.tables = suite.SMALL if given.small else PROTOCOLS[given.protocol].tables
    methods = STEPS if given.steps else METHODS
    for option, names in (("only", given.tables), ("methods", methods)):
        asked = getattr(given, option) or list(names)
        check_names(parser, option, asked, names)
        setattr(given, option, asked)
    return given


def main() -> None:
    given, console = arguments(), Console(width=300)
    with Console(stderr=True).status("") as status:
        found = run(given, status.update)
    if given.protocol in ("folds", "packages", "wide"):
        for shown in report(found, given.methods):
            show(console, *shown, given.markdown)
        console.print(f"\n{floored(found)}", markup=False, soft_wrap=True)
    else:
        title = {"ebm": "AUC, mean and deviation of three splits", "wanbia": "Error"}
        protocol = PROTOCOLS[given.protocol]
        shown = by_table(found, protocol, given.methods, title[given.protocol])
        show(console, *shown, given.markdown)
    for note in notes(found, given.methods):
        console.print(note, markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
