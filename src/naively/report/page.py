"""Render a report as one HTML file, which loads nothing else."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment
from markupsafe import Markup

from naively.core.markup import chance
from naively.export.js import ENGINE, js_text
from naively.report import pictures
from naively.report.facts import Report

ROOM = files("naively.report")


def html_of(report: Report) -> str:
    """Render the page. All names and values are escaped."""
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"signed": signed, "chance": chance}
    template = environment.from_string(_text("page.html"))
    # the page has one script, not modules
    script = re.sub("^export ", "", ENGINE, flags=re.MULTILINE) + _text("page.js")
    classes = len(report.labels)
    names = {"labels": report.labels, "names": report.names, "prior": report.prior}
    form = {"form": report.form, **names}
    return template.render(
        report=report,
        calibrated=[
            pictures.calibration(reliability, classes)
            for quality in report.quality
            if (reliability := quality.scores.calibration) is not None
        ],
        ranked=[pictures.rankings(quality.rankings) for quality in report.quality],
        style=Markup(_text("page.css")),
        script=Markup(script),
        digest=b64encode(sha256(script.encode()).digest()).decode(),
        form=Markup(js_text(form)),
        model=Markup(js_text(report.numbers)),
    )


def signed(odds: float) -> str:
    """Format log-odds with a sign."""
    return f"{odds:+.2f}".replace("-", "\u2212")


def _text(name: str) -> str:
    return ROOM.joinpath(name).read_text("utf-8")
