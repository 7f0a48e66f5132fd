"""The options of `naively forget`."""

from __future__ import annotations

from pathlib import Path

from naively.cli import arguments as given
from naively.cli.app import app


@app.command
def forget(
    model: given.FittedFile,
    /,
    *data: given.Data,
    part: given.Names = None,
    receipt: Path | None = None,
    options: given.ChangeOptions = given.CHANGE,
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
    saved = models.load_table(model)
    sources.check_output(output, data, options)
    reads = bool(data) or options.sql is not None
    parts = parting.to_forget(saved, part, reads)
    rows = None
    if reads or part is None:
        source, spec = sources.opened_to_learn(saved, data, options)
        rows = work.learned_alone(saved, source, spec)
    with models.changing(saved, model, output) as current:
        before = digest(current.model)
        removed = parting.forget(current, parts, rows)
        names = receipts.Named(model, output, data, part or [])
        with receipts.written(receipt, before, removed, current.model, names):
            models.write(current, output)
    receipt_text = None if receipt is None else terminal.clean(receipt, 200)
    summary.changed("forgot", removed.rows, current.model, output, receipt=receipt_text)
