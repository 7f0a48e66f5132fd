"""Documents to words or characters: spans of a copy of the text in lower case."""

from naively.kernels.native import join_words, split_characters, split_words

__all__ = ["GROWTH", "ROOM", "join_words", "split_characters", "split_words"]

ROOM = 64  # bytes that the arrays of text have beyond their end
GROWTH = 4  # times the bytes of a text that its copy can have: no character has more
