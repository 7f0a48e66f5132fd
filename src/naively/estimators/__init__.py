"""scikit-learn estimators of the models."""
