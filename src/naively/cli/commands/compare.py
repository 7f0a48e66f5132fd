"""The options of `naively compare` and `naively diagnose`: which model for a table."""

from __future__ import annotations

from pathlib import Path

from naively.cli import arguments
from naively.cli.app import app


@app.command
def compare(
    *data: arguments.Data,
    target: arguments.TargetToLearn = None,
    columns: arguments.NamedColumns = None,
    text: arguments.Names = None,
    skip: arguments.Skip = None,
    estimators: arguments.Names = None,
    groups: str | None = None,
    time: str | None = None,
    missing: arguments.Missing = None,
    format: arguments.Format = None,
    query: arguments.Query = arguments.NO_QUERY,
    only: arguments.Names = None,
    seconds: float = float("inf"),
    sizes: str | None = None,
    splits: int = 5,
    seed: int = 0,
    accuracy: bool = False,
    plot: Path | None = None,
    json: arguments.Json = False,
) -> None:
    """Compare models by their learning curves, and recommend one.

    Measures error and log-loss on held-out rows, by the number of training rows, of naive Bayes,
    AutoBayes, the other models of the ladder, logistic regression, gradient boosting, the majority
    class, and any classifier of scikit-learn.

    Parameters
    ----------
    data
        Tables or documents.
    text
        A column of text, even if its texts are short; may be repeated.
    estimators
        Another classifier, as sklearn.ensemble.RandomForestClassifier or
        "sklearn.svm.SVC(C=10)"; may be repeated.
    only
        A model to compare, by its name in the table, such as AutoBayes or "gradient boosting"; may
        be repeated. By default all.
    seconds
        Time limit for each model.
    sizes
        Numbers of training rows, as 10,100,1000; by default 10, 20, 50 and so on.
    splits
        Number of random splits; each holds out one part of the rows.
    groups
        A column such as customer: its rows are never in training and test fold at once. It is no
        feature.
    time
        A column of dates or numbers: each fold is predicted from earlier rows. It is not a feature.
    seed
        Seed of the splits, and of the sample if there are more than 100,000 rows.
    accuracy
        Show accuracy instead of error.
    plot
        Also draw the curves in a file such as curves.png; needs naively[plot].
    """
    from naively.cli import sources, terminal
    from naively.cli.results import compare as comparison
    from naively.cli.results import pictures

    if plot is not None:
        pictures.check(plot, data)
    options = arguments.LearningOptions(
        naive=True, columns=columns, text=text, skip=skip, groups=groups, time=time,
        missing=missing, format=format, seed=seed, **vars(query),
    )  # fmt: skip
    source, _, spec = sources.opened_new(data, target, options)
    result = comparison.run(source, spec, estimators, splits, only, seconds, sizes)
    if json:
        terminal.print_json(result.to_dict())
    else:
        comparison.compared(result, accuracy, spec)
    if plot is not None:
        comparison.draw(result, plot, accuracy)


@app.command
def diagnose(
    *data: arguments.Data,
    target: arguments.Target = None,
    columns: arguments.NamedColumns = None,
    skip: arguments.Skip = None,
    groups: str | None = None,
    time: str | None = None,
    missing: arguments.Missing = None,
    format: arguments.Format = None,
    query: arguments.Query = arguments.NO_QUERY,
    seed: int = 0,
    pairs: int = 10,
    json: arguments.Json = False,
) -> None:
    """Test the naive assumption, and recommend a model.

    Tests each pair of features for dependence given the class, and compares models from the class
    prior to the full joint table by cross-validation.

    Parameters
    ----------
    data
        Tables.
    target
        The column with the classes. Rows where it is empty are skipped.
    groups
        A column such as customer: its rows are never in training and test fold at once. It is no
        feature.
    time
        A column of dates or numbers: each fold is predicted from earlier rows. It is not a feature.
    seed
        Seed of the folds, and of the sample if there are more than 100,000 rows.
    pairs
        Number of pairs to show, the most dependent first.
    """
    from naively.cli import sources, terminal
    from naively.cli.results import diagnose as diagnosis

    arguments.check_count("pairs", pairs)
    options = arguments.LearningOptions(
        naive=True, columns=columns, skip=skip, groups=groups, time=time,
        missing=missing, format=format, seed=seed, **vars(query),
    )  # fmt: skip
    source, _, spec = sources.opened_new(data, target, options)
    result = diagnosis.run(source, spec)
    if json:
        terminal.print_json(result.to_dict())
    else:
        diagnosis.diagnosed(result, pairs, spec)
