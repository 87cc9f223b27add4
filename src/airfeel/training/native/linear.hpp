// A linear layer with the ReLU behind it, for the whole mini-batch at once; and the loss.
#pragma once

#include <cmath>

#include "product.hpp"
#include "stage.hpp"
#include "weights.hpp"

namespace airfeel {

class Linear {
   public:
    // The input: an image of `in`, flattened, for each sample.
    Linear(const Layer& layer, const Plane& in, int batch, bool wants_dx)
        : weights(in.height * in.width, in.channels, in.stride, int(layer.outputs), layer.bias),
          output(batch * weights.columns), dy(output.size()), batch_(batch), relu_(layer.relu),
          bias_gradient_(weights.columns) {
        if (!wants_dx) return;
        dx = Buffer<float>(batch * weights.rows());
        filters_ = Buffer<float>(weights.outputs * weights.rows());
    }

    // Of the first `rows` samples.
    void forward(const float* x, int rows) {
        Product p = product(rows, weights.columns, weights.rows());
        p.a = x;
        p.a_row = weights.rows();
        p.a_depth = 1;
        p.b = weights.value.data();
        p.b_depth = weights.columns;
        p.out = output.data();
        p.out_row = weights.columns;
        p.bias = weights.bias.data();
        p.relu = relu_;
        multiply(p);
    }

    // From the gradient of the output, in `dy`, to that of the input, in `dx`; then the step
    // itself, or the gradient of the weights where the step is not in place.
    void backward(const float* x, const Rule& rule) {
        if (relu_) mask();
        if (dx.size()) backward_input();
        Product p = product(weights.rows(), weights.columns, batch_);
        p.a = x;
        p.a_row = 1;
        p.a_depth = weights.rows();
        p.b = dy.data();
        p.b_depth = weights.columns;
        p.out_row = weights.columns;
        if (rule.in_place()) {
            weights.decay(rule);
            p.out = weights.value.data();
            p.add = true;
            p.factor = -rule.rate;
        } else {
            p.out = weights.value_terms.gradient.data();
        }
        multiply(p);
        step_bias(rule);
    }

    // Values or gradients of the output, of all samples.
    void drop_all(const Dropout& d, Buffer<float>& values) const {
        const Plane row = {weights.outputs, 1, 1, int(weights.columns), 0};
        for (int b = 0; b < batch_; ++b)
            drop(row, dropped.of(d, b), d.scale[dropped.place], &values[b * weights.columns], nullptr);
    }

    Weights weights;
    Buffer<float> output, dy, dx;  // [batch][columns], [batch][columns], [batch][rows]
    DropPlace dropped;

   private:
    static Product product(ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t depth) {
        Product p;
        p.rows = int(rows);
        p.vectors = int(columns / lanes);
        p.outer = p.inner = 1;
        p.depth = int(depth);
        p.part = 64;
        p.a_outer = p.a_inner = p.b_inner = 0;
        return p;
    }

    void mask() {
        for (ptrdiff_t i = 0; i < dy.size(); i += lanes)
            store(&dy[i], load(&output[i]) > Vec{} ? load(&dy[i]) : Vec{});
    }

    void backward_input() {
        transpose(weights, filters_);
        Product p = product(batch_, weights.rows(), weights.outputs);
        p.a = dy.data();
        p.a_row = weights.columns;
        p.a_depth = 1;
        p.b = filters_.data();
        p.b_depth = weights.rows();
        p.out = dx.data();
        p.out_row = weights.rows();
        multiply(p);
    }

    // Sums of sums of eight: rounding errors grow less than along one chain.
    void step_bias(const Rule& rule) {
        for (ptrdiff_t o = 0; o < weights.columns; o += lanes) {
            Vec sum = {};
            for (int first = 0; first < batch_; first += 8) {
                Vec part = {};
                for (int sample = first; sample < std::min(first + 8, batch_); ++sample)
                    part += load(&dy[sample * weights.columns + o]);
                sum += part;
            }
            store(&bias_gradient_[o], sum);
        }
        weights.step_bias(bias_gradient_.data(), rule);
    }

    int batch_;
    bool relu_;
    Buffer<float> filters_, bias_gradient_;
};

// The place of the largest logit, the first among equals; a NaN counts as largest, as in PyTorch.
inline int largest(const float* logits, int classes) {
    int best = 0;
    for (int c = 1; c < classes && !std::isnan(logits[best]); ++c)
        if (logits[c] > logits[best] || std::isnan(logits[c])) best = c;
    return best;
}

// Cross-entropy of one sample, and its gradient times `share`: softmax minus the label's one-hot. In
// double where rounding errors would add up or cancel. With smoothing s the target is (1 − s) times
// the one-hot plus s/classes for each class, as in PyTorch.
inline double cross_entropy(const float* logits, int classes, int64_t label, double share,
                            float* gradient, double smoothing = 0) {
    const float top = *std::max_element(logits, logits + classes);
    double sum = 0;
    for (int c = 0; c < classes; ++c) {
        gradient[c] = std::exp(logits[c] - top);
        sum += gradient[c];
    }
    const double at_label = gradient[label] / sum - 1;
    for (int c = 0; c < classes; ++c) gradient[c] = float(gradient[c] * (share / sum));
    gradient[label] = float(at_label * share);
    const double loss = std::log(sum) + (double(top) - logits[label]);
    if (smoothing == 0) return loss;
    double mean = 0;
    for (int c = 0; c < classes; ++c) {
        mean += (double(logits[label]) - logits[c]) / classes;
        const double target = smoothing / classes - (c == label ? smoothing : 0);
        gradient[c] = float(gradient[c] - share * target);
    }
    return loss + smoothing * mean;
}

}  // namespace airfeel
