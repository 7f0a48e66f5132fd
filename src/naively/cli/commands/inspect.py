"""The options of `naively inspect`."""

from __future__ import annotations

from pathlib import Path

from naively.cli import arguments
from naively.cli.app import app
from naively.cli.errors import UsageError


@app.command
def inspect(
    model: arguments.ModelFile,
    /,
    *,
    features: int = 10,
    column: arguments.Names = None,
    plot: Path | None = None,
    json: arguments.Json = False,
) -> None:
    """Show a model: features, importance, cross-validation, parameters.

    Parameters
    ----------
    features
        Number of features to show, the most important first; for text, of terms of each class.
    column
        Show the evidence of each bin or category of a feature, and its number of training rows; for
        an interaction, name all its features. Of a model of --naive, the training rows and the
        probability of each category by class; of text, the count and the probability of terms.
    plot
        Draw it, or the most important features, in a file such as shapes.png, instead of printing;
        needs naively[plot].
    """
    from naively.cli import models, terminal
    from naively.cli.results import counts, pictures, shapes
    from naively.cli.results import summary as summaries

    arguments.check_count("features", features)
    if plot is not None:
        pictures.check(plot, [str(model)])
    saved = models.load(model)
    if saved.multilabel and (column or plot is not None):
        raise UsageError("--column and --plot are for models that give each row one label")
    if not column and plot is None:
        if json:
            terminal.print_json(summaries.inspect_json(saved))
        else:
            summaries.inspected(saved, model, features)
        return
    table = models.shown(saved)
    if table is not None and not table.posterior().shapes:
        if plot is not None:
            counts.draw(saved, column, plot)
            return
        counted = counts.chosen(table, column or [], summaries.TERMS if json else features)
        if json:
            terminal.print_json({"features": [feature.to_dict() for feature in counted]})
        else:
            counts.printed(counted)
        return
    blocks = shapes.chosen(table, column, plot is not None)
    if json:
        values = shapes.as_json(blocks, table, summaries.TERMS) if column else None
        terminal.print_json(values or summaries.inspect_json(saved))
    elif column:
        shapes.printed(blocks, table, features)
    else:
        summaries.inspected(saved, model, features)
    if plot is not None:
        shapes.draw(blocks, plot)
