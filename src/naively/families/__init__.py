"""Model families, one a file: statistics, parameters, log-probability, sampling."""
