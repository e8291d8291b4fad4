/* The sums of a float32 tensor's rows in one pass: what measuring.py otherwise asks torch for in
 * four. Sums are taken in double, where the square of a float32 is exact and cannot overflow.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>

/* Sums side by side: an addition need not wait for the one before it. With more of them they no
 * longer fit the registers of AVX2, with fewer the processor waits. */
#define LANES 8

/* Of these versions, the quickest that the processor can run is chosen when the module is loaded. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

/* Below this part of the squares, E[x^2] - E[x]^2 has lost digits that are shown. */
#define CANCELLING 1e-6

/* As the fields of TokenStatistics, and the Euclidean norm of the finite elements. */
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

/* Fill out[FIELDS][rows], and whole[] with the same of all rows together. */
static void add_rows(const float *values, Py_ssize_t rows, Py_ssize_t width, double *out, double *whole)
{
    whole[MIN] = INFINITY;
    whole[MAX] = -INFINITY;
    for (Py_ssize_t at = 0; at < rows; at++) {
        const float *row = values + at * width;
        Sums sums;
        add_row(row, width, &sums);
        if (!isfinite(sums.squares)) {
            add_finite(row, width, &sums);
        }
        const Py_ssize_t finite = width - sums.nans - sums.infs;
        const double mean = finite ? sums.total / finite : 0;
        double deviations = sums.squares - sums.total * mean;
        if (deviations < CANCELLING * sums.squares) {
            deviations = deviations_from(mean, row, width);
        }
        out[NAN_COUNT * rows + at] = sums.nans;
        out[INF_COUNT * rows + at] = sums.infs;
        out[ZERO_COUNT * rows + at] = sums.zeros;
        out[TOTAL * rows + at] = sums.total;
        out[DEVIATIONS * rows + at] = deviations;
        out[MIN * rows + at] = sums.min;
        out[MAX * rows + at] = sums.max;
        out[NORM * rows + at] = sqrt(sums.squares);
        whole[NAN_COUNT] += sums.nans;
        whole[INF_COUNT] += sums.infs;
        whole[ZERO_COUNT] += sums.zeros;
        whole[TOTAL] += sums.total;
        whole[DEVIATIONS] += deviations;
        whole[MIN] = sums.min < whole[MIN] ? sums.min : whole[MIN];
        whole[MAX] = sums.max > whole[MAX] ? sums.max : whole[MAX];
    }
    /* Each row spreads about its own mean, and these about the mean of all (Chan et al. 1983). */
    const double all = rows * width - whole[NAN_COUNT] - whole[INF_COUNT];
    for (Py_ssize_t at = 0; at < rows; at++) {
        const double finite = width - out[NAN_COUNT * rows + at] - out[INF_COUNT * rows + at];
        if (finite) {
            const double apart = out[TOTAL * rows + at] / finite - whole[TOTAL] / all;
            whole[DEVIATIONS] += finite * apart * apart;
        }
    }
}

static PyObject *row_sums(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer values, out;
    Py_ssize_t width;
    if (!PyArg_ParseTuple(arguments, "y*nw*", &values, &width, &out)) {
        return NULL;
    }
    const Py_ssize_t count = values.len / (Py_ssize_t)sizeof(float);
    const Py_ssize_t rows = width > 0 ? count / width : 0;
    PyObject *result = NULL;
    if (width < 1 || values.len != rows * width * (Py_ssize_t)sizeof(float)) {
        PyErr_SetString(PyExc_ValueError, "the elements do not fill rows of this width");
    } else if (out.len != rows * FIELDS * (Py_ssize_t)sizeof(double)) {
        PyErr_SetString(PyExc_ValueError, "the result needs 8 float64 for every row");
    } else {
        double whole[FIELDS] = {0};
        Py_BEGIN_ALLOW_THREADS
        add_rows(values.buf, rows, width, out.buf, whole);
        Py_END_ALLOW_THREADS
        result = Py_BuildValue(
            "nnndddd", (Py_ssize_t)whole[NAN_COUNT], (Py_ssize_t)whole[INF_COUNT],
            (Py_ssize_t)whole[ZERO_COUNT], whole[TOTAL], whole[DEVIATIONS], whole[MIN], whole[MAX]);
    }
    PyBuffer_Release(&values);
    PyBuffer_Release(&out);
    return result;
}

static PyMethodDef methods[] = {
    {"row_sums", row_sums, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "bertviewer.core.run._row_sums",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__row_sums(void)
{
    return PyModuleDef_Init(&module);
}
