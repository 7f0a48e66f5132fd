"""Why rows have their scores: contributions, terms, counterfactuals."""
