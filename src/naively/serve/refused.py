"""What a request cannot have, and why."""

from __future__ import annotations


class RefusedError(Exception):
    """A request that gets no answer but an error.

    Attributes
    ----------
    status : int, of HTTP.
    said : str, what is wrong, where, and what to do.
    """

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status, self.said = status, said
