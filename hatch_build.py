"""What a wheel has besides the package: the page of `man naively`, made from the commands' help."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


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
    about = str(app.help).partition(":")[0]
    lines = [
        *("=======", "naively", "=======", "-" * len(about), about, "-" * len(about)),
        *("", ":Manual section: 1", f":Version: {__version__}", "", "SYNOPSIS", "--------", ""),
    ]
    page = publish_string(
        "\n".join(lines) + told, writer="manpage",
        settings_overrides={"halt_level": 2, "smart_quotes": False},
    )  # fmt: skip
    return page.decode()


class ManualPage(BuildHookInterface[Any]):
    """Puts the page where `man` looks in an environment: share/man/man1."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the page, but not for a package that is installed in place."""
        if version != "editable":
            file = Path(tempfile.mkdtemp(), "naively.1")
            file.write_text(manual(Path(self.root, "src")), "utf-8")
            build_data["shared_data"][str(file)] = f"share/man/man1/{file.name}"
