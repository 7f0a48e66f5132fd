"""Learning curves: naive Bayes, the other model families, and classifiers of scikit-learn."""
