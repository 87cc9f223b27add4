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

#if defined(__SSE__)
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
