"""The command `naively drift`: what it takes. Heavy imports wait."""

from __future__ import annotations

from naively.cli import arguments as given
from naively.cli.app import app


@app.command
def drift(
    model: given.ModelFile,
    /,
    *data: given.Data,
    level: float = 0.01,
    format: given.Format = None,
    json: given.Json = False,
) -> int:
    """Do new rows, without labels, look like those that a model learned?

    Says which columns and words differ, whether the rows are less probable,
    whether the shares of the classes moved, and how predictions change if they did.

    The exit status is 3 if there is drift, 0 if none was found, 1 or 2 after an
    error. Of more than 100,000 rows a sample is looked at.

    Parameters
    ----------
    data
        Tables with the model's columns, in any order; the target may be there, and is not read.
    level
        The chance at which rows that do not differ are said to do so, for all tests together.
    """
    from naively.cli import models, sources, terminal
    from naively.cli.verbs import drift as drifted

    saved = models.load(model)
    source = sources.opened_for(saved, data, format, named=True)
    found = drifted.run(saved, source, level)
    if json:
        terminal.print_json(found.to_dict())
    else:
        drifted.printed(found, str(model), source.name)
    return drifted.FOUND if found.found else 0
