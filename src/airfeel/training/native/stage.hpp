// A stage: one layer on images together with the ReLU and the max-pool behind it.
#pragma once

#include "plane.hpp"
#include "rule.hpp"

namespace airfeel {

// One row of the description that Python sends; the fields and their order are those of
// describe.py.
enum class Kind : int64_t { pass, conv, linear };

struct Layer {
    Kind kind;
    int64_t channels, height, width;  // of its input
    int64_t outputs, kernel, padding;
    int64_t bias, relu, pool;  // whether it has them
    int64_t drop;              // whether dropout follows
};

// Dropout in one step: of each place, one byte for each unit of the mini-batch (0: dropped), pixel by
// pixel and channel by channel, and what units that are kept are multiplied by.
struct Dropout {
    const uint8_t* keep;
    const float* scale;
};

// Where a layer's units are found there.
struct DropPlace {
    int place = -1;      // none
    ptrdiff_t first = 0, units = 0;  // of the mini-batch's first unit; of one sample

    const uint8_t* of(const Dropout& dropout, int sample) const {
        return dropout.keep + first + sample * units;
    }
};

// One sample's values or gradients in that plane; units that are dropped have no choice.
inline void drop(const Plane& plane, const uint8_t* __restrict keep, float scale,
                 float* __restrict values, int32_t* __restrict choice) {
    for (int r = 0; r < plane.height; ++r)
        for (int c = 0; c < plane.width; ++c, keep += plane.channels) {
            float* pixel = values + plane.at(r, c);
            for (int o = 0; o < plane.channels; ++o) pixel[o] = keep[o] ? scale * pixel[o] : 0.0f;
            if (!choice) continue;
            int32_t* chosen = choice + plane.at(r, c);
            for (int o = 0; o < plane.channels; ++o) chosen[o] = keep[o] ? chosen[o] : nobody;
        }
}

// What a network is for: SGD, or only a look at what it makes of samples.
enum class Use { train, look };

// Stages run sample by sample. Each keeps the outputs of the whole mini-batch, which its backward
// pass and the next stage read.
class Stage {
   public:
    Stage(const Layer& layer, const Plane& in, const Plane& out, int batch)
        : in(in), out(out), relu(layer.relu), pool(layer.pool), output_(batch * out.size()),
          choice_(pool ? output_.size() : 0) {}
    virtual ~Stage() = default;

    virtual void begin_step() {}
    virtual void forward(int sample, const float* x) = 0;
    // Some samples from `first` on, whose inputs lie one behind the other from x on.
    virtual void forward_some(int first, int count, const float* x) {
        for (int b = 0; b < count; ++b) forward(first + b, x + b * in.size());
    }
    // From the gradient of the output (laid out as the output) to that of the weights, added up,
    // and of the input, where a stage before needs it.
    virtual void backward(int sample, const float* x, const float* dy) = 0;
    virtual void end_step(const Rule& /*rule*/) {}

    const float* output(int sample) const { return output_.data() + sample * out.size(); }
    float* input_gradient() { return dx_.data(); }

    void drop_output(int sample, const Dropout& d) {
        drop(out, dropped.of(d, sample), d.scale[dropped.place], output(sample),
             pool ? choice(sample) : nullptr);
    }
    void drop_gradient(int sample, const Dropout& d, float* dy) const {
        drop(out, dropped.of(d, sample), d.scale[dropped.place], dy, nullptr);
    }

    const Plane in, out;
    const bool relu, pool;
    DropPlace dropped;

   protected:
    float* output(int sample) { return output_.data() + sample * out.size(); }
    int32_t* choice(int sample) { return choice_.data() + sample * out.size(); }

    Buffer<float> output_;
    Buffer<int32_t> choice_;  // of each pooled output, laid out as the output
    Buffer<float> dx_;        // of one sample; empty where nobody needs it
};

// A ReLU or a max-pool with no layer of its own before it.
class Pass final : public Stage {
   public:
    Pass(const Layer& layer, const Plane& in, const Plane& out, int batch, bool wants_dx)
        : Stage(layer, in, out, batch) {
        if (wants_dx) dx_ = Buffer<float>(in.size());
    }

    void forward(int sample, const float* x) override {
        float* y = output(sample);
        for (int r = 0; r < out.height; ++r) {
            const ptrdiff_t at = out.at(r, 0);
            if (pool)
                pool_row(x + in.at(2 * r, 0), x + in.at(2 * r + 1, 0), in.stride, out.width,
                         out.vectors(), relu, y + at, choice(sample) + at);
            else
                for (ptrdiff_t i = 0; i < out.width * out.stride; i += lanes)
                    store(y + at + i, positive(load(x + in.at(r, 0) + i)));
        }
    }

    void backward(int sample, const float*, const float* dy) override {
        if (!dx_.size()) return;
        dx_.clear();
        for (int r = 0; r < out.height; ++r)
            for (int c = 0; c < out.width; ++c)
                for (int o = 0; o < out.channels; ++o) backward(sample, dy, r, c, o);
    }

   private:
    void backward(int sample, const float* dy, int r, int c, int o) {
        const ptrdiff_t at = out.at(r, c) + o;
        if (!pool) {
            dx_[in.at(r, c) + o] = output(sample)[at] > 0 ? dy[at] : 0;
            return;
        }
        const int who = choice(sample)[at];
        if (who != nobody) dx_[in.at(2 * r + who / 2, 2 * c + who % 2) + o] = dy[at];
    }
};

}  // namespace airfeel
