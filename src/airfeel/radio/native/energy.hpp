// The energy of segments; the same in NumPy is `segment_energy` in air.py.
#pragma once

#include <cmath>
#include <cstdint>

namespace airfeel {

// sum + x², rounded once where the processor can.
inline double add_square(double sum, double x) {
#if defined(FP_FAST_FMA)
    return std::fma(x, x, sum);
#else
    return sum + x * x;
#endif
}

// Σ x² in float64: sums side by side, which do not wait for each other.
template <class T>
double energy_of(const T* x, int64_t count) {
    constexpr int64_t lanes = 32;
    double sum[lanes] = {};
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        for (int64_t l = 0; l < lanes; ++l) sum[l] = add_square(sum[l], double(x[i + l]));
    for (; i < count; ++i) sum[i % lanes] = add_square(sum[i % lanes], double(x[i]));
    for (int64_t half = lanes / 2; half > 0; half /= 2)
        for (int64_t l = 0; l < half; ++l) sum[l] += sum[l + half];
    return sum[0];
}

// The energy of each of `parts` segments of x, of equal length but for one more at the first ones.
template <class T>
void segment_energy(const T* x, int64_t count, int64_t parts, double* energy) {
    for (int64_t p = 0; p < parts; ++p) {
        const int64_t size = count / parts + (p < count % parts);
        energy[p] = energy_of(x, size);
        x += size;
    }
}

}  // namespace airfeel
