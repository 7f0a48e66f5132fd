"""Data drift: how new rows differ from the training rows of a model."""
