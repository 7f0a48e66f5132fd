"""The options of `naively fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from naively.cli import arguments
from naively.cli.app import app


@app.command
def fit(
    *data: arguments.Data,
    target: arguments.TargetToLearn = None,
    output: arguments.NewFile,
    options: arguments.LearningOptions = arguments.LEARNING,
    features: int = 20,
    like: Path | None = None,
    part: arguments.Part = None,
    engine: str | None = None,
    plot: Path | None = None,
    multilabel: Annotated[bool, Parameter(negative="")] = False,
    separator: str | None = None,
    json: arguments.Json = False,
) -> None:
    """Train a model on a table or documents, and write it to a file.

    The default model, `AutoBayes`, weights the evidence of each feature, and of interactions of two
    to four features. The file holds each distinct row once.

    With --naive it is plain naive Bayes, with a family for each feature: long text is a bag of
    words, short text and few different numbers are categorical, other numbers normal; constants
    and identifiers are left out. `inspect --json` gives the reasons.

    For documents it is `TextNB()`: weighted words, with pairs of words and character n-grams
    where these lower the log-loss. The file holds a sample of the documents. Text columns beside
    others, as the subject and body of a mail, are weighted as well.

    Progress is shown in a terminal only.

    Parameters
    ----------
    data
        Tables or documents with training rows.
    output
        The model file to write; `naively.load` reads it in Python.
    features
        Number of features to list.
    like
        A model file whose target, families and smoothing to use, so that the models can be merged;
        for parts of a table that are trained apart. Of an `AutoBayes` the structure is used: rows
        are counted for it, without storing them.
    engine
        The engine: spark, spark://HOST:PORT, spark://local[4], spark://yarn, or sc://HOST for Spark
        Connect. DATA are names that Spark reads. Needs naively[spark].
    multilabel
        The target column holds any number of labels a row: a list, or text with a separator. For
        one text column; see --text.
    separator
        The separator of labels in text; by default the first of | ; , that a cell contains.
    plot
        Draw the cross-validated log-loss and error by smoothing (--alpha), and the parameters of
        the most important feature, in a file such as smoothing.png; with --naive. Needs
        naively[plot].
    """
    from naively.cli import models, progress, sources, terminal, work
    from naively.cli import multilabel as labelled
    from naively.cli import parts as parting
    from naively.cli.errors import UsageError
    from naively.cli.results import shapes, summary
    from naively.cli.work import odd_labels
    from naively.storage import atomic, named_parts
    from naively.storage.model_files import Saved

    arguments.check_count("features", features)
    parting.check(part)
    sources.check_output(output, data, options)
    if multilabel:
        if {like, plot, engine, options.groups, options.time} != {None}:
            raise UsageError(
                "--multilabel cannot be combined with --like, --plot, --engine, --groups and --time"
            )
        labelled.fit(data, target, output, options, separator, part, json)
        return
    if separator is not None:
        raise UsageError("--separator separates labels: it needs --multilabel")
    if engine is not None:
        from naively.cli import cluster

        if options.sql is not None:
            raise UsageError("--engine reads files: leave out --sql")
        fitted, saved = cluster.fit(engine, data, target, options, like, plot)
    elif like is None:
        source, estimator, spec = sources.opened_new(data, target, options)
        if plot is not None:
            shapes.check(spec, options, plot, [*data, str(output)])
        fitted = work.fit(source, spec)
        properties = {
            "weight": options.weight, "documents": source.files.kind, "groups": options.groups,
            "time": options.time,
        }  # fmt: skip
        extra = {key: text for key, text in properties.items() if text}
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
    models.note_invalid(fitted.model, fitted.model.invalid)
    if missing_label := fitted.model.skipped:
        progress.note(
            f"rows whose label is {missing_label!r} were skipped, as it means a missing value; "
            'if it is a class, --missing "" says that only empty cells are missing'
        )
    if len(fitted.model.classes) == 1 and like is None:
        label = "" if options.label is None else " --label"
        progress.note(
            f"the model has one class: `naively update {output}{label}` adds others; until then "
            "it is predicted for all rows"
        )
    for remark in odd_labels(fitted.model) if like is None else ():
        progress.note(remark)
    if json:
        terminal.print_json(summary.fit_json(fitted, saved, output))
    else:
        summary.fitted(fitted, saved, output, features)
    if plot is not None:
        shapes.draw_smoothing(fitted, spec, options, source.files.texts, plot)
