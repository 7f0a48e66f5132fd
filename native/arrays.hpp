// Arrays as kernels take them: a pointer and lengths. Everything here is in the namespace of an
// instruction set, so that no function of one set is linked in place of another's.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <stdlib.h>

namespace naively::SET {

using i64 = int64_t;
using u64 = uint64_t;
using i32 = int32_t;
using u32 = uint32_t;
using u8 = uint8_t;
using f32 = float;
using f64 = double;

// As Python's max and min: the first one, unless the second is greater or less. So of NaN, too.
template <class T> inline T larger(T a, T b) { return b > a ? b : a; }
template <class T> inline T smaller(T a, T b) { return b < a ? b : a; }
template <class T> inline T between(T a, T least, T most) { return smaller(larger(a, least), most); }
template <class T> inline T magnitude(T a) { return a < 0 ? -a : a; }

constexpr f64 INF = __builtin_inf();
inline bool is_nan(f64 x) { return x != x; }
inline bool is_inf(f64 x) { return x == INF || x == -INF; }

// One dimension, contiguous.
template <class T> struct Flat {
    T *data;
    i64 size;
    T &operator[](i64 i) const { return data[i]; }
    T *begin() const { return data; }
    T *end() const { return data + size; }
    Flat part(i64 first, i64 last) const { return {data + first, last - first}; }
};

// Two dimensions, contiguous, row after row.
template <class T> struct Matrix {
    T *data;
    i64 rows, columns;
    i64 size() const { return rows * columns; }
    T *operator[](i64 i) const { return data + i * columns; }
    Flat<T> row(i64 i) const { return {data + i * columns, columns}; }
    Flat<T> flat() const { return {data, rows * columns}; }
};

// Three dimensions, contiguous.
template <class T> struct Cube {
    T *data;
    i64 first, rows, columns;
    Matrix<T> operator[](i64 i) const { return {data + i * rows * columns, rows, columns}; }
    Flat<T> flat() const { return {data, first * rows * columns}; }
};

// Four dimensions, contiguous.
template <class T> struct Block {
    T *data;
    i64 first, second, rows, columns;
    Cube<T> operator[](i64 i) const {
        return {data + i * second * rows * columns, second, rows, columns};
    }
};

// Two dimensions in any order, with steps between them in elements.
template <class T> struct Steps2 {
    T *data;
    i64 rows, columns, down, right;
    T &operator()(i64 i, i64 j) const { return data[i * down + j * right]; }
};

// Three dimensions in any order.
template <class T> struct Steps3 {
    T *data;
    i64 first, rows, columns, deep, down, right;
    T &operator()(i64 k, i64 i, i64 j) const { return data[k * deep + i * down + j * right]; }
};

// Real numbers of any type, in one dimension.
enum class Kind { F64, F32, I8, I16, I32, I64, U8, U16, U32, U64 };

template <class F> inline auto by_kind(Kind kind, F f) {
    switch (kind) {
    case Kind::F64: return f(f64());
    case Kind::F32: return f(f32());
    case Kind::I8: return f(int8_t());
    case Kind::I16: return f(int16_t());
    case Kind::I32: return f(i32());
    case Kind::I64: return f(i64());
    case Kind::U8: return f(u8());
    case Kind::U16: return f(uint16_t());
    case Kind::U32: return f(u32());
    default: return f(u64());
    }
}

struct AnyFlat {
    const void *data;
    Kind kind;
    i64 size;
    // f of the array with its own type
    template <class F> auto typed(F f) const {
        return by_kind(kind, [&](auto zero) {
            using T = decltype(zero);
            return f(Flat<const T>{static_cast<const T *>(data), size});
        });
    }
};

// A table of real numbers of any type, in any order.
struct AnyMatrix {
    const char *data;
    Kind kind;
    i64 rows, columns, down, right; // steps in bytes
    // f of the table with its own type
    template <class F> auto typed(F f) const {
        return by_kind(kind, [&](auto zero) {
            using T = decltype(zero);
            const i64 size = sizeof(T);
            return f(Steps2<const T>{
                reinterpret_cast<const T *>(data), rows, columns, down / size, right / size});
        });
    }
    // out[r * step + f] = the value in row first + r and column begin + f, for so many of both
    void copy(i64 first, i64 many, i64 begin, i64 width, f64 *out, i64 step) const {
        typed([&](auto table) {
            for (i64 r = 0; r < many; r++, out += step) {
                const auto *from = &table(first + r, begin);
                if (table.right == 1) // a loop of its own is vectorised
                    for (i64 f = 0; f < width; f++) out[f] = f64(from[f]);
                else
                    for (i64 f = 0; f < width; f++) out[f] = f64(from[f * table.right]);
            }
            return true;
        });
    }
    // The values as they lie, row after row, if they are float64; else none.
    Flat<const f64> flat() const {
        const bool plain =
            kind == Kind::F64 && (right == 8 || columns <= 1) && (down == 8 * columns || rows <= 1);
        if (!plain) return {nullptr, 0};
        return {reinterpret_cast<const f64 *>(data), rows * columns};
    }
    f64 operator()(i64 i, i64 j) const {
        const char *at = data + i * down + j * right;
        return by_kind(kind, [&](auto zero) {
            decltype(zero) value;
            memcpy(&value, at, sizeof value);
            return static_cast<f64>(value);
        });
    }
};

// Whole numbers of 32 or 64 bits, in one dimension.
struct Indices {
    const void *data;
    bool wide;
    i64 size;
    i64 operator[](i64 i) const {
        return wide ? static_cast<const i64 *>(data)[i] : static_cast<const i32 *>(data)[i];
    }
    template <class F> auto typed(F f) const {
        if (wide) return f(Flat<const i64>{static_cast<const i64 *>(data), size});
        return f(Flat<const i32>{static_cast<const i32 *>(data), size});
    }
};

// Counts of 32 or 64 bits, in one dimension.
struct Counts {
    void *data;
    bool wide;
    i64 size;
    template <class F> auto typed(F f) const {
        if (wide) return f(Flat<i64>{static_cast<i64 *>(data), size});
        return f(Flat<i32>{static_cast<i32 *>(data), size});
    }
};

// Memory that a kernel works in, given back when it returns. A kernel returns at once if `failed`,
// which it also sets itself if it finds, on the way, arguments that are wrong.
class Room {
  public:
    bool failed = false;
    const char *wrong = nullptr; // what is
    void refuse(const char *what) {
        failed = true;
        wrong = what;
    }
    Room() = default;
    Room(const Room &) = delete;
    Room &operator=(const Room &) = delete;
    ~Room() {
        while (count > 0) free(blocks[--count]);
    }
    template <class T> Flat<T> get(i64 size) {
        char *block = count < MOST && size >= 0 && size <= PTRDIFF_MAX / i64(sizeof(T)) - 64
                          ? static_cast<char *>(malloc(size * sizeof(T) + 64))
                          : nullptr;
        if (!block) {
            failed = true;
            return {nullptr, 0};
        }
        blocks[count++] = block;
        const auto place = reinterpret_cast<uintptr_t>(block);
        return {reinterpret_cast<T *>((place + 63) & ~uintptr_t(63)), size};
    }
    template <class T> Flat<T> zeros(i64 size) {
        Flat<T> found = get<T>(size);
        if (found.data) memset(static_cast<void *>(found.data), 0, size * sizeof(T));
        return found;
    }

  private:
    static constexpr int MOST = 16;
    void *blocks[MOST];
    int count = 0;
};

// The sum of the values, in order.
inline f64 sum_of(const f64 *values, i64 size) {
    f64 sum = 0.0;
    for (i64 i = 0; i < size; i++) sum += values[i];
    return sum;
}

template <class T> inline void fill(T *data, i64 size, T value) {
    for (i64 i = 0; i < size; i++) data[i] = value;
}

} // namespace naively::SET
