"""Evidence that is looked up in tables of cells, and added."""

from naively.kernels import few
from naively.kernels.jit import jit, or_few


@or_few(few.add_evidence)
@jit
def add_evidence(cells, table, weight, parts, rows, out):
    """Add weight times table[cell, part] of some entries to out, (classes, rows)."""
    for c in range(out.shape[0]):
        for k in range(rows.size):
            out[c, k] += weight * table[cells[k], parts[rows[k]], c]


@or_few(few.add_all)
@jit
def add_all(cells, table, weight, out):
    """Add weight times table[cell], (cells, parts and all, classes), to out of each entry."""
    flat, own = table.reshape(table.shape[0], -1), out.reshape(out.shape[0], -1)
    for i in range(cells.size):
        cell = cells[i]
        for k in range(flat.shape[1]):
            own[i, k] += weight * flat[cell, k]


@or_few(few.add_scores)
@jit
def add_scores(cells, table, weight, out):
    """Add weight times a block's evidence (cells, classes) to scores of rows, (classes, rows)."""
    for c in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[c, i] += weight * table[cells[i], c]
