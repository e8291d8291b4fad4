/* Adds rows to the sums of their class; for _sums.c, which says how they are added. */
/* The sums of the rows of one class. */
typedef struct {
    double *totals, *squares;
    float *mins, *maxs;
    int64_t *left_out, *histogram, *counts;
} Sums;

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Return whether all of a row is finite, and count its zeros. */
FOR_EACH_PROCESSOR
static int look_at(const float *row, Py_ssize_t width, int64_t *zeros)
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

static void add_one(const float *row, Py_ssize_t at, Sums *sums)
{
    const float value = row[at];
    sums->totals[at] += (double)value;
    sums->squares[at] += (double)value * (double)value;
    sums->mins[at] = value < sums->mins[at] ? value : sums->mins[at];
    sums->maxs[at] = value > sums->maxs[at] ? value : sums->maxs[at];
}

static void add_finite(const float *row, Py_ssize_t width, Sums *sums)
{
    for (Py_ssize_t at = 0; at < width; at++) {
        if (isfinite(row[at])) {
            add_one(row, at, sums);
            sums->histogram[bits_of(row[at]) >> SHIFT]++;
        } else {
            sums->left_out[at]++;
            sums->counts[isnan(row[at]) ? NANS : INFS]++;
        }
    }
}

/* Add four finite rows, one after another: a sum is fetched and put back once for all of them. */
FOR_EACH_PROCESSOR
static void add_four(const float *const *rows, Py_ssize_t width, Sums *sums)
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
            add_one(rows[row], at, sums);
        }
    }
}

/* Two tables in turns: the next value is often of the same bin, and would wait for it. */
static void sort_in(const float *row, Py_ssize_t width, uint32_t (*bins)[BINS])
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
                      Sums *sums)
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
            are_finite[row] = look_at(block[row], width, &zeros);
            all &= are_finite[row];
            sums->counts[ZEROS] += zeros;
        }
        if (all && size == 4) {
            add_four(block, width, sums);
        }
        for (int row = 0; row < size; row++) {
            if (!are_finite[row]) {
                add_finite(block[row], width, sums);
                continue;
            }
            if (!(all && size == 4)) {
                for (Py_ssize_t at = 0; at < width; at++) {
                    add_one(block[row], at, sums);
                }
            }
            sort_in(block[row], width, bins);
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
