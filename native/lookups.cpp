// Evidence that is looked up in tables of cells, and added.
#include "python.hpp"

namespace naively::SET {

// Add weight times table[cell, part] of some entries to out, (classes, rows).
static void add_evidence(Flat<const u32> cells, Cube<const f32> table, f32 weight,
                         Flat<const i64> parts, Flat<const i64> rows, Steps2<f32> out) {
    for (i64 c = 0; c < out.rows; c++)
        for (i64 k = 0; k < rows.size; k++)
            out(c, k) += weight * table[cells[k]][parts[rows[k]]][c];
}

// Add weight times table[cell], (cells, parts and all, classes), to out of each entry.
static void add_all(Flat<const u32> cells, Cube<const f32> table, f32 weight, Cube<f32> out) {
    const i64 width = table.rows * table.columns;
    for (i64 i = 0; i < cells.size; i++) {
        const f32 *told = table.data + cells[i] * width;
        f32 *own = out.data + i * width;
        for (i64 k = 0; k < width; k++) own[k] += weight * told[k];
    }
}

// Add weight times a block's evidence (cells, classes) to scores of rows, (classes, rows).
static void add_scores(Flat<const u32> cells, Steps2<const f64> table, f64 weight,
                       Matrix<f64> out) {
    for (i64 c = 0; c < out.rows; c++)
        for (i64 i = 0; i < out.columns; i++) out[c][i] += weight * table(cells[i], c);
}

KERNELS(lookups,
        KERNEL(add_evidence, "cells(k)<K table(K,P,C) weight parts(n)<P@rows rows(k)<n out(C,k)"),
        KERNEL(add_all, "cells(n)<K table(K,P,C) weight out(n,P,C)"),
        KERNEL(add_scores, "cells(n)<K table(K,C) weight out(C,n)"));

} // namespace naively::SET
