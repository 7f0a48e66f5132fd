"""The commands that ask models: what they are called and take. Heavy imports wait."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from naively.cli import arguments as given
from naively.cli.app import app
from naively.cli.errors import UsageError


@app.command
def evaluate(
    model: given.ModelFile,
    /,
    *data: given.Data,
    target: given.Target = None,
    positive: str | None = None,
    threshold: float | None = None,
    at_recall: float | None = None,
    unsure: given.Unsure = None,
    costs: given.Costs = None,
    format: given.Format = None,
    query: given.Query = given.NO_QUERY,
    json: given.Json = False,
) -> None:
    """Compare a model's predictions with the classes that a table tells.

    Parameters
    ----------
    data
        Tables with the model's columns, in any order, and the target.
    target
        The column that holds the classes; the one the model was fitted to unless given.
    positive
        The class to look for; of two, the one with fewer rows in training unless given.
    threshold
        Say what comes of flagging rows whose probability of that class is this or more.
    at_recall
        Say from which probability on to flag rows to find this part of that class, as 0.9.
    """
    from naively.cli import costs as costing
    from naively.cli import label_scores, layout, models, scores, sources, work

    saved = models.load(model)
    if saved.multilabel:
        label_scores.check(positive, at_recall, unsure, costs, threshold)
        source = sources.opened_for(saved, data, format, query=query)
        label_scores.run(saved, source, target, threshold, json)
        return
    scores.check(saved, positive, threshold, at_recall)
    rule = costing.rule(saved.model.classes, costs, unsure)
    classes = models.names_of(saved.model.classes)
    source = sources.opened_for(saved, data, format, classes=classes, query=query)
    result = work.evaluate(saved, source, target, positive, rule)
    found = scores.decisions(result, threshold, at_recall, source.name)
    if json:
        layout.print_json(scores.as_json(result, found))
    else:
        scores.evaluated(result, found)


@app.command
def predict(
    model: given.ModelFile,
    /,
    *data: given.Data,
    output: given.Output = None,
    proba: bool = False,
    top: int | None = None,
    only: bool = False,
    unsure: given.Unsure = None,
    costs: given.Costs = None,
    format: given.Format = None,
    query: given.Query = given.NO_QUERY,
    json: bool = False,
) -> None:
    """Predict the class of every row: the table with one more column, `prediction`.

    A model of text alone takes plain lines, each a text, where there is no table. Documents that
    are files of their own have a column `file`. Rows that come through a pipe are answered as they
    come.

    Parameters
    ----------
    data
        Tables with the model's columns, in any order; others are passed through.
    output
        Write a file instead of CSV on standard output: .csv, .csv.gz, .tsv or .parquet.
    proba
        Add a column P(class) for each class.
    top
        Add the labels of so many most probable classes, and their probabilities: top_1, P(top_1),
        top_2 and so on.
    only
        Write the predictions without the columns of the table, but for the file of a document.
    json
        Print a JSON object a row: prediction, probabilities with --proba, the most probable labels
        with --top, and the row unless --only.
    """
    from naively.cli import costs as costing
    from naively.cli import models, multilabel, predictions, sources, work

    if top is not None and top < 1:
        raise UsageError(f"--top is a number of labels, 1 or more, not {top}")
    if output is not None:
        if json:
            raise UsageError("--json prints, --output writes a file: choose one")
        predictions.check_output(output)
        sources.check_output(output, data, query)
    saved = models.load(model)
    classes = models.labels_of(saved.model)
    rule = multilabel.rule(saved, costs, unsure, json) or costing.rule(classes, costs, unsure)
    source = sources.opened_for(saved, data, format, live=True, named=True, query=query)
    found = work.predict(saved, source, proba, rule, top)
    batches = predictions.tables(found, classes, only, bool(source.files.texts), source.file)
    if json:
        predictions.to_json(found, classes, only, source.file)
    elif output is None:
        predictions.to_stdout(batches)
    else:
        predictions.to_file(batches, output)


@app.command
def explain(
    model: given.ModelFile,
    /,
    *data: given.Data,
    row: given.Names = None,
    label: str | None = None,
    against: str | None = None,
    why_not: str | None = None,
    by_block: Annotated[bool, Parameter(negative="")] = False,
    output: given.Output = None,
    html: Path | None = None,
    format: given.Format = None,
    query: given.Query = given.NO_QUERY,
    json: bool = False,
) -> None:
    """Say why rows are of their classes: what moved the log-odds, columns and words, most first.

    Parameters
    ----------
    data
        Tables with the model's columns.
    row
        Which rows, counted from 1: 3, 1-300 or all; may be repeated. The first unless given, and
        all with --output. Of more than ten a line each is printed.
    label
        The class to speak for; the predicted one of each row unless given.
    against
        The class to compare it with; the next best of each row unless given.
    why_not
        Say instead what would make the rows be of this class, by the model: which change of one
        column, which terms in a text.
    by_block
        Show columns that tell something together as themselves, in place of
        each column's share of them. The sum is the same.
    output
        Write a flat table, a line for each column or word of a row, instead of printing: .csv,
        .csv.gz, .tsv or .parquet.
    html
        Write a page with the words of texts marked, instead of printing.
    json
        Print a JSON object a row.
    """
    from naively.cli import models, multilabel, predictions, reasons, rows, sources

    asked = rows.Asked.of(row or ["1" if output is None else "all"])
    if sum((json, html is not None, output is not None)) > 1:
        raise UsageError("--json prints, --html and --output write a file: choose one")
    if output is not None:
        predictions.check_output(output)
    if written := output or html:
        sources.check_output(written, data, query)
    if why_not is not None and (label or against or by_block or written):
        raise UsageError("--why-not goes with --row, --format and --json alone")
    saved = models.load(model)
    source = sources.opened_for(saved, data, format, query=query)
    saved = multilabel.of_label(saved, source, label)
    if why_not is not None:
        reasons.against(rows.reasons_against(saved, source, asked, why_not), json)
        return
    explained = rows.explained(saved, source, asked, label, against, by_block)
    if json:
        reasons.to_json(explained)
    elif html is not None:
        reasons.to_html(explained, source, html, asked.one)
    elif output is not None:
        reasons.to_file(explained, source, output)
    elif asked.few:
        reasons.printed(explained)
    else:
        reasons.in_brief(explained)


@app.command
def inspect(
    model: given.ModelFile,
    /,
    *,
    features: int = 10,
    column: given.Names = None,
    plot: Path | None = None,
    json: given.Json = False,
) -> None:
    """Show what a model is and what it learned.

    Parameters
    ----------
    features
        How many features to show, the most important first; of text, how many terms of each
        class.
    column
        Show what each bin or level of a column adds to the scores, and the rows behind it, of a
        model that weighs evidence; of columns together, name all.
    plot
        Draw that too, in a file such as shapes.png, or what moves the scores most; needs
        naively[plot].
    """
    from naively.cli import layout, models, pictures, shapes
    from naively.cli import summary as summaries

    given.check_count("features", features)
    if plot is not None:
        pictures.check(plot, [str(model)])
    saved = models.load(model)
    if saved.multilabel and (column or plot is not None):
        raise UsageError("--column and --plot are for models that give each row one label")
    if not column and plot is None:
        if json:
            layout.print_json(summaries.inspect_json(saved))
        else:
            summaries.inspected(saved, model, features)
        return
    table = models.shown(saved)
    chosen = shapes.chosen(table, column, plot is not None)
    if json:
        found = shapes.as_json(chosen, table, summaries.TERMS) if column else None
        layout.print_json(found or summaries.inspect_json(saved))
    elif column:
        shapes.printed(chosen, table, features)
    else:
        summaries.inspected(saved, model, features)
    if plot is not None:
        shapes.draw(chosen, plot)
