"""The command that learns what arrives: what it is called and takes. Heavy imports wait."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from naively.cli import arguments as given
from naively.cli.app import app


@app.command
def follow(
    data: given.Data,
    /,
    *,
    model: Annotated[Path, Parameter(alias="-m")],
    progressive: bool = False,
    half_life: str | None = None,
    every: str | None = None,
    until_idle: float | None = None,
    weight: str | None = None,
    format: given.Format = None,
    label: str | None = None,
    json: given.Json = False,
) -> None:
    """Learn what arrives: the files of a folder and those that appear in it, or piped rows.

    Each file is learned once, when nobody writes it any more. The model file notes
    which ones were: a command that is killed and started again loses none and counts
    none twice. Ctrl-C and SIGTERM end it in good order.

    Parameters
    ----------
    data
        A folder of tables, or - for standard input.
    model
        The model file, which `naively fit` wrote; what arrives is added to it.
    progressive
        Test, then train: predict each row before it is learned, and print accuracy and log-loss.
    half_life
        What was learned weighs half after so many rows, as 10000, or so much time, as 12h or 7d.
    every
        Write the model after so many rows, as 10000, or so much time, as 30s: by default 10s. Of a
        folder it is also written whenever nothing is left to learn.
    until_idle
        End when nothing new has come for so many seconds; by default it never ends by itself.
    weight
        A column of weights; the one that `fit` was given unless named.
    label
        The class of all documents.
    """
    from naively.cli.amounts import Amount, amount
    from naively.cli.arriving import Arriving
    from naively.cli.errors import UsageError, UserError
    from naively.cli.following import Follower
    from naively.cli.sources import check_output
    from naively.study.progressive import Progressive

    life = None if half_life is None else amount("half-life", half_life)
    often = Amount() if every is None else amount("every", every)
    if until_idle is not None and not until_idle > 0:
        raise UsageError(f"--until-idle must be above 0 seconds, but is {until_idle:g}")
    folder = None if str(data) == "-" else Path(data)
    if folder is not None and not folder.is_dir():
        what = "`naively update` learns a file" if folder.exists() else "make it first"
        raise UserError(f"{folder}: there is no such folder; {what}")
    check_output(model, [])
    arriving = Arriving(model, life, Progressive() if progressive else None)
    options = given.ChangeOptions(weight=weight, format=format, label=label)
    Follower(arriving, options, often, until_idle, json).run(folder)
