"""`naively fit`: what it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from naively.cli import options as given
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
    from naively.cli import models, progress, sources, terminal, work
    from naively.cli import multilabel as labelled
    from naively.cli import parts as parting
    from naively.cli.errors import UsageError
    from naively.cli.verbs import shapes, summary
    from naively.cli.work import odd_labels
    from naively.storage import atomic, named_parts
    from naively.storage.model_files import Saved

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
        from naively.cli.verbs import cluster

        if options.sql is not None:
            raise UsageError("--engine reads files: leave out --sql")
        fitted, saved = cluster.fit(engine, data, target, options, like, plot)
    elif like is None:
        source, estimator, spec = sources.opened_new(data, target, options)
        if plot is not None:
            shapes.check(spec, options, plot, [*data, str(output)])
        fitted = work.fit(source, spec)
        said = {"weight": options.weight, "documents": source.files.kind}
        extra = {key: text for key, text in said.items() if text}
        saved = Saved(fitted.model, estimator.name, dict(estimator.params), extra)
    else:
        if plot is not None:
            raise UsageError("--like takes the smoothing from the model: leave out --plot")
        source, spec, saved = sources.opened_like(data, target, options, like)
        fitted = work.fit(source, spec, saved.model)
        saved.model = fitted.model
    saved.parts = {} if part is None else {part: named_parts.kept(fitted.model)}
    with atomic.alone(output):
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
    for remark in odd_labels(fitted.model) if like is None else ():
        progress.note(remark)
    if json:
        terminal.print_json(summary.fit_json(fitted, saved, output))
    else:
        summary.fitted(fitted, saved, output, features)
    if plot is not None:
        shapes.draw_smoothing(fitted, spec, options, source.files.texts, plot)
