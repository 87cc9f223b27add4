// A convolution with the ReLU and the 2×2 max-pool behind it.
//
// Forward: a row of outputs is one dense product, or 3×3 filters go by tiles of 2×2 outputs; rows are
// pooled at once.
// Backward: only outputs that passed ReLU and max-pool carry a gradient. A band of rows at a time,
// they are gathered into lists: by output channel for the weights, by position for the input.
// Only looked through, it has no backward pass, and 3×3 filters go by tiles of 4×4 outputs.
#pragma once

#include "active.hpp"
#include "product.hpp"
#include "stage.hpp"
#include "sums.hpp"
#include "weights.hpp"
#include "winograd.hpp"
#include "winograd_large.hpp"

namespace airfeel {

class Conv final : public Stage {
   public:
    Weights weights;

    Conv(const Layer& layer, const Plane& in, const Plane& out, int batch, bool wants_dx, Use use)
        : Stage(layer, in, out, batch),
          weights(int(layer.kernel * layer.kernel), in.channels, in.stride, int(layer.outputs),
                  layer.bias),
          k_(int(layer.kernel)), height_(in.height + 2 * in.halo - k_ + 1),
          width_(in.width + 2 * in.halo - k_ + 1), sparse_(in.stride % lanes == 0) {
        large_ = use == Use::look && in_large_tiles(layer, in);
        if (large_) {
            winograd_large_ = WinogradLarge(in, out, weights, height_, width_);
            return;
        }
        tiled_ = sparse_ && k_ == 3 && height_ % 2 == 0 && width_ % 2 == 0;
        if (tiled_) winograd_ = Winograd(in, weights, height_ / 2, width_ / 2);
        high_ = tiled_ ? 2 * winograd_.high() : pool ? 2 : 1;
        if (pool) rows_ = Buffer<float>(high_ * ptrdiff_t{width_} * out.stride);
        if (use == Use::train) prepare_backward(wants_dx);
    }

    // Whether outputs are computed 4×4 at a time, given samples in such a plane.
    static bool in_large_tiles(const Layer& layer, const Plane& in) {
        return layer.kind == Kind::conv && layer.kernel == 3 && in.stride % lanes == 0;
    }

    void begin_step() override {
        if (large_) winograd_large_.read(weights);
        if (tiled_) winograd_.read(weights);
        if (dx_.size()) transpose(weights, filters_);
        gradient_.clear();
        bias_gradient_.clear();
    }

    void forward_some(int first, int count, const float* x) override {
        if (large_)
            winograd_large_.forward(count, x, weights.bias.data(), relu, pool, output(first));
        else
            Stage::forward_some(first, count, x);
    }

    void forward(int sample, const float* x) override {
        for (int r = 0; r < height_ / (1 + pool) * (1 + pool); r += high_) {
            const int rows = std::min(high_, height_ - r);
            if (!pool) {
                convolve(x, r, rows, output(sample) + out.at(r, 0), out.row());
                continue;
            }
            const ptrdiff_t row = ptrdiff_t{width_} * out.stride;
            convolve(x, r, rows, rows_.data(), row);
            for (int i = 0; i < rows; i += 2) {
                const ptrdiff_t at = out.at((r + i) / 2, 0);
                const float* upper = rows_.data() + i * row;
                pool_row(upper, upper + row, out.stride, out.width, out.vectors(), relu,
                         output(sample) + at, choice(sample) + at);
            }
        }
    }

    void backward(int sample, const float* x, const float* dy) override {
        pass_bias(sample, dy);
        if (sparse_)
            backward_sparse(sample, x, dy);
        else
            backward_dense(x);
    }

    void end_step(const Rule& rule) override {
        weights.decay(rule);
        weights.step_bias(bias_gradient_.data(), rule);
        if (!rule.in_place()) {
            hand_over();
            return;
        }
        const float rate = rule.rate;
        if (!sparse_) {
            for (ptrdiff_t i = 0; i < gradient_.size(); ++i)
                weights.value[i] -= rate * gradient_[i];
            return;
        }
        const ptrdiff_t rows = weights.rows();
        each_in_blocks(rows, weights.outputs, [&](ptrdiff_t r, ptrdiff_t o) {
            weights.value[r * weights.columns + o] -= rate * gradient_[o * rows + r];
        });
    }

   private:
    // The gradient in the layout of the weights, for steps that are not in place.
    void hand_over() {
        Buffer<float>& to = weights.value_terms.gradient;
        if (!sparse_) {
            std::copy_n(gradient_.data(), gradient_.size(), to.data());
            return;
        }
        const ptrdiff_t rows = weights.rows();
        each_in_blocks(rows, weights.outputs, [&](ptrdiff_t r, ptrdiff_t o) {
            to[r * weights.columns + o] = gradient_[o * rows + r];
        });
    }

    void prepare_backward(bool wants_dx) {
        gradient_ = Buffer<float>(sparse_ ? weights.outputs * weights.rows() : weights.value.size());
        bias_gradient_ = Buffer<float>(out.stride);
        if (wants_dx) {
            dx_ = Buffer<float>(in.size());
            filters_ = Buffer<float>(gradient_.size());
        }
        if (sparse_) {
            band_ = band();
            active_ = Active(weights.outputs, ptrdiff_t{band_} * out.width, pool, weights.rows());
        } else {
            dense_dy_ = Buffer<float>(ptrdiff_t{height_} * width_ * out.stride);
        }
    }

    // Some rows of the convolution from row r on, before pooling.
    void convolve(const float* x, int r, int rows, float* to, ptrdiff_t to_row) {
        x += r * in.row();
        if (tiled_) {
            winograd_.forward(x, in.row(), rows / 2, weights.bias.data(), relu, to, to_row);
            return;
        }
        for (int i = 0; i < rows; ++i) convolve_row(x + i * in.row(), to + i * to_row);
    }

    // The row that begins at x. Where channels fill their pixels, a row of the filter is one stretch
    // of memory.
    void convolve_row(const float* x, float* to) {
        const bool solid = in.channels == in.stride;
        Product p;
        p.rows = width_;
        p.vectors = out.vectors();
        p.outer = k_;
        p.inner = solid ? 1 : k_;
        p.depth = solid ? k_ * in.stride : in.channels;
        p.a = x;
        p.a_depth = 1;
        p.a_outer = in.row();
        p.a_inner = p.a_row = in.stride;
        p.b = weights.value.data();
        p.b_depth = weights.columns;
        p.b_inner = (solid ? k_ : 1) * in.stride * weights.columns;
        p.out = to;
        p.out_row = out.stride;
        p.bias = weights.bias.data();
        p.relu = relu;
        multiply(p);
    }

    // The bias collects the gradient of every active output: behind a ReLU, of every positive one.
    // Where the rest of the backward pass is dense, the same walk lays the gradient out for it.
    void pass_bias(int sample, const float* dy) {
        const float* y = output(sample);
        for (int v = 0; v < out.stride; v += lanes) {
            Vec sum = {};
            for (int r = 0; r < out.height; ++r) {
                Vec row = {};
                for (int c = 0; c < out.width; ++c) {
                    const ptrdiff_t at = out.at(r, c) + v;
                    Vec g = load(dy + at);
                    if (relu) g = load(y + at) > Vec{} ? g : Vec{};
                    row += g;
                    if (!sparse_) lay_out(sample, r, c, v, g);
                }
                sum += row;
            }
            store(&bias_gradient_[v], load(&bias_gradient_[v]) + sum);
        }
    }

    // Output rows listed at a time: as many as let the input that they read stay in the first-level
    // cache.
    int band() const {
        const ptrdiff_t rows = 32 * 1024 / (in.row() * ptrdiff_t{sizeof(float)}) - (k_ - 1);
        const int most = int(std::clamp<ptrdiff_t>(pool ? rows / 2 : rows, 1, out.height));
        const int bands = (out.height + most - 1) / most;
        return (out.height + bands - 1) / bands;
    }

    void backward_sparse(int sample, const float* x, const float* dy) {
        const ptrdiff_t filter_row = ptrdiff_t{k_} * in.stride;
        const int vectors = int(filter_row / lanes);
        if (dx_.size()) dx_.clear();
        for (int r = 0; r < out.height; r += band_) {
            list_band(sample, dy, r, std::min(r + band_, out.height));
            sum_lists(active_.by_channel, {x, in.row(), gradient_.data(), filter_row}, k_, vectors);
            if (dx_.size())
                sum_lists(active_.by_position, {filters_.data(), filter_row, dx_.data(), in.row()},
                          k_, vectors);
        }
    }

    // A position is named by the place in the input where its patch begins.
    int32_t place(int y, int x) const { return int32_t(y * in.row() + ptrdiff_t{x} * in.stride); }

    void list_band(int sample, const float* dy, int first, int end) {
        active_.clear();
        const int step = pool ? 2 : 1;
        for (int r = first; r < end; ++r)
            for (int c = 0; c < out.width; ++c) {
                const ptrdiff_t at = out.at(r, c);
                active_.add({dy + at, relu ? output(sample) + at : nullptr,
                             pool ? choice(sample) + at : nullptr, place(step * r, step * c),
                             place(1, 0), place(0, 1)});
            }
        active_.finish();
    }

    // With few input channels (an image's three) a list would fill few lanes. Then the gradient is
    // laid out as a dense image, and that of the weights is a product over its pixels.
    void backward_dense(const float* x) {
        Product p;
        p.rows = k_ * in.stride;
        p.vectors = out.vectors();
        p.outer = height_;
        p.inner = 1;
        p.depth = width_;
        p.a_outer = in.row();
        p.a_inner = 0;
        p.a_row = 1;
        p.a_depth = in.stride;
        p.b = dense_dy_.data();
        p.b_depth = out.stride;
        p.b_inner = ptrdiff_t{width_} * out.stride;
        p.out_row = weights.columns;
        p.add = true;
        for (int i = 0; i < k_; ++i) {
            p.a = x + i * in.row();
            p.out = gradient_.data() + ptrdiff_t{i} * k_ * in.stride * weights.columns;
            multiply(p);
        }
    }

    // Behind a max-pool an output fills four pixels; an odd last row or column stays zero.
    void lay_out(int sample, int r, int c, int v, Vec g) {
        auto pixel = [&](int y, int x) {
            return &dense_dy_[(ptrdiff_t{y} * width_ + x) * out.stride + v];
        };
        if (!pool) {
            store(pixel(r, c), g);
            return;
        }
        const IntVec who = load(choice(sample) + out.at(r, c) + v);
        for (int i = 0; i < 4; ++i)
            store(pixel(2 * r + i / 2, 2 * c + i % 2), who == IntVec{} + i ? g : Vec{});
    }

    const int k_, height_, width_;  // of the filter; of the convolution's output before pooling
    const bool sparse_;             // whether the input's pixels are whole vectors
    bool tiled_ = false;            // whether 2×2 outputs are computed at a time
    int high_ = 1;                  // rows computed at a time
    int band_ = 0;                  // output rows listed at a time
    bool large_ = false;            // whether 4×4 are
    Winograd winograd_;
    WinogradLarge winograd_large_;
    Active active_;
    Buffer<float> rows_;           // of the convolution, to be pooled
    Buffer<float> filters_;        // the weights, one row for each output
    Buffer<float> gradient_;       // laid out as filters_, or as the weights if dense
    Buffer<float> bias_gradient_;
    Buffer<float> dense_dy_;       // [height_][width_][out.stride]
};

}  // namespace airfeel
