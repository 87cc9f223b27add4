// The machine seen from the kernel: a vector of `lanes` floats, and how many of them fit in
// registers.
//
// Compiler vector extensions (GCC, Clang) stand for AVX-512, AVX, SSE and NEON alike.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__SSE__)
#include <xmmintrin.h>
#endif

#define INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

namespace airfeel {

#if defined(__AVX512F__)
constexpr int lanes = 16, registers = 32;
#elif defined(__AVX__)
constexpr int lanes = 8, registers = 16;
#elif defined(__aarch64__)
constexpr int lanes = 4, registers = 32;
#else
constexpr int lanes = 4, registers = 16;
#endif

using Vec = float __attribute__((vector_size(4 * lanes)));
using IntVec = int32_t __attribute__((vector_size(4 * lanes)));
using AnyVec = float __attribute__((vector_size(4 * lanes), aligned(4), may_alias));
using AnyIntVec = int32_t __attribute__((vector_size(4 * lanes), aligned(4), may_alias));

INLINE Vec load(const float* p) { return *reinterpret_cast<const AnyVec*>(p); }
INLINE IntVec load(const int32_t* p) { return *reinterpret_cast<const AnyIntVec*>(p); }
INLINE void store(float* p, Vec v) { *reinterpret_cast<AnyVec*>(p) = v; }
INLINE void store(int32_t* p, IntVec v) { *reinterpret_cast<AnyIntVec*>(p) = v; }
INLINE Vec spread(float s) { return s - Vec{}; }  // s − 0 is s to the bit: a mere broadcast
INLINE Vec positive(Vec v) { return Vec{} > v ? Vec{} : v; }  // max(0, v); a NaN stays a NaN

// rows[i][j] = rows[j][i].
#if defined(__AVX512F__)  // pairs, fours, and then quarters of vectors change places
INLINE void transpose(Vec (&rows)[lanes]) {
    __m512 pair[lanes], four[lanes];
    auto both = [](__m512 a, __m512 b, bool high) {
        const __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
        return _mm512_castpd_ps(high ? _mm512_unpackhi_pd(x, y) : _mm512_unpacklo_pd(x, y));
    };
    UNROLL for (int i = 0; i < lanes; i += 2) {
        pair[i] = _mm512_unpacklo_ps(__m512(rows[i]), __m512(rows[i + 1]));
        pair[i + 1] = _mm512_unpackhi_ps(__m512(rows[i]), __m512(rows[i + 1]));
    }
    UNROLL for (int i = 0; i < lanes; i += 4) UNROLL for (int j = 0; j < 4; ++j)
        four[i + j] = both(pair[i + j / 2], pair[i + 2 + j / 2], j % 2);
    UNROLL for (int j = 0; j < 4; ++j) {
        const __m512 a = _mm512_shuffle_f32x4(four[j], four[4 + j], 0x88);
        const __m512 b = _mm512_shuffle_f32x4(four[8 + j], four[12 + j], 0x88);
        const __m512 c = _mm512_shuffle_f32x4(four[j], four[4 + j], 0xdd);
        const __m512 d = _mm512_shuffle_f32x4(four[8 + j], four[12 + j], 0xdd);
        rows[j] = Vec(_mm512_shuffle_f32x4(a, b, 0x88));
        rows[4 + j] = Vec(_mm512_shuffle_f32x4(c, d, 0x88));
        rows[8 + j] = Vec(_mm512_shuffle_f32x4(a, b, 0xdd));
        rows[12 + j] = Vec(_mm512_shuffle_f32x4(c, d, 0xdd));
    }
}
#elif defined(__AVX__)  // likewise, with halves
INLINE void transpose(Vec (&rows)[lanes]) {
    __m256 pair[lanes], four[lanes];
    auto both = [](__m256 a, __m256 b, bool high) {
        const __m256d x = _mm256_castps_pd(a), y = _mm256_castps_pd(b);
        return _mm256_castpd_ps(high ? _mm256_unpackhi_pd(x, y) : _mm256_unpacklo_pd(x, y));
    };
    UNROLL for (int i = 0; i < lanes; i += 2) {
        pair[i] = _mm256_unpacklo_ps(__m256(rows[i]), __m256(rows[i + 1]));
        pair[i + 1] = _mm256_unpackhi_ps(__m256(rows[i]), __m256(rows[i + 1]));
    }
    UNROLL for (int i = 0; i < lanes; i += 4) UNROLL for (int j = 0; j < 4; ++j)
        four[i + j] = both(pair[i + j / 2], pair[i + 2 + j / 2], j % 2);
    UNROLL for (int j = 0; j < 4; ++j) {
        rows[j] = Vec(_mm256_permute2f128_ps(four[j], four[4 + j], 0x20));
        rows[4 + j] = Vec(_mm256_permute2f128_ps(four[j], four[4 + j], 0x31));
    }
}
#else
INLINE void transpose(Vec (&rows)[lanes]) {
    for (int i = 0; i < lanes; ++i)
        for (int j = 0; j < i; ++j) {
            const float one = rows[i][j];
            rows[i][j] = rows[j][i];
            rows[j][i] = one;
        }
}
#endif

constexpr ptrdiff_t rounded_up(ptrdiff_t n, ptrdiff_t unit) { return (n + unit - 1) / unit * unit; }
constexpr ptrdiff_t padded(ptrdiff_t channels) { return rounded_up(channels, lanes); }

// An array that starts on a cache line, zero at first. Never empty in memory, so that it has an
// address.
template <class T>
class Buffer {
   public:
    Buffer() = default;
    explicit Buffer(ptrdiff_t count) : count_(count) {
        void* memory = nullptr;
        const size_t bytes = std::max<size_t>(count * sizeof(T), 1);
        if (posix_memalign(&memory, 64, bytes)) throw std::bad_alloc();
        data_.reset(static_cast<T*>(memory));
        clear();
    }
    void clear() { std::fill_n(data_.get(), count_, T{}); }
    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    ptrdiff_t size() const { return count_; }
    T& operator[](ptrdiff_t i) { return data_.get()[i]; }
    const T& operator[](ptrdiff_t i) const { return data_.get()[i]; }

   private:
    struct Free {
        void operator()(T* p) const { free(p); }
    };
    std::unique_ptr<T, Free> data_;
    ptrdiff_t count_ = 0;
};

// Subnormal numbers count as zero while this object lives: they cost a hundred cycles each and
// carry nothing. The caller's mode comes back at the end.
class FlushSubnormals {
   public:
#if defined(__SSE__)
    FlushSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
    ~FlushSubnormals() { _mm_setcsr(before_); }

   private:
    unsigned before_;
#elif defined(__aarch64__)
    FlushSubnormals() {
        asm volatile("mrs %0, fpcr" : "=r"(before_));
        asm volatile("msr fpcr, %0" : : "r"(before_ | (uint64_t{1} << 24)));
    }
    ~FlushSubnormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }

   private:
    uint64_t before_;
#else
    FlushSubnormals() {}
    ~FlushSubnormals() {}
#endif
};

}  // namespace airfeel
