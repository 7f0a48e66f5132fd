"""One file a family: statistics, parameters, log-probability, sample."""
