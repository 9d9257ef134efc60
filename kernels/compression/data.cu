// State vectors and random numbers by closed forms, each value by itself: data.py has the formulas.
typedef unsigned long long u64;

__device__ inline u64 mix(u64 x) {
    x += 0x9E3779B97F4A7C15ull;
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9ull;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

__device__ inline u64 random_bits(u64 key, u64 index) {
    return mix(key ^ mix(index));
}

// Cosine and sine of 2 pi share, share in [0, 1); multiples of a quarter are exact.
__device__ inline double2 turn(double share) {
    const int quarter = int(share * 4);
    double s, c;
    sincospi(2 * (share - quarter * 0.25), &s, &c);
    switch (quarter) {
    case 0:
        return make_double2(c, s);
    case 1:
        return make_double2(-s, c);
    case 2:
        return make_double2(-c, -s);
    default:
        return make_double2(s, -c);
    }
}

// out: 2^qubits pairs. kind: as KINDS in data.py.
extern "C" __global__ void fill(double2 *out, int kind, int qubits, u64 key, long long whole, double fraction) {
    const long long n = 1ll << qubits, stride = (long long)gridDim.x * blockDim.x;
    const double size = double(n);
    for (long long j = (long long)blockIdx.x * blockDim.x + threadIdx.x; j < n; j += stride) {
        double2 value = make_double2(0, 0);
        if (kind == 0) {
            value = turn(double((u64)whole * (u64)j & (u64)(n - 1)) / size);
            value.x /= sqrt(size);
            value.y /= sqrt(size);
        } else if (kind == 1) {
            const double d = (double(whole - j) + fraction) / size;
            const double magnitude = sinpi(fraction) / (size * sinpi(d));
            value = make_double2(magnitude * cospi(fraction - d), magnitude * sinpi(fraction - d));
        } else if (kind == 2) {
            value.x = j == 0 || j == n - 1 ? sqrt(0.5) : 0;
        } else if (kind == 5) {
            ((u64 *)&value)[0] = random_bits(key, 2 * j);
            ((u64 *)&value)[1] = random_bits(key, 2 * j + 1);
        } else {
            const double u = (double(random_bits(key, 2 * j) >> 11) + 0.5) * 0x1p-53;
            value = turn(double(random_bits(key, 2 * j + 1) >> 11) * 0x1p-53);
            const double radius = sqrt(-2 * log(u)) * (kind == 4 ? 1 : sqrt(0.5 / size));
            value.x *= radius;
            value.y *= radius;
        }
        out[j] = value;
    }
}
