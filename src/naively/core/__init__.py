"""The algebra: models, posteriors, schemas, priors, labels."""
