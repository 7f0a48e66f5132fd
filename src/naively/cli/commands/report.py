"""The command that writes a model as a page: what it is called and takes. Heavy imports wait."""

from __future__ import annotations

from naively.cli import arguments as given
from naively.cli.app import app


@app.command
def report(
    model: given.ModelFile,
    /,
    *data: given.Data,
    output: given.NewFile,
    format: given.Format = None,
) -> None:
    """Write a page about a model: what it learned, how well it predicts, and a form to try it.

    The page is one HTML file, which loads nothing from elsewhere: it can be mailed, printed and
    archived. It shows what each column, pair and word tells, what is missing and what was left out.

    With tables, rows of them are explained, with the surest mistakes. If they are the rows that the
    model learned, each is left out in turn to say how well it predicts; else they are new rows.

    Needs naively[report].

    Parameters
    ----------
    data
        Tables with the model's columns, and its target if there are labels to compare with.
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
        from naively.cli.verbs import report as reported
        from naively.report.page import html_of
    except ImportError as error:
        raise UserError(f"{error}: pip install 'naively[report]'") from None
    with progress.doing() as tell:
        tell("looking at the model")
        page = html_of(reported.report_of(saved, model, source))
    with replacing(output) as file:
        file.write_text(page, encoding="utf-8", errors="replace")
    terminal.console().print(terminal.facts(written=terminal.written(output)))
