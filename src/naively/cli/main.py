"""The commands: what they are called and what they take. Heavy imports wait until one runs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter

from naively import __version__
from naively.cli.errors import UserError, printable

DASH = "\ue000"  # for a plain -, which Cyclopts takes for an option
Unseen = Literal["smooth", "ignore", "error"]
Target = Annotated[str | None, Parameter(alias="-t")]
Output = Annotated[Path | None, Parameter(alias="-o")]

app = App(
    name="naively",
    version=__version__,
    help="Naive Bayes from the command line: learn a table in one exact pass, predict, look inside."
    "\n\nDATA is CSV, TSV, JSON lines, Parquet, Arrow or ARFF, plain or compressed; a folder, a "
    'pattern such as "data/*.csv", several of them, or - for standard input. Columns may hold '
    "anything; empty cells, ?, NA and the like are missing values. Documents do as well: a folder "
    "of folders, one a class; files of lines, as ham.txt and spam.txt; .eml, mbox, Maildir.",
    help_format="plaintext",
    default_parameter=Parameter(negative=""),
    help_epilogue="Begin with: naively demo",
    suppress_keyboard_interrupt=False,
)


@app.command
def fit(
    *data: str,
    target: Target = None,
    output: Annotated[Path, Parameter(alias="-o")],
    columns: list[str] | None = None,
    text: list[str] | None = None,
    skip: list[str] | None = None,
    family: str | None = None,
    weight: str | None = None,
    holdout: float = 0.0,
    alpha: float = 1.0,
    prior: Literal["empirical", "uniform"] = "empirical",
    unseen: Unseen = "smooth",
    missing: list[str] | None = None,
    format: str | None = None,
    seed: int = 0,
    features: int = 20,
    json: bool = False,
) -> None:
    """Learn from the rows of a table, and write the model to a file.

    Each column gets the family that fits it: long text is a bag of words, short
    text categorical, numbers are normal, counts Poisson, and so on; constants and
    identifiers are left out. The report says which; `inspect --json` also says why.

    Parameters
    ----------
    data
        The tables to learn from.
    target
        The column that holds the classes. Rows where it is empty are skipped. Documents have the
        column `label`, of their files or folders.
    output
        The model file to write; `naively.load` reads it in Python.
    columns
        Families of columns, as "age=gamma" or "job=categorical(alpha=0.5)"; may be repeated.
    text
        A column of text, even if its texts are short; may be repeated. For n-grams and the like:
        --columns "body=text(ngram_range=(1,2))".
    skip
        A column to leave out; may be repeated.
    family
        Of all columns of numbers: gaussian, lognormal, gamma, poisson, kernel_density, ...; or
        auto for the one that predicts best.
    weight
        A column of weights: a row of weight 2 counts as two rows.
    holdout
        Part of the rows, as 0.2, to test the model on before it learns them too.
    alpha
        Smoothing of levels, counts and words.
    prior
        Class prior.
    unseen
        What a level that was never met does at prediction.
    missing
        Text that means a missing value, instead of ?, NA, null and the like; may be repeated.
    format
        csv, tsv, jsonl, parquet, arrow, arff, text (lines) or mail, if names do not tell.
    seed
        Which rows are held out.
    features
        How many columns the report lists.
    json
        Print one JSON object.
    """
    from naively.cli import layout, models, report, sources, work
    from naively.cli.options import question
    from naively.tables.inputs import MISSING

    _check_features(features)
    sources.check_output(output, data)
    spelled = MISSING if missing is None else ("", *missing)
    source = sources.opened(_data(data), format, spelled)
    asked = question(
        sources.target_among(source, target), columns, text, source.files.texts, skip, family,
        weight, holdout, alpha, prior, unseen, spelled, seed,
    )  # fmt: skip
    fitted = work.fit(source, asked)
    wishes = asked.wishes
    params = {
        "columns": wishes.columns or None, "family": "auto" if wishes.auto else wishes.numeric,
        "alpha": alpha, "prior": prior, "unseen": unseen, "missing": wishes.missing,
    }  # fmt: skip
    models.write(fitted.table, output, params, {"weight": weight} if weight else {})
    report.warned(fitted.table)
    if json:
        layout.print_json(report.fit_json(fitted, str(output)))
    else:
        report.fitted(fitted, str(output), output.stat().st_size, features)


@app.command
def update(
    model: Path, /, *data: str, output: Output = None, weight: str | None = None,
    format: str | None = None,
) -> None:  # fmt: skip
    """Learn more rows: the model is the one that had seen them all at once.

    Parameters
    ----------
    model
        File that `naively fit` wrote.
    data
        The tables to learn from.
    output
        Write another file, and leave this one.
    weight
        A column of weights; the one that `fit` was given unless named.
    format
        csv, tsv, jsonl, parquet, arrow, arff, text (lines) or mail, if names do not tell.
    """
    from naively.cli import models, report, sources, work
    from naively.cli.options import again

    saved = models.load_table(model)
    output = output or model
    sources.check_output(output, data)
    source = sources.opened_for(saved, _data(data), format)
    fitted = work.fit(source, again(saved, weight), saved.model)
    saved.model.absorb(fitted.table)
    models.write(saved.model, output, saved.params, saved.extra, saved.estimator)
    report.warned(fitted.table)
    report.changed("learned", fitted.table.rows, saved.model, str(output))


@app.command
def forget(
    model: Path, /, *data: str, output: Output = None, weight: str | None = None,
    format: str | None = None,
) -> None:  # fmt: skip
    """Unlearn rows: the model is the one that never met them.

    Parameters
    ----------
    model
        File that `naively fit` wrote.
    data
        Tables of rows that it learned.
    output
        Write another file, and leave this one.
    weight
        A column of weights; the one that `fit` was given unless named.
    format
        csv, tsv, jsonl, parquet, arrow, arff, text (lines) or mail, if names do not tell.
    """
    from naively.cli import models, report, sources, work
    from naively.cli.options import again

    saved = models.load_table(model)
    output = output or model
    sources.check_output(output, data)
    source = sources.opened_for(saved, _data(data), format)
    rows = work.forget(saved, source, again(saved, weight))
    models.write(saved.model, output, saved.params, saved.extra, saved.estimator)
    report.changed("forgot", rows, saved.model, str(output))


@app.command
def merge(*models: Path, output: Annotated[Path, Parameter(alias="-o")]) -> None:
    """Add models up: the sum is the model that learned the rows of all of them.

    Parameters
    ----------
    models
        Files that `naively fit` or `save` in Python wrote.
    output
        The model file to write.
    """
    from naively.cli import models as files
    from naively.cli import report, sources
    from naively.cli.errors import UsageError

    if len(models) < 2:
        raise UsageError("name two or more models to merge")
    sources.check_output(output, [])
    saved = files.merged(models)
    files.write(saved.model, output, saved.params, saved.extra, saved.estimator)
    report.changed("merged", None, saved.model, str(output))


@app.command
def evaluate(
    model: Path,
    /,
    *data: str,
    target: Target = None,
    format: str | None = None,
    json: bool = False,
) -> None:
    """Compare a model's predictions with the classes that a table tells.

    Parameters
    ----------
    model
        File that `naively fit` or `save` in Python wrote.
    data
        Tables with the model's columns, in any order, and the target.
    target
        The column that holds the classes; the one the model was fitted to unless given.
    format
        csv, tsv, jsonl, parquet, arrow, arff, text (lines) or mail, if names do not tell.
    json
        Print one JSON object.
    """
    from naively.cli import layout, models, report, sources, work

    saved = models.load(model)
    result = work.evaluate(saved, sources.opened_for(saved, _data(data), format), target)
    if json:
        layout.print_json(
            {
                "target": result.target,
                **result.scores.as_json(result.table.model.classes.tolist()),
                "skipped": result.unlabelled,
                "seconds": result.seconds,
            }
        )
    else:
        report.evaluated(result)


@app.command
def predict(
    model: Path,
    /,
    *data: str,
    output: Output = None,
    proba: bool = False,
    only: bool = False,
    format: str | None = None,
    json: bool = False,
) -> None:
    """Predict the class of every row: the table with one more column, `prediction`.

    A model of text alone takes plain lines, each a text, where there is no table.

    Parameters
    ----------
    model
        File that `naively fit` or `save` in Python wrote.
    data
        Tables with the model's columns, in any order; others are passed through.
    output
        Write a file instead of CSV on standard output: .csv, .csv.gz, .tsv or .parquet.
    proba
        Add a column P(class) for each class.
    only
        Write the predictions without the columns of the table.
    format
        csv, tsv, jsonl, parquet, arrow, arff, text (lines) or mail, if names do not tell.
    json
        Print a JSON object a row.
    """
    from naively.cli import models, predictions, sources, work
    from naively.cli.errors import UsageError

    if output is not None:
        if json:
            raise UsageError("--json prints, --output writes a file: choose one")
        predictions.check_output(output)
        sources.check_output(output, data)
    saved = models.load(model)
    source = sources.opened_for(saved, _data(data), format)
    known = saved.model if hasattr(saved.model, "classes") else saved.model.model
    batches = predictions.tables(
        work.predict(saved, source, proba), known.classes, only or json, bool(source.files.texts)
    )
    if json:
        predictions.to_json(batches)
    elif output is None:
        predictions.to_stdout(batches)
    else:
        predictions.to_file(batches, output)


@app.command
def explain(
    model: Path,
    /,
    *data: str,
    row: int = 1,
    label: str | None = None,
    against: str | None = None,
    html: Path | None = None,
    format: str | None = None,
    json: bool = False,
) -> None:
    """Say why a row is of its class: the columns and words that moved the log-odds, most first.

    Parameters
    ----------
    model
        File that `naively fit` or `save` in Python wrote.
    data
        Tables with the model's columns.
    row
        Which row, counted from 1.
    label
        The class to speak for; the predicted one unless given.
    against
        The class to compare it with; the next best unless given.
    html
        Write a page with the words of texts marked, instead of printing.
    format
        csv, tsv, jsonl, parquet, arrow, arff, text (lines) or mail, if names do not tell.
    json
        Print one JSON object.
    """
    from naively.cli import layout, models, reasons, sources, work
    from naively.cli.errors import UsageError

    if row < 1:
        raise UsageError(f"--row counts from 1, but is {row}")
    if html is not None:
        if json:
            raise UsageError("--json prints, --html writes a file: choose one")
        sources.check_output(html, data)
    saved = models.load(model)
    source = sources.opened_for(saved, _data(data), format)
    explained = work.explain(saved, source, row - 1, label, against)
    if json:
        layout.print_json(reasons.as_json(explained))
    elif html is not None:
        reasons.to_html(explained, html)
    else:
        reasons.explained(explained)


@app.command
def inspect(model: Path, /, *, features: int = 10, json: bool = False) -> None:
    """Show what a model is and what it learned.

    Parameters
    ----------
    model
        File that `naively fit` or `save` in Python wrote.
    features
        How many columns to show, those first that tell most about the class; of columns of text,
        how many words of each class.
    json
        Print one JSON object.
    """
    from naively.cli import layout, models, report

    _check_features(features)
    saved = models.load(model)
    table = models.shown(saved)
    if json:
        layout.print_json(report.inspect_json(saved, table))
    else:
        report.inspected(saved, table, str(model), features)


@app.command
def diagnose(
    *data: str,
    target: Target = None,
    columns: list[str] | None = None,
    skip: list[str] | None = None,
    missing: list[str] | None = None,
    format: str | None = None,
    seed: int = 0,
    pairs: int = 10,
    json: bool = False,
) -> None:
    """Is the naive assumption true here, and which rung of the ladder fits the table?

    Tests each pair of columns for dependence given the class, and compares models
    from the class prior to the full joint table on rows that they did not learn.

    Parameters
    ----------
    data
        The tables to look at.
    target
        The column that holds the classes. Rows where it is empty are skipped.
    columns
        Families of columns, as "age=gamma" or "job=categorical"; may be repeated.
    skip
        A column to leave out; may be repeated.
    missing
        Text that means a missing value, instead of ?, NA, null and the like; may be repeated.
    format
        csv, tsv, jsonl, parquet, arrow, arff, text (lines) or mail, if names do not tell.
    seed
        Which rows are held out, and which are looked at if there are more than 100,000.
    pairs
        How many pairs to show, those first that depend most on each other.
    json
        Print one JSON object.
    """
    from naively.cli import diagnose as diagnosis
    from naively.cli import layout, sources
    from naively.cli.errors import UsageError
    from naively.cli.options import question
    from naively.tables.inputs import MISSING

    if pairs < 0:
        raise UsageError(f"--pairs must not be negative, but is {pairs}")
    spelled = MISSING if missing is None else ("", *missing)
    source = sources.opened(_data(data), format, spelled)
    asked = question(
        sources.target_among(source, target), columns, None, source.files.texts, skip, None,
        None, 0.0, 1.0, "empirical", "smooth", spelled, seed,
    )  # fmt: skip
    found = diagnosis.run(source, asked)
    if json:
        layout.print_json(found.to_dict())
    else:
        diagnosis.diagnosed(found, pairs)


@app.command
def compare(
    *data: str,
    target: Target = None,
    columns: list[str] | None = None,
    text: list[str] | None = None,
    skip: list[str] | None = None,
    estimators: list[str] | None = None,
    missing: list[str] | None = None,
    format: str | None = None,
    splits: int = 5,
    seed: int = 0,
    plot: Path | None = None,
    json: bool = False,
) -> None:
    """Is naive Bayes enough here, and would more rows help?

    Learning curves: the error on rows held out, by the number of rows learned, of
    naive Bayes, the other rungs of the ladder, logistic regression, the majority
    class, and any classifier of scikit-learn.

    Parameters
    ----------
    data
        The tables or documents to look at.
    target
        The column that holds the classes. Rows where it is empty are skipped. Documents have the
        column `label`, of their files or folders.
    columns
        Families of columns, as "age=gamma" or "job=categorical"; may be repeated.
    text
        A column of text, even if its texts are short; may be repeated.
    skip
        A column to leave out; may be repeated.
    estimators
        A classifier to compare too, as sklearn.ensemble.RandomForestClassifier or
        "sklearn.svm.SVC(C=10)"; may be repeated.
    missing
        Text that means a missing value, instead of ?, NA, null and the like; may be repeated.
    format
        csv, tsv, jsonl, parquet, arrow, arff, text (lines) or mail, if names do not tell.
    splits
        How many random splits; each predicts that part of the rows.
    seed
        Of the splits, and of the sample that is looked at of more than 100,000 rows.
    plot
        Draw the curves too, in a file such as curves.png; needs naively[plot].
    json
        Print one JSON object.
    """
    from naively.cli import compare as comparison
    from naively.cli import layout, sources
    from naively.cli.options import question
    from naively.tables.inputs import MISSING

    if plot is not None:
        comparison.check_picture(plot, data)
    spelled = MISSING if missing is None else ("", *missing)
    source = sources.opened(_data(data), format, spelled)
    asked = question(
        sources.target_among(source, target), columns, text, source.files.texts, skip, None,
        None, 0.0, 1.0, "empirical", "smooth", spelled, seed,
    )  # fmt: skip
    found = comparison.run(source, asked, estimators or [], splits)
    if plot is not None:
        comparison.draw(found, plot)
    if json:
        layout.print_json(found.to_dict())
    else:
        comparison.compared(found)


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
    given = [
        DASH if token == "-" else token for token in (sys.argv[1:] if tokens is None else tokens)
    ]
    try:
        chosen, bound, _ = app.parse_args(given, exit_on_error=False, print_error=False)
        args = [_dashed(value) for value in bound.args]
        chosen(*args, **{name: _dashed(value) for name, value in bound.kwargs.items()})
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


def _dashed(value: Any) -> Any:
    """The value with the plain dashes that were given."""
    if isinstance(value, list | tuple):
        return type(value)(_dashed(item) for item in value)
    return type(value)("-") if str(value) == DASH else value


def _complain(message: str, code: int) -> int:
    line = printable(" ".join(message.replace(DASH, "-").split()))
    print(f"naively: {line}", file=sys.stderr)
    return code


def _check_features(features: int) -> None:
    from naively.cli.errors import UsageError

    if features < 0:
        raise UsageError(f"--features must not be negative, but is {features}")


def _data(data: Sequence[str]) -> Sequence[str]:
    """The tables that were named: standard input if something is piped and none is."""
    from naively.cli.errors import UsageError

    if not data:
        if sys.stdin is not None and not sys.stdin.isatty():
            return ["-"]
        raise UsageError("name a table: a file, a folder, or - for standard input")
    return data
