"""`naively predict`: what it takes."""

from __future__ import annotations

from naively.cli import arguments
from naively.cli.app import app
from naively.cli.errors import UsageError


@app.command
def predict(
    model: arguments.ModelFile,
    /,
    *data: arguments.Data,
    output: arguments.Output = None,
    proba: bool = False,
    top: int | None = None,
    only: bool = False,
    threshold: float | None = None,
    positive: str | None = None,
    unsure: arguments.Unsure = None,
    costs: arguments.Costs = None,
    format: arguments.Format = None,
    query: arguments.Query = arguments.NO_QUERY,
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
    threshold
        Predict one of two classes where its probability is this or more, in place of 0.5; of a
        model of many labels, give the labels of that probability.
    positive
        The class that --threshold is for; the one with fewer rows in training unless given.
    only
        Write the predictions without the columns of the table, but for the file of a document.
    json
        Print a JSON object a row: prediction, probabilities with --proba, the most probable labels
        with --top, and the row unless --only.
    """
    from naively.cli import models, multilabel, sources, terminal, work
    from naively.cli.results import predictions

    if top is not None and top < 1:
        raise UsageError(f"--top is a number of labels, 1 or more, not {top}")
    if output is not None:
        if json:
            raise UsageError("--json prints, --output writes a file: choose one")
        predictions.check_output(output)
        sources.check_output(output, data, query)
    saved = models.load(model)
    classes = models.labels_of(saved.model)
    rule = multilabel.rule(saved, costs, unsure, json, threshold)
    if rule is None and threshold is not None:
        if costs is not None or unsure is not None:
            raise UsageError("--threshold cannot be combined with --costs or --unsure")
        rule = predictions.threshold_rule(saved.model, threshold, positive)
    elif positive is not None:
        raise UsageError("--positive needs --threshold")
    rule = rule or predictions.rule(classes, costs, unsure)
    source = sources.opened_for(saved, data, format, live=True, named=True, query=query)
    results = work.predict(saved, source, proba, rule, top)
    batches = predictions.tables(results, classes, only, bool(source.files.texts), source.file)
    if json:
        predictions.to_json(results, classes, only, source.file)
    elif output is None:
        predictions.to_stdout(batches)
    else:
        predictions.to_file(batches, output)
        terminal.console().print(terminal.facts(saved=terminal.written(output)))
