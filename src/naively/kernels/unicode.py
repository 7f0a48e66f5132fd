"""What each character is, as a row of bits: those that kernels of text are given."""

LETTER = (1 << 21) - 1  # bits of the lower-case code point
WORD, SPACE, CASED, IGNORABLE = 1 << 21, 1 << 22, 1 << 23, 1 << 24
FINAL_SIGMA = 0x3C2  # of sigma, the one letter whose lower case depends on its neighbours
DOTTED_I = 0x130  # the one letter of which lower case makes two
