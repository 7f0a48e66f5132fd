"""Explain predictions: contributions of features and terms, counterfactuals, informative terms."""
