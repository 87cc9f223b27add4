// What a device does with its update after training, at the speed of memory: add what it remembers,
// find the largest entries, round them to levels, remember what was not sent; and the base station's
// sum of what all devices named themselves.
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

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace airfeel {
namespace {

enum Status { DONE = 0, NO_MEMORY = 1, OUT_OF_RANGE = 2 };

bool inside(int64_t place, int64_t size) { return uint64_t(place) < uint64_t(size); }

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

template <class T> T value_of(Key<T> key) {
    if (key == 0) return 0;
    T x;
    key -= 1;
    std::memcpy(&x, &key, sizeof x);
    return x;
}

// The entries of a vector, of which some take no part.
template <class T> struct Entries {
    const T* x;
    const uint8_t* masked;  // 1 or 0 for each
    int64_t size;

    Key<T> key(int64_t i) const { return key_of(x[i]) & (Key<T>(masked[i]) - 1); }
};

// How many keys have each value of the 11 bits from `shift` on.
constexpr int WIDTH = 11;
constexpr int64_t BINS = int64_t(1) << WIDTH;

template <class K> int64_t digit(K key, int shift) { return int64_t(key >> shift) & (BINS - 1); }

struct Histogram {
    int64_t count[BINS];

    template <class KeyAt> Histogram(KeyAt key, int64_t n, int64_t stride, int shift) {
        uint32_t table[4][BINS] = {};  // neighbours often share a bin: four tables do not wait
        int64_t turn = 0;
        for (int64_t i = 0; i < n; i += stride) ++table[turn++ & 3][digit(key(i), shift)];
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
        auto at = [key](int64_t i) { return key[i]; };
        const int64_t here = Histogram(at, n, 1, shift).reach(k - above, higher);
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

// A key slightly below the k-th largest, estimated from every 17th key; at least 1. Why these numbers:
// see masks.py. No result depends on them.
constexpr int64_t STRIDE = 17, SPARE = 20;
inline int64_t with_margin(int64_t k) { return k + k / 5; }

template <class T> Key<T> guess(const Entries<T>& entries, int64_t k) {
    constexpr int shift = 8 * sizeof(T) - 1 - WIDTH;  // the exponent, and some of the mantissa
    auto at = [&](int64_t i) { return entries.key(i); };
    int64_t above;
    const int64_t wanted = SPARE + with_margin(k) / STRIDE;
    const int64_t bin = Histogram(at, entries.size, STRIDE, shift).reach(wanted, above);
    return bin ? Key<T>(bin) << shift : Key<T>(1);
}

// Places of all entries from `first` on whose keys reach `least`, in index order; returns how many.
template <class T>
int64_t collect(const Entries<T>& entries, int64_t first, Key<T> least, uint32_t* place) {
    int64_t n = 0;
    for (int64_t i = first; i < entries.size; ++i) {  // no branch: which ones cannot be foreseen
        place[n] = uint32_t(i);
        n += entries.key(i) >= least;
    }
    return n;
}

#if defined(__AVX512F__)
// The same, sixteen at a time; there must be room for as many behind the last place.
inline int64_t collect(const Entries<float>& entries, uint32_t least, uint32_t* place) {
    const __m512i sixteen = _mm512_set1_epi32(16), one = _mm512_set1_epi32(1);
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff), bound = _mm512_set1_epi32(int(least));
    __m512i here = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    int64_t n = 0, i = 0;
    for (; i + 16 <= entries.size; i += 16, here = _mm512_add_epi32(here, sixteen)) {
        const __m512i bits = _mm512_and_epi32(_mm512_loadu_si512(entries.x + i), magnitude);
        const __m128i* const bytes = reinterpret_cast<const __m128i*>(entries.masked + i);
        const __m512i masked = _mm512_cvtepu8_epi32(_mm_loadu_si128(bytes));
        const __mmask16 taking_part = _mm512_testn_epi32_mask(masked, masked);
        const __mmask16 reach =
            _mm512_mask_cmpge_epu32_mask(taking_part, _mm512_add_epi32(bits, one), bound);
        _mm512_storeu_si512(place + n, _mm512_maskz_compress_epi32(reach, here));
        n += __builtin_popcount(reach);
    }
    return n + collect(entries, i, least, place + n);
}
#endif

template <class T> int64_t collect(const Entries<T>& entries, Key<T> least, uint32_t* place) {
    return collect(entries, 0, least, place);
}

// A thread keeps its scratch, so that a device costs no allocation and no page faults.
template <class T> struct Scratch {
    int64_t size = 0;
    std::unique_ptr<uint8_t[]> masked;
    std::unique_ptr<Key<T>[]> race;
    std::unique_ptr<uint32_t[]> place;

    void hold(int64_t d) {
        if (d <= size) return;
        size = 0;
        masked.reset(new uint8_t[d]);
        race.reset(new Key<T>[d]);
        place.reset(new uint32_t[d + 16]);
        size = d;
    }
};

// The places of the k largest entries, in index order; false where fewer take part.
template <class T> bool largest(const Entries<T>& entries, int64_t k, Scratch<T>& scratch, int64_t* out) {
    const T* const x = entries.x;
    Key<T>* const race = scratch.race.get();
    uint32_t* const place = scratch.place.get();
    int64_t n = collect(entries, guess(entries, k), place);
    if (n < k) n = collect(entries, Key<T>(1), place);  // guessed too high
    if (n < k) return false;
    for (int64_t c = 0; c < n; ++c) race[c] = key_of(x[place[c]]);
    int64_t above;
    const Key<T> kth = kth_largest(race, n, k, above);
    int64_t ties = k - above, taken = 0;  // ties go to the lower index
    for (int64_t c = 0; taken < k; ++c) {
        const Key<T> one = key_of(x[place[c]]);
        out[taken] = place[c];
        taken += (one > kth) | ((one == kth) & (ties > 0));
        ties -= one == kth;
    }
    return true;
}

// Of each row of x [rows][d], outside of `support`: out [rows][k].
template <class T>
int top_k(const T* x, int64_t rows, int64_t d, const int64_t* support, int64_t masked, int64_t k,
          int64_t* out) {
    thread_local Scratch<T> scratch;
    try {
        scratch.hold(d);
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    }
    uint8_t* const mask = scratch.masked.get();
    std::memset(mask, 0, size_t(d));
    for (int64_t j = 0; j < masked; ++j) {
        if (!inside(support[j], d)) return OUT_OF_RANGE;
        mask[support[j]] = 1;
    }
    for (int64_t r = 0; r < rows; ++r)
        if (!largest(Entries<T>{x + r * d, mask, d}, k, scratch, out + r * k)) return OUT_OF_RANGE;
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

// The same for rows of delta and x and places in the memory. A row that is not finite is left with
// the memory alone.
template <class T>
void add_rows(const T* delta, const T* memory, const int64_t* place, int64_t rows, int64_t d, T* x,
              uint8_t* finite) {
    for (int64_t r = 0; r < rows; ++r, delta += d, x += d) {
        const T* const known = memory + place[r] * d;
        finite[r] = add(delta, known, d, x);
        if (!finite[r]) std::copy_n(known, d, x);
    }
}

// memory −= value at some places; whether they lie inside.
template <class T>
bool subtract(T* memory, int64_t d, const int64_t* place, const T* value, int64_t count) {
    for (int64_t j = 0; j < count; ++j) {
        if (!inside(place[j], d)) return false;
        memory[place[j]] -= value[j];
    }
    return true;
}

// memory[place] = x[row] − what was sent, for some rows; x itself may be the memory. What row[r] sent
// is words[r] of common and value.
template <class T>
int keep(const T* x, int64_t d, const int64_t* support, const T* common, int64_t k,
         const int64_t* index, const T* value, int64_t l, const int64_t* row, const int64_t* words,
         const int64_t* place, int64_t rows, T* memory) {
    for (int64_t r = 0; r < rows; ++r) {
        const T* const from = x + row[r] * d;
        T* const to = memory + place[r] * d;
        if (to != from) std::copy_n(from, d, to);
        if (!subtract(to, d, support, common + words[r] * k, k)) return OUT_OF_RANGE;
        if (!subtract(to, d, index + words[r] * l, value + words[r] * l, l)) return OUT_OF_RANGE;
    }
    return DONE;
}

// The norm of x, as its largest entry and the length in units of that: squares stay within range.
struct Norm {
    double peak = 0, length = 0;

    template <class T> Norm(const T* x, int64_t n) {
        constexpr int64_t lanes = 8;
        Key<T> largest = 0;
        for (int64_t i = 0; i < n; ++i) largest = std::max(largest, key_of(x[i]));
        peak = double(value_of<T>(largest));
        if (peak == 0) peak = 1;
        double sum[lanes] = {};
        auto add = [&](int64_t i, int64_t l) {
            const double unit = double(x[i]) / peak;
            sum[l] += unit * unit;
        };
        int64_t i = 0;
        for (; i + lanes <= n; i += lanes)
            for (int64_t l = 0; l < lanes; ++l) add(i + l, l);
        for (; i < n; ++i) add(i, i % lanes);
        const double half = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        length = std::sqrt(half + ((sum[4] + sum[5]) + (sum[6] + sum[7])));
    }

    double value() const { return peak * length; }
};

// Stochastically rounds |x|/‖x‖ to one of `last` levels above zero: up where the die lies below the
// fraction of a level that is left, else down.
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

// total[index] += value, row by row: a sum is made in the order of the rows.
template <class T>
int scatter(const T* value, const int64_t* index, int64_t count, T* total, int64_t d) {
    for (int64_t i = 0; i < count; ++i) {
        if (!inside(index[i], d)) return OUT_OF_RANGE;
        total[index[i]] += value[i];
    }
    return DONE;
}

}  // namespace
}  // namespace airfeel

#define EXPORTED extern "C" __attribute__((visibility("default")))

#define FOR_TYPE(T, NAME)                                                                             \
    EXPORTED int airfeel_top_k_##NAME(const T* x, int64_t rows, int64_t d, const int64_t* support,    \
                                      int64_t masked, int64_t k, int64_t* out) {                      \
        return airfeel::top_k(x, rows, d, support, masked, k, out);                                   \
    }                                                                                                 \
    EXPORTED void airfeel_add_##NAME(const T* delta, const T* memory, const int64_t* place,           \
                                     int64_t rows, int64_t d, T* x, uint8_t* finite) {                \
        airfeel::add_rows(delta, memory, place, rows, d, x, finite);                                  \
    }                                                                                                 \
    EXPORTED int airfeel_keep_##NAME(const T* x, int64_t d, const int64_t* support, const T* common, \
                                     int64_t k, const int64_t* index, const T* value, int64_t l,      \
                                     const int64_t* row, const int64_t* words,                        \
                                     const int64_t* place, int64_t rows, T* memory) {                 \
        return airfeel::keep(x, d, support, common, k, index, value, l, row, words, place, rows,      \
                             memory);                                                                 \
    }                                                                                                 \
    EXPORTED int airfeel_scatter_##NAME(const T* value, const int64_t* index, int64_t count,          \
                                        T* total, int64_t d) {                                        \
        return airfeel::scatter(value, index, count, total, d);                                       \
    }                                                                                                 \
    EXPORTED double airfeel_norm_##NAME(const T* x, int64_t n) { return airfeel::Norm(x, n).value(); } \
    EXPORTED void airfeel_quantize_##NAME(const T* x, int64_t rows, int64_t n, double last,           \
                                          const double* die, int64_t dice, T* value) {                \
        for (int64_t r = 0; r < rows; ++r)                                                            \
            airfeel::quantize(x + r * n, n, last, die + r * dice, value + r * n);                     \
    }

FOR_TYPE(float, float32)
FOR_TYPE(double, float64)
