"""The family of `AutoBayes`: evidence of columns, pairs and texts, weighted by cross-validation."""
