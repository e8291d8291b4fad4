/* Adds what heads look at, and the outliers of hidden states; for _sums.c. */
/* The natural logarithm of a normal float, to about a unit of its last place (Cephes' logf). */
static inline float logarithm(float value)
{
    /* So that the fraction is between the roots of 1/2 and 2. */
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

/* Add what one query gives its keys; is_cls and is_sep are 1 at such keys, and 0. */
FOR_EACH_PROCESSOR
static void add_query(const float *row, Py_ssize_t place, Py_ssize_t keys, const float *is_cls,
                      const float *is_sep, double *sums)
{
    const float least = 1.17549435e-38f;
    double entropies[LANES] = {0}, distances[LANES] = {0}, starts[LANES] = {0}, ends[LANES] = {0};
    const Py_ssize_t whole = keys - keys % LANES;
    for (Py_ssize_t start = 0; start < whole; start += LANES) {
        /* In single precision first, all lanes of it at once, and then added in double. */
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
    /* NaN or Inf anywhere is in the sum of the distances, and no such query is added. */
    if (isfinite(distance) && isfinite(entropy)) {
        sums[QUERIES] += 1;
        sums[ENTROPY] += entropy;
        sums[DISTANCE] += distance;
        sums[CLS] += first;
        sums[SEP] += last;
    }
}

/* Count what lies more than six standard deviations from the mean of one sentence's state. */
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
