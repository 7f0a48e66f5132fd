"""The commands: what they are called and what they take. Heavy imports wait until one runs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from naively import __version__
from naively.cli.errors import UserError

Kind = Literal["gaussian", "multinomial", "bernoulli", "complement", "categorical", "poisson"]

app = App(
    name="naively",
    version=__version__,
    help="Naive Bayes from the command line: learn a table in one exact pass, predict, look inside."
    "\n\nDATA is a CSV file (also .csv.gz) or a Parquet file. An empty cell is a missing value.",
    help_format="plaintext",
    help_epilogue="Begin with: naively demo",
    suppress_keyboard_interrupt=False,
)


@app.command
def fit(
    data: Path,
    /,
    *,
    target: str,
    output: Annotated[Path, Parameter(alias="-o")],
    model: Kind = "gaussian",
    alpha: float | None = None,
    holdout: float | None = None,
    seed: int = 0,
) -> None:
    """Learn from the rows of a table, and write the model to a file.

    Rows whose target is empty are skipped. Missing values among the features are fine.

    Parameters
    ----------
    data
        CSV or Parquet file; every column but the target must hold numbers.
    target
        The column that holds the classes.
    output
        The model file to write; `naively.load` reads it in Python.
    model
        How the numbers of a class are distributed: gaussian for measurements; multinomial,
        complement or poisson for counts; bernoulli for yes or no; categorical for codes 0, 1, ...
    alpha
        Smoothing of the models of counts; 1 unless given.
    holdout
        Part of the rows, as 0.2, to hold out and to test the model on. It does not learn them.
    seed
        Which rows are held out.
    """
    from naively.cli import report, work

    work.check_output(output, data)
    fitted = work.learn(data, target, model, alpha, holdout, seed)
    work.write(fitted, output)
    report.fitted(fitted, str(output), output.stat().st_size)


@app.command
def evaluate(model: Path, data: Path, /, *, target: str | None = None, json: bool = False) -> None:
    """Compare a model's predictions with the classes that a table tells.

    Parameters
    ----------
    model
        File that `naively fit` or `save` in Python wrote.
    data
        CSV or Parquet file with the model's features, in any order, and the target.
    target
        The column that holds the classes; the one the model was fitted to unless given.
    json
        Print one JSON object.
    """
    from naively.cli import report, work

    result = work.evaluate(work.load(model), data, target)
    if json:
        report.print_json(
            {
                "target": result.target,
                **result.scores.as_json(result.model.classes.tolist()),
                "skipped": result.unlabelled,
                "seconds_reading": result.reading,
                "seconds_predicting": result.predicting,
            }
        )
    else:
        report.evaluated(result)


@app.command
def predict(
    model: Path,
    data: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    proba: bool = False,
    json: bool = False,
) -> None:
    """Predict the class of every row of a table: CSV on standard output.

    Parameters
    ----------
    model
        File that `naively fit` or `save` in Python wrote.
    data
        CSV or Parquet file with the model's features, in any order; other columns are ignored.
    output
        Write a file instead: .csv, .csv.gz or .parquet.
    proba
        Add a column P(class) for each class.
    json
        Print one JSON object instead of CSV.
    """
    from naively.cli import predictions, report, work
    from naively.cli.data import Table
    from naively.cli.errors import UsageError

    if output is not None:
        if json:
            raise UsageError("--json prints, --output writes a file: choose one")
        predictions.check_output(output)
        work.check_output(output, data)
    saved = work.load(model).model
    rows = work.read_features(saved, Table(data))
    codes, log_proba, _ = work.predict(saved, rows.X, data, rows.names)
    if json:
        labels = saved.classes.tolist()
        answer = {"classes": labels, "predictions": [labels[code] for code in codes.tolist()]}
        if proba:
            answer["probabilities"] = [[*map(_exp, row)] for row in log_proba.tolist()]
        report.print_json(answer)
        return
    table = predictions.table(saved, codes, log_proba if proba else None)
    if output is None:
        predictions.to_stdout(table)
    else:
        predictions.to_file(table, output)


@app.command
def inspect(model: Path, /, *, features: int = 10, json: bool = False) -> None:
    """Show what a model is and what it learned.

    Parameters
    ----------
    model
        File that `naively fit` or `save` in Python wrote.
    features
        How many features to show, those first that tell most about the class.
    json
        Print one JSON object.
    """
    from naively.cli import report, work
    from naively.cli.errors import UsageError
    from naively.cli.inside import view

    if features < 0:
        raise UsageError(f"--features must not be negative, but is {features}")
    saved = work.load(model)
    learned = saved.model
    shown = view(learned, features) if len(learned.classes) else None
    if not json:
        report.inspected(saved, shown, str(model))
        return
    answer = {
        "family": learned.family.name,
        "estimator": saved.estimator,
        "target": saved.extra.get("target"),
        "written_by": saved.written_by,
        "n_features": learned.n_features,
        "feature_names": learned.feature_names,
        "classes": learned.classes.tolist(),
        "class_weight": learned.class_weight.rounded().tolist(),
    }
    if shown is not None:
        answer |= {
            "class_prior": learned.class_prior.tolist(),
            "n_parameters": learned.n_parameters,
            "parameters": shown.as_json(),
        }
    report.print_json(answer)


@app.command
def demo(*, folder: Path = Path("naively-demo")) -> None:
    """Learn to read handwritten digits: writes two tables, learns one, is tested on the other.

    Works offline: scikit-learn bundles the digits.

    Parameters
    ----------
    folder
        Where to put the tables and the model.
    """
    from naively.cli.demo import run as run_demo

    run_demo(folder)


def run(tokens: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Errors are one line on standard error."""
    try:
        app(
            sys.argv[1:] if tokens is None else tokens,
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
        sys.stdout.flush()
    except UserError as error:
        return _complain(str(error), error.code)
    except CycloptsError as error:
        command = " ".join(error.command_chain or ()) if hasattr(error, "command_chain") else ""
        return _complain(f"{error} See: {' '.join(['naively', *command.split()])} --help", 2)
    except BrokenPipeError:
        # the reader has seen enough; and the interpreter must not flush into the pipe again
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except MemoryError:
        return _complain("there is not enough memory for these data", 1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _complain(f"{place}{error.strerror or error}", 1)
    except ValueError as error:  # what a model refuses, it says clearly
        return _complain(str(error), 1)
    return 0


def main() -> None:
    """The entry point."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(run())


def _complain(message: str, code: int) -> int:
    line = " ".join(message.split())
    print(f"naively: {line}", file=sys.stderr)
    return code


def _exp(value: float) -> float:
    from math import exp

    return exp(value)
