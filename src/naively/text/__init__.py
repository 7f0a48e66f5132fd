"""Raw text: bytes to tokens to counts."""
