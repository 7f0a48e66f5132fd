// From Python to a kernel and back: the one place in which arguments are checked. KERNEL makes a
// method of a function, by the types of its arguments and by its contract (contract.hpp), which says
// what else holds of them. Kernels run without the interpreter's lock.
#pragma once
#include "abi.hpp"
#include "arrays.hpp"
#include "contract.hpp"

namespace naively::SET {

#define APART __attribute__((noinline)) // code that all kernels share

// The argument that is looked at, to say which one is wrong.
struct Place {
    const char *kernel;
    const Contract &contract;
    int number;
    template <class... What>
    APART bool refuse(PyObject *kind, const char *what, What... more) const {
        const Demand &own = contract.demands[number];
        char name[64] = {};
        memcpy(name, contract.text + own.name, smaller<int>(own.name_size, 63));
        char text[256] = "%s: argument %d (%s): ";
        const size_t size = strlen(text);
        memcpy(text + size, what, smaller<size_t>(strlen(what), 255 - size));
        PyErr_Format(kind, text, kernel, number + 1, name, more...);
        return false;
    }
};

// What an argument must be, and what the interpreter says of it.
struct Buffer {
    Py_buffer view;
    bool held = false, written = false;
    Buffer() = default;
    Buffer(const Buffer &) = delete;
    APART ~Buffer() {
        if (held) PyBuffer_Release(&view);
    }
    // Whether there is such an array; else an error is set.
    APART bool take(PyObject *given, const Place &place, int dimensions, bool writable,
                    bool contiguous) {
        if (PyObject_GetBuffer(given, &view, PyBUF_FORMAT | PyBUF_STRIDES) != 0) return false;
        held = true, written = writable;
        if (view.ndim != dimensions)
            return place.refuse(PyExc_ValueError, "an array of %d dimensions is needed, not of %d",
                                dimensions, view.ndim);
        if (writable && view.readonly)
            return place.refuse(PyExc_ValueError, "it is read-only, and would be written");
        if (contiguous && !is_contiguous())
            return place.refuse(PyExc_ValueError, "it is not C-contiguous");
        return true;
    }
    bool is_contiguous() const {
        if (view.len == 0) return true;
        i64 step = view.itemsize;
        for (int k = view.ndim - 1; k >= 0; k--) {
            if (view.shape[k] > 1 && view.strides[k] != step) return false;
            step *= view.shape[k];
        }
        return true;
    }
    APART View seen() const { return {&view, 0, letter(), written}; }
    // The letter of its type, such as f, i or u; 0 if it is no number in this machine's order.
    APART char letter() const {
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
    APART bool aligned(i64 size) const {
        bool fits = reinterpret_cast<uintptr_t>(view.buf) % size == 0;
        for (int k = 0; k < view.ndim; k++) fits &= view.shape[k] < 2 || view.strides[k] % size == 0;
        return fits;
    }
    APART bool refuse(const Place &place, const char *wanted) const {
        return place.refuse(PyExc_TypeError,
                            "an aligned array of %s is needed, not of '%s' (%zd bytes)", wanted,
                            view.format ? view.format : "B", view.itemsize);
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
    APART bool take_typed(PyObject *given, const Place &place, int dimensions, bool contiguous) {
        if (!take(given, place, dimensions, !is_const<T>, contiguous)) return false;
        const bool fits = letter() == Type<T>::letter && view.itemsize == Py_ssize_t(sizeof(T)) &&
                          (view.len == 0 || aligned(alignof(T)));
        return fits || refuse(place, Type<T>::name);
    }
    T *data() const { return static_cast<T *>(view.buf); }
    i64 step(int k) const { return view.strides[k] / i64(sizeof(T)); }
};

template <class T> struct Argument;

template <class T> struct Argument<Flat<T>> : Typed<T> {
    static constexpr int dimensions = 1;
    bool accept(PyObject *given, const Place &place) {
        return this->take_typed(given, place, 1, true);
    }
    Flat<T> value() { return {this->data(), this->view.shape[0]}; }
};
template <class T> struct Argument<Matrix<T>> : Typed<T> {
    static constexpr int dimensions = 2;
    bool accept(PyObject *given, const Place &place) {
        return this->take_typed(given, place, 2, true);
    }
    Matrix<T> value() { return {this->data(), this->view.shape[0], this->view.shape[1]}; }
};
template <class T> struct Argument<Cube<T>> : Typed<T> {
    static constexpr int dimensions = 3;
    bool accept(PyObject *given, const Place &place) {
        return this->take_typed(given, place, 3, true);
    }
    Cube<T> value() {
        const auto *shape = this->view.shape;
        return {this->data(), shape[0], shape[1], shape[2]};
    }
};
template <class T> struct Argument<Block<T>> : Typed<T> {
    static constexpr int dimensions = 4;
    bool accept(PyObject *given, const Place &place) {
        return this->take_typed(given, place, 4, true);
    }
    Block<T> value() {
        const auto *shape = this->view.shape;
        return {this->data(), shape[0], shape[1], shape[2], shape[3]};
    }
};
template <class T> struct Argument<Steps2<T>> : Typed<T> {
    static constexpr int dimensions = 2;
    bool accept(PyObject *given, const Place &place) {
        return this->take_typed(given, place, 2, false);
    }
    Steps2<T> value() {
        const auto *shape = this->view.shape;
        return {this->data(), shape[0], shape[1], this->step(0), this->step(1)};
    }
};
template <class T> struct Argument<Steps3<T>> : Typed<T> {
    static constexpr int dimensions = 3;
    bool accept(PyObject *given, const Place &place) {
        return this->take_typed(given, place, 3, false);
    }
    Steps3<T> value() {
        const auto *shape = this->view.shape;
        return {this->data(), shape[0], shape[1], shape[2],
                this->step(0), this->step(1), this->step(2)};
    }
};

struct AnyNumbers : Buffer {
    Kind kind;
    APART bool accept_numbers(PyObject *given, const Place &place, int dimensions, bool contiguous) {
        if (!take(given, place, dimensions, false, contiguous)) return false;
        const char found = letter();
        const i64 size = view.itemsize;
        if (found == 0 || found == 'b' || (view.len != 0 && !aligned(size)))
            return refuse(place, "real numbers");
        const int power = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
        if (found == 'f') kind = size == 4 ? Kind::F32 : Kind::F64;
        else kind = Kind(int(found == 'i' ? Kind::I8 : Kind::U8) + power);
        return true;
    }
};
template <> struct Argument<AnyFlat> : AnyNumbers {
    static constexpr int dimensions = 1;
    bool accept(PyObject *given, const Place &place) {
        return accept_numbers(given, place, 1, true);
    }
    AnyFlat value() { return {view.buf, kind, view.shape[0]}; }
};
template <> struct Argument<AnyMatrix> : AnyNumbers {
    static constexpr int dimensions = 2;
    bool accept(PyObject *given, const Place &place) {
        return accept_numbers(given, place, 2, false);
    }
    AnyMatrix value() {
        return {static_cast<const char *>(view.buf), kind, view.shape[0], view.shape[1],
                view.strides[0], view.strides[1]};
    }
};
template <class T, bool writable> struct Either : Buffer {
    static constexpr int dimensions = 1;
    bool accept(PyObject *given, const Place &place) {
        if (!take(given, place, 1, writable, true)) return false;
        const i64 size = view.itemsize;
        const bool fits = letter() == 'i' && (size == 4 || size == 8) &&
                          (view.len == 0 || aligned(size));
        return fits || refuse(place, "int32 or int64");
    }
    T value() { return {view.buf, view.itemsize == 8, view.shape[0]}; }
};
template <> struct Argument<Indices> : Either<Indices, false> {};
template <> struct Argument<Counts> : Either<Counts, true> {};

template <class T, class From, From (*read)(PyObject *)> struct Number {
    From found;
    static constexpr int dimensions = 0;
    View seen() const { return {nullptr, From(0.5) != 0 ? 0 : i64(found), 0, false}; }
    bool accept(PyObject *given, const Place &) {
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
    bool accept(PyObject *const *, Place &) { return true; }
    void see(View *) const {}
    const Room *room() const { return nullptr; }
    static constexpr int count = 0;
    static constexpr bool fit(const Demand *) { return true; }
};
template <class H, class... T> struct Arguments<H, T...> {
    Argument<H> head;
    Arguments<T...> rest;
    bool accept(PyObject *const *given, Place &place) {
        if (!head.accept(*given, place)) return false;
        place.number++;
        return rest.accept(given + 1, place);
    }
    void see(View *views) const {
        *views = head.seen();
        rest.see(views + 1);
    }
    const Room *room() const { return rest.room(); }
    static constexpr int count = 1 + Arguments<T...>::count;
    static constexpr bool fit(const Demand *demands) {
        return demands->dimensions == Argument<H>::dimensions && Arguments<T...>::fit(demands + 1);
    }
};
struct RoomOfCall {
    Room room;
    Room &value() { return room; }
};
template <class... T> struct Arguments<Room &, T...> {
    RoomOfCall head;
    Arguments<T...> rest;
    bool accept(PyObject *const *given, Place &place) { return rest.accept(given, place); }
    void see(View *views) const { rest.see(views); }
    const Room *room() const { return &head.room; }
    static constexpr int count = Arguments<T...>::count;
    static constexpr bool fit(const Demand *demands) { return Arguments<T...>::fit(demands); }
};

APART inline bool say_wrong(const char *name, const Contract &contract, const Fault &fault,
                            const Room *room) {
    if (fault.kind != Fault::NONE) tell(name, contract, fault);
    else if (room->wrong) PyErr_Format(PyExc_ValueError, "%s: %s", name, room->wrong);
    else PyErr_NoMemory();
    return true;
}
// Whether the call did not do what it should, which an error says then.
inline bool is_wrong(const char *name, const Contract &contract, const Fault &fault,
                     const Room *room) {
    if (fault.kind == Fault::NONE && !(room && room->failed)) return false;
    return say_wrong(name, contract, fault, room);
}

template <class R, class... All> struct Caller {
    using Function = R (*)(All...);
    template <class... Done> static R run(Function f, Arguments<> &, Done &&...done) {
        return f(static_cast<Done &&>(done)...);
    }
    template <class H, class... T, class... Done>
    static R run(Function f, Arguments<H, T...> &given, Done &&...done) {
        return run(f, given.rest, static_cast<Done &&>(done)..., given.head.value());
    }

    static PyObject *call(const char *name, const Contract &contract, Function f,
                          PyObject *const *given, Py_ssize_t count) {
        Arguments<All...> arguments;
        if (count != arguments.count) {
            PyErr_Format(PyExc_TypeError, "%s: %d arguments are needed, not %zd", name,
                         arguments.count, count);
            return nullptr;
        }
        Place place = {name, contract, 0};
        if (!arguments.accept(given, place)) return nullptr;
        View views[arguments.count];
        arguments.see(views);
        Fault fault;
        void *state = PyEval_SaveThread();
        if constexpr (__is_same(R, void)) {
            if (holds(contract, views, fault)) run(f, arguments);
            PyEval_RestoreThread(state);
            if (is_wrong(name, contract, fault, arguments.room())) return nullptr;
            Py_IncRef(&_Py_NoneStruct);
            return &_Py_NoneStruct;
        } else {
            R found = {};
            if (holds(contract, views, fault)) found = run(f, arguments);
            PyEval_RestoreThread(state);
            if (is_wrong(name, contract, fault, arguments.room())) return nullptr;
            return to_python(found);
        }
    }
    static constexpr bool fits(const Whole &contract) {
        return contract.n_demands == Arguments<All...>::count &&
               Arguments<All...>::fit(contract.demands);
    }
};
template <class R, class... A> Caller<R, A...> caller_of(R (*)(A...));

using Method = PyObject *(*)(PyObject *, PyObject *const *, Py_ssize_t);
inline PyCFunction as_function(Method method) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(method));
}

#define KERNEL(f, text)                                                                            \
    {#f, as_function([](PyObject *, PyObject *const *given, Py_ssize_t count) -> PyObject * {      \
         constexpr Whole whole = read_contract(text);                                              \
         using CallerOfIt = decltype(caller_of(f));                                                \
         static_assert(CallerOfIt::fits(whole), "the contract has other arguments");               \
         static constexpr auto kept = stored<whole.n_tokens, whole.n_demands,                      \
                                             whole.n_comparisons, whole.n_names>(whole);           \
         static constexpr Contract contract = {text, kept.tokens, kept.demands, kept.comparisons,  \
                                               kept.names, whole.n_demands, whole.n_comparisons,   \
                                               whole.n_names};                                     \
         return CallerOfIt::call(#f, contract, f, given, count);                                   \
     }),                                                                                           \
     METH_FASTCALL, text}
#define KERNELS(topic, ...) PyMethodDef topic[] = {__VA_ARGS__, {nullptr, nullptr, 0, nullptr}}

} // namespace naively::SET
