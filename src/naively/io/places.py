"""Resolve paths, patterns and folders to files of tables and of documents."""

from __future__ import annotations

import glob
import re
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from naively.io.formats import mail
from naively.io.inputs import HEAD, Input, TableError

FORMATS = {
    "csv": "csv", "tsv": "tsv", "tab": "tsv", "jsonl": "jsonl", "ndjson": "jsonl",
    "parquet": "parquet", "pq": "parquet", "arrow": "arrow", "feather": "arrow", "ipc": "arrow",
    "arff": "arff", "text": "text", "txt": "text", "mail": "mail", "eml": "mail", "mbox": "mail",
}  # fmt: skip
"""Formats by suffix, and by the names that a user may give."""
DOCUMENTS = ("text", "mail")
DUCKDB = "ask DuckDB for its rows: --database duckdb: --sql \"select * from {}_scan('{{}}')\""
SYSTEMS = (
    ("_delta_log", "Delta Lake", DUCKDB.format("delta")),
    ("metadata/*.metadata.json", "Iceberg", DUCKDB.format("iceberg")),
    (".hoodie", "Hudi", "read it with Spark, and save its rows as Parquet"),
)
"""Table formats that are refused: (file by which it is recognised, name, remedy)."""
PARTITION = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.+)")
"""Name of a folder of a hive-partitioned table: COLUMN=VALUE."""
SQUEEZED = re.compile(r"\.(gz|zst|xz|bz2)$", re.I)
LOOKED_AT, NEARLY = 50, 0.9
"""Maximum number of files to inspect, and minimum share of them that look like mails."""


@dataclass
class Place:
    """A file, standard input, or a folder of documents, one per file.

    path : the file, or the folder of the documents; None for standard input.
    label : label of the rows, used if they are documents and there are several places.
    documents : (label, file) of each document; None if the rows are in one file.
    classes : whether the documents are labelled even if this is the only place.
    """

    path: Path | None
    label: str = ""
    documents: list[tuple[str, Path]] | None = None
    mail: bool = False
    classes: bool = False

    @property
    def name(self) -> str:
        """Name for messages."""
        return "standard input" if self.path is None else str(self.path)

    def name_all(self, label: str) -> None:
        """Set the label of all documents."""
        self.label = label
        if self.documents is not None:
            self.documents = [(label, file) for _, file in self.documents]


def listed(
    path: str | Path | list[Any], format: str | None, kind: str | None = None,
    classes: Collection[str] = (),
) -> tuple[list[Place], bool]:  # fmt: skip
    """Return (places of a path, in order; whether their documents have labels).

    Raises TableError if there is nothing to read; FileNotFoundError if there is no such file.

    path : a file, a pattern, a folder, "-" for standard input, or a list of these.
    format : one of the values of FORMATS; None to detect it.
    kind : kind of documents, "text" or "mail"; None to detect it.
    classes : known classes of texts. Files in a folder with the name of a class are documents of
        it, unless a file is a table or has the name of a class.
    """
    places = list(_places(path, format, kind if format is None else format, classes))
    labelled = len({place.path for place in places}) > 1 or any(entry.classes for entry in places)
    stems = Counter(label for label, _ in {(p.label, p.path) for p in places if not p.documents})
    for place in places:
        if place.path and not place.documents and stems[place.label] > 1:  # reviews.pos and .neg
            place.label = place.path.name
    folders = {place.path.parent for place in places if place.path and not place.documents}
    for folder in folders:
        _refuse_foreign(folder)
    _refuse_partitions(folders)
    places = _of_known(places, classes) if classes else places
    merged: list[Place] = []
    for place in places:  # merge adjacent documents, such as a thousand .eml files
        previous = merged[-1] if merged else Place(None)
        if previous.documents and place.documents and previous.mail == place.mail:
            previous.documents += place.documents
        else:
            merged.append(place)
    return merged, labelled


def _of_known(places: list[Place], classes: Collection[str]) -> list[Place]:
    """Return the places, where files in a folder with the name of a class are documents of it."""
    if {place.label for place in places} & {*classes}:
        return places
    folder_names = [_name(place.path.parent) if place.path else "" for place in places]
    files = [place.path for place in places if place.path and place.documents is None]
    if not {*folder_names} <= {*classes} or len(files) < len(places) or any(map(_is_table, files)):
        return places
    return [
        Place(file.parent, name, [(name, file)], classes=True)
        for file, name in zip(files, folder_names, strict=True)
    ]


def by_suffix(path: Path) -> str | None:
    """Return the format of a file by its suffix, or None."""
    return FORMATS.get(suffix(path))


def _is_table(path: Path) -> bool:
    return by_suffix(path) not in (None, *DOCUMENTS)


def suffix(path: Path) -> str:
    """Return the suffix of a name in lower case, ignoring one of compression."""
    name = SQUEEZED.sub("", path.name.lower())
    return name.rpartition(".")[2] if "." in name else ""


def _places(
    path: str | Path | list[Any], format: str | None, kind: str | None, classes: Collection[str]
) -> Iterator[Place]:
    if isinstance(path, (list, tuple)):
        if not path:
            raise TableError("no files were given to read")
        for item in path:
            yield from _places(item, format, kind, classes)
        return
    if str(path) == "-":
        yield Place(None, "standard input")
        return
    place = Path(path)
    if place.is_dir():
        yield from _folder(place, format, kind, classes)
    elif not place.exists() and glob.has_magic(str(path)):
        matches = sorted(Path(name) for name in glob.glob(str(path), recursive=True))  # noqa: PTH207
        files = [file for file in matches if not file.is_dir()]
        if not files:
            raise TableError(f"no file matches {path}")
        yield from (_file(file, format) for file in files)
    elif place.exists():
        yield _file(place, format)
    else:
        raise FileNotFoundError(2, "there is no such file", str(path))


def _file(path: Path, format: str | None) -> Place:
    """Return the place of a file of rows, or of a single mail, whose label is its folder."""
    if suffix(path) == "eml" and format in (None, "mail"):
        return _mails(path.parent, [path])
    return Place(path, Path(SQUEEZED.sub("", path.name)).stem)


def _name(folder: Path) -> str:
    return folder.name if folder.name not in ("", "..") else folder.resolve().name


# ---- tables of other systems ---------------------------------------------------------------------


def _refuse_foreign(folder: Path) -> None:
    """Raise TableError for a folder that is a table of another system.

    Its files still contain rows that were deleted or replaced.
    """
    for log, system, remedy in SYSTEMS:
        if any(folder.glob(log)):
            raise TableError(
                f"{folder}: this is a table of {system}, whose files also hold rows that were "
                f"removed since: {remedy.format(folder)}"
            )


def _refuse_partitions(folders: Collection[Path]) -> None:
    """Raise TableError for files of several hive partitions: one column is not in the files."""
    partitions: dict[tuple[Path, str], str] = {}
    for folder in sorted(folders):
        for path in (folder, *folder.parents):
            match = PARTITION.fullmatch(path.name)
            if match and partitions.setdefault((path.parent, match[1]), match[2]) != match[2]:
                raise TableError(
                    f"{path.parent}: the column {match[1]!r} is in the names of folders, such as "
                    f"{path.name}, and not in the files: pass naively.scan(pyarrow.dataset.dataset("
                    f"'{path.parent}', partitioning='hive')), or ask DuckDB: --database duckdb: "
                    f"--sql \"select * from read_parquet('{path.parent}/**/*.parquet', "
                    'hive_partitioning=true)"'
                )


# ---- folders -----------------------------------------------------------------------------------


def _folder(
    folder: Path, format: str | None, kind: str | None, classes: Collection[str]
) -> list[Place]:
    """Return the places of a folder.

    Tables in the folder are read if there are any. Else, in this order: a Maildir; mails in the
    folder; subfolders of documents, whose names are classes (at least two if there are text files
    beside them, which may describe them); text files. If `kind` is mail, files with other suffixes
    are mails, too; in a folder with the name of one of `classes` they are texts.
    """
    _refuse_foreign(folder)
    entries = sorted(folder.iterdir())
    files = [entry for entry in entries if entry.is_file() and entry.name[:1] not in "._"]
    tables = [entry for entry in files if _is_table(entry) and format not in DOCUMENTS]
    mails = [entry for entry in files if by_suffix(entry) == "mail"]
    texts = [entry for entry in files if by_suffix(entry) == "text"]
    if not tables and format in (None, *DOCUMENTS):
        folders = [entry for entry in entries if entry.is_dir() and entry.name[:1] != "."]
        if kind != "text" and {"cur", "new"} <= {entry.name for entry in folders}:
            mails = [file for inner in ("cur", "new") for file in _under(folder / inner)]
            if not mails:
                raise TableError(f"{folder}: there is no mail in this Maildir")
            return [_mails(folder, mails)]
        parts = [entry for entry in folders if PARTITION.fullmatch(entry.name)]
        if kind is None and any(_is_table(file) for entry in parts for file in _under(entry)):
            _refuse_partitions(parts)
        if kind == "text" or not mails:
            documents = [(entry.name, file) for entry in folders for file in _under(entry)]
            labels = len({label for label, _ in documents})
            if labels > 1 or (labels and not _beside(texts, files, kind)):
                return [_classes(folder, documents, kind)]
        if kind == "mail" and files and not mails:
            return [_mails(folder, files)]
    selected = tables or (texts if format == "text" else mails or texts)
    if _name(folder) in classes:
        selected = selected or files
    if not selected:
        raise TableError(
            f"{folder}: no file in this folder has a known suffix, such as .csv, and no folder "
            "in it holds documents; if they are mails, name the format mail"
        )
    return [_file(file, format) for file in selected]


def _beside(texts: list[Path], files: list[Path], kind: str | None) -> bool:
    """Return whether there are documents beside a folder of documents."""
    if kind == "mail":
        return any(mail.was_sent(mail.headers(_head(file))) for file in files)
    return bool(texts)


def _under(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and its subfolders, except hidden ones."""
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_file():
            yield entry
        elif entry.is_dir() and not entry.is_symlink():  # symbolic links may form a cycle
            yield from _under(entry)


def _mails(folder: Path, files: list[Path]) -> Place:
    """Return the place of mails, one per file; their label is the name of the folder."""
    label = _name(folder)
    return Place(folder, label, [(label, file) for file in files], mail=True)


def _classes(folder: Path, documents: list[tuple[str, Path]], kind: str | None) -> Place:
    """Return the place of documents in subfolders, whose names are the classes.

    Raises TableError if the files are tables, or only some are .eml files.
    """
    files = [file for _, file in documents]
    if kind is None and (table := next(filter(_is_table, files), None)):
        raise TableError(
            f"{folder}: no table is in this folder itself, but {table} is in one below; "
            f"name {table.parent}, or name the format text if all files are documents"
        )
    not_eml = [document for document in files if suffix(document) != "eml"]
    if kind is None and not_eml and len(not_eml) < len(files):
        raise TableError(
            f"{folder}: some files end in .eml, others, such as {not_eml[0]}, do not; "
            "say which format all of them have, text or mail"
        )
    is_mail = kind == "mail" or (kind is None and not not_eml)
    return Place(folder, "", documents, mail=is_mail, classes=True)


# ---- mails without a suffix --------------------------------------------------------------------


def recognise_mails(place: Place) -> str:
    """Detect whether documents in subfolders are mails, and set `place.mail`.

    Return a hint for the user if that is uncertain, else "".
    """
    files = [file for _, file in place.documents or ()]
    sample = files[:: len(files) // LOOKED_AT + 1]
    if not place.classes or place.mail or not set(map(by_suffix, sample)) <= {None, "text"}:
        return ""
    headers = [mail.headers(_head(document)) for document in sample]
    plain = all(by_suffix(document) is None for document in files)
    if plain and sum(map(mail.was_sent, headers)) >= NEARLY * len(sample):
        place.mail = True
    elif sum(map(mail.may_be_mail, headers)) >= NEARLY * len(sample):
        return (
            f"{place.name}: the files begin with headers, as mails do, and are read as plain text; "
            "the format mail separates sender, subject and body"
        )
    return ""


def _head(path: Path) -> bytes:
    with closing(Input(path).open()) as stream:
        return stream.read(HEAD)
