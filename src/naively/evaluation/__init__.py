"""How predictions compare with the truth: tallies that add up, cross-validation, comparisons."""
