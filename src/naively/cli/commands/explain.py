"""The options of `naively explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from naively.cli import arguments
from naively.cli.app import app
from naively.cli.errors import UsageError


@app.command
def explain(
    model: arguments.ModelFile,
    /,
    *data: arguments.Data,
    row: arguments.Names = None,
    label: str | None = None,
    against: str | None = None,
    threshold: float | None = None,
    positive: str | None = None,
    costs: arguments.Costs = None,
    counterfactual: str | None = None,
    changeable: arguments.Names = None,
    immutable: arguments.Names = None,
    by_block: Annotated[bool, Parameter(negative="")] = False,
    output: arguments.Output = None,
    html: Path | None = None,
    format: arguments.Format = None,
    query: arguments.Query = arguments.NO_QUERY,
    json: bool = False,
) -> None:
    """Explain predictions: the contribution of each feature and word to the log-odds.

    Parameters
    ----------
    data
        Tables with the model's features.
    row
        Which rows, counted from 1: 3, 1-300 or all; may be repeated. By default the first, and
        all with --output. More than ten rows are printed in a line each.
    label
        The class to explain; by default the predicted one of each row.
    against
        The class to compare it with; by default the most probable other one.
    threshold
        Explain the decision by this threshold on the probability of the positive class.
    positive
        The positive class; by default the one with fewer training rows.
    counterfactual
        Find changes of one feature, or terms to add to a text, after which this class is predicted.
    changeable
        A feature that a counterfactual may change; may be repeated. By default all.
    immutable
        A feature that a counterfactual may not change; may be repeated.
    by_block
        Show interactions as rows of their own instead of sharing them among
        their features. The total is the same.
    output
        Write a flat table with a line for each feature or word of each row: .csv, .csv.gz, .tsv or
        .parquet.
    html
        Write a page, with the words of texts marked.
    json
        Print a JSON object a row.
    """
    from naively.cli import models, multilabel, sources, terminal
    from naively.cli.results import explanations, predictions

    ranges = explanations.RowRanges.of(row or ["1" if output is None else "all"])
    if sum((json, html is not None, output is not None)) > 1:
        raise UsageError("--json prints, --html and --output write a file: choose one")
    has_decision = threshold is not None or costs is not None
    if output is not None:
        predictions.check_output(output)
        if has_decision:
            raise UsageError("--output explains predictions: leave out --threshold and --costs")
    if written := output or html:
        sources.check_output(written, data, query)
    if counterfactual is not None and (label or against or by_block or written):
        raise UsageError("--counterfactual excludes --label, --against, --by-block and files")
    if counterfactual is None and (changeable or immutable):
        raise UsageError("--changeable and --immutable need --counterfactual")
    saved = models.load(model)
    source = sources.opened_for(saved, data, format, query=query)
    saved = multilabel.of_label(saved, source, label)
    rule = explanations.decision_rule(saved.model, costs, threshold, positive)
    if counterfactual is not None:
        counterfactuals = explanations.counterfactuals(
            saved, source, ranges, counterfactual, changeable, immutable, rule
        )
        explanations.print_counterfactuals(counterfactuals, json)
        return
    explanation = explanations.explained(saved, source, ranges, label, against, by_block, rule)
    if json:
        explanations.to_json(explanation)
    elif html is not None:
        explanations.to_html(explanation, source, html, ranges.is_single)
    elif output is not None:
        explanations.to_file(explanation, source, output)
    elif ranges.is_short:
        explanations.printed(explanation)
        if row is None:
            hint = "row 1 by default: --row 3, --row 1-300 or --row all selects others"
            terminal.console().print(terminal.note(hint))
    else:
        explanations.in_brief(explanation)
