"""Base classes and input checks of the estimators."""
