"""The options of `naively verify`."""

from __future__ import annotations

from pathlib import Path

from naively.cli import arguments as given
from naively.cli.app import app


@app.command
def verify(
    receipt: Path,
    model: given.FittedFile,
    /,
    *data: given.Data,
    weight: str | None = None,
    format: given.Format = None,
    label: str | None = None,
    json: given.Json = False,
) -> None:
    """Verify a receipt of `naively forget` against a model.

    With the rows, also verify that they are the forgotten ones, and that the model before is the
    sum of them and the model after. The exit status is 0 if all is verified, else 1.

    Parameters
    ----------
    receipt
        File written by `naively forget --receipt`.
    data
        The forgotten rows, in any order and format.
    weight
        A column of weights; by default the one of `fit`.
    label
        The class of all documents; by default the name of their file or folder.
    """
    from naively.cli import models, sources, terminal, work
    from naively.cli.errors import UserError
    from naively.cli.results import receipts

    content = receipts.read(receipt)
    saved = models.load_table(model)
    rows = None
    if data:
        options = given.ChangeOptions(weight=weight, format=format, label=label)
        source, spec = sources.opened_to_learn(saved, data, options)
        rows = work.learned_alone(saved, source, spec)
    result = receipts.compared(content, saved.model, rows)
    if json:
        terminal.print_json(receipts.as_json(content, result))
    else:
        terminal.console().print(terminal.facts(**receipts.in_words(content, result, saved.model)))
    if not result.verified:
        raise UserError(
            f"{model} and {receipt} do not agree"
            if data
            else f"{model} is not the model of {receipt} after forgetting"
        )
