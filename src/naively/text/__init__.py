"""Convert raw text to tokens, n-grams and counts."""
