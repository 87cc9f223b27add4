// The weights of a layer, inputs by outputs, and their way from and to PyTorch's flat vector.
#pragma once

#include <algorithm>

#include "rule.hpp"

namespace airfeel {

// A linear layer behind a flattened image is a convolution whose filter covers the image: both have
// `taps` filter pixels of `stride` floats, of which `channels` are real. Rows and columns that only
// pad to whole vectors are zero and stay zero.
struct Weights {
    int taps, channels, stride, outputs;
    bool has_bias;
    ptrdiff_t columns;          // outputs, padded to whole vectors
    Buffer<float> value, bias;  // [rows()][columns], [columns]
    Terms value_terms, bias_terms;

    Weights(int taps, int channels, int stride, int outputs, bool has_bias)
        : taps(taps), channels(channels), stride(stride), outputs(outputs), has_bias(has_bias),
          columns(padded(outputs)), value(rows() * columns), bias(columns) {}

    ptrdiff_t rows() const { return ptrdiff_t{taps} * stride; }
    ptrdiff_t parameters() const {
        return ptrdiff_t{outputs} * channels * taps + (has_bias ? outputs : 0);
    }

    // Clears the padding too: a run that met infinities has left NaNs in it.
    void read(const float* flat) {
        value.clear();
        bias.clear();
        const ptrdiff_t own = ptrdiff_t{channels} * taps;
        each_block([&](int o, ptrdiff_t i, const ptrdiff_t (&at)[lanes]) {
            Vec block[lanes];
            UNROLL for (int j = 0; j < lanes; ++j) block[j] = load(flat + (o + j) * own + i);
            transpose(block);
            UNROLL for (int j = 0; j < lanes; ++j) store(&value[at[j] + o], block[j]);
        }, [&](int o, ptrdiff_t i, ptrdiff_t at) { value[at + o] = flat[o * own + i]; });
        if (has_bias) std::copy_n(flat + parameters() - outputs, outputs, bias.data());
    }

    // difference = weights now − flat
    void subtract(const float* flat, float* difference) const {
        const ptrdiff_t own = ptrdiff_t{channels} * taps;
        each_block([&](int o, ptrdiff_t i, const ptrdiff_t (&at)[lanes]) {
            Vec block[lanes];
            UNROLL for (int j = 0; j < lanes; ++j) block[j] = load(&value[at[j] + o]);
            transpose(block);
            UNROLL for (int j = 0; j < lanes; ++j) {
                const ptrdiff_t to = (o + j) * own + i;
                store(difference + to, block[j] - load(flat + to));
            }
        }, [&](int o, ptrdiff_t i, ptrdiff_t at) {
            difference[o * own + i] = value[at + o] - flat[o * own + i];
        });
        const ptrdiff_t start = parameters() - outputs;
        for (int o = 0; has_bias && o < outputs; ++o)
            difference[start + o] = bias[o] - flat[start + o];
    }

    // Before the first step of a device.
    void begin(const Rule& rule) {
        if (rule.in_place()) return;
        value_terms.begin(rule, value);
        bias_terms.begin(rule, bias);
    }

    // Weight decay where the step is in place: before the gradient is subtracted, and after the
    // backward pass has read the weights.
    void decay(const Rule& rule) {
        if (rule.decay == 0 || !rule.in_place()) return;
        shrink(rule.rate * rule.decay, value);
        shrink(rule.rate * rule.decay, bias);
    }

    void step_bias(const float* gradient, const Rule& rule) {
        if (!has_bias) return;
        if (rule.in_place())
            for (int o = 0; o < outputs; ++o) bias[o] -= rule.rate * gradient[o];
        else
            std::copy_n(gradient, outputs, bias_terms.gradient.data());
    }

    // The squared norm of the whole gradient.
    double complete(const Rule& rule) {
        return value_terms.complete(rule, value) + bias_terms.complete(rule, bias);
    }

    void move(const Rule& rule, float factor) {
        value_terms.move(rule, factor, value);
        bias_terms.move(rule, factor, bias);
    }

   private:
    // All weights, in squares of `lanes` outputs by as many inputs, and what is left one by one.
    // PyTorch's order is [outputs][channels][taps]: i counts its inputs, `at` is where the row of
    // input i begins here. Calls square(o, i, at of each) and one(o, i, at).
    template <class Square, class One>
    INLINE void each_block(Square square, One one) const {
        const int own = channels * taps, whole = outputs / lanes * lanes;
        for (int i = 0, c = 0, t = 0; i < own; i += lanes) {
            const int count = std::min(lanes, own - i);
            ptrdiff_t at[lanes];
            for (int j = 0; j < count; ++j) {
                at[j] = (ptrdiff_t{t} * stride + c) * columns;
                if (++t == taps) t = 0, ++c;
            }
            const int first = count == lanes ? whole : 0;  // output that is left to be visited alone
            for (int o = 0; o < first; o += lanes) square(o, i, at);
            for (int j = 0; j < count; ++j)
                for (int o = first; o < outputs; ++o) one(o, i + j, at[j]);
        }
    }
};

// Calls visit(r, c) for an array of rows × columns in square blocks, so that both it and its
// transpose are walked along cache lines.
template <class Visit>
INLINE void each_in_blocks(ptrdiff_t rows, ptrdiff_t columns, Visit visit) {
    for (ptrdiff_t r = 0; r < rows; r += 16)
        for (ptrdiff_t c = 0; c < columns; c += 16)
            for (ptrdiff_t y = r; y < std::min(r + 16, rows); ++y)
                for (ptrdiff_t x = c; x < std::min(c + 16, columns); ++x) visit(y, x);
}

// filters[o][r] = weights[r][o]: one row for each output, for gradients of the inputs.
inline void transpose(const Weights& w, Buffer<float>& filters) {
    const ptrdiff_t rows = w.rows(), columns = w.columns, whole = rows / lanes * lanes;
    const float* const from = w.value.data();
    float* const to = filters.data();
    for (ptrdiff_t r = 0; r < whole; r += lanes)
        for (int o = 0; o < w.outputs; o += lanes) {
            Vec block[lanes];
            UNROLL for (int i = 0; i < lanes; ++i) block[i] = load(from + (r + i) * columns + o);
            transpose(block);
            for (int i = 0; i < std::min(lanes, w.outputs - o); ++i)
                store(to + (o + i) * rows + r, block[i]);
        }
    for (ptrdiff_t r = whole; r < rows; ++r)
        for (int o = 0; o < w.outputs; ++o) to[o * rows + r] = from[r * columns + o];
}

}  // namespace airfeel
