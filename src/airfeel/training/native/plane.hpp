// How an image lies in memory: row by row, the channels of a pixel side by side.
#pragma once

#include "simd.hpp"

namespace airfeel {

// A layer's input or output for one sample. `stride` ≥ channels floats belong to a pixel, so that
// pixels start on vector boundaries; a frame of `halo` zero pixels is the padding of the
// convolution that reads it, and `below` and `right` rows and columns more of zeros fill its tiles.
struct Plane {
    int channels, height, width, stride, halo, below = 0, right = 0;

    ptrdiff_t row() const { return ptrdiff_t{width + 2 * halo + right} * stride; }
    ptrdiff_t size() const { return (height + 2 * halo + below) * row(); }
    ptrdiff_t at(int y, int x) const { return (y + halo) * row() + ptrdiff_t{x + halo} * stride; }
    int vectors() const { return stride / lanes; }
};

// One pixel of a 2×2 max-pool: largest of four, and which (0…3 in reading order, the first among
// equals). Behind a ReLU a maximum of zero passes no gradient: its choice is `nobody`.
constexpr int32_t nobody = 4;

INLINE Vec larger(Vec best, Vec other) {  // a NaN wins, as in PyTorch
    return (other > best) | (other != other) ? other : best;
}

INLINE void pool_pixel(const float* const (&corner)[4], int vectors, bool relu, float* out,
                       int32_t* choice) {
    for (int v = 0; v < vectors; ++v) {
        Vec best = load(corner[0] + v * lanes);
        IntVec who = {};
        UNROLL for (int i = 1; i < 4; ++i) {
            const Vec other = load(corner[i] + v * lanes);
            const IntVec larger = (other > best) | (other != other);  // a NaN wins, as in PyTorch
            best = larger ? other : best;
            who = larger ? IntVec{} + i : who;
        }
        if (relu) {
            best = positive(best);
            who = best > Vec{} ? who : IntVec{} + nobody;
        }
        store(out + v * lanes, best);
        store(choice + v * lanes, who);
    }
}

// A row of `width` pooled pixels from two rows of pixels `stride` floats apart.
inline void pool_row(const float* upper, const float* lower, ptrdiff_t stride, int width,
                     int vectors, bool relu, float* out, int32_t* choice) {
    for (int x = 0; x < width; ++x) {
        const ptrdiff_t left = 2 * x * stride, right = left + stride, at = x * stride;
        pool_pixel({upper + left, upper + right, lower + left, lower + right}, vectors, relu,
                   out + at, choice + at);
    }
}

}  // namespace airfeel
