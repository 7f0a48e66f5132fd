"""The options of `naively evaluate`."""

from __future__ import annotations

from naively.cli import arguments
from naively.cli.app import app


@app.command
def evaluate(
    model: arguments.ModelFile,
    /,
    *data: arguments.Data,
    target: arguments.Target = None,
    positive: str | None = None,
    threshold: float | None = None,
    at_recall: float | None = None,
    unsure: arguments.Unsure = None,
    costs: arguments.Costs = None,
    format: arguments.Format = None,
    query: arguments.Query = arguments.NO_QUERY,
    json: arguments.Json = False,
) -> None:
    """Compare the predictions of a model with the classes in a table.

    Parameters
    ----------
    data
        Tables with the model's features, in any order, and the target.
    target
        The column with the classes; by default the target of the model.
    positive
        The positive class; by default, of two classes, the one with fewer training rows.
    threshold
        Show precision and recall at this threshold on the probability of the positive class.
    at_recall
        Find the highest threshold with this recall, as 0.9, rounded down, with the same rows.
    """
    from naively.cli import models, sources, terminal, work
    from naively.cli.results import label_scores, scores
    from naively.cli.results import predictions as costing

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
    decisions = scores.decisions(result, threshold, at_recall, source.name)
    if json:
        terminal.print_json(scores.as_json(result, decisions))
    else:
        scores.evaluated(result, decisions)
