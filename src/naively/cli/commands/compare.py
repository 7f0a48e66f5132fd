"""`naively compare`: what it takes."""

from __future__ import annotations

from pathlib import Path

from naively.cli import options as given
from naively.cli.app import app


@app.command
def compare(
    *data: given.Data,
    target: given.TargetToLearn = None,
    columns: given.NamedColumns = None,
    text: given.Names = None,
    skip: given.Skip = None,
    estimators: given.Names = None,
    missing: given.Missing = None,
    format: given.Format = None,
    query: given.Query = given.NO_QUERY,
    only: given.Names = None,
    seconds: float = float("inf"),
    sizes: str | None = None,
    splits: int = 5,
    seed: int = 0,
    accuracy: bool = False,
    plot: Path | None = None,
    json: given.Json = False,
) -> None:
    """Is naive Bayes enough here, and would more rows help?

    Learning curves: the error on rows held out, by the number of rows learned, of
    naive Bayes, AutoBayes, the other rungs of the ladder, logistic regression,
    gradient boosting, the majority class, and any classifier of scikit-learn.

    Parameters
    ----------
    data
        The tables or documents to look at.
    text
        A column of text, even if its texts are short; may be repeated.
    estimators
        A classifier to compare too, as sklearn.ensemble.RandomForestClassifier or
        "sklearn.svm.SVC(C=10)"; may be repeated.
    only
        A candidate to try, as the table calls it, such as AutoBayes or "gradient boosting"; may be
        repeated. All unless given.
    seconds
        What each candidate may take; one that takes longer is not gone on with.
    sizes
        The numbers of rows to learn, as 10,100,1000; 10, 20, 50 and so on up to all unless given.
    splits
        How many random splits; each predicts that part of the rows.
    seed
        Of the splits, and of the sample that is looked at of more than 100,000 rows.
    accuracy
        Show the part of the rows that are right instead of wrong.
    plot
        Draw the curves too, in a file such as curves.png; needs naively[plot].
    """
    from naively.cli import pictures, sources, terminal
    from naively.cli.verbs import compare as comparison

    if plot is not None:
        pictures.check(plot, data)
    options = given.LearningOptions(
        naive=True, columns=columns, text=text, skip=skip, missing=missing, format=format,
        seed=seed, **vars(query),
    )  # fmt: skip
    source, _, spec = sources.opened_new(data, target, options)
    found = comparison.run(source, spec, estimators, splits, only, seconds, sizes)
    if json:
        terminal.print_json(found.to_dict())
    else:
        comparison.compared(found, accuracy)
    if plot is not None:
        comparison.draw(found, plot, accuracy)
