"""The options of `naively forget`, and of `naively verify` for its receipts."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from naively.cli import arguments
from naively.cli.app import app


@app.command
def forget(
    model: arguments.FittedFile,
    /,
    *data: arguments.Data,
    part: arguments.Names = None,
    receipt: Path | None = None,
    options: arguments.ChangeOptions = arguments.CHANGE,
) -> None:
    """Forget training rows exactly: the result is the model trained on the other rows.

    Parameters
    ----------
    data
        Tables with training rows of the model.
    part
        A named part to forget, as customer=17; its rows are not needed. May be repeated. With data:
        the part that was trained on these rows.
    receipt
        A new file for a receipt: digests of the model before and after, and of the rows, for
        `naively verify`.
    """
    from naively.cli import models, sources, terminal, work
    from naively.cli import parts as parting
    from naively.cli.results import receipts, summary
    from naively.storage.digest import digest

    output = options.output or model
    if receipt is not None:
        receipts.check_new(receipt, output)
        sources.check_output(receipt, data, options)
    sources.check_output(output, data, options)
    saved = models.load_table(model)
    models.note_in_use(output)
    reads = bool(data) or options.sql is not None
    parts = parting.to_forget(saved, part, reads)
    located = rows = None
    if reads or part is None:
        source, spec = sources.opened_to_learn(saved, data, options)
        rows = work.learned_alone(saved, source, spec)
        if options.sql is None:
            located = partial(work.first_never_learned, source=source, spec=spec)
    with models.changing(saved, model, output) as current:
        before = digest(current.model)
        removed = parting.forget(current, parts, rows, located)
        names = receipts.Named(model, output, data, part or [])
        with receipts.written(receipt, before, removed, current.model, names):
            models.write(current, output)
    receipt_text = None if receipt is None else terminal.clean(receipt, 200)
    summary.changed("forgot", removed.rows, current.model, output, receipt=receipt_text)


@app.command
def verify(
    receipt: Path,
    model: arguments.FittedFile,
    /,
    *data: arguments.Data,
    weight: str | None = None,
    format: arguments.Format = None,
    label: str | None = None,
    json: arguments.Json = False,
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
    models.check_log(model)
    saved = models.load_table(model)
    rows = None
    if data:
        options = arguments.ChangeOptions(weight=weight, format=format, label=label)
        source, spec = sources.opened_to_learn(saved, data, options)
        rows = work.learned_alone(saved, source, spec)
    result = receipts.compared(content, saved.model, rows)
    if json:
        terminal.print_json(receipts.as_json(content, result))
    else:
        terminal.console().print(terminal.facts(**receipts.in_words(content, result, saved.model)))
    if not result.verified:
        what = f"{model} is not the model of {receipt} after forgetting"
        if result.model == "after":
            what = f"the given rows are not the forgotten rows of {receipt}"
        raise UserError(what)
