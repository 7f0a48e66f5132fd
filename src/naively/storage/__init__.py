"""Models as bytes and as files."""
