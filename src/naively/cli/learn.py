"""The commands that write models: what they are called and take. Heavy imports wait."""

from __future__ import annotations

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
        Part of the rows, as 0.2, to test the model on before it learns them too.
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
    json
        Print one JSON object.
    """
    from naively.cli import layout, models, progress, report, sources, work
    from naively.cli.options import question
    from naively.tables.inputs import MISSING

    check_features(features)
    sources.check_output(output, data)
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
    extra = {"weight": weight, "documents": source.files.kind}
    models.write(fitted.table, output, params, {key: text for key, text in extra.items() if text})
    report.warned(fitted.table)
    if len(fitted.table.model.classes) == 1:
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
    from naively.cli.options import again

    saved = models.load_table(model)
    output = output or model
    sources.check_output(output, data)
    source = sources.opened_to_learn(saved, tables_of(data), format, label)
    fitted = work.fit(source, again(saved, weight), saved.model)
    saved.model.absorb(fitted.table)
    models.write(saved.model, output, saved.params, saved.extra, saved.estimator)
    report.warned(fitted.table)
    report.changed("learned", fitted.table.rows, saved.model, str(output))


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
    rows = work.forget(saved, source, again(saved, weight))
    models.write(saved.model, output, saved.params, saved.extra, saved.estimator)
    report.changed("forgot", rows, saved.model, str(output))


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

    if len(models) < 2:
        raise UsageError("name two or more models to merge")
    sources.check_output(output, [])
    saved = files.merged(models)
    files.write(saved.model, output, saved.params, saved.extra, saved.estimator)
    report.changed("merged", None, saved.model, str(output))
