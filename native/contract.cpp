// Contracts of kernels, checked: lengths first, then values in plain loops.
#include "contract.hpp"
#include "ranges.hpp"

namespace naively::SET {

namespace {

struct Checker {
    const Contract &contract;
    const View *views;
    Fault &fault;
    i64 values[MOST_NAMES];

    static i64 load(const View &view, i64 i) {
        const char *at = static_cast<const char *>(view.array->buf) + i * view.array->strides[0];
        if (view.array->itemsize == 8) {
            i64 value;
            memcpy(&value, at, 8);
            return value;
        }
        i32 value;
        memcpy(&value, at, 4);
        return value;
    }

    // The value of an expression; false if it is beyond 64 bits, or needs an element that is not
    // there.
    bool evaluate(Expression expression, i64 &out) const {
        i64 stack[16];
        int top = 0;
        const Token *token = contract.tokens + expression.first;
        for (const Token *end = token + expression.count; token < end; token++) {
            if (token->op == 'n') {
                stack[top++] = token->value;
                continue;
            }
            if (token->op == 'v') {
                stack[top++] = values[token->value];
                continue;
            }
            const i64 right = stack[--top];
            if (token->op == '[') {
                const View &view = views[token->value];
                if (right < 0 || right >= view.array->shape[0]) return false;
                stack[top++] = load(view, right);
                continue;
            }
            i64 &left = stack[top - 1];
            switch (token->op) {
            case '+':
                if (__builtin_add_overflow(left, right, &left)) return false;
                break;
            case '-':
                if (__builtin_sub_overflow(left, right, &left)) return false;
                break;
            case '*':
                if (__builtin_mul_overflow(left, right, &left)) return false;
                break;
            case '/':
                if (right == -1 && left == INT64_MIN) return false;
                left = right == 0 ? INT64_MAX : left / right;
                break;
            case '&': left &= right; break;
            default: left = smaller(left, right);
            }
        }
        out = stack[0];
        return true;
    }

    bool wrong(decltype(Fault::kind) kind, int argument, int detail = 0, i64 found = 0, i64 low = 0,
               i64 high = 0) {
        fault = {kind, argument, detail, found, low, high};
        return false;
    }

    bool name_values() {
        for (int k = 0; k < contract.n_names; k++) {
            const Name &name = contract.names[k];
            const View &view = views[name.argument];
            if (name.dimension < 0) {
                values[k] = view.number;
                continue;
            }
            const i64 size = view.array->shape[name.dimension];
            if (size < name.beyond)
                return wrong(Fault::DIMENSION, name.argument, name.dimension, size, name.beyond);
            values[k] = size - name.beyond;
        }
        return true;
    }

    bool lengths(int argument) {
        const Demand &demand = contract.demands[argument];
        for (int d = 0; d < demand.dimensions; d++) {
            i64 size = 0;
            const i64 own = views[argument].array->shape[d];
            if (!evaluate(demand.length[d].size, size) ||
                (own != size && !(own == 0 && demand.length[d].or_none)))
                return wrong(Fault::DIMENSION, argument, d, own, size);
        }
        return true;
    }

    // Whether n values, so many bytes apart, are from low to high.
    template <class T>
    static bool typed_within(const char *at, i64 n, i64 step, i64 low, i64 high) {
        return within(reinterpret_cast<const T *>(at), n, step / i64(sizeof(T)), low, high);
    }
    static bool row_within(const View &view, const char *at, i64 n, i64 step, i64 low, i64 high) {
        const bool sign = view.letter == 'i';
        switch (view.array->itemsize) {
        case 8:
            return sign ? typed_within<i64>(at, n, step, low, high)
                        : typed_within<u64>(at, n, step, low, high);
        case 4:
            return sign ? typed_within<i32>(at, n, step, low, high)
                        : typed_within<u32>(at, n, step, low, high);
        case 2:
            return sign ? typed_within<int16_t>(at, n, step, low, high)
                        : typed_within<uint16_t>(at, n, step, low, high);
        default:
            return sign ? typed_within<int8_t>(at, n, step, low, high)
                        : typed_within<u8>(at, n, step, low, high);
        }
    }

    // All values of an array of any order.
    static bool all_within(const View &view, i64 low, i64 high) {
        const Py_buffer &array = *view.array;
        i64 shape[4] = {1, 1, 1, 1}, strides[4] = {};
        i64 size = 1;
        bool plain = true;
        for (int d = array.ndim - 1; d >= 0; d--) {
            shape[4 - array.ndim + d] = array.shape[d];
            strides[4 - array.ndim + d] = array.strides[d];
            plain &= array.shape[d] < 2 || array.strides[d] == size * array.itemsize;
            size *= array.shape[d];
        }
        if (size == 0) return true;
        const char *at = static_cast<const char *>(array.buf);
        if (plain) return row_within(view, at, size, array.itemsize, low, high);
        for (int d = 0; d < 3; d++) // the nearest values last
            if (magnitude(strides[d]) < magnitude(strides[3]) && shape[d] > 1) {
                const i64 step = strides[d], count = shape[d];
                strides[d] = strides[3], shape[d] = shape[3];
                strides[3] = step, shape[3] = count;
            }
        for (i64 i = 0; i < shape[0]; i++)
            for (i64 j = 0; j < shape[1]; j++)
                for (i64 k = 0; k < shape[2]; k++)
                    if (!row_within(view, at + i * strides[0] + j * strides[1] + k * strides[2],
                                    shape[3], strides[3], low, high))
                        return false;
        return true;
    }

    // Whether values do not decrease and are from low to high.
    template <class T, class U> static bool ends_within(const T *at, i64 n, i64 high) {
        if (n == 0) return true;
        U beyond = U(at[0]);
        for (i64 i = 1; i < n; i++) beyond |= U(at[i]) | (U(at[i]) - U(at[i - 1]));
        return !(beyond >> (8 * sizeof(T) - 1)) && i64(at[n - 1]) <= high;
    }
    static bool ends_within(const View &view, i64 from, i64 to, i64 high) {
        if (view.array->itemsize == 8)
            return ends_within<i64, u64>(static_cast<const i64 *>(view.array->buf) + from,
                                         to - from, high);
        return ends_within<i32, u32>(static_cast<const i32 *>(view.array->buf) + from, to - from,
                                     high);
    }

    struct Extent {
        uintptr_t first, last;
    };
    // The first and last byte of an array that has some.
    static Extent extent(const Py_buffer &array) {
        Extent found;
        found.first = found.last = reinterpret_cast<uintptr_t>(array.buf);
        for (int d = 0; d < array.ndim; d++) {
            const i64 reach = (array.shape[d] - 1) * array.strides[d];
            if (reach < 0) found.first += uintptr_t(reach);
            else found.last += uintptr_t(reach);
        }
        found.last += uintptr_t(array.itemsize - 1);
        return found;
    }

    // Whether no other argument shares memory with one that is written.
    bool apart() {
        Extent extents[MOST_NAMES];
        const auto there = [&](int k) { return views[k].array && views[k].array->len > 0; };
        for (int k = 0; k < contract.n_demands; k++)
            if (there(k)) extents[k] = extent(*views[k].array);
        for (int w = 0; w < contract.n_demands; w++) {
            if (!views[w].writable || !there(w)) continue;
            for (int k = 0; k < contract.n_demands; k++) {
                if (k == w || !there(k) || contract.demands[k].in_place) continue;
                if (extents[k].first <= extents[w].last && extents[w].first <= extents[k].last)
                    return wrong(Fault::SHARED, k, w);
            }
        }
        return true;
    }

    bool range(int argument) {
        const Demand &demand = contract.demands[argument];
        const View &view = views[argument];
        i64 low = 0, high = 0;
        if (!evaluate(demand.low, low) || !evaluate(demand.high, high))
            return wrong(Fault::VALUE, argument, 1);
        if (!view.array) {
            if (low <= view.number && view.number <= high) return true;
            return wrong(Fault::VALUE, argument, 0, view.number, low, high);
        }
        if (view.letter == 'f') return wrong(Fault::VALUE, argument, 2, 0, low, high);
        const bool ends = demand.kind == '^';
        bool fine = true;
        const i64 size = view.array->shape[0];
        if (demand.where == 0) {
            fine = ends ? ends_within(view, 0, size, high) : all_within(view, low, high);
        } else if (demand.where == 'w') {
            i64 from = 0, to = 0;
            if (!evaluate(demand.from, from) || !evaluate(demand.to, to) || from < 0 || from > to ||
                to > size)
                return wrong(Fault::WINDOW, argument);
            const i64 step = view.array->itemsize;
            fine = ends ? ends_within(view, from, to, high)
                        : row_within(view, static_cast<const char *>(view.array->buf) + from * step,
                                     to - from, step, low, high);
        } else {
            const View &rows = views[demand.rows];
            const i64 count = rows.array->shape[0], step = view.array->itemsize;
            const char *at = static_cast<const char *>(view.array->buf);
            for (i64 r = 0; fine && r < count; r++) {
                const i64 row = load(rows, r);
                if (ends) {
                    const i64 a = load(view, row), b = load(view, row + 1);
                    fine = 0 <= a && a <= b && b <= high;
                } else if (demand.where == 'c') {
                    const i64 a = load(views[demand.ends], row);
                    const i64 b = load(views[demand.ends], row + 1);
                    fine = row_within(view, at + a * step, b - a, step, low, high);
                } else {
                    const i64 value = load(view, row);
                    fine = low <= value && value <= high;
                }
            }
        }
        if (fine) return true;
        return ends ? wrong(Fault::ORDER, argument, 0, 0, low, high)
                    : wrong(Fault::VALUE, argument, 3, 0, low, high);
    }

    bool compared(int k) {
        const Comparison &own = contract.comparisons[k];
        i64 left = 0, right = 0;
        bool fine = evaluate(own.left, left) && evaluate(own.right, right);
        switch (own.op) {
        case '<': fine = fine && left < right; break;
        case 'l': fine = fine && left <= right; break;
        case '>': fine = fine && left > right; break;
        case 'g': fine = fine && left >= right; break;
        default: fine = fine && left == right;
        }
        return fine || wrong(Fault::COMPARED, 0, k);
    }

    bool all() {
        if (!name_values()) return false;
        for (int k = 0; k < contract.n_demands; k++)
            if (!views[k].array && contract.demands[k].kind && !range(k)) return false;
        for (int k = 0; k < contract.n_demands; k++)
            if (views[k].array && !lengths(k)) return false;
        if (!apart()) return false;
        // what others are looked up by first
        for (int turn = 0; turn < 4; turn++)
            for (int k = 0; k < contract.n_demands; k++) {
                const Demand &demand = contract.demands[k];
                if (!views[k].array || !demand.kind) continue;
                const bool looked_up = demand.where == 'g' || demand.where == 'c';
                if (turn == (looked_up ? 2 : 0) + (demand.kind != '^') && !range(k)) return false;
            }
        for (int k = 0; k < contract.n_comparisons; k++)
            if (!compared(k)) return false;
        return true;
    }
};

struct Said {
    char text[80];
    Said(const char *from, int size) {
        if (size > 79) size = 79;
        memcpy(text, from, size);
        text[size] = 0;
    }
};

} // namespace

bool holds(const Contract &contract, const View *views, Fault &fault) {
    return Checker{contract, views, fault, {}}.all();
}

void tell(const char *kernel, const Contract &contract, const Fault &fault) {
    const auto name_of = [&](int k) {
        return Said(contract.text + contract.demands[k].name, contract.demands[k].name_size);
    };
    const int number = fault.argument + 1;
    const Said name = name_of(fault.argument);
    const auto say = [](auto... what) { PyErr_Format(PyExc_ValueError, what...); };
    const auto low = (long long)fault.low, high = (long long)fault.high;
    switch (fault.kind) {
    case Fault::DIMENSION:
        return say("%s: argument %d (%s) has length %lld in dimension %d, where %lld is needed",
                   kernel, number, name.text, (long long)fault.found, fault.detail + 1, low);
    case Fault::VALUE:
        if (fault.detail == 0)
            return say("%s: argument %d (%s) is %lld, where a number from %lld to %lld is needed",
                       kernel, number, name.text, (long long)fault.found, low, high);
        if (fault.detail == 1)
            return say("%s: the values that argument %d (%s) may have are beyond 64 bits", kernel,
                       number, name.text);
        if (fault.detail == 2)
            return say("%s: argument %d (%s) needs whole numbers", kernel, number, name.text);
        return say("%s: argument %d (%s) needs values from %lld to %lld, and has others", kernel,
                   number, name.text, low, high);
    case Fault::ORDER:
        return say("%s: argument %d (%s) needs values from 0 to %lld that do not decrease", kernel,
                   number, name.text, high);
    case Fault::SHARED:
        return say("%s: argument %d (%s) shares memory with argument %d (%s), which is written",
                   kernel, number, name.text, fault.detail + 1, name_of(fault.detail).text);
    case Fault::WINDOW:
        return say("%s: argument %d (%s) lacks elements that are needed", kernel, number, name.text);
    default: {
        const Comparison &own = contract.comparisons[fault.detail];
        return say("%s: its arguments need %s", kernel,
                   Said(contract.text + own.text, own.text_size).text);
    }
    }
}

} // namespace naively::SET
