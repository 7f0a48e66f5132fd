"""The command `naively drift`: what it takes. Heavy imports wait."""

from __future__ import annotations

from naively.cli import arguments
from naively.cli.app import app


@app.command
def drift(
    model: arguments.ModelFile,
    /,
    *data: arguments.Data,
    level: float = 0.01,
    format: arguments.Format = None,
    query: arguments.Query = arguments.NO_QUERY,
    json: arguments.Json = False,
) -> int:
    """Compare new rows with the training rows of a model.

    Tests for drift of each feature and word, for a lower likelihood of the rows, and for label
    shift; estimates the new class frequencies, and how they change the predictions.

    The exit status is 3 if there is drift, 0 if none was found, also because there are too few rows
    to test, 1 or 2 after an error. Of more than 100,000 rows a sample is compared.

    Parameters
    ----------
    data
        Tables with the model's features, in any order. Labels are not needed; no test uses them.
    level
        Significance level of all tests together: the probability of a false alarm.
    """
    from naively.cli import models, sources, terminal
    from naively.cli.results import drift as drift_results

    saved = models.load(model)
    source = sources.opened_for(saved, data, format, named=True, query=query)
    result = drift_results.run(saved, source, level)
    if json:
        terminal.print_json(result.to_dict())
    else:
        drift_results.printed(result, str(model), source.name)
    return drift_results.DRIFT_EXIT_CODE if result.has_drift else 0
