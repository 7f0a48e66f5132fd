"""The page at /: one file, which loads nothing from elsewhere."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

HTML = files("naively.serve").joinpath("page.html").read_text("utf-8")


def _digests(tag: str) -> str:
    """What a browser is told of the script or the styles, so that it runs no others."""
    inside = re.findall(f"<{tag}>(.*?)</{tag}>", HTML, re.S)
    return " ".join(
        f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in inside
    )


POLICY = (
    f"default-src 'none'; script-src {_digests('script')}; style-src {_digests('style')}; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
