// The part of Python's stable ABI, as of 3.11, that the kernels use. It is fixed for all later
// versions, so one library is enough for all of them, and building it needs no header of Python's.
#pragma once
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define NAIVELY_IMPORT extern "C" __declspec(dllimport)
#define NAIVELY_EXPORT extern "C" __declspec(dllexport)
#else
#define NAIVELY_IMPORT extern "C"
#define NAIVELY_EXPORT extern "C" __attribute__((visibility("default")))
#endif

using Py_ssize_t = ptrdiff_t;
struct PyObject {
    Py_ssize_t references;
    void *type;
};
using PyCFunction = PyObject *(*)(PyObject *, PyObject *);
struct PyMethodDef {
    const char *name;
    PyCFunction method;
    int flags;
    const char *doc;
};
struct PyModuleDef_Slot {
    int slot;
    void *value;
};
struct PyModuleDef {
    PyObject base;
    PyObject *(*init)();
    Py_ssize_t index;
    PyObject *copy;
    const char *name, *doc;
    Py_ssize_t size;
    PyMethodDef *methods;
    PyModuleDef_Slot *slots;
    int (*traverse)(PyObject *, void *, void *);
    int (*clear)(PyObject *);
    void (*free)(void *);
};
struct Py_buffer {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
};

constexpr int METH_FASTCALL = 0x80, Py_mod_exec = 2;
constexpr int PyBUF_FORMAT = 4, PyBUF_STRIDES = 0x18;

NAIVELY_IMPORT PyObject *PyExc_TypeError, *PyExc_ValueError, *PyExc_ImportError;
NAIVELY_IMPORT PyObject _Py_NoneStruct;
NAIVELY_IMPORT int PyObject_GetBuffer(PyObject *, Py_buffer *, int);
NAIVELY_IMPORT void PyBuffer_Release(Py_buffer *);
NAIVELY_IMPORT PyObject *PyErr_Format(PyObject *, const char *, ...);
NAIVELY_IMPORT PyObject *PyErr_NoMemory();
NAIVELY_IMPORT PyObject *PyErr_Occurred();
NAIVELY_IMPORT long long PyLong_AsLongLong(PyObject *);
NAIVELY_IMPORT PyObject *PyLong_FromLongLong(long long);
NAIVELY_IMPORT double PyFloat_AsDouble(PyObject *);
NAIVELY_IMPORT PyObject *PyFloat_FromDouble(double);
NAIVELY_IMPORT int PyObject_IsTrue(PyObject *);
NAIVELY_IMPORT PyObject *PyBool_FromLong(long);
NAIVELY_IMPORT PyObject *Py_BuildValue(const char *, ...);
NAIVELY_IMPORT void Py_IncRef(PyObject *);
NAIVELY_IMPORT void *PyEval_SaveThread();
NAIVELY_IMPORT void PyEval_RestoreThread(void *);
NAIVELY_IMPORT int PyModule_AddFunctions(PyObject *, PyMethodDef *);
NAIVELY_IMPORT int PyModule_AddStringConstant(PyObject *, const char *, const char *);
NAIVELY_IMPORT PyObject *PyModuleDef_Init(PyModuleDef *);
