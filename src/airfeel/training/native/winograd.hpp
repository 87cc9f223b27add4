// A 3×3 convolution with 16 products for 2×2 outputs in place of 36 (Winograd 1980; Lavin and Gray
// 2016): input, filter and output are transformed by small matrices,
//
//     y  =  Aᵀ [ Σ_channels (G g Gᵀ) ⊙ (Bᵀ d B) ] A,      d: a 4×4 tile of the input, y: 2×2 outputs,
//
// so that each of the 16 entries of a tile is a product of tiles by channels with channels by outputs.
// A row of entries at a time: what many tiles need for it stays in the first-level cache.
#pragma once

#include "plane.hpp"
#include "product.hpp"
#include "weights.hpp"

namespace airfeel {

class Winograd {
   public:
    Winograd() = default;
    Winograd(const Plane& in, const Weights& weights, int rows, int columns)
        : high_(std::min(rows, std::max(1, most_tiles / columns))), wide_(columns),
          depth_(in.stride), width_(weights.columns), tiles_(side * all() * depth_),
          filters_(side * side * depth_ * width_), sums_(side * all() * width_) {}

    int high() const { return high_; }  // rows of tiles that it computes at a time

    void read(const Weights& w) {
        const ptrdiff_t size = depth_ * width_;
        for (ptrdiff_t at = 0; at < size; at += lanes) {
            Vec g[3][3], half[3][side];
            UNROLL for (int t = 0; t < 9; ++t)
                g[t / 3][t % 3] = load(w.value.data() + t * size + at);
            UNROLL for (int r = 0; r < 3; ++r) transform_filter(half[r], g[r][0], g[r][1], g[r][2]);
            UNROLL for (int c = 0; c < side; ++c) {
                Vec column[side];
                transform_filter(column, half[0][c], half[1][c], half[2][c]);
                UNROLL for (int r = 0; r < side; ++r)
                    store(&filters_[(r * side + c) * size + at], column[r]);
            }
        }
    }

    // Two rows of outputs for each of `rows` rows of tiles, from the input at x on; rows of both
    // lie `x_row` and `to_row` floats apart.
    void forward(const float* x, ptrdiff_t x_row, int rows, const float* bias, bool relu, float* to,
                 ptrdiff_t to_row) {
        Product p = Product::of_rows(rows * wide_, depth_, width_);
        for (int r = 0; r < side; ++r) {
            for (int y = 0; y < rows; ++y) transform_tiles(r, x + 2 * y * x_row, x_row, y * wide_);
            for (int c = 0; c < side; ++c) {
                p.a = &tiles_[c * all() * depth_];
                p.out = &sums_[c * all() * width_];
                p.b = &filters_[(r * side + c) * depth_ * width_];
                multiply(p);
            }
            for (int y = 0; y < rows; ++y)
                add_outputs(r, y * wide_, bias, relu, to + 2 * y * to_row, to_row);
        }
    }

   private:
    static constexpr int side = 4, most_tiles = 18;  // of 32 channels: 9 kB, and as much for sums

    ptrdiff_t all() const { return ptrdiff_t{high_} * wide_; }

    // The transforms in one dimension: G g of a filter, Bᵀ d of a tile of the input, Aᵀ m of products.
    static INLINE void transform_filter(Vec (&to)[side], Vec a, Vec b, Vec c) {
        const Vec half = spread(0.5f), ends = half * (a + c), middle = half * b;
        to[0] = a;
        to[1] = ends + middle;
        to[2] = ends - middle;
        to[3] = c;
    }

    static INLINE void transform_input(Vec (&to)[side], Vec a, Vec b, Vec c, Vec d) {
        to[0] = a - c;
        to[1] = b + c;
        to[2] = c - b;
        to[3] = b - d;
    }

    static INLINE void transform_output(Vec (&to)[2], Vec a, Vec b, Vec c, Vec d) {
        to[0] = a + b + c;
        to[1] = b - c - d;
    }

    // Row r of the entries of a row of tiles: two rows of the input, added or subtracted. Neighbours
    // share two columns.
    void transform_tiles(int r, const float* x, ptrdiff_t x_row, int first) {
        static constexpr int one[] = {0, 1, 2, 1}, other[] = {2, 2, 1, 3};
        const float *const p = x + one[r] * x_row, *const q = x + other[r] * x_row;
        const Vec sign = spread(r == 1 ? 1.0f : -1.0f);
        const ptrdiff_t depth = depth_, step = all() * depth, wide = wide_;
        float* const tiles = &tiles_[first * depth];
        for (ptrdiff_t v = 0; v < depth; v += lanes) {
            auto entry_row = [=](ptrdiff_t c) {
                return load(p + c * depth + v) + sign * load(q + c * depth + v);
            };
            Vec a = entry_row(0), b = entry_row(1);
            for (ptrdiff_t t = 0; t < wide; ++t) {
                const Vec c = entry_row(2 * t + 2), d = entry_row(2 * t + 3);
                Vec entry[side];
                transform_input(entry, a, b, c, d);
                float* to = tiles + t * depth + v;
                UNROLL for (int i = 0; i < side; ++i) store(to + i * step, entry[i]);
                a = c;
                b = d;
            }
        }
    }

    // What row r of the entries adds to the outputs of a row of tiles: the upper ones are the sum of
    // rows 0, 1 and 2, the lower ones row 1 minus rows 2 and 3.
    void add_outputs(int r, int first, const float* bias, bool relu, float* to, ptrdiff_t to_row) const {
        const ptrdiff_t width = width_, step = all() * width;
        const float* const sums = &sums_[first * width];
        for (ptrdiff_t t = 0; t < wide_; ++t)
            for (ptrdiff_t v = 0; v < width; v += lanes) {
                const float* from = sums + t * width + v;
                Vec y[2];
                transform_output(y, load(from), load(from + step), load(from + 2 * step),
                           load(from + 3 * step));
                UNROLL for (int c = 0; c < 2; ++c) {
                    float *upper = to + (2 * t + c) * width + v, *lower = upper + to_row;
                    if (r < 3) {
                        const Vec sum = (r == 0 ? load(bias + v) : load(upper)) + y[c];
                        store(upper, r == 2 && relu ? positive(sum) : sum);
                    }
                    if (r > 0) {
                        const Vec sum = r == 1 ? load(bias + v) + y[c] : load(lower) - y[c];
                        store(lower, r == 3 && relu ? positive(sum) : sum);
                    }
                }
            }
    }

    int high_ = 0, wide_ = 0;          // rows of tiles at a time, tiles in a row
    ptrdiff_t depth_ = 0, width_ = 0;  // floats of an input's and an output's pixel
    Buffer<float> tiles_;              // [side][tiles][depth_]: a row of their entries
    Buffer<float> filters_;            // [side][side][depth_][width_]
    Buffer<float> sums_;               // [side][tiles][width_]
};

}  // namespace airfeel
