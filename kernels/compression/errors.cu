// Compares decompressed values with the array, all of them where they lie: out of bounds or not, largest errors, sums of
// squares and products (errors.py says which). It shares no code with the codecs.
typedef unsigned long long u64;

constexpr int THREADS = 256;

// What one thread, then one block found.
struct Found {
    long long wrong, first;
    double relative, absolute, aa, dd, re, im;

    __device__ void add(const Found &other) {
        wrong += other.wrong;
        first = other.first >= 0 && (first < 0 || other.first < first) ? other.first : first;
        relative = fmax(relative, other.relative);
        absolute = fmax(absolute, other.absolute);
        aa += other.aa;
        dd += other.dd;
        re += other.re;
        im += other.im;
    }
};

__device__ inline void write(const Found &mine, long long *places, double *sums) {
    __shared__ Found all[THREADS];
    all[threadIdx.x] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half; half >>= 1) {
        if (threadIdx.x < half) {
            all[threadIdx.x].add(all[threadIdx.x + half]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        const Found &f = all[0];
        const double row[6] = {f.relative, f.absolute, f.aa, f.dd, f.re, f.im};
        places[2 * blockIdx.x] = f.wrong;
        places[2 * blockIdx.x + 1] = f.first;
        for (int i = 0; i < 6; i++) {
            sums[6 * blockIdx.x + i] = row[i];
        }
    }
}

// kept: mantissa bits that bound the relative error by 2^-(kept + 1), -1 for no bound, but NaN stays NaN and infinity
// infinity; exact: every bit must agree. bound: of the absolute error, in the place of kept where it is not 0; -0 must
// agree to the bit then.
template <class Float, class Bits>
__device__ inline void compare(long long *places, double *sums, const Float *a, const Float *b, long long count, int kept,
                               int exact, double tiny, int components, double bound) {
    const double scale = ldexp(1.0, kept + 1);
    Found mine = {0, -1};
    const long long stride = (long long)gridDim.x * THREADS;
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < count; i += stride) {
        const double x = a[i], y = b[i];
        const bool same = ((const Bits *)a)[i] == ((const Bits *)b)[i];
        // Where x and y differ by a factor of at most two, their difference has no rounding error.
        const double d = same ? 0 : y - x;
        bool good = same || (kept < 0 && ((isfinite(x) && isfinite(y)) || (isnan(x) && isnan(y))));
        if (bound > 0) {
            good |= isfinite(x) && fabs(d) <= bound && !(x == 0 && signbit(x));
        } else {
            good |= !exact && isfinite(x) && fabs(x) >= tiny && fabs(d) * scale <= fabs(x) && 2 * fabs(y) >= fabs(x);
        }
        if (!good) {
            mine.wrong++;
            mine.first = mine.first < 0 ? i : mine.first;
        }
        if (isfinite(x) && isfinite(y)) {
            mine.absolute = fmax(mine.absolute, fabs(d));
            mine.relative = x != 0 ? fmax(mine.relative, fabs(d) / fabs(x)) : mine.relative;
            mine.aa += x * x;
            mine.dd += d * d;
            mine.re += x * d;
            if (components == 2) {
                mine.im += (i & 1 ? -x : x) * (double(b[i ^ 1]) - double(a[i ^ 1]));
            }
        }
    }
    write(mine, places, sums);
}

extern "C" __global__ void __launch_bounds__(THREADS)
compare_float64(long long *places, double *sums, const double *a, const double *b, long long count, int kept, int exact,
                double tiny, int components, double bound) {
    compare<double, u64>(places, sums, a, b, count, kept, exact, tiny, components, bound);
}

extern "C" __global__ void __launch_bounds__(THREADS)
compare_float32(long long *places, double *sums, const float *a, const float *b, long long count, int kept, int exact,
                double tiny, int components, double bound) {
    compare<float, unsigned>(places, sums, a, b, count, kept, exact, tiny, components, bound);
}

// Integers, as bytes: every one must agree; `first` is the place of a value of `size` bytes.
extern "C" __global__ void __launch_bounds__(THREADS)
compare_integers(long long *places, double *sums, const unsigned char *a, const unsigned char *b, long long count, int size) {
    Found mine = {0, -1};
    const long long stride = (long long)gridDim.x * THREADS;
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < count; i += stride) {
        bool same = true;
        for (int k = 0; k < size; k++) {
            same &= a[i * size + k] == b[i * size + k];
        }
        if (!same) {
            mine.wrong++;
            mine.first = mine.first < 0 ? i : mine.first;
        }
    }
    write(mine, places, sums);
}
