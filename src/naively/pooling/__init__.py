"""The evidence behind `AutoBayes`: fit its structure, store it, score rows."""
