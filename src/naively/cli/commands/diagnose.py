"""`naively diagnose`: what it takes."""

from __future__ import annotations

from naively.cli import options as given
from naively.cli.app import app


@app.command
def diagnose(
    *data: given.Data,
    target: given.Target = None,
    columns: given.NamedColumns = None,
    skip: given.Skip = None,
    missing: given.Missing = None,
    format: given.Format = None,
    query: given.Query = given.NO_QUERY,
    seed: int = 0,
    pairs: int = 10,
    json: given.Json = False,
) -> None:
    """Is the naive assumption true here, and which rung of the ladder fits the table?

    Tests each pair of columns for dependence given the class, and compares models
    from the class prior to the full joint table on rows that they did not learn.

    Parameters
    ----------
    data
        The tables to look at.
    target
        The column that holds the classes. Rows where it is empty are skipped.
    seed
        Which rows are held out, and which are looked at if there are more than 100,000.
    pairs
        How many pairs to show, those first that depend most on each other.
    """
    from naively.cli import sources, terminal
    from naively.cli.verbs import diagnose as diagnosis

    given.check_count("pairs", pairs)
    options = given.LearningOptions(
        naive=True, columns=columns, skip=skip, missing=missing, format=format, seed=seed,
        **vars(query),
    )  # fmt: skip
    source, _, spec = sources.opened_new(data, target, options)
    found = diagnosis.run(source, spec)
    if json:
        terminal.print_json(found.to_dict())
    else:
        diagnosis.diagnosed(found, pairs)
