// The stored samples, and how a network sees them.
#pragma once

#include "plane.hpp"

namespace airfeel {

// How a sample is augmented; the fields and their order are those of augment.py. The pixel at (y, x)
// comes from (y + down, x' + right), x' = width − 1 − x if flipped. Black (0 as it is stored) comes
// from outside of the image, and in a box of pixels.
struct Move {
    int32_t down = 0, right = 0, flip = 0;
    int32_t box_top = 0, box_left = 0, box_bottom = 0, box_right = 0;
};

// [S][channels][height][width], bytes or floats; a model sees (x − shift)·scale.
struct Samples {
    const void* x;
    bool bytes;
    const int64_t* label;
    const float *shift, *scale;  // for each channel
    int channels, height, width;

    // A sample as an image of `plane`, or, if flat, as it is stored; augmented unless move is null.
    void fetch(int64_t sample, const Plane& plane, bool flat, const Move* move, float* to) const {
        const ptrdiff_t at = sample * channels * height * width;
        if (bytes)
            fetch(static_cast<const uint8_t*>(x) + at, plane, flat, move, to);
        else
            fetch(static_cast<const float*>(x) + at, plane, flat, move, to);
    }

   private:
    template <class T>
    void fetch(const T* from, const Plane& plane, bool flat, const Move* move, float* to) const {
        if (!move)
            fetch_plain(from, plane, flat, to);
        else if (!flat)
            fetch_moved(from, *move, 1, plane.stride, plane.row(), to + plane.at(0, 0));
        else
            fetch_moved(from, *move, ptrdiff_t{height} * width, 1, width, to);
    }

    // Along the memory that it goes to: channel after channel, or pixel after pixel.
    template <class T>
    void fetch_plain(const T* from, const Plane& plane, bool flat, float* to) const {
        const int pixels = height * width;
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

    // Row after row: black, the pixels that lie within the image, from left to right or back, and
    // black again; at last the box. to_…: floats from one to the next.
    template <class T>
    void fetch_moved(const T* from, const Move& move, ptrdiff_t to_channel, ptrdiff_t to_pixel,
                     ptrdiff_t to_row, float* to) const {
        const ptrdiff_t pixels = ptrdiff_t{height} * width, step = move.flip ? -1 : 1;
        const int start = move.right + (move.flip ? width - 1 : 0);  // column 0 comes from there
        const int first = std::max(0, move.flip ? start - (width - 1) : -start);
        const int end = std::min(width, move.flip ? start + 1 : width - start);
        auto blacken = [&](int y, int left, int right) {
            for (int x = left; x < right; ++x)
                for (int c = 0; c < channels; ++c)
                    to[y * to_row + x * to_pixel + c * to_channel] = (0.0f - shift[c]) * scale[c];
        };
        for (int y = 0; y < height; ++y) {
            const int source = y + move.down;
            if (source < 0 || source >= height) {
                blacken(y, 0, width);
                continue;
            }
            blacken(y, 0, first);
            const T* in = from + ptrdiff_t{source} * width + start + step * first;
            float* pixel = to + y * to_row + first * to_pixel;
            for (int x = first; x < end; ++x, in += step, pixel += to_pixel)
                for (int c = 0; c < channels; ++c)
                    pixel[c * to_channel] = (float(in[c * pixels]) - shift[c]) * scale[c];
            blacken(y, end, width);
        }
        for (int y = move.box_top; y < move.box_bottom; ++y)
            blacken(y, move.box_left, move.box_right);
    }
};

}  // namespace airfeel
