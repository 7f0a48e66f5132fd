// The module naively.kernels.native: the kernels, of the instruction set that the processor has.
// NAIVELY_INSTRUCTIONS=baseline (or avx2, avx512) in the environment asks for a lower one.
#include "abi.hpp"
#include <stdlib.h>
#include <string.h>

#if NAIVELY_X86
#include <cpuid.h>
#endif

namespace naively {

namespace baseline {
extern PyMethodDef *const topics[];
}
#if NAIVELY_X86
namespace avx2 {
extern PyMethodDef *const topics[];
}
namespace avx512 {
extern PyMethodDef *const topics[];
}
#endif

struct Set {
    const char *name;
    PyMethodDef *const *topics;
};
// from the least to the most
static const Set SETS[] = {
    {"baseline", baseline::topics},
#if NAIVELY_X86
    {"avx2", avx2::topics},
    {"avx512", avx512::topics},
#endif
};

// The number of the highest set that the processor and the system have.
static int highest() {
#if NAIVELY_X86
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    const unsigned needed = 1u << 12 | 1u << 22 | 1u << 23 | 1u << 27 | 1u << 28; // FMA, MOVBE,
    if ((c & needed) != needed) return 0; // POPCNT, OSXSAVE, AVX
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0)); // which registers the system saves
    if ((low & 6) != 6) return 0;
    unsigned more_b;
    if (!__get_cpuid_count(7, 0, &a, &more_b, &c, &d)) return 0;
    const unsigned second = 1u << 3 | 1u << 5 | 1u << 8; // BMI1, AVX2, BMI2
    if ((more_b & second) != second) return 0;
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !(c & 1u << 5)) return 0; // LZCNT
    const unsigned third = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31; // F, DQ, CD, BW, VL
    if ((more_b & third) != third || (low & 0xE6) != 0xE6) return 1;
    return 2;
#else
    return 0;
#endif
}

static const Set *chosen() {
    int most = highest();
    const char *wanted = getenv("NAIVELY_INSTRUCTIONS");
    if (!wanted || !*wanted) return &SETS[most];
    for (int k = 0; k <= most; k++)
        if (strcmp(SETS[k].name, wanted) == 0) return &SETS[k];
    PyErr_Format(PyExc_ImportError,
                 "NAIVELY_INSTRUCTIONS is %s, which this processor does not have; it has %s%s%s",
                 wanted, SETS[0].name, most > 0 ? ", avx2" : "", most > 1 ? ", avx512" : "");
    return nullptr;
}

static int fill(PyObject *module) {
    const Set *set = chosen();
    if (!set || PyModule_AddStringConstant(module, "instructions", set->name) != 0) return -1;
    for (PyMethodDef *const *topic = set->topics; *topic; topic++)
        if (PyModule_AddFunctions(module, *topic) != 0) return -1;
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void *>(fill)}, {0, nullptr}};
static PyModuleDef definition = {
    {1, nullptr}, nullptr, 0, nullptr, // what the head of every definition begins with
    "native", "Compiled loops: see native/ in the sources.", 0, nullptr, slots,
    nullptr, nullptr, nullptr,
};

} // namespace naively

NAIVELY_EXPORT PyObject *PyInit_native() { return PyModuleDef_Init(&naively::definition); }
