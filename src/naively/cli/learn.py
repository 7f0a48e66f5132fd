"""The commands that write models: what they are called and take. Heavy imports wait."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from naively.cli import arguments as given
from naively.cli.app import app


@app.command
def fit(
    *data: given.Data,
    target: given.TargetToLearn = None,
    output: given.NewFile,
    options: given.LearningOptions = given.LEARNING,
    features: int = 20,
    like: Path | None = None,
    part: given.Part = None,
    engine: str | None = None,
    plot: Path | None = None,
    multilabel: Annotated[bool, Parameter(negative="")] = False,
    separator: str | None = None,
    json: given.Json = False,
) -> None:
    """Learn from the rows of a table, and write the model to a file.

    The evidence of columns is weighed, and that of two to four together where they
    tell more: an `AutoBayes`. The file holds the rows, each distinct one once.

    With --naive each column gets the family that fits it, and all are multiplied:
    long text is a bag of words, short text and few different numbers are categories,
    other numbers are normal; constants and identifiers are left out. The report says
    which; `inspect --json` also says why.

    Of documents, words are weighed, and pairs of words where files have up to 64 MB, so that the
    probabilities can be trusted. The file holds some of the documents. So are the words of a column
    of text beside others: a mail's subject and body beside its sender.

    Parameters
    ----------
    data
        The tables to learn from.
    output
        The model file to write; `naively.load` reads it in Python.
    features
        How many features are listed.
    like
        A model file: its target, families and smoothing are taken, so that the two models add up.
        For parts of a table that are learned apart. Of a model that weighs evidence its plan is
        taken: rows are counted for it, however many, and none is kept.
    engine
        Who reads and counts: spark, spark://HOST:PORT, spark://local[4], spark://yarn, or
        sc://HOST for Spark Connect. DATA are names that Spark reads. Needs naively[spark].
    multilabel
        Each row has any number of labels, or none, in the target column: a list, or text with a
        separator. Of one column of text; see --text.
    separator
        What parts the labels in text; unless given, the first of | ; , that some cell has.
    plot
        Draw how well rows that are left out are predicted with other smoothing (--alpha), and what
        it makes of the column that tells most, in a file such as smoothing.png; with --naive. Needs
        naively[plot].
    """
    from naively.cli import layout, models, parting, progress, smoothing, sources, summary, work
    from naively.cli import multilabel as labelled
    from naively.cli.errors import UsageError
    from naively.cli.odd_labels import odd
    from naively.cli.options import noted, weighing
    from naively.files import locks, parted
    from naively.files.safetensors import Saved

    given.check_count("features", features)
    parting.check(part)
    sources.check_output(output, data, options)
    if multilabel:
        if {like, plot, engine} != {None}:
            raise UsageError("--multilabel does not go with --like, --plot and --engine")
        labelled.fit(data, target, output, options, separator, part, json)
        return
    if separator is not None:
        raise UsageError("--separator is of labels: it goes with --multilabel")
    if engine is not None:
        from naively.cli import clusters

        if options.sql is not None:
            raise UsageError("--engine reads files: leave out --sql")
        fitted, saved = clusters.fit(engine, data, target, options, like, plot)
    elif like is None:
        source, question = sources.opened_new(data, target, options)
        question = weighing(question, options, source.files.size)
        if plot is not None:
            smoothing.check(question, options, plot, [*data, str(output)])
        fitted = work.fit(source, question)
        said = {"weight": options.weight, "documents": source.files.kind}
        extra = {key: text for key, text in said.items() if text}
        saved = Saved(fitted.model, *noted(question, fitted.model), extra)
    else:
        if plot is not None:
            raise UsageError("--like takes the smoothing from the model: leave out --plot")
        source, question, saved = sources.opened_like(data, target, options, like)
        fitted = work.fit(source, question, saved.model)
        saved.model = fitted.model
    saved.parts = {} if part is None else {part: parted.kept(fitted.model)}
    with locks.alone(output):
        models.write(saved, output)
    models.unread(fitted.model, fitted.model.invalid, "learned")
    if skipped := fitted.model.skipped:
        progress.note(
            f"rows whose label is {skipped!r} were skipped, as it means a missing value; if it is "
            'a class, --missing "" says that only empty cells are missing'
        )
    if len(fitted.model.classes) == 1 and like is None:
        label = "" if options.label is None else " --label"
        progress.note(
            f"the model knows one class: `naively update {output}{label}` adds others; until then "
            "all rows are predicted to be of it"
        )
    for remark in odd(fitted.model) if like is None else ():
        progress.note(remark)
    if json:
        layout.print_json(summary.fit_json(fitted, saved, output))
    else:
        summary.fitted(fitted, saved, output, features)
    if plot is not None:
        smoothing.draw(fitted, question, options, source.files.texts, plot)


@app.command
def update(
    model: given.FittedFile,
    /,
    *data: given.Data,
    part: given.Part = None,
    replace: bool = False,
    keep: int | None = None,
    evaluate: Annotated[bool, Parameter(negative="")] = False,
    options: given.ChangeOptions = given.CHANGE,
) -> None:
    """Learn more rows: the model is the one that had seen them all at once.

    What a column is follows from all rows; what its family cannot take counts as missing.

    Parameters
    ----------
    data
        The tables to learn from.
    replace
        Forget what the part learned before, if there is one of that name.
    keep
        Of parts such as day=2026-11-22 keep those of so many days, back from the last of them.
    evaluate
        Predict the new rows before they are learned, and print how well.
    """
    from naively.cli import models, parting, progress, sources, summary, work
    from naively.cli.errors import UsageError
    from naively.cli.options import wishes_of
    from naively.files import parted
    from naively.tables.turned import kinds, turned

    parting.check(part, replace, keep)
    saved = models.load_table(model)
    if evaluate and saved.multilabel:
        raise UsageError("--evaluate is for models that give each row one label")
    output = options.output or model
    sources.check_output(output, data, options)
    source, question = sources.opened_to_learn(saved, data, options)
    fitted = work.fit(source, question, saved.model, evaluate)
    if options.label is None:
        models.note_new_classes(source.name, fitted.model, saved)
    with models.changing(saved, model, output) as now:
        before = kinds(now.model)
        gone = parting.replaced(now, part) if part and replace else None
        parted.learn(now, fitted.model, wishes_of(now), part or "")
        old = parting.expired(now, part, keep) if part and keep else []
        parting.forgotten(now, old)
        models.write(now, output)
    models.unread(now.model, fitted.model.invalid_in(now.model.schema), "learned")
    for said in turned(before, now.model):
        progress.note(said)
    more = {"replaced": gone, "expired": parting.named(old)}
    summary.changed("learned", fitted.model.rows, now.model, output, part=part, **more)
    if fitted.held is not None:
        summary.predicted_first(fitted.held, saved.model)


@app.command
def forget(
    model: given.FittedFile,
    /,
    *data: given.Data,
    part: given.Names = None,
    receipt: Path | None = None,
    options: given.ChangeOptions = given.CHANGE,
) -> None:
    """Unlearn rows: the model is the one that never met them.

    Parameters
    ----------
    data
        Tables of rows that it learned.
    part
        A part to forget, as customer=17; its rows are not needed. May be repeated. With data: the
        part that learned these rows.
    receipt
        A new file for a receipt, with digests of the model before and after, and of the rows, for
        `naively verify`.
    """
    from naively.cli import layout, models, parting, receipts, sources, summary, work
    from naively.files.digest import digest

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
        source, question = sources.opened_to_learn(saved, data, options)
        rows = work.learned_alone(saved, source, question)
    with models.changing(saved, model, output) as now:
        before = digest(now.model)
        gone = parting.forget(now, parts, rows)
        named = receipts.Named(model, output, data, part or [])
        with receipts.written(receipt, before, gone, now.model, named):
            models.write(now, output)
    noted = None if receipt is None else layout.clean(receipt, 200)
    summary.changed("forgot", gone.rows, now.model, output, receipt=noted)


@app.command
def merge(*models: Path, output: given.NewFile) -> None:
    """Add models up: the sum is the model that learned the rows of all of them.

    Parameters
    ----------
    models
        Files that `naively fit` or `save` in Python wrote.
    output
        The model file to write.
    """
    from naively.cli import models as files
    from naively.cli import sources, summary
    from naively.cli.errors import UsageError
    from naively.files import locks

    if len(models) < 2:
        raise UsageError("name two or more models to merge")
    sources.check_output(output, [])
    with locks.alone(output):
        saved = files.merged(models)
        files.write(saved, output)
    summary.changed("merged", None, saved.model, output)


@app.command
def demo(*, folder: Path = Path("naively-demo")) -> None:
    """Learn to read handwritten digits: writes two tables, learns one, is tested on the other.

    Works offline: scikit-learn bundles the digits.

    Parameters
    ----------
    folder
        Where to put the tables and the model.
    """
    from naively.cli.demo import run as run_demo

    run_demo(folder)
