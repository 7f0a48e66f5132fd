"""The commands that ask models and data: what they are called and take. Heavy imports wait."""

from __future__ import annotations

from pathlib import Path

from naively.cli.app import Output, Target, app, check_features, tables_of


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
    classes = models.names_of(models.classes_of(saved))
    source = sources.opened_for(saved, tables_of(data), format, classes=classes)
    result = work.evaluate(saved, source, target)
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

    A model of text alone takes plain lines, each a text, where there is no table. Documents that
    are files of their own have a column `file`. Rows that come through a pipe are answered as they
    come.

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
        Write the predictions without the columns of the table, but for the file of a document.
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
    source = sources.opened_for(saved, tables_of(data), format, live=True, named=True)
    batches = predictions.tables(
        work.predict(saved, source, proba), models.classes_of(saved), only or json,
        bool(source.files.texts), source.file,
    )  # fmt: skip
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
    source = sources.opened_for(saved, tables_of(data), format)
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

    check_features(features)
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
    source = sources.opened(tables_of(data), format, spelled)
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
    source = sources.opened(tables_of(data), format, spelled)
    asked = question(
        sources.target_among(source, target), columns, text, source.files.texts, skip, None,
        None, 0.0, 1.0, "empirical", "smooth", spelled, seed,
    )  # fmt: skip
    found = comparison.run(source, asked, estimators, splits)
    if json:
        layout.print_json(found.to_dict())
    else:
        comparison.compared(found)
    if plot is not None:
        comparison.draw(found, plot)


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
