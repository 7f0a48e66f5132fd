"""Define models, posteriors, schemas, class priors, labels and exact sums."""
