// What a device does with its update after training, at the speed of memory: add what it remembers,
// find the largest entries, round them to levels, remember what was not sent.
//
// Called through ctypes. Indices are checked here, sizes by the caller. Every result is that of the
// plain reading beside the caller: bit for bit, but for the last digit of a quantiser's norm.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

namespace airfeel {
namespace {

enum Status { DONE = 0, NO_MEMORY = 1, OUT_OF_RANGE = 2 };

// A magnitude as an integer that grows with it. 0 is left for entries that take no part.
template <class T> struct Integer;
template <> struct Integer<float> { using Type = uint32_t; };
template <> struct Integer<double> { using Type = uint64_t; };
template <class T> using Key = typename Integer<T>::Type;

template <class T> Key<T> key_of(T x) {
    constexpr Key<T> sign = Key<T>(1) << (8 * sizeof(T) - 1);
    Key<T> bits;
    std::memcpy(&bits, &x, sizeof x);
    return (bits & ~sign) + 1;
}

// How many keys have each value of the 11 bits from `shift` on.
constexpr int WIDTH = 11;
constexpr int64_t BINS = int64_t(1) << WIDTH;

template <class K> int64_t digit(K key, int shift) { return int64_t(key >> shift) & (BINS - 1); }

struct Histogram {
    int64_t count[BINS];

    template <class K> Histogram(const K* key, int64_t n, int64_t stride, int shift) {
        uint32_t table[4][BINS] = {};  // neighbours often share a bin: four tables do not wait
        int64_t turn = 0;
        for (int64_t i = 0; i < n; i += stride) ++table[turn++ & 3][digit(key[i], shift)];
        for (int64_t b = 0; b < BINS; ++b)
            count[b] = int64_t(table[0][b]) + table[1][b] + table[2][b] + table[3][b];
    }

    // The highest bin that holds `wanted` keys together with those above it, 0 if there are not so
    // many; `above` is how many lie above it.
    int64_t reach(int64_t wanted, int64_t& above) const {
        above = 0;
        int64_t b = BINS - 1;
        for (; b > 0 && above + count[b] < wanted; --b) above += count[b];
        return b;
    }
};

// The k-th largest of n keys, and how many lie above it; by digits, the highest first. Only keys that
// share the digits found so far stay in `key`.
template <class K> K kth_largest(K* key, int64_t n, int64_t k, int64_t& above) {
    K found = 0;
    above = 0;
    for (int shift = 8 * sizeof(K) - WIDTH;; shift = shift > WIDTH ? shift - WIDTH : 0) {
        int64_t higher;
        const int64_t here = Histogram(key, n, 1, shift).reach(k - above, higher);
        int64_t left = 0;
        for (int64_t i = 0; i < n; ++i) {
            const K one = key[i];
            key[left] = one;
            left += digit(one, shift) == here;
        }
        found |= K(here) << shift;
        above += higher;
        n = left;
        if (shift == 0) return found;
    }
}

// A key that some more than k keys reach, judged by one key in 17; at least 1.
template <class K> K guess(const K* key, int64_t d, int64_t k) {
    constexpr int64_t stride = 17;
    constexpr int shift = 8 * sizeof(K) - 1 - WIDTH;  // the exponent, and some of the mantissa
    int64_t above;
    const int64_t bin = Histogram(key, d, stride, shift).reach(20 + (k + k / 5) / stride, above);
    return bin ? K(bin) << shift : K(1);
}

// A thread keeps its scratch, so that a device costs no allocation and no page faults.
template <class K> struct Scratch {
    int64_t size = 0;
    std::unique_ptr<K[]> key, race;
    std::unique_ptr<int64_t[]> place;

    void hold(int64_t d) {
        if (d <= size) return;
        size = 0;
        key.reset(new K[d]);
        race.reset(new K[d + 1]);
        place.reset(new int64_t[d + 1]);
        size = d;
    }

    // Places and keys of all that reach `least`, in index order.
    int64_t collect(int64_t d, K least) {
        const K* const from = key.get();
        int64_t* const where = place.get();
        int64_t n = 0;
        for (int64_t i = 0; i < d; ++i) {  // no branch: which ones reach it cannot be foreseen
            where[n] = i;
            n += from[i] >= least;
        }
        for (int64_t c = 0; c < n; ++c) race[c] = from[where[c]];
        return n;
    }
};

template <class T>
int top_k(const T* x, int64_t d, const int64_t* support, int64_t masked, int64_t k, int64_t* out) {
    thread_local Scratch<Key<T>> scratch;
    try {
        scratch.hold(d);
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    }
    Key<T>* const key = scratch.key.get();
    for (int64_t i = 0; i < d; ++i) key[i] = key_of(x[i]);
    for (int64_t j = 0; j < masked; ++j) {
        if (support[j] < 0 || support[j] >= d) return OUT_OF_RANGE;
        key[support[j]] = 0;
    }
    int64_t n = scratch.collect(d, guess(key, d, k));
    if (n < k) n = scratch.collect(d, 1);  // guessed too high
    if (n < k) return OUT_OF_RANGE;
    int64_t above;
    const Key<T> kth = kth_largest(scratch.race.get(), n, k, above);
    const int64_t* const place = scratch.place.get();
    int64_t ties = k - above, taken = 0;  // ties go to the lower index
    for (int64_t c = 0; taken < k; ++c) {
        const Key<T> one = key[place[c]];
        out[taken] = place[c];
        taken += (one > kth) | ((one == kth) & (ties > 0));
        ties -= one == kth;
    }
    return DONE;
}

// x = delta + memory; whether all of it is finite.
template <class T> bool add(const T* delta, const T* memory, int64_t d, T* x) {
    Key<T> largest = 0;
    for (int64_t i = 0; i < d; ++i) {
        x[i] = delta[i] + memory[i];
        largest = std::max(largest, key_of(x[i]));
    }
    return largest < key_of(std::numeric_limits<T>::infinity());
}

// memory = x − what was sent.
template <class T>
int keep(const T* x, int64_t d, const int64_t* support, const T* common, int64_t k,
         const int64_t* index, const T* value, int64_t l, T* memory) {
    std::memcpy(memory, x, size_t(d) * sizeof(T));
    bool inside = true;
    for (int64_t j = 0; j < k && (inside = support[j] >= 0 && support[j] < d); ++j)
        memory[support[j]] -= common[j];
    for (int64_t j = 0; inside && j < l && (inside = index[j] >= 0 && index[j] < d); ++j)
        memory[index[j]] -= value[j];
    return inside ? DONE : OUT_OF_RANGE;
}

// The norm of x, as its largest entry and the length in units of that: squares stay within range.
struct Norm {
    double peak = 0, length = 0;

    template <class T> Norm(const T* x, int64_t n) {
        for (int64_t i = 0; i < n; ++i) peak = std::max(peak, std::fabs(double(x[i])));
        if (peak == 0) peak = 1;
        constexpr int64_t lanes = 8;
        double sum[lanes] = {};
        for (int64_t i = 0; i < n; ++i) {
            const double unit = double(x[i]) / peak;
            sum[i % lanes] += unit * unit;
        }
        const double half = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        length = std::sqrt(half + ((sum[4] + sum[5]) + (sum[6] + sum[7])));
    }

    double value() const { return peak * length; }
};

// x in whole shares, `last` to its norm: rounded up where the die lies below the fraction, else down.
template <class T> void quantize(const T* x, int64_t n, double last, const double* die, T* value) {
    const Norm norm(x, n);
    const double factor = last / (norm.length > 0 ? norm.length : 1.0), whole = norm.value();
    for (int64_t i = 0; i < n; ++i) {
        const double size = std::fabs(double(x[i]) / norm.peak) * factor;
        const double exact = size < last ? size : last;  // rounding must not reach a level above it
        const double low = std::floor(exact);
        const double level = die[i] < exact - low ? low + 1.0 : low;
        value[i] = T((x[i] < 0 ? -level : level) / last * whole);
    }
}

}  // namespace
}  // namespace airfeel

#define EXPORTED extern "C" __attribute__((visibility("default")))

#define FOR_TYPE(T, NAME)                                                                             \
    EXPORTED int airfeel_top_k_##NAME(const T* x, int64_t d, const int64_t* support, int64_t masked, \
                                      int64_t k, int64_t* out) {                                      \
        return airfeel::top_k(x, d, support, masked, k, out);                                         \
    }                                                                                                 \
    EXPORTED int airfeel_add_##NAME(const T* delta, const T* memory, int64_t d, T* x) {               \
        return airfeel::add(delta, memory, d, x);                                                     \
    }                                                                                                 \
    EXPORTED int airfeel_keep_##NAME(const T* x, int64_t d, const int64_t* support, const T* common, \
                                     int64_t k, const int64_t* index, const T* value, int64_t l,      \
                                     T* memory) {                                                     \
        return airfeel::keep(x, d, support, common, k, index, value, l, memory);                      \
    }                                                                                                 \
    EXPORTED double airfeel_norm_##NAME(const T* x, int64_t n) { return airfeel::Norm(x, n).value(); } \
    EXPORTED void airfeel_quantize_##NAME(const T* x, int64_t n, double last, const double* die,      \
                                          T* value) {                                                 \
        airfeel::quantize(x, n, last, die, value);                                                    \
    }

FOR_TYPE(float, float32)
FOR_TYPE(double, float64)
