"""The `naively` command with --naive, for tests of plain naive Bayes."""

from naively.cli import main


def run(tokens=None):
    """The exit code of a command; `fit` makes a plain product."""
    if tokens and tokens[0] == "fit" and not {"--like", "--help", "--naive"} & {*tokens}:
        tokens = [*tokens, "--naive"]
    return main.run(tokens)
