// A 3×3 convolution with 16 products for 2×2 outputs in place of 36 (Winograd 1980; Lavin and Gray
// 2016): input, filter and output are seen through small matrices,
//
//     y  =  Aᵀ [ Σ_channels (G g Gᵀ) ⊙ (Bᵀ d B) ] A,      d: a 4×4 tile of the input, y: 2×2 outputs,
//
// so that each of the 16 entries of a tile is a product of tiles by channels with channels by outputs.
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
          depth_(in.stride), width_(weights.columns), tiles_(entries * high_ * wide_ * depth_),
          filters_(entries * depth_ * width_), sums_(entries * high_ * wide_ * width_) {}

    int high() const { return high_; }  // rows of tiles that it computes at a time

    void read(const Weights& w) {
        for (ptrdiff_t at = 0; at < depth_ * width_; at += lanes) {
            Vec g[3][3], half[3][side], whole[side][side];
            UNROLL for (int t = 0; t < 9; ++t)
                g[t / 3][t % 3] = load(w.value.data() + t * depth_ * width_ + at);
            UNROLL for (int r = 0; r < 3; ++r) see_filter(half[r], g[r][0], g[r][1], g[r][2]);
            UNROLL for (int c = 0; c < side; ++c) {
                Vec column[side];
                see_filter(column, half[0][c], half[1][c], half[2][c]);
                UNROLL for (int r = 0; r < side; ++r) whole[r][c] = column[r];
            }
            each_entry([&](int i, int r, int c) {
                store(&filters_[i * depth_ * width_ + at], whole[r][c]);
            });
        }
    }

    // Two rows of outputs for each of `rows` rows of tiles, from the input at x on; rows of both
    // lie `x_row` and `to_row` floats apart.
    void forward(const float* x, ptrdiff_t x_row, int rows, const float* bias, bool relu, float* to,
                 ptrdiff_t to_row) {
        const int tiles = rows * wide_;
        for (int r = 0; r < rows; ++r) see_tiles(x + 2 * r * x_row, x_row, r * wide_);
        Product p;
        p.rows = tiles, p.vectors = int(width_ / lanes);
        p.outer = p.inner = 1, p.depth = int(depth_);
        p.a_outer = p.a_inner = p.b_inner = 0, p.a_row = depth_, p.a_depth = 1;
        p.b_depth = p.out_row = width_;
        for (int i = 0; i < entries; ++i) {
            p.a = &tiles_[i * all() * depth_], p.b = &filters_[i * depth_ * width_];
            p.out = &sums_[i * all() * width_];
            multiply(p);
        }
        for (int t = 0; t < tiles; ++t)
            answer(t, bias, relu, to + t / wide_ * 2 * to_row + t % wide_ * 2 * width_, to_row);
    }

   private:
    static constexpr int side = 4, entries = side * side;
    static constexpr int most_tiles = 36;  // what they take stays in the second-level cache

    ptrdiff_t all() const { return ptrdiff_t{high_} * wide_; }

    template <class Visit>
    static INLINE void each_entry(Visit visit) {
        UNROLL for (int i = 0; i < entries; ++i) visit(i, i / side, i % side);
    }

    // One dimension of each transform: G g, Bᵀ d and Aᵀ m.
    static INLINE void see_filter(Vec (&to)[side], Vec a, Vec b, Vec c) {
        const Vec half = spread(0.5f), ends = half * (a + c), middle = half * b;
        to[0] = a, to[1] = ends + middle, to[2] = ends - middle, to[3] = c;
    }

    static INLINE void see_input(Vec (&to)[side], Vec a, Vec b, Vec c, Vec d) {
        to[0] = a - c, to[1] = b + c, to[2] = c - b, to[3] = b - d;
    }

    static INLINE void see_output(Vec (&to)[2], Vec a, Vec b, Vec c, Vec d) {
        to[0] = a + b + c, to[1] = b - c - d;
    }

    // A row of tiles. Neighbours share two columns of the input.
    void see_tiles(const float* x, ptrdiff_t x_row, int first) {
        for (ptrdiff_t v = 0; v < depth_; v += lanes) {
            Vec column[side][side];
            auto look = [&](Vec(&seen)[side], ptrdiff_t c) {
                const float* from = x + c * depth_ + v;
                see_input(seen, load(from), load(from + x_row), load(from + 2 * x_row),
                          load(from + 3 * x_row));
            };
            look(column[2], 0), look(column[3], 1);
            for (int t = 0; t < wide_; ++t) {
                UNROLL for (int r = 0; r < side; ++r)
                    column[0][r] = column[2][r], column[1][r] = column[3][r];
                look(column[2], 2 * t + 2), look(column[3], 2 * t + 3);
                float* to = &tiles_[(first + t) * depth_ + v];
                UNROLL for (int r = 0; r < side; ++r) {
                    Vec row[side];
                    see_input(row, column[0][r], column[1][r], column[2][r], column[3][r]);
                    UNROLL for (int c = 0; c < side; ++c)
                        store(to + (r * side + c) * all() * depth_, row[c]);
                }
            }
        }
    }

    // The 2×2 outputs of a tile.
    void answer(int tile, const float* bias, bool relu, float* to, ptrdiff_t to_row) {
        for (ptrdiff_t v = 0; v < width_; v += lanes) {
            const float* from = &sums_[tile * width_ + v];
            Vec half[side][2];
            UNROLL for (int r = 0; r < side; ++r) {
                Vec m[side];
                UNROLL for (int c = 0; c < side; ++c)
                    m[c] = load(from + (r * side + c) * all() * width_);
                see_output(half[r], m[0], m[1], m[2], m[3]);
            }
            const Vec start = load(bias + v);
            UNROLL for (int c = 0; c < 2; ++c) {
                Vec y[2];
                see_output(y, half[0][c], half[1][c], half[2][c], half[3][c]);
                UNROLL for (int r = 0; r < 2; ++r) {
                    y[r] += start;
                    store(to + r * to_row + c * width_ + v, relu ? positive(y[r]) : y[r]);
                }
            }
        }
    }

    int high_ = 0, wide_ = 0;       // rows of tiles at a time, tiles in a row
    ptrdiff_t depth_ = 0, width_ = 0;  // floats of an input's and an output's pixel
    Buffer<float> tiles_;    // [entries][tiles][depth_]
    Buffer<float> filters_;  // [entries][depth_][width_]
    Buffer<float> sums_;     // [entries][tiles][width_]
};

}  // namespace airfeel
