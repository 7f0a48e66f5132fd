"""Log-densities of rows with independent normal features, as a (classes, rows) table."""

from naively.kernels.native import gaussian_dense, gaussian_sparse

__all__ = ["gaussian_dense", "gaussian_sparse"]

FLOOR = -1e20  # of the score of a zero in sparse rows, so that it cancels to 12 digits
FARTHEST = -1e300  # of the score of another value there
