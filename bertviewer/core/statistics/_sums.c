/* Sums over float32 arrays in one pass: the rows of a tensor (runs), and rows by class, attention
 * heads and outliers (corpora).
 *
 * Why C: against the bare forward pass, in CPU time of one thread, a corpus takes 1.3 times as long.
 * With the quickest combination of torch and NumPy that was found (torch.bincount of int16, one-hot
 * matrix products, amin/amax in blocks of 65,536 values) it took 2.0 times in float32 sums and 2.2
 * in float64, against a goal of 1.35. A run takes 1.03 to 1.09 times as long; with torch's
 * vector_norm, sum and aminmax it took 1.28 to 1.34, with NumPy 1.4, against a goal of 1.15. Without
 * a compiler NumPy computes the same figures.
 *
 * Sums are taken in double, where the square of a float32 is exact and cannot overflow. In a corpus
 * rows are added one after another, so that all processors, and NumPy, give the same bits.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <string.h>

/* Independent partial sums: an addition need not wait for the one before it. More of them do not
 * fit the registers of AVX2, with fewer the processor waits. */
#define LANES 8
#define BINS 2048
/* Sign, exponent and the two highest bits of the fraction are the bin of a float. */
#define SHIFT 21
#define INFINITE 0x7f800000u
#define MAGNITUDE 0x7fffffffu
#define DEVIATIONS 6.0

/* The loader chooses the fastest version that the processor can run. GCC before 12 does not accept
 * the architecture's name here. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#if __GNUC__ >= 12
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#endif
#else
#define FOR_EACH_PROCESSOR
#endif

/* In the order of COUNTS in shards.py. */
enum { ROWS, ZEROS, NANS, INFS, COUNTS };
/* In the order of HEAD_SUMS in shards.py. */
enum { QUERIES, ENTROPY, DISTANCE, CLS, SEP, HEAD_SUMS };
/* In the order of Sums in row_statistics.py. */
enum { NAN_COUNT, INF_COUNT, ZERO_COUNT, TOTAL, SQUARED_DEVIATIONS, MIN, MAX, NORM, FIELDS };

/* The sums of the rows of one class. */
typedef struct {
    double *totals, *squares;
    float *mins, *maxs;
    int64_t *left_out, *histogram, *counts;
} ClassSums;

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Whether all values of a row are finite; counts its zeros. */
FOR_EACH_PROCESSOR
static int scan_row(const float *row, Py_ssize_t width, int64_t *zeros)
{
    uint32_t most[LANES] = {0};
    int none[LANES] = {0};
    const Py_ssize_t whole = width - width % LANES;
    for (Py_ssize_t start = 0; start < whole; start += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            const uint32_t size = bits_of(row[start + lane]) & MAGNITUDE;
            most[lane] = size > most[lane] ? size : most[lane];
            none[lane] += size == 0;
        }
    }
    uint32_t largest = 0;
    int64_t found = 0;
    for (int lane = 0; lane < LANES; lane++) {
        largest = most[lane] > largest ? most[lane] : largest;
        found += none[lane];
    }
    for (Py_ssize_t at = whole; at < width; at++) {
        const uint32_t size = bits_of(row[at]) & MAGNITUDE;
        largest = size > largest ? size : largest;
        found += size == 0;
    }
    *zeros = found;
    return largest < INFINITE;
}

static void add_value(const float *row, Py_ssize_t at, ClassSums *sums)
{
    const float value = row[at];
    sums->totals[at] += (double)value;
    sums->squares[at] += (double)value * (double)value;
    sums->mins[at] = value < sums->mins[at] ? value : sums->mins[at];
    sums->maxs[at] = value > sums->maxs[at] ? value : sums->maxs[at];
}

static void add_finite_values(const float *row, Py_ssize_t width, ClassSums *sums)
{
    for (Py_ssize_t at = 0; at < width; at++) {
        if (isfinite(row[at])) {
            add_value(row, at, sums);
            sums->histogram[bits_of(row[at]) >> SHIFT]++;
        } else {
            sums->left_out[at]++;
            sums->counts[isnan(row[at]) ? NANS : INFS]++;
        }
    }
}

/* Add four finite rows in order, with one load and store of each sum. */
FOR_EACH_PROCESSOR
static void add_four(const float *const *rows, Py_ssize_t width, ClassSums *sums)
{
    const float *first = rows[0], *second = rows[1], *third = rows[2], *fourth = rows[3];
    double *restrict totals = sums->totals, *restrict squares = sums->squares;
    float *restrict mins = sums->mins, *restrict maxs = sums->maxs;
    const Py_ssize_t whole = width - width % LANES;
    for (Py_ssize_t start = 0; start < whole; start += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            const Py_ssize_t at = start + lane;
            const double a = first[at], b = second[at], c = third[at], d = fourth[at];
            totals[at] = totals[at] + a + b + c + d;
            squares[at] = squares[at] + a * a + b * b + c * c + d * d;
        }
        for (int lane = 0; lane < LANES; lane++) {
            const Py_ssize_t at = start + lane;
            const float a = first[at], b = second[at], c = third[at], d = fourth[at];
            const float low = a < b ? a : b, lower = c < d ? c : d;
            const float high = a > b ? a : b, higher = c > d ? c : d;
            const float least = low < lower ? low : lower, most = high > higher ? high : higher;
            mins[at] = least < mins[at] ? least : mins[at];
            maxs[at] = most > maxs[at] ? most : maxs[at];
        }
    }
    for (Py_ssize_t at = whole; at < width; at++) {
        for (int row = 0; row < 4; row++) {
            add_value(rows[row], at, sums);
        }
    }
}

/* Two tables in turn: consecutive values often fall in one bin, whose update would be waited for. */
static void count_bins(const float *row, Py_ssize_t width, uint32_t (*bins)[BINS])
{
    Py_ssize_t at = 0;
    for (; at + 1 < width; at += 2) {
        bins[0][bits_of(row[at]) >> SHIFT]++;
        bins[1][bits_of(row[at + 1]) >> SHIFT]++;
    }
    if (at < width) {
        bins[0][bits_of(row[at]) >> SHIFT]++;
    }
}

static void add_class(const float *values, Py_ssize_t width, const int64_t *rows, int64_t count,
                      ClassSums *sums)
{
    uint32_t bins[2][BINS] = {{0}};
    int64_t held = 0;
    for (int64_t start = 0; start < count; start += 4) {
        const float *block[4];
        const int size = count - start < 4 ? (int)(count - start) : 4;
        int are_finite[4], all = 1;
        for (int row = 0; row < size; row++) {
            int64_t zeros;
            block[row] = values + rows[start + row] * width;
            are_finite[row] = scan_row(block[row], width, &zeros);
            all &= are_finite[row];
            sums->counts[ZEROS] += zeros;
        }
        if (all && size == 4) {
            add_four(block, width, sums);
        }
        for (int row = 0; row < size; row++) {
            if (!are_finite[row]) {
                add_finite_values(block[row], width, sums);
                continue;
            }
            if (!(all && size == 4)) {
                for (Py_ssize_t at = 0; at < width; at++) {
                    add_value(block[row], at, sums);
                }
            }
            count_bins(block[row], width, bins);
        }
        held += size * width;
        if (held > UINT32_MAX / 2 || start + 4 >= count) {
            for (int bin = 0; bin < BINS; bin++) {
                sums->histogram[bin] += (int64_t)bins[0][bin] + bins[1][bin];
            }
            memset(bins, 0, sizeof bins);
            held = 0;
        }
    }
    sums->counts[ROWS] += count;
}

/* The natural logarithm of a normal float, to about a unit of its last place (Cephes' logf). */
static inline float logarithm(float value)
{
    /* Scales the fraction to between the square roots of 1/2 and 2. */
    const uint32_t bits = bits_of(value) + (0x3f800000u - 0x3f3504f3u);
    const float e = (float)((int)(bits >> 23) - 127);
    const uint32_t fraction = (bits & 0x7fffffu) + 0x3f3504f3u;
    float x;
    memcpy(&x, &fraction, sizeof x);
    x -= 1.0f;
    const float z = x * x;
    float y = 7.0376836292e-2f;
    y = y * x - 1.1514610310e-1f;
    y = y * x + 1.1676998740e-1f;
    y = y * x - 1.2420140846e-1f;
    y = y * x + 1.4249322787e-1f;
    y = y * x - 1.6668057665e-1f;
    y = y * x + 2.0000714765e-1f;
    y = y * x - 2.4999993993e-1f;
    y = y * x + 3.3333331174e-1f;
    y = y * x * z;
    y += -2.12194440e-4f * e;
    y += -0.5f * z;
    return x + y + 0.693359375f * e;
}

/* Add the attention weights of one query; is_cls and is_sep are 1 at such keys, else 0. */
FOR_EACH_PROCESSOR
static void add_query(const float *row, Py_ssize_t place, Py_ssize_t keys, const float *is_cls,
                      const float *is_sep, double *sums)
{
    const float least = 1.17549435e-38f;
    double entropies[LANES] = {0}, distances[LANES] = {0}, starts[LANES] = {0}, ends[LANES] = {0};
    const Py_ssize_t whole = keys - keys % LANES;
    for (Py_ssize_t start = 0; start < whole; start += LANES) {
        /* Terms in single precision, vectorized, then added in double. */
        float terms[LANES], steps[LANES], firsts[LANES], lasts[LANES];
        const float *share = row + start;
        for (int lane = 0; lane < LANES; lane++) {
            const float some = share[lane] > least ? share[lane] : least;
            terms[lane] = some * logarithm(some);
        }
        for (int lane = 0; lane < LANES; lane++) {
            steps[lane] = share[lane] * fabsf((float)((int)start + lane - (int)place));
            firsts[lane] = share[lane] * is_cls[start + lane];
            lasts[lane] = share[lane] * is_sep[start + lane];
        }
        for (int lane = 0; lane < LANES; lane++) {
            entropies[lane] -= (double)terms[lane];
            distances[lane] += (double)steps[lane];
            starts[lane] += (double)firsts[lane];
            ends[lane] += (double)lasts[lane];
        }
    }
    double entropy = 0, distance = 0, first = 0, last = 0;
    for (int lane = 0; lane < LANES; lane++) {
        entropy += entropies[lane];
        distance += distances[lane];
        first += starts[lane];
        last += ends[lane];
    }
    for (Py_ssize_t key = whole; key < keys; key++) {
        const float share = row[key];
        const float some = share > least ? share : least;
        entropy -= (double)(some * logarithm(some));
        distance += (double)share * (double)(key < place ? place - key : key - place);
        first += (double)(share * is_cls[key]);
        last += (double)(share * is_sep[key]);
    }
    /* Any NaN or Inf reaches the sum of the distances; such a query is left out. */
    if (isfinite(distance) && isfinite(entropy)) {
        sums[QUERIES] += 1;
        sums[ENTROPY] += entropy;
        sums[DISTANCE] += distance;
        sums[CLS] += first;
        sums[SEP] += last;
    }
}

/* Count the values more than six standard deviations from the mean of a sentence's state. */
static void add_sentence(const float *state, Py_ssize_t rows, Py_ssize_t width, int64_t *tokens,
                         int64_t *sentences, float *farthest, int64_t *is_met)
{
    double total = 0, squares = 0;
    int64_t finite = 0;
    const Py_ssize_t size = rows * width;
    double sums[LANES] = {0};
    for (Py_ssize_t at = 0; at < size; at++) {
        const double value = isfinite(state[at]) ? (double)state[at] : 0;
        sums[at % LANES] += value;
        finite += isfinite(state[at]);
    }
    for (int lane = 0; lane < LANES; lane++) {
        total += sums[lane];
        sums[lane] = 0;
    }
    if (!finite) {
        return;
    }
    const double mean = total / (double)finite;
    for (Py_ssize_t at = 0; at < size; at++) {
        const double apart = isfinite(state[at]) ? (double)state[at] - mean : 0;
        sums[at % LANES] += apart * apart;
    }
    for (int lane = 0; lane < LANES; lane++) {
        squares += sums[lane];
    }
    const double deviation = sqrt(squares / (double)finite);
    const double limit = DEVIATIONS * deviation;
    if (!(limit > 0)) {
        return;
    }
    memset(is_met, 0, (size_t)width * sizeof *is_met);
    for (Py_ssize_t row = 0; row < rows; row++) {
        for (Py_ssize_t at = 0; at < width; at++) {
            const double apart = (double)state[row * width + at] - mean;
            if (fabs(apart) > limit && isfinite(apart)) {
                const float found = (float)(apart / deviation);
                tokens[at]++;
                is_met[at] = 1;
                if (fabsf(found) > fabsf(farthest[at])) {
                    farthest[at] = found;
                }
            }
        }
    }
    for (Py_ssize_t at = 0; at < width; at++) {
        sentences[at] += is_met[at];
    }
}

/* Below this fraction of E[x^2], E[x^2] - E[x]^2 has lost visible digits to cancellation. */
#define CANCELLING 1e-6

typedef struct {
    Py_ssize_t nans, infs, zeros;
    double total, squares;
    float min, max;
} RowSums;

FOR_EACH_PROCESSOR
static void add_row(const float *row, Py_ssize_t width, RowSums *found)
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
    RowSums sums = {.min = INFINITY, .max = -INFINITY};
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

/* The finite elements of a row that has others, too. */
static void add_finite_row(const float *row, Py_ssize_t width, RowSums *found)
{
    RowSums sums = {.min = INFINITY, .max = -INFINITY};
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

/* Fill sums[FIELDS][rows + 1]: the sums of each row, then those of all rows. */
static void fill_row_sums(const float *values, Py_ssize_t rows, Py_ssize_t width, double *sums)
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
        RowSums found;
        add_row(row, width, &found);
        if (!isfinite(found.squares)) {
            add_finite_row(row, width, &found);
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
        own[SQUARED_DEVIATIONS * step] = deviations;
        own[MIN * step] = found.min;
        own[MAX * step] = found.max;
        own[NORM * step] = sqrt(found.squares);
        for (int field = NAN_COUNT; field <= SQUARED_DEVIATIONS; field++) {
            whole[field * step] += own[field * step];
        }
        whole[MIN * step] = fmin(whole[MIN * step], found.min);
        whole[MAX * step] = fmax(whole[MAX * step], found.max);
        squares += found.squares;
    }
    whole[NORM * step] = sqrt(squares);
    /* Combine the deviations from each row's mean (Chan, Golub & LeVeque 1983). */
    const double all = rows * width - whole[NAN_COUNT * step] - whole[INF_COUNT * step];
    for (Py_ssize_t at = 0; at < rows; at++) {
        const double *own = sums + at;
        const double finite = width - own[NAN_COUNT * step] - own[INF_COUNT * step];
        if (finite) {
            const double apart = own[TOTAL * step] / finite - whole[TOTAL * step] / all;
            whole[SQUARED_DEVIATIONS * step] += finite * apart * apart;
        }
    }
}

/* row_sums(address, rows, width): sums of rows * width contiguous float32 at an address. Bytes are
 * faster to create than arrays, and this is called within a forward pass. */
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
        PyErr_SetString(PyExc_ValueError, "no such rows");
        return NULL;
    }
    const Py_ssize_t size = (rows + 1) * FIELDS * (Py_ssize_t)sizeof(double);
    PyObject *sums = PyBytes_FromStringAndSize(NULL, size);
    if (sums != NULL) {
        double *out = (double *)PyBytes_AS_STRING(sums);
        Py_BEGIN_ALLOW_THREADS
        fill_row_sums(values, rows, width, out);
        Py_END_ALLOW_THREADS
    }
    return sums;
}

static int read_arguments(PyObject *const *arguments, Py_ssize_t count, Py_ssize_t wanted,
                          Py_ssize_t *found)
{
    if (count != wanted) {
        PyErr_Format(PyExc_TypeError, "takes %zd arguments, not %zd", wanted, count);
        return 0;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        found[at] = PyLong_AsSsize_t(arguments[at]);
    }
    return !PyErr_Occurred();
}

/* add_rows(values, width, rows, starts, classes, totals, squares, mins, maxs, left_out, histogram,
 * counts): addresses of arrays with the shapes in accumulators.py. */
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
        ClassSums sums = {
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
    {"row_sums", (PyCFunction)(void (*)(void))row_sums, METH_FASTCALL, NULL},
    {"add_rows", (PyCFunction)(void (*)(void))add_rows, METH_FASTCALL, NULL},
    {"add_heads", (PyCFunction)(void (*)(void))add_heads, METH_FASTCALL, NULL},
    {"add_outliers", (PyCFunction)(void (*)(void))add_outliers, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "bertviewer.core.statistics._sums",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__sums(void)
{
    return PyModuleDef_Init(&module);
}
