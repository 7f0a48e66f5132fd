"""Adapt this repository for MkDocs: pages beside docs/, and links between the two.

The pages are read in the repository too, so their links are those of its files.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

BESIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "experiments/README.md": "experiments.md",
}
"""The page of each file that is not in docs/."""

ELSEWHERE = {"src/naively/core/column_types.py": "reference/tables.md", "README.md": "index.md"}
"""What stands for a file that is no page."""

NAMED = re.compile(r"\bdocs/(\w+)\.md\b")
"""A page, as docstrings name it."""

BLANK = re.compile("&lt;BLANKLINE&gt;")
"""An empty line of what code prints, as doctest has to write it."""

FOREIGN = re.compile(
    r"""<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^>]*>"""
)
"""What a page loads from elsewhere."""

LINK = re.compile(r"(?<=\]\()(?P<path>[^)#:\s]+)(?P<anchor>#[^)\s]*)?(?=\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    for path, page in BESIDE.items():
        files.append(File.generated(config, page, abs_src_path=path))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between pages."""
    here = page.file.src_uri
    source = next((path for path, own in BESIDE.items() if own == here), f"docs/{here}")

    def link(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), found["path"]))
        target = {**BESIDE, **ELSEWHERE}.get(path, path.removeprefix("docs/"))
        return posixpath.relpath(target, posixpath.dirname(here)) + (found["anchor"] or "")

    return LINK.sub(link, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Link the pages that docstrings name; show lines that doctest calls blank as such."""
    html = BLANK.sub("", html)
    if not page.file.src_uri.startswith("reference/"):
        return html

    def link(found: re.Match[str]) -> str:
        named = files.get_file_from_path(f"{found[1]}.md")
        if named is None:
            raise PluginError(
                f"{page.file.src_uri}: a docstring names {found[0]}, which is no page"
            )
        return f'<a href="{named.url_relative_to(page.file)}">{named.src_uri}</a>'

    return NAMED.sub(link, html)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Refuse what would be loaded from elsewhere: the site works without a network."""
    if found := FOREIGN.search(output):
        raise PluginError(f"{page.file.src_uri}: the page would load {found[0]}")
    return output
