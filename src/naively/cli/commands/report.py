"""The options of `naively report`."""

from __future__ import annotations

from naively.cli import arguments
from naively.cli.app import app


@app.command
def report(
    model: arguments.ModelFile,
    /,
    *data: arguments.Data,
    output: arguments.NewFile,
    format: arguments.Format = None,
) -> None:
    """Write an HTML report of a model: features, evaluation, examples, and a form to try it.

    The page is one HTML file, which loads nothing from elsewhere: it can be mailed, printed and
    archived. It shows the evidence of each feature, interaction and word, and missing values.

    With tables, it explains some of their rows, and the errors with the highest probabilities.
    Training rows are evaluated by cross-validation, other rows as test data.

    Needs naively[report].

    Parameters
    ----------
    data
        Tables with the model's features, and its target if the predictions are to be evaluated.
    output
        The page to write, such as report.html.
    """
    from naively.cli import models, progress, sources, terminal
    from naively.cli.errors import UserError
    from naively.storage.atomic import replacing

    sources.check_output(output, [str(model), *data])
    saved = models.load_sums(model)
    source = sources.opened_for(saved, data, format) if data else None
    try:
        from naively.cli.results import report as reported
        from naively.report.page import html_of
    except ImportError as error:
        raise UserError(f"{error}: pip install 'naively[report]'") from None
    with progress.doing() as show:
        show("looking at the model")
        page = html_of(reported.report_of(saved, model, source))
    with replacing(output) as file:
        file.write_text(page, encoding="utf-8", errors="replace")
    terminal.console().print(terminal.facts(saved=terminal.written(output)))
