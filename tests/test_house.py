"""The structure of the package: imports, length of files, number of files in a folder."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import naively

ROOT = Path(naively.__file__).parent
LONGEST = 800  # lines of a file: one concept a file, not pieces of one
FILES = 15  # of a folder


def sources():
    """The file of each module of the package, by name."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path, names):
    """The modules of the package that a file imports: anywhere, for types alone too."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for one in node.names:
                inner = f"{node.module}.{one.name}"  # a module of a package, or a name in a module
                if inner in names or node.module in names:
                    yield inner if inner in names else node.module


def circles(graph):
    """The modules that import each other, directly or by way of others: sets of names.

    Strongly connected components: modules on a circle become one, until there is no circle.
    """
    group = {name: frozenset({name}) for name in graph}
    while True:
        joined = {one: set() for one in group.values()}
        for name, others in graph.items():
            joined[group[name]] |= {group[other] for other in others} - {group[name]}
        try:
            TopologicalSorter(joined).prepare()
        except CycleError as error:
            whole = frozenset().union(*error.args[1])
            group |= dict.fromkeys(whole, whole)
        else:
            return {one for one in group.values() if len(one) > 1}


def test_what_a_circle_is():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d", "f"}, "f": set()}
    assert circles(graph) == {frozenset("abc"), frozenset("de")}
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == set()


def test_no_module_imports_itself_by_way_of_others():
    names = sources()
    graph = {name: set(imported(path, names)) for name, path in names.items()}
    assert circles(graph) == set()


def test_no_file_is_long():
    long = {
        name
        for name, path in sources().items()
        if len(path.read_text("utf-8").splitlines()) > LONGEST
    }
    assert long == set()


def test_no_folder_holds_many_files():
    folders = {path.parent for path in sources().values()}
    many = {f.name for f in folders if len([*f.glob("*.py")]) > FILES}
    assert many == set()


def test_documented_folders_exist():
    page = (Path(__file__).parents[1] / "docs/architecture.md").read_text("utf-8")
    rooms = re.findall(r"`((?:\w+/)+(?:\w+\.py)?|\w+/\w+)`", page)
    assert len(rooms) > 10
    homes = ROOT, Path(__file__).parents[1]
    assert [one for one in rooms if not any((home / one).exists() for home in homes)] == []


def test_what_is_cited_is_this_version():
    cited = (Path(__file__).parents[1] / "CITATION.cff").read_text("utf-8").splitlines()
    assert f"version: {naively.__version__}" in cited
    assert "license: BSD-3-Clause" in cited
