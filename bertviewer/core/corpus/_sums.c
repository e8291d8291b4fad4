/* Sums over many rows of float32: what sums.py otherwise asks numpy for in many passes.
 *
 * Rows are added one after another to double, feature by feature. The square of a float32 is exact
 * in double, so that no processor, whatever it fuses or does side by side, gives other bits.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <string.h>

#define LANES 8
#define BINS 2048
/* A float's sign, exponent and the two highest bits of its fraction. */
#define SHIFT 21
#define INFINITE 0x7f800000u
#define MAGNITUDE 0x7fffffffu
#define DEVIATIONS 6.0

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#if __GNUC__ >= 12
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#endif
#else
#define FOR_EACH_PROCESSOR
#endif

/* In the order of COUNTS in sums.py. */
enum { ROWS, ZEROS, NANS, INFS, COUNTS };
/* In the order of HEAD_SUMS in sums.py. */
enum { QUERIES, ENTROPY, DISTANCE, CLS, SEP, HEAD_SUMS };

#include "_sum_rows.h"
#include "_sum_heads.h"

static int read_arguments(PyObject *const *arguments, Py_ssize_t count, Py_ssize_t wanted,
                          Py_ssize_t *found)
{
    if (count != wanted) {
        PyErr_Format(PyExc_TypeError, "%zd arguments are wanted, and %zd came", wanted, count);
        return 0;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        found[at] = PyLong_AsSsize_t(arguments[at]);
    }
    return !PyErr_Occurred();
}

/* add_rows(values, width, rows, starts, classes, totals, squares, mins, maxs, left_out, histogram,
 * counts): addresses of arrays that the caller holds, in the shapes that sums.py says. */
static PyObject *add_rows(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Py_ssize_t a[12];
    if (!read_arguments(arguments, count, 12, a)) {
        return NULL;
    }
    const float *values = (const float *)a[0];
    const Py_ssize_t width = a[1], classes = a[4];
    const int64_t *rows = (const int64_t *)a[2], *starts = (const int64_t *)a[3];
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t one = 0; one < classes; one++) {
        Sums sums = {
            .totals = (double *)a[5] + one * width,
            .squares = (double *)a[6] + one * width,
            .mins = (float *)a[7] + one * width,
            .maxs = (float *)a[8] + one * width,
            .left_out = (int64_t *)a[9] + one * width,
            .histogram = (int64_t *)a[10] + one * BINS,
            .counts = (int64_t *)a[11] + one * COUNTS,
        };
        if (starts[one + 1] > starts[one]) {
            add_class(values, width, rows + starts[one], starts[one + 1] - starts[one], &sums);
        }
    }
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* add_heads(shares, sentences, heads, length, lengths, is_cls, is_sep, sums): shares are
 * [B, A, S, S], is_cls and is_sep [B, S] in float32, sums [A, HEAD_SUMS]. */
static PyObject *add_heads(PyObject *Py_UNUSED(module), PyObject *const *arguments,
                           Py_ssize_t count)
{
    Py_ssize_t a[8];
    if (!read_arguments(arguments, count, 8, a)) {
        return NULL;
    }
    const float *shares = (const float *)a[0], *starts = (const float *)a[5];
    const float *ends = (const float *)a[6];
    const Py_ssize_t heads = a[2], length = a[3];
    const int64_t *lengths = (const int64_t *)a[4];
    double *sums = (double *)a[7];
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t sentence = 0; sentence < a[1]; sentence++) {
        for (Py_ssize_t head = 0; head < heads; head++) {
            const float *map = shares + (sentence * heads + head) * length * length;
            for (Py_ssize_t query = 0; query < lengths[sentence]; query++) {
                add_query(map + query * length, query, lengths[sentence],
                          starts + sentence * length, ends + sentence * length,
                          sums + head * HEAD_SUMS);
            }
        }
    }
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* add_outliers(states, sentences, length, width, lengths, tokens, in_sentences, farthest): states
 * are [B, S, D], the last three [D]. */
static PyObject *add_outliers(PyObject *Py_UNUSED(module), PyObject *const *arguments,
                              Py_ssize_t count)
{
    Py_ssize_t a[8];
    if (!read_arguments(arguments, count, 8, a)) {
        return NULL;
    }
    const float *states = (const float *)a[0];
    const Py_ssize_t length = a[2], width = a[3];
    const int64_t *lengths = (const int64_t *)a[4];
    int64_t *is_met = PyMem_Malloc((size_t)width * sizeof *is_met);
    if (is_met == NULL) {
        return PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t sentence = 0; sentence < a[1]; sentence++) {
        add_sentence(states + sentence * length * width, lengths[sentence], width, (int64_t *)a[5],
                     (int64_t *)a[6], (float *)a[7], is_met);
    }
    Py_END_ALLOW_THREADS
    PyMem_Free(is_met);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"add_rows", (PyCFunction)(void (*)(void))add_rows, METH_FASTCALL, NULL},
    {"add_heads", (PyCFunction)(void (*)(void))add_heads, METH_FASTCALL, NULL},
    {"add_outliers", (PyCFunction)(void (*)(void))add_outliers, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "bertviewer.core.corpus._sums",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__sums(void)
{
    return PyModuleDef_Init(&module);
}
