"""`naively evaluate`: what it takes."""

from __future__ import annotations

from naively.cli import arguments as given
from naively.cli.app import app


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
    from naively.cli import models, sources, terminal, work
    from naively.cli import predictions as costing
    from naively.cli.verbs import label_scores, scores

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
        terminal.print_json(scores.as_json(result, found))
    else:
        scores.evaluated(result, found)
