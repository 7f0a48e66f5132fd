// What the other kernels compute with, of whole arrays: out[i] = f(x_i). The tests call these.
#include "python.hpp"

#include "elementary.hpp"

namespace naively::SET {

static void exp_all(Flat<const f64> x, Flat<f64> out) {
    for (i64 i = 0; i < out.size; i++) out[i] = exp(x[i]);
}
static void log_all(Flat<const f64> x, Flat<f64> out) {
    for (i64 i = 0; i < out.size; i++) out[i] = log(x[i]);
}
static void expf_all(Flat<const f32> x, Flat<f32> out) {
    for (i64 i = 0; i < out.size; i++) out[i] = exp(x[i]);
}
static void logf_all(Flat<const f32> x, Flat<f32> out) {
    for (i64 i = 0; i < out.size; i++) out[i] = log(x[i]);
}
// out[i] = x_i y_i + z_i, rounded once.
static void fma_all(Flat<const f64> x, Flat<const f64> y, Flat<const f64> z, Flat<f64> out) {
    for (i64 i = 0; i < out.size; i++) out[i] = fma(x[i], y[i], z[i]);
}

KERNELS(elementary,
        KERNEL(exp_all, "x(n) out(n)"),
        KERNEL(log_all, "x(n) out(n)"),
        KERNEL(expf_all, "x(n) out(n)"),
        KERNEL(logf_all, "x(n) out(n)"),
        KERNEL(fma_all, "x(n) y(n) z(n) out(n)"));

} // namespace naively::SET
