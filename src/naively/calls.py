"""Parse names with arguments, such as ``gamma`` or ``sklearn.svm.SVC(C=10)``."""

from __future__ import annotations

import ast
from typing import Any


def named_call(text: str) -> tuple[str, dict[str, Any]]:
    """Return (name, arguments) of ``name`` or ``name(argument=literal, ...)``.

    Raises
    ------
    ValueError : if it is neither.
    """
    text = text.strip()
    name = text.split("(")[0].strip()
    try:
        call = ast.parse(text if "(" in text else f"{text}()", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or ast.unparse(call.func) != name:
            raise ValueError
        if any(keyword.arg is None for keyword in call.keywords):  # **{...}
            raise ValueError
        return name, {
            str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords
        }
    except (SyntaxError, TypeError, ValueError):
        raise ValueError(f"{text!r}: write it as {name} or {name}(argument=value)") from None
