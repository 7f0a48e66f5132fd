"""Data drift: compare new rows with the training rows of a model."""
