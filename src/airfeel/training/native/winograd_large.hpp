// A 3×3 convolution with 36 products for 4×4 outputs in place of 144, for looking at samples only: it
// rounds some ten times as coarsely as a sum of 9 products, which a gradient would inherit.
//
// As in winograd.hpp y = Aᵀ [ Σ_channels (G g Gᵀ) ⊙ (Bᵀ d B) ] A, now with tiles d of 6×6, from the
// points 0, ±1/√2, ±√2, ∞: of the usual choices the one that rounds least. Tiles are taken from as
// many images as fill a group, so that the filters of a wide layer are fetched for many at once.
// Behind the last transform come bias, ReLU and max-pool, still in registers.
#pragma once

#include "plane.hpp"
#include "product.hpp"
#include "weights.hpp"

namespace airfeel {

class WinogradLarge {
   public:
    WinogradLarge() = default;
    // height, width: of the convolution's output, before pooling.
    WinogradLarge(const Plane& in, const Plane& out, const Weights& w, int height, int width)
        : in_(in), out_(out), high_(tiles(height)), wide_(tiles(width)), depth_(in.stride),
          width_(w.columns),
          tile_step_(apart(depth_)), sum_step_(apart(width_)), tiles_(entries * tile_step_),
          filters_(entries * depth_ * width_), sums_(entries * sum_step_) {}

    // Zero pixels that an input of `size` must have behind its last ones, so that whole tiles fit.
    static int slack(int size) { return 4 * tiles(size - 2) + 2 - size; }

    void read(const Weights& w) {
        const ptrdiff_t size = depth_ * width_;
        for (ptrdiff_t at = 0; at < size; at += lanes) {
            Vec half[3][side];
            UNROLL for (int r = 0; r < 3; ++r) {
                const float* g = w.value.data() + 3 * r * size + at;
                transform_filter(half[r], load(g), load(g + size), load(g + 2 * size));
            }
            for (int c = 0; c < side; ++c) {
                Vec column[side];
                transform_filter(column, half[0][c], half[1][c], half[2][c]);
                UNROLL for (int r = 0; r < side; ++r)
                    store(&filters_[(r * side + c) * size + at], column[r]);
            }
        }
    }

    // The outputs of `images` images at x, laid out one behind the other, as those at y are.
    void forward(int images, const float* x, const float* bias, bool relu, bool pool, float* y) {
        const int all = images * high_ * wide_;
        for (int first = 0; first < all; first += together) {
            const int end = std::min(first + together, all);
            each_stretch(first, end, [&](int image, int row, int column, int count, int at) {
                const float* corner = x + image * in_.size() + 4 * row * in_.row();
                transform_tiles(corner + 4 * column * depth_, count, at);
            });
            multiply_entries(end - first);
            each_stretch(first, end, [&](int image, int row, int column, int count, int at) {
                for (int t = 0; t < count; ++t)
                    write_tile(at + t, bias, relu, pool, row, column + t, y + image * out_.size());
            });
        }
    }

   private:
    static constexpr int side = 6, entries = side * side;
    static constexpr int together = 18;  // tiles: whole ones of registers, and all within 512 kB
    static constexpr int line = std::max<int>(1, 16 / lanes);  // vectors of a cache line
    static constexpr float a2 = 0.5f, b2 = 2.0f, a = 0.70710678118654752f, b = 1.4142135623730951f;

    static int tiles(int size) { return (size + 3) / 4; }

    // Floats from one entry of all tiles to the next: an odd number of cache lines, so that the 36
    // lines of a tile do not fall into one place of the cache.
    static ptrdiff_t apart(ptrdiff_t depth) {
        const ptrdiff_t lines = rounded_up(together * depth, 16) / 16;
        return (lines | 1) * 16;
    }

    // The tiles from `first` to `end`, counted over all images, in stretches of one row each: calls
    // visit(image, row, column, how many, place among these tiles).
    template <class Visit>
    void each_stretch(int first, int end, Visit visit) const {
        for (int t = first; t < end;) {
            const int row = t / wide_, column = t % wide_, count = std::min(wide_ - column, end - t);
            visit(row / high_, row % high_, column, count, t - first);
            t += count;
        }
    }

    static INLINE void transform_filter(Vec (&to)[side], Vec g0, Vec g1, Vec g2) {
        const Vec in = spread(0.5f / (a2 * (a2 - b2))), far = spread(0.5f / (b2 * (b2 - a2)));
        const Vec even = in * (g0 + spread(a2) * g2), odd = in * spread(a) * g1;
        const Vec far_even = far * (g0 + spread(b2) * g2), far_odd = far * spread(b) * g1;
        to[0] = g0 * spread(1.0f / (a2 * b2));
        to[1] = even + odd;
        to[2] = even - odd;
        to[3] = far_even + far_odd;
        to[4] = far_even - far_odd;
        to[5] = g2;
    }

    static INLINE void transform_input(Vec (&to)[side], const Vec (&d)[side]) {
        const Vec even = d[4] - spread(b2) * d[2], odd = spread(a) * (d[3] - spread(b2) * d[1]);
        const Vec far_even = d[4] - spread(a2) * d[2];
        const Vec far_odd = spread(b) * (d[3] - spread(a2) * d[1]);
        to[0] = spread(a2 * b2) * d[0] - spread(a2 + b2) * d[2] + d[4];
        to[1] = even + odd;
        to[2] = even - odd;
        to[3] = far_even + far_odd;
        to[4] = far_even - far_odd;
        to[5] = spread(a2 * b2) * d[1] - spread(a2 + b2) * d[3] + d[5];
    }

    static INLINE void transform_output(Vec (&to)[4], const Vec (&m)[side]) {
        const Vec sum = m[1] + m[2], difference = m[1] - m[2];
        const Vec far_sum = m[3] + m[4], far_difference = m[3] - m[4];
        to[0] = m[0] + sum + far_sum;
        to[1] = spread(a) * difference + spread(b) * far_difference;
        to[2] = spread(a2) * sum + spread(b2) * far_sum;
        to[3] = spread(a * a2) * difference + spread(b * b2) * far_difference + m[5];
    }

    // Tiles side by side whose upper left pixel is at x. Neighbours share two columns. All vectors of
    // a cache line are written at once: it would have left the cache before its other half came.
    void transform_tiles(const float* x, int count, int first) {
        Vec shared[line][2][side];  // [vector of the line][column][entry]
        for (ptrdiff_t v = 0; v < depth_; v += line * lanes) {
            const int vectors = int(std::min<ptrdiff_t>(line, (depth_ - v) / lanes));
            for (int u = 0; u < vectors; ++u)
                UNROLL for (int c = 0; c < 2; ++c) read_column(shared[u][c], x + c * depth_ + v + u * lanes);
            for (int t = 0; t < count; ++t)
                for (int u = 0; u < vectors; ++u) {
                    const ptrdiff_t at = v + u * lanes;
                    transform_tile(x + 4 * t * depth_ + at, shared[u],
                                   &tiles_[(first + t) * depth_ + at]);
                }
        }
    }

    INLINE void read_column(Vec (&to)[side], const float* x) const {
        Vec d[side];
        UNROLL for (int r = 0; r < side; ++r) d[r] = load(x + r * in_.row());
        transform_input(to, d);
    }

    // One tile, whose first two columns are known, and are its last two afterwards.
    INLINE void transform_tile(const float* x, Vec (&shared)[2][side], float* to) const {
        Vec column[side][side];  // [column][entry]
        UNROLL for (int c = 0; c < 2; ++c) UNROLL for (int r = 0; r < side; ++r)
            column[c][r] = shared[c][r];
        for (int c = 2; c < side; ++c) read_column(column[c], x + c * depth_);
        UNROLL for (int c = 0; c < 2; ++c) UNROLL for (int r = 0; r < side; ++r)
            shared[c][r] = column[4 + c][r];
        for (int r = 0; r < side; ++r) {
            Vec d[side], entry[side];
            UNROLL for (int c = 0; c < side; ++c) d[c] = column[c][r];
            transform_input(entry, d);
            UNROLL for (int c = 0; c < side; ++c, to += tile_step_) store(to, entry[c]);
        }
    }

    void multiply_entries(int rows) {
        Product p = Product::of_rows(rows, depth_, width_);
        for (int e = 0; e < entries; ++e) {
            p.a = &tiles_[e * tile_step_];
            p.b = &filters_[e * depth_ * width_];
            p.out = &sums_[e * sum_step_];
            multiply(p);
        }
    }

    // The outputs of a tile, in row r and column c of an image's tiles. What reaches beyond the image
    // is left out.
    void write_tile(int tile, const float* bias, bool relu, bool pool, int r, int c, float* y) const {
        for (ptrdiff_t v = 0; v < width_; v += lanes) {
            Vec half[side][4], at[4][4];
            const float* from = &sums_[tile * width_ + v];
            for (int i = 0; i < side; ++i) {
                Vec m[side];
                UNROLL for (int j = 0; j < side; ++j, from += sum_step_) m[j] = load(from);
                transform_output(half[i], m);
            }
            UNROLL for (int j = 0; j < 4; ++j) {
                Vec m[side], whole[4];
                UNROLL for (int i = 0; i < side; ++i) m[i] = half[i][j];
                transform_output(whole, m);
                UNROLL for (int i = 0; i < 4; ++i) at[i][j] = whole[i];
            }
            finish(at, load(bias + v), relu);
            if (pool)
                write_pooled(at, r, c, y + v);
            else
                write(at, r, c, y + v);
        }
    }

    static INLINE void finish(Vec (&at)[4][4], Vec bias, bool relu) {
        UNROLL for (int i = 0; i < 4; ++i) UNROLL for (int c = 0; c < 4; ++c) {
            const Vec sum = at[i][c] + bias;
            at[i][c] = relu ? positive(sum) : sum;
        }
    }

    INLINE void write(const Vec (&at)[4][4], int r, int c, float* y) const {
        const int rows = out_.height - 4 * r, columns = out_.width - 4 * c;
        y += out_.at(4 * r, 4 * c);
        UNROLL for (int i = 0; i < 4; ++i) UNROLL for (int j = 0; j < 4; ++j)
            if (i < rows && j < columns) store(y + i * out_.row() + j * out_.stride, at[i][j]);
    }

    INLINE void write_pooled(const Vec (&at)[4][4], int r, int c, float* y) const {
        const int rows = out_.height - 2 * r, columns = out_.width - 2 * c;
        y += out_.at(2 * r, 2 * c);
        UNROLL for (int i = 0; i < 2; ++i) UNROLL for (int j = 0; j < 2; ++j) {
            Vec best = at[2 * i][2 * j];
            UNROLL for (int k = 1; k < 4; ++k) best = larger(best, at[2 * i + k / 2][2 * j + k % 2]);
            if (i < rows && j < columns) store(y + i * out_.row() + j * out_.stride, best);
        }
    }

    Plane in_{}, out_{};
    int high_ = 0, wide_ = 0;                 // tiles of an image
    ptrdiff_t depth_ = 0, width_ = 0;         // floats of an input's and an output's pixel
    ptrdiff_t tile_step_ = 0, sum_step_ = 0;  // floats from one entry to the next
    Buffer<float> tiles_;                     // [entry][tile][depth_]
    Buffer<float> filters_;                   // [entry][depth_][width_]
    Buffer<float> sums_;                      // [entry][tile][width_]
};

}  // namespace airfeel
