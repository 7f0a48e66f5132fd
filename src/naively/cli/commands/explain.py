"""`naively explain`: what it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from naively.cli import arguments as given
from naively.cli.app import app
from naively.cli.errors import UsageError


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
    from naively.cli import explaining, models, predictions, sources
    from naively.cli.verbs import multilabel

    asked = explaining.Asked.of(row or ["1" if output is None else "all"])
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
        explaining.against(explaining.reasons_against(saved, source, asked, why_not), json)
        return
    explained = explaining.explained(saved, source, asked, label, against, by_block)
    if json:
        explaining.to_json(explained)
    elif html is not None:
        explaining.to_html(explained, source, html, asked.one)
    elif output is not None:
        explaining.to_file(explained, source, output)
    elif asked.few:
        explaining.printed(explained)
    else:
        explaining.in_brief(explained)
