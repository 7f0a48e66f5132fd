"""The commands that write models: what they are called and take. Heavy imports wait."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from naively.cli.app import Output, Target, Unseen, app, check_features, tables_of


@app.command
def fit(
    *data: str,
    target: Target = None,
    output: Annotated[Path, Parameter(alias="-o")],
    columns: list[str] | None = None,
    text: list[str] | None = None,
    skip: list[str] | None = None,
    family: str | None = None,
    weight: str | None = None,
    holdout: float = 0.0,
    alpha: float = 1.0,
    prior: Literal["empirical", "uniform"] = "empirical",
    unseen: Unseen = "smooth",
    missing: list[str] | None = None,
    format: str | None = None,
    label: str | None = None,
    seed: int = 0,
    features: int = 20,
    like: Path | None = None,
    json: bool = False,
) -> None:
    """Learn from the rows of a table, and write the model to a file.

    Each column gets the family that fits it: long text is a bag of words, short
    text categorical, numbers are normal, counts Poisson, and so on; constants and
    identifiers are left out. The report says which; `inspect --json` also says why.

    Parameters
    ----------
    data
        The tables to learn from.
    target
        The column that holds the classes. Rows where it is empty are skipped. Documents have the
        column `label`, of their files or folders.
    output
        The model file to write; `naively.load` reads it in Python.
    columns
        Families of columns, as "age=gamma" or "job=categorical(alpha=0.5)"; may be repeated.
    text
        A column of text, even if its texts are short; may be repeated. For n-grams and the like:
        --columns "body=text(ngram_range=(1,2))".
    skip
        A column to leave out; may be repeated.
    family
        Of all columns of numbers: gaussian, lognormal, gamma, poisson, kernel_density, ...; or
        auto for the one that predicts best.
    weight
        A column of weights: a row of weight 2 counts as two rows.
    holdout
        Part of the rows of each class, as 0.2, to test the model on before it learns them too.
    alpha
        Smoothing of levels, counts and words.
    prior
        Class prior.
    unseen
        What a level that was never met does at prediction.
    missing
        Text that means a missing value, instead of ?, NA, null and the like; may be repeated.
    format
        csv, tsv, jsonl, parquet, arrow, arff, text (lines) or mail, if names do not tell.
    label
        The class of all documents; `naively update --label` then adds those of others.
    seed
        Which rows are held out.
    features
        How many columns the report lists.
    like
        A model file: its target, families and smoothing are taken, so that the two models add up.
        One class is enough then. For parts of a table that are learned apart.
    json
        Print one JSON object.
    """
    from naively.cli import layout, models, progress, report, sources, work
    from naively.cli.errors import UsageError
    from naively.cli.options import again, question
    from naively.files import locks
    from naively.tables.inputs import MISSING

    check_features(features)
    sources.check_output(output, data)
    if like is not None:
        said = {
            "--columns": columns, "--text": text, "--skip": skip, "--family": family,
            "--missing": missing, "--alpha": None if alpha == 1.0 else alpha,
            "--prior": None if prior == "empirical" else prior,
            "--unseen": None if unseen == "smooth" else unseen,
        }  # fmt: skip
        if twice := [option for option, value in said.items() if value is not None]:
            raise UsageError(f"--like takes that from the model: leave out {', '.join(twice)}")
        model = models.load_table(like)
        source = sources.opened_to_learn(model, tables_of(data), format, label)
        asked = replace(again(model, weight), holdout=holdout, seed=seed)
        if target not in (None, asked.target):
            raise UsageError(f"the target of {like} is {asked.target!r}: leave out --target")
        fitted = work.fit(source, asked, model.model)
        params, extra, estimator = model.params, model.extra, model.estimator
    else:
        spelled = MISSING if missing is None else ("", *missing)
        source = sources.opened(tables_of(data), format, spelled, label)
        asked = question(
            sources.target_among(source, target), columns, text, source.files.texts, skip, family,
            weight, holdout, alpha, prior, unseen, spelled, seed,
        )  # fmt: skip
        fitted = work.fit(source, asked, alone=label is not None)
        wishes = asked.wishes
        params = {
            "columns": wishes.columns or None, "family": "auto" if wishes.auto else wishes.numeric,
            "alpha": alpha, "prior": prior, "unseen": unseen, "missing": wishes.missing,
        }  # fmt: skip
        noted = {"weight": weight, "documents": source.files.kind}
        extra, estimator = {key: text for key, text in noted.items() if text}, "NaiveBayes"
    with locks.alone(output):
        models.write(fitted.table, output, params, extra, estimator)
    models.unread(fitted.table, fitted.table.unfit, "learned")
    if len(fitted.table.model.classes) == 1 and like is None:
        progress.note(f"the model knows one class: `naively update {output} --label` adds others")
    if json:
        layout.print_json(report.fit_json(fitted, str(output)))
    else:
        report.fitted(fitted, str(output), output.stat().st_size, features)


@app.command
def update(
    model: Path, /, *data: str, output: Output = None, weight: str | None = None,
    format: str | None = None, label: str | None = None,
) -> None:  # fmt: skip
    """Learn more rows: the model is the one that had seen them all at once.

    Families that the first rows have settled stay; what they cannot take counts as missing.

    Parameters
    ----------
    model
        File that `naively fit` wrote.
    data
        The tables to learn from.
    output
        Write another file, and leave this one.
    weight
        A column of weights; the one that `fit` was given unless named.
    format
        csv, tsv, jsonl, parquet, arrow, arff, text (lines) or mail, if names do not tell.
    label
        The class of all documents; by default the name of their file, or folder, tells.
    """
    from naively.cli import models, report, sources, work
    from naively.cli.options import again, wishes_of
    from naively.tables.inference import reconsidered

    saved = models.load_table(model)
    output = output or model
    sources.check_output(output, data)
    source = sources.opened_to_learn(saved, tables_of(data), format, label)
    fitted = work.fit(source, again(saved, weight), saved.model)
    if label is None:
        models.note_new_classes(source.name, fitted.table, saved)
    with models.changing(saved, model, output) as now:
        now.model.absorb(fitted.table)
        now.model = reconsidered(wishes_of(now), now.model)
        models.write(now.model, output, now.params, now.extra, now.estimator)
    models.unread(fitted.table, fitted.table.unfit, "learned")
    report.changed("learned", fitted.table.rows, now.model, str(output))


@app.command
def forget(
    model: Path, /, *data: str, output: Output = None, weight: str | None = None,
    format: str | None = None, label: str | None = None,
) -> None:  # fmt: skip
    """Unlearn rows: the model is the one that never met them.

    Parameters
    ----------
    model
        File that `naively fit` wrote.
    data
        Tables of rows that it learned.
    output
        Write another file, and leave this one.
    weight
        A column of weights; the one that `fit` was given unless named.
    format
        csv, tsv, jsonl, parquet, arrow, arff, text (lines) or mail, if names do not tell.
    label
        The class of all documents; by default the name of their file, or folder, tells.
    """
    from naively.cli import models, report, sources, work
    from naively.cli.options import again

    saved = models.load_table(model)
    output = output or model
    sources.check_output(output, data)
    source = sources.opened_to_learn(saved, tables_of(data), format, label)
    gone = work.rows_of(saved, source, again(saved, weight))
    with models.changing(saved, model, output) as now:
        now.model.forget(gone)
        models.write(now.model, output, now.params, now.extra, now.estimator)
    report.changed("forgot", gone.rows, now.model, str(output))


@app.command
def merge(*models: Path, output: Annotated[Path, Parameter(alias="-o")]) -> None:
    """Add models up: the sum is the model that learned the rows of all of them.

    Parameters
    ----------
    models
        Files that `naively fit` or `save` in Python wrote.
    output
        The model file to write.
    """
    from naively.cli import models as files
    from naively.cli import report, sources
    from naively.cli.errors import UsageError
    from naively.files import locks

    if len(models) < 2:
        raise UsageError("name two or more models to merge")
    sources.check_output(output, [])
    with locks.alone(output):
        saved = files.merged(models)
        files.write(saved.model, output, saved.params, saved.extra, saved.estimator)
    report.changed("merged", None, saved.model, str(output))
