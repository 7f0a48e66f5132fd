"""``python -m naively``: the command line."""

from naively.cli.main import main

if __name__ == "__main__":
    main()
