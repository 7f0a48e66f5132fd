"""The options of `naively update`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from naively.cli import arguments
from naively.cli.app import app


@app.command
def update(
    model: arguments.FittedFile,
    /,
    *data: arguments.Data,
    part: arguments.Part = None,
    replace: bool = False,
    keep: int | None = None,
    evaluate: Annotated[bool, Parameter(negative="")] = False,
    options: arguments.ChangeOptions = arguments.CHANGE,
) -> None:
    """Train a model on more rows.

    The counts are those of one `fit` to all rows. The default model keeps its structure (bins,
    interactions and weights) until the rows have grown by more than a tenth. Then it chooses the
    structure again, and equals the model of one `fit` to all rows.

    Column types follow from all rows: a word in a numeric column makes the column categorical, and
    a note says so; `naively forget` of these rows makes it numeric again. In models of `fit
    --naive` words count as missing while they are rare.

    Parameters
    ----------
    data
        Tables with new rows.
    replace
        Replace the rows of the named part: forget its earlier ones.
    keep
        Of parts such as day=2026-11-22, keep those of so many days up to the latest one; forget
        the others.
    evaluate
        Evaluate the model on the new rows before training on them.
    """
    from naively.cli import models, sources, work
    from naively.cli import parts as parting
    from naively.cli.errors import UsageError
    from naively.cli.results import summary
    from naively.storage import named_parts

    parting.check(part, replace, keep)
    output = options.output or model
    sources.check_output(output, data, options)
    saved = models.load_table(model)
    if evaluate and saved.multilabel:
        raise UsageError("--evaluate is for models that give each row one label")
    models.note_in_use(output)
    source, spec = sources.opened_to_learn(saved, data, options)
    fitted = work.fit(source, spec, saved.model, evaluate)
    if options.label is None:
        models.note_new_classes(source.name, fitted.model, saved)
    with models.changing(saved, model, output) as current:
        replaced_rows = parting.replaced(current, part) if part and replace else None
        issues = named_parts.learn(current, fitted.model, part or "")
        expired = parting.expired(current, part, keep) if part and keep else []
        parting.forgotten(current, expired)
        models.write(current, output)
    models.note_invalid(current.model, fitted.model.unread)
    models.notes(issues)
    remarks = {"replaced": replaced_rows, "forgotten_parts": parting.named(expired)}
    remarks["structure"] = summary.structure(current.model)
    summary.changed("added", fitted.model.rows, current.model, output, part=part, **remarks)
    if fitted.held is not None:
        summary.predicted_first(fitted.held, saved.model)
