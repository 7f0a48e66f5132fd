// From Python to a kernel and back: the one place in which types, dimensions, order and alignment
// of arrays are checked. KERNEL(f) makes a method of a function by the types of its arguments; it
// runs without the interpreter's lock.
#pragma once
#include "abi.hpp"
#include "arrays.hpp"

namespace naively::SET {

// What an argument must be, and what the interpreter says of it.
struct Buffer {
    Py_buffer view;
    bool held = false;
    Buffer() = default;
    Buffer(const Buffer &) = delete;
    ~Buffer() {
        if (held) PyBuffer_Release(&view);
    }
    // Whether there is such an array; else an error is set.
    bool take(PyObject *given, int dimensions, bool writable, bool contiguous) {
        const int flags = PyBUF_FORMAT | (contiguous ? PyBUF_C_CONTIGUOUS : PyBUF_STRIDES) |
                          (writable ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(given, &view, flags) != 0) return false;
        held = true;
        if (view.ndim == dimensions) return true;
        PyErr_Format(PyExc_ValueError, "an array of %d dimensions is needed, not of %d", dimensions,
                     view.ndim);
        return false;
    }
    // The letter of its type, such as f, i or u; 0 if it is no number in this machine's order.
    char letter() const {
        const char *format = view.format ? view.format : "B";
        if (*format == '@' || *format == '=') format++;
        if (format[0] == 0 || format[1] != 0) return 0;
        switch (*format) {
        case 'd': case 'f': return 'f';
        case 'b': case 'h': case 'i': case 'l': case 'q': case 'n': return 'i';
        case 'B': case 'H': case 'I': case 'L': case 'Q': case 'N': return 'u';
        case '?': return 'b';
        default: return 0;
        }
    }
    bool aligned(i64 size) const {
        bool fits = reinterpret_cast<uintptr_t>(view.buf) % size == 0;
        for (int k = 0; k < view.ndim; k++) fits &= view.shape[k] < 2 || view.strides[k] % size == 0;
        return fits;
    }
    bool refuse(const char *wanted) const {
        PyErr_Format(PyExc_TypeError, "an aligned array of %s is needed, not of '%s' (%zd bytes)",
                     wanted, view.format ? view.format : "B", view.itemsize);
        return false;
    }
};

template <class T> struct Type;
template <class T> struct Type<const T> : Type<T> {};
#define TYPE(T, LETTER, NAME)                                                                      \
    template <> struct Type<T> {                                                                   \
        static constexpr char letter = LETTER;                                                     \
        static constexpr const char *name = NAME;                                                  \
    }
TYPE(f64, 'f', "float64");
TYPE(f32, 'f', "float32");
TYPE(i64, 'i', "int64");
TYPE(i32, 'i', "int32");
TYPE(u64, 'u', "uint64");
TYPE(u32, 'u', "uint32");
TYPE(uint16_t, 'u', "uint16");
TYPE(u8, 'u', "uint8");
TYPE(bool, 'b', "bool");
#undef TYPE

template <class T> constexpr bool is_const = false;
template <class T> constexpr bool is_const<const T> = true;

template <class T> struct Typed : Buffer {
    bool take_typed(PyObject *given, int dimensions, bool contiguous) {
        if (!take(given, dimensions, !is_const<T>, contiguous)) return false;
        const bool fits = letter() == Type<T>::letter && view.itemsize == Py_ssize_t(sizeof(T)) &&
                          (view.len == 0 || aligned(alignof(T)));
        return fits || refuse(Type<T>::name);
    }
    T *data() const { return static_cast<T *>(view.buf); }
    i64 step(int k) const { return view.strides[k] / i64(sizeof(T)); }
};

template <class T> struct Argument;

template <class T> struct Argument<Flat<T>> : Typed<T> {
    bool accept(PyObject *given) { return this->take_typed(given, 1, true); }
    Flat<T> value() { return {this->data(), this->view.shape[0]}; }
};
template <class T> struct Argument<Matrix<T>> : Typed<T> {
    bool accept(PyObject *given) { return this->take_typed(given, 2, true); }
    Matrix<T> value() { return {this->data(), this->view.shape[0], this->view.shape[1]}; }
};
template <class T> struct Argument<Cube<T>> : Typed<T> {
    bool accept(PyObject *given) { return this->take_typed(given, 3, true); }
    Cube<T> value() {
        const auto *shape = this->view.shape;
        return {this->data(), shape[0], shape[1], shape[2]};
    }
};
template <class T> struct Argument<Block<T>> : Typed<T> {
    bool accept(PyObject *given) { return this->take_typed(given, 4, true); }
    Block<T> value() {
        const auto *shape = this->view.shape;
        return {this->data(), shape[0], shape[1], shape[2], shape[3]};
    }
};
template <class T> struct Argument<Steps2<T>> : Typed<T> {
    bool accept(PyObject *given) { return this->take_typed(given, 2, false); }
    Steps2<T> value() {
        const auto *shape = this->view.shape;
        return {this->data(), shape[0], shape[1], this->step(0), this->step(1)};
    }
};
template <class T> struct Argument<Steps3<T>> : Typed<T> {
    bool accept(PyObject *given) { return this->take_typed(given, 3, false); }
    Steps3<T> value() {
        const auto *shape = this->view.shape;
        return {this->data(), shape[0], shape[1], shape[2],
                this->step(0), this->step(1), this->step(2)};
    }
};

struct AnyNumbers : Buffer {
    Kind kind;
    bool accept_numbers(PyObject *given, int dimensions, bool contiguous) {
        if (!take(given, dimensions, false, contiguous)) return false;
        const char found = letter();
        const i64 size = view.itemsize;
        if (found == 0 || found == 'b' || (view.len != 0 && !aligned(size)))
            return refuse("real numbers");
        const int power = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
        if (found == 'f') kind = size == 4 ? Kind::F32 : Kind::F64;
        else kind = Kind(int(found == 'i' ? Kind::I8 : Kind::U8) + power);
        return true;
    }
};
template <> struct Argument<AnyFlat> : AnyNumbers {
    bool accept(PyObject *given) { return accept_numbers(given, 1, true); }
    AnyFlat value() { return {view.buf, kind, view.shape[0]}; }
};
template <> struct Argument<AnyMatrix> : AnyNumbers {
    bool accept(PyObject *given) { return accept_numbers(given, 2, false); }
    AnyMatrix value() {
        return {static_cast<const char *>(view.buf), kind, view.shape[0], view.shape[1],
                view.strides[0], view.strides[1]};
    }
};
template <class T, bool writable> struct Either : Buffer {
    bool accept(PyObject *given) {
        if (!take(given, 1, writable, true)) return false;
        const i64 size = view.itemsize;
        const bool fits = letter() == 'i' && (size == 4 || size == 8) &&
                          (view.len == 0 || aligned(size));
        return fits || refuse("int32 or int64");
    }
    T value() { return {view.buf, view.itemsize == 8, view.shape[0]}; }
};
template <> struct Argument<Indices> : Either<Indices, false> {};
template <> struct Argument<Counts> : Either<Counts, true> {};

template <class T, class From, From (*read)(PyObject *)> struct Number {
    From found;
    bool accept(PyObject *given) {
        found = read(given);
        return !(found == From(-1) && PyErr_Occurred());
    }
    T value() { return static_cast<T>(found); }
};
inline int read_truth(PyObject *given) { return PyObject_IsTrue(given); }
template <> struct Argument<i64> : Number<i64, long long, PyLong_AsLongLong> {};
template <> struct Argument<f64> : Number<f64, double, PyFloat_AsDouble> {};
template <> struct Argument<f32> : Number<f32, double, PyFloat_AsDouble> {};
template <> struct Argument<bool> : Number<bool, int, read_truth> {};

// Results: one number, or several.
struct Pair {
    i64 first, second;
};
inline PyObject *to_python(i64 x) { return PyLong_FromLongLong(x); }
inline PyObject *to_python(f64 x) { return PyFloat_FromDouble(x); }
inline PyObject *to_python(bool x) { return PyBool_FromLong(x); }
inline PyObject *to_python(Pair x) {
    return Py_BuildValue("LL", (long long)x.first, (long long)x.second);
}

// The arguments that come from Python, one after the other; Room is made here, not given.
template <class... A> struct Arguments {
    bool accept(PyObject *const *) { return true; }
    bool failed() const { return false; }
    static constexpr int count = 0;
};
template <class H, class... T> struct Arguments<H, T...> {
    Argument<H> head;
    Arguments<T...> rest;
    bool accept(PyObject *const *given) { return head.accept(*given) && rest.accept(given + 1); }
    bool failed() const { return rest.failed(); }
    static constexpr int count = 1 + Arguments<T...>::count;
};
struct RoomOfCall {
    Room room;
    Room &value() { return room; }
};
template <class... T> struct Arguments<Room &, T...> {
    RoomOfCall head;
    Arguments<T...> rest;
    bool accept(PyObject *const *given) { return rest.accept(given); }
    bool failed() const { return head.room.failed; }
    static constexpr int count = Arguments<T...>::count;
};

template <class R, class... All> struct Caller {
    using Function = R (*)(All...);
    template <class... Done> static R run(Function f, Arguments<> &, Done &&...done) {
        return f(static_cast<Done &&>(done)...);
    }
    template <class H, class... T, class... Done>
    static R run(Function f, Arguments<H, T...> &given, Done &&...done) {
        return run(f, given.rest, static_cast<Done &&>(done)..., given.head.value());
    }

    static PyObject *call(Function f, PyObject *const *given, Py_ssize_t count) {
        Arguments<All...> arguments;
        if (count != arguments.count) {
            PyErr_Format(PyExc_TypeError, "%d arguments are needed, not %zd", arguments.count, count);
            return nullptr;
        }
        if (!arguments.accept(given)) return nullptr;
        void *state = PyEval_SaveThread();
        if constexpr (__is_same(R, void)) {
            run(f, arguments);
            PyEval_RestoreThread(state);
            if (arguments.failed()) return PyErr_NoMemory();
            Py_IncRef(&_Py_NoneStruct);
            return &_Py_NoneStruct;
        } else {
            const R found = run(f, arguments);
            PyEval_RestoreThread(state);
            if (arguments.failed()) return PyErr_NoMemory();
            return to_python(found);
        }
    }
};

template <class R, class... A>
inline PyObject *call(R (*f)(A...), PyObject *const *given, Py_ssize_t count) {
    return Caller<R, A...>::call(f, given, count);
}
template <auto f> PyObject *method(PyObject *, PyObject *const *given, Py_ssize_t count) {
    return call(f, given, count);
}

#define KERNEL(f)                                                                                  \
    {#f, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(method<f>)), METH_FASTCALL,    \
     nullptr}
#define KERNELS(topic, ...) PyMethodDef topic[] = {__VA_ARGS__, {nullptr, nullptr, 0, nullptr}}

} // namespace naively::SET
