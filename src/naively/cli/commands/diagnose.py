"""The options of `naively diagnose`."""

from __future__ import annotations

from naively.cli import arguments as given
from naively.cli.app import app


@app.command
def diagnose(
    *data: given.Data,
    target: given.Target = None,
    columns: given.NamedColumns = None,
    skip: given.Skip = None,
    groups: str | None = None,
    time: str | None = None,
    missing: given.Missing = None,
    format: given.Format = None,
    query: given.Query = given.NO_QUERY,
    seed: int = 0,
    pairs: int = 10,
    json: given.Json = False,
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

    given.check_count("pairs", pairs)
    options = given.LearningOptions(
        naive=True, columns=columns, skip=skip, groups=groups, time=time,
        missing=missing, format=format, seed=seed, **vars(query),
    )  # fmt: skip
    source, _, spec = sources.opened_new(data, target, options)
    result = diagnosis.run(source, spec)
    if json:
        terminal.print_json(result.to_dict())
    else:
        diagnosis.diagnosed(result, pairs, spec)
