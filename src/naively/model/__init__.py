"""Models: sums of training rows, their columns, and the posterior estimated from them."""
