// The stored samples, and how a network sees them.
#pragma once

#include "plane.hpp"

namespace airfeel {

// [S][channels][height][width], bytes or floats; a model sees (x − shift)·scale.
struct Samples {
    const void* x;
    bool bytes;
    const int64_t* label;
    const float *shift, *scale;  // for each channel
    int channels, pixels;

    // A sample as an image of `plane`, or, if flat, as it is stored.
    void fetch(int64_t sample, const Plane& plane, bool flat, float* to) const {
        const ptrdiff_t at = sample * channels * pixels;
        if (bytes)
            fetch(static_cast<const uint8_t*>(x) + at, plane, flat, to);
        else
            fetch(static_cast<const float*>(x) + at, plane, flat, to);
    }

   private:
    // Along the memory that it goes to: channel after channel, or pixel after pixel.
    template <class T>
    void fetch(const T* from, const Plane& plane, bool flat, float* to) const {
        auto seen = [&](int c, int i) {
            return (float(from[c * pixels + i]) - shift[c]) * scale[c];
        };
        if (flat) {
            for (int c = 0; c < channels; ++c, to += pixels)
                for (int i = 0; i < pixels; ++i) to[i] = seen(c, i);
            return;
        }
        for (int y = 0, i = 0; y < plane.height; ++y) {
            float* pixel = to + plane.at(y, 0);
            for (const int end = i + plane.width; i < end; ++i, pixel += plane.stride)
                for (int c = 0; c < channels; ++c) pixel[c] = seen(c, i);
        }
    }
};

}  // namespace airfeel
