// The steps of Sun et al. 2022, Algorithm 2, called through ctypes: the bottleneck value, greedy
// completion, water-filling. What matching.py and power.py say in NumPy is done here with the same
// operations in the same order, so that every bit of the result is the same; to that end it is
// compiled with -ffp-contract=off; so is the sum of what devices send. And the energy of segments,
// as air.py has it, but for the order of its sums and the rounding of their products.
//
// Shapes have been checked by the caller; owners and values are checked here.

#include <algorithm>
#include <cmath>
#include <new>

#include "energy.hpp"
#include "matching.hpp"
#include "superpose.hpp"
#include "water.hpp"

namespace airfeel {
namespace {

enum Status { DONE = 0, NO_MEMORY = 1, REFUSED = 2 };

// Whether every owner is a device or nobody.
bool are_owners(const int64_t* owner, int64_t columns, int64_t devices) {
    return std::all_of(owner, owner + columns,
                       [=](int64_t n) { return nobody <= n && n < devices; });
}

// Whether all values are finite.
bool are_finite(const double* values, int64_t count) {
    bool fine = true;
    for (int64_t k = 0; k < count; ++k) fine &= std::fabs(values[k]) < infinity;
    return fine;
}

// Whether all values are at least 0, and the largest of them.
bool not_negative(const double* values, int64_t count, double& largest) {
    bool fine = true;
    for (int64_t k = 0; k < count; ++k) {
        fine &= values[k] >= 0.0;
        largest = values[k] > largest ? values[k] : largest;
    }
    return fine;
}

template <class Work>
Status status_of(const Work& work) {
    try {
        work();
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    }
    return DONE;
}

}  // namespace
}  // namespace airfeel

#define EXPORTED extern "C" __attribute__((visibility("default")))

// 1 if no value is below zero, infinite or not a number, nor the noise zero, nor any ratio of signal
// to noise infinite; else 0. Written so that a NaN fails.
EXPORTED int airfeel_legal(const double* power, const double* gain2, const double* bits, int64_t n,
                           int64_t m, double noise) {
    using namespace airfeel;
    double strongest = 0.0, best = 0.0, most = 0.0;
    return not_negative(power, n, strongest) && not_negative(gain2, n * m, best)
        && not_negative(bits, n, most) && noise > 0.0 && noise < infinity
        && strongest < infinity && best < infinity && most < infinity
        && strongest * best / noise < infinity;
}

// allowed [n][m]: rate where it reaches the largest threshold whose edges (rate ≥ threshold) hold
// a matching of all rows, −∞ elsewhere; n ≤ m. Refuses rates that are not finite.
EXPORTED int airfeel_bottleneck(const double* rate, int64_t n, int64_t m, double* allowed) {
    using namespace airfeel;
    if (!are_finite(rate, n * m)) return REFUSED;
    return status_of([=] {
        const double value = Bottleneck({rate, n, m}).value();
        for (int64_t k = 0; k < n * m; ++k) allowed[k] = rate[k] >= value ? rate[k] : -infinity;
    });
}

// owner [m]: −1 is replaced by who takes the sub-channel, where somebody does. Refuses other owners
// than devices, and bits that are not above zero.
EXPORTED int airfeel_complete(const double* snr, const double* bits, int64_t n, int64_t m,
                              int64_t* owner) {
    using namespace airfeel;
    const auto positive = [](double b) { return b > 0.0; };
    if (!are_owners(owner, m, n) || !std::all_of(bits, bits + n, positive)) return REFUSED;
    return status_of([=] { Greedy({snr, n, m}, bits, owner).complete(); });
}

// filled [n][m]: zero at first, receives the power of each device on each sub-channel it owns.
// Refuses other owners than devices and −1.
EXPORTED int airfeel_fill(const double* power, const double* gain2, int64_t n, int64_t m,
                          double noise, const int64_t* owner, double* filled) {
    using namespace airfeel;
    if (!are_owners(owner, m, n)) return REFUSED;
    return status_of([=] { fill_all(power, {gain2, n, m}, noise, owner, filled); });
}

EXPORTED void airfeel_energy_float32(const float* x, int64_t rows, int64_t count, int64_t parts,
                                    double* energy) {
    for (int64_t r = 0; r < rows; ++r)
        airfeel::segment_energy(x + r * count, count, parts, energy + r * parts);
}

EXPORTED void airfeel_energy_float64(const double* x, int64_t rows, int64_t count, int64_t parts,
                                    double* energy) {
    for (int64_t r = 0; r < rows; ++r)
        airfeel::segment_energy(x + r * count, count, parts, energy + r * parts);
}

EXPORTED void airfeel_superpose_float32(const float* x, int64_t count, const float* arriving,
                                       const int64_t* size, int64_t parts, const int64_t* row,
                                       int64_t rows, float* total) {
    airfeel::superpose(x, count, arriving, size, parts, row, rows, total);
}

EXPORTED void airfeel_superpose_float64(const double* x, int64_t count, const double* arriving,
                                       const int64_t* size, int64_t parts, const int64_t* row,
                                       int64_t rows, double* total) {
    airfeel::superpose(x, count, arriving, size, parts, row, rows, total);
}
