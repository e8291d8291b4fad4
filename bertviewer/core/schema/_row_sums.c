/* The sums of a float32 tensor's rows in one pass: what measuring.py otherwise asks torch for in
 * four. Sums are taken in double, where the square of a float32 is exact and cannot overflow.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>

/* Sums side by side: an addition need not wait for the one before it. With more of them they no
 * longer fit the registers of AVX2, with fewer the processor waits. */
#define LANES 8

/* Of these versions, the quickest that the processor can run is chosen when the module is loaded.
 * GCC before 12 refuses the architecture's name here. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#if __GNUC__ >= 12
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#endif
#else
#define FOR_EACH_PROCESSOR
#endif

/* Below this part of the squares, E[x^2] - E[x]^2 has lost digits that are shown. */
#define CANCELLING 1e-6

/* In the order of Sums in token_statistics.py, which says what they are. */
enum { NAN_COUNT, INF_COUNT, ZERO_COUNT, TOTAL, DEVIATIONS, MIN, MAX, NORM, FIELDS };

typedef struct {
    Py_ssize_t nans, infs, zeros;
    double total, squares;
    float min, max;
} Sums;

FOR_EACH_PROCESSOR
static void add_row(const float *row, Py_ssize_t width, Sums *found)
{
    double totals[LANES] = {0}, squares[LANES] = {0};
    float mins[LANES], maxs[LANES];
    int zeros[LANES] = {0};
    for (int lane = 0; lane < LANES; lane++) {
        mins[lane] = INFINITY;
        maxs[lane] = -INFINITY;
    }
    const Py_ssize_t whole = width - width % LANES;
    for (Py_ssize_t start = 0; start < whole; start += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            const float value = row[start + lane];
            totals[lane] += (double)value;
            squares[lane] += (double)value * (double)value;
            mins[lane] = value < mins[lane] ? value : mins[lane];
            maxs[lane] = value > maxs[lane] ? value : maxs[lane];
            zeros[lane] += value == 0.0f;
        }
    }
    Sums sums = {.min = INFINITY, .max = -INFINITY};
    for (Py_ssize_t at = whole; at < width; at++) {
        const float value = row[at];
        sums.total += (double)value;
        sums.squares += (double)value * (double)value;
        sums.min = value < sums.min ? value : sums.min;
        sums.max = value > sums.max ? value : sums.max;
        sums.zeros += value == 0.0f;
    }
    for (int lane = 0; lane < LANES; lane++) {
        sums.total += totals[lane];
        sums.squares += squares[lane];
        sums.min = mins[lane] < sums.min ? mins[lane] : sums.min;
        sums.max = maxs[lane] > sums.max ? maxs[lane] : sums.max;
        sums.zeros += zeros[lane];
    }
    *found = sums;
}

/* Add up the finite elements of a row that has others as well. */
static void add_finite(const float *row, Py_ssize_t width, Sums *found)
{
    Sums sums = {.min = INFINITY, .max = -INFINITY};
    for (Py_ssize_t at = 0; at < width; at++) {
        const float value = row[at];
        if (isnan(value)) {
            sums.nans++;
        } else if (isinf(value)) {
            sums.infs++;
        } else {
            sums.total += (double)value;
            sums.squares += (double)value * (double)value;
            sums.min = value < sums.min ? value : sums.min;
            sums.max = value > sums.max ? value : sums.max;
            sums.zeros += value == 0.0f;
        }
    }
    *found = sums;
}

static double deviations_from(double mean, const float *row, Py_ssize_t width)
{
    double squares = 0;
    for (Py_ssize_t at = 0; at < width; at++) {
        if (isfinite(row[at])) {
            squares += (row[at] - mean) * (row[at] - mean);
        }
    }
    return squares;
}

/* Fill sums[FIELDS][rows + 1]: the sums of each row, and behind them those of all rows together. */
static void add_rows(const float *values, Py_ssize_t rows, Py_ssize_t width, double *sums)
{
    const Py_ssize_t step = rows + 1;
    double *whole = sums + rows;
    for (int field = 0; field < FIELDS; field++) {
        whole[field * step] = 0;
    }
    whole[MIN * step] = INFINITY;
    whole[MAX * step] = -INFINITY;
    double squares = 0;
    for (Py_ssize_t at = 0; at < rows; at++) {
        const float *row = values + at * width;
        double *own = sums + at;
        Sums found;
        add_row(row, width, &found);
        if (!isfinite(found.squares)) {
            add_finite(row, width, &found);
        }
        const Py_ssize_t finite = width - found.nans - found.infs;
        const double mean = finite ? found.total / finite : 0;
        double deviations = found.squares - found.total * mean;
        if (deviations < CANCELLING * found.squares) {
            deviations = deviations_from(mean, row, width);
        }
        own[NAN_COUNT * step] = found.nans;
        own[INF_COUNT * step] = found.infs;
        own[ZERO_COUNT * step] = found.zeros;
        own[TOTAL * step] = found.total;
        own[DEVIATIONS * step] = deviations;
        own[MIN * step] = found.min;
        own[MAX * step] = found.max;
        own[NORM * step] = sqrt(found.squares);
        for (int field = NAN_COUNT; field <= DEVIATIONS; field++) {
            whole[field * step] += own[field * step];
        }
        whole[MIN * step] = fmin(whole[MIN * step], found.min);
        whole[MAX * step] = fmax(whole[MAX * step], found.max);
        squares += found.squares;
    }
    whole[NORM * step] = sqrt(squares);
    /* Each row spreads about its own mean, and these about the mean of all (Chan et al. 1983). */
    const double all = rows * width - whole[NAN_COUNT * step] - whole[INF_COUNT * step];
    for (Py_ssize_t at = 0; at < rows; at++) {
        const double *own = sums + at;
        const double finite = width - own[NAN_COUNT * step] - own[INF_COUNT * step];
        if (finite) {
            const double apart = own[TOTAL * step] / finite - whole[TOTAL * step] / all;
            whole[DEVIATIONS * step] += finite * apart * apart;
        }
    }
}

/* row_sums(address, rows, width): the caller holds rows * width float32 at the address, row by row.
 * Bytes are quicker to make and to hand over than arrays, and this is called amid a forward pass. */
static PyObject *row_sums(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "row_sums() takes an address, rows and a width");
        return NULL;
    }
    const float *values = PyLong_AsVoidPtr(arguments[0]);
    const Py_ssize_t rows = PyLong_AsSsize_t(arguments[1]);
    const Py_ssize_t width = PyLong_AsSsize_t(arguments[2]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (values == NULL || rows < 0 || width < 1) {
        PyErr_SetString(PyExc_ValueError, "there are no such rows");
        return NULL;
    }
    const Py_ssize_t size = (rows + 1) * FIELDS * (Py_ssize_t)sizeof(double);
    PyObject *sums = PyBytes_FromStringAndSize(NULL, size);
    if (sums != NULL) {
        double *out = (double *)PyBytes_AS_STRING(sums);
        Py_BEGIN_ALLOW_THREADS
        add_rows(values, rows, width, out);
        Py_END_ALLOW_THREADS
    }
    return sums;
}

static PyMethodDef methods[] = {
    {"row_sums", (PyCFunction)(void (*)(void))row_sums, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "bertviewer.core.schema._row_sums",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__row_sums(void)
{
    return PyModuleDef_Init(&module);
}
