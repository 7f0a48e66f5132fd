"""Make the page of `man naively` from the help of the commands: manual.py SOURCES FILE."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def manual(sources: Path) -> str:
    """The page as roff, of the sources in a folder. Raises if something is no reStructuredText."""
    sys.path.insert(0, str(sources))
    from docutils.core import publish_string

    from naively import __version__
    from naively.cli.main import app

    told = app.generate_docs(output_format="rst").partition("\n=======\nnaively\n=======\n")[2]
    told = re.sub(r"\.\. contents::.*\n(?:   .*\n)*", "", told)
    told = re.sub(r"\.\. _cyclopts.*:\n", "", told)
    told = re.sub(r"(``.*?``)|(?<!\*)\*(?!\*)", lambda found: found[1] or r"\*", told)
    told = told.replace("**Commands:**\n", "COMMANDS\n--------\n", 1)
    about = str(app.help).partition(".\n")[0]
    lines = [
        *("=======", "naively", "=======", "-" * len(about), about, "-" * len(about)),
        *("", ":Manual section: 1", f":Version: {__version__}", "", "SYNOPSIS", "--------", ""),
    ]
    page = publish_string(
        "\n".join(lines) + told, writer="manpage",
        settings_overrides={"halt_level": 2, "smart_quotes": False},
    )  # fmt: skip
    return page.decode()


if __name__ == "__main__":
    sources, file = map(Path, sys.argv[1:])
    file.write_text(manual(sources), "utf-8")
