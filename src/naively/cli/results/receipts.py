"""Write receipts of what a model forgot, read them, and verify a model by them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from naively import __version__
from naively.cli.errors import UsageError, UserError, printable
from naively.cli.terminal import clean
from naively.core.markup import counted
from naively.model.model import Model
from naively.rendering import plain_json
from naively.storage.atomic import replacing
from naively.storage.digest import digest
from naively.storage.parts import utc_now
from naively.tables import counting

KIND, VERSION = "naively forget", 1


@dataclass
class Checked:
    """The result of `naively verify`."""

    # "after" if it is the model without the rows, "before" if it still contains them, else "other"
    model: str
    # whether the given rows are those that were removed; None if none were given
    rows: bool | None = None
    # whether model and rows add up to the model before; None if not checked
    sum: bool | None = None

    @property
    def verified(self) -> bool:
        """Whether the receipt confirms everything that was checked."""
        return self.model == "after" and self.rows is not False and self.sum is not False


def check_new(path: Path, output: Path) -> None:
    """Refuse to overwrite a file, or to write the receipt to the model's file."""
    if path.exists() or path.resolve() == output.resolve():
        raise UsageError(
            f"{path} exists already: name another file, as receipts are not overwritten"
        )
    if not path.parent.is_dir():
        raise UserError(f"{path}: there is no folder {str(path.parent)!r}; make it first")


@dataclass(frozen=True)
class Named:
    """The paths and names of a command line."""

    # model, output: model files before and after
    model: Path
    output: Path
    data: Sequence[str]  # files of the rows
    parts: Sequence[str]  # names of parts


def receipt(before: str, removed: Model, after: Model, named: Named) -> dict[str, Any]:
    """Make a receipt."""
    fields = {
        "receipt": KIND,
        "version": VERSION,
        "written_by": f"naively {__version__}",
        "time": utc_now(),
        "model": printable(str(named.model)),
        "output": printable(str(named.output)),
        "data": [printable(str(path)) for path in named.data],
        "parts": list(named.parts),
        "target": after.target,
        "removed": {"rows": removed.rows, "classes": _weights(removed)},
        "digests": {"before": before, "removed": digest(removed), "after": digest(after)},
    }
    content: dict[str, Any] = plain_json(fields)
    return {**content, "checksum": _checksum(content)}


def _weights(model: Model) -> dict[str, float]:
    """The weight of the rows of each class."""
    weights = [
        int(weight) if weight == int(weight) else weight
        for weight in model.class_weight.rounded().tolist()
    ]
    return dict(zip(map(str, model.classes.tolist()), weights, strict=True))


@contextmanager
def written(
    path: Path | None, before: str, removed: Model, after: Model, named: Named
) -> Iterator[None]:
    """Write a receipt if one is requested and the block, which writes the model, succeeds.

    The receipt is on disk before the block runs, and renamed after it: a full disk stops the
    command before anything has changed.
    """
    if path is None:
        yield
        return
    text = json.dumps(receipt(before, removed, after, named), indent=2, ensure_ascii=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", "utf-8")
        yield


def read(path: Path) -> dict[str, Any]:
    """Read a receipt. Raises UserError if it is not one, or was changed."""
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file") from None
    except (ValueError, RecursionError):
        raise UserError(f"{path} is not a receipt: `naively forget --receipt` writes one") from None
    if not isinstance(content, dict) or content.get("receipt") != KIND:
        raise UserError(f"{path} is not a receipt: `naively forget --receipt` writes one")
    if content.get("version") != VERSION:
        raise UserError(f"{path}: a receipt of version {content.get('version')!r}, where this "
                        f"naively reads version {VERSION}")  # fmt: skip
    if content.get("checksum") != _checksum(content):
        raise UserError(f"{path}: its checksum is wrong: it was changed after it was written")
    digests, removed = content.get("digests"), content.get("removed")
    names = ("before", "removed", "after")
    has_digests = isinstance(digests, dict) and all(isinstance(digests.get(n), str) for n in names)
    if not has_digests or not isinstance(removed, dict) or type(removed.get("rows")) is not int:
        raise UserError(f"{path}: a damaged receipt: it has no digests and rows")
    return content


def compared(receipt: Mapping[str, Any], model: Model, rows: Model | None) -> Checked:
    """Verify a model, and rows if given, by a receipt.

    `rows`: a model of the rows that should be the removed ones; None without rows.
    """
    digests, model_digest = receipt["digests"], digest(model)
    result = Checked(next((k for k in ("after", "before") if digests[k] == model_digest), "other"))
    if rows is None:
        return result
    equal_weights = plain_json(_weights(rows)) == receipt["removed"].get("classes")
    result.rows = equal_weights and digest(rows) == digests["removed"]
    if result.model == "after":
        result.sum = digest(counting.merge(model.copy(), rows)) == digests["before"]
    return result


def as_json(receipt: Mapping[str, Any], result: Checked) -> dict[str, Any]:
    """The result as JSON."""
    return {"verified": result.verified, "model": result.model, "rows": result.rows,
            "sum": result.sum, "receipt": dict(receipt)}  # fmt: skip


def in_words(receipt: Mapping[str, Any], result: Checked, model: Model) -> dict[str, str | None]:
    """The result in words, for `facts`."""
    target = receipt.get("target")
    other = "the model has changed since, or is another one"
    if result.model == "other" and target != model.target:
        other = f"another model: its target is {clean(model.target)!r}, not {clean(target)!r}"
    models = {
        "after": "verified: equal to a model trained without the rows",
        "before": "NOT FORGOTTEN: this is the model before forgetting; it contains the rows",
        "other": f"NOT VERIFIED: {other}",
    }
    rows = {
        None: None,
        True: "verified: the forgotten rows",
        False: "NOT VERIFIED: these are not exactly the forgotten rows",
    }
    sums = {
        None: None,
        True: "verified: this model plus these rows is the model before forgetting",
        False: "NOT VERIFIED: this model plus these rows is not the model before forgetting",
    }
    removed = receipt["removed"]
    parts: Sequence[Any] = receipt.get("parts") or ()
    return {
        "receipt": f"{counted(removed['rows'], 'row')} forgotten on {clean(receipt.get('time'))}",
        "parts": ", ".join(map(clean, parts)) or None,
        "model": models[result.model],
        "rows": rows[result.rows],
        "sum": sums[result.sum],
    }


def _checksum(receipt: Mapping[str, Any]) -> str:
    """A digest of a receipt's other fields; it detects accidents, not forgery."""
    fields = {key: value for key, value in receipt.items() if key != "checksum"}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()
