"""Where the application prints."""

from __future__ import annotations

from rich.console import Console


class Terminal(Console):
    """A console that leaves it to the application what a closed pipe means."""

    def on_broken_pipe(self) -> None:
        """Pass the error on; rich would end the program with another exit code than ours."""
        raise  # the BrokenPipeError that is being handled
