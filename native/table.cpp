// All kernels of one instruction set.
#include "python.hpp"

namespace naively::SET {

#define TOPIC(name) extern PyMethodDef name[];
#include "sets.hpp"
#undef TOPIC

extern PyMethodDef *const topics[];
PyMethodDef *const topics[] = {
#define TOPIC(name) name,
#include "sets.hpp"
#undef TOPIC
    nullptr,
};

} // namespace naively::SET
