// A sequential network, its SGD step, and its scores on samples: images through the stages, flat
// vectors through linear layers.
#pragma once

#include <memory>
#include <vector>

#include "conv.hpp"
#include "linear.hpp"
#include "samples.hpp"

namespace airfeel {

class Network {
   public:
    Network(const Layer* layers, size_t count, int batch, Use use)
        : batch_(batch), use_(use), flat_(layers[0].kind == Kind::linear) {
        Plane plane = with_slack(input_plane(layers[0]), layers[0]);
        in_ = plane;
        image_ = Buffer<float>(batch * in_.size());
        bool trained = false;  // is there anything to train before this layer?
        for (size_t i = 0; i < count; ++i) {
            if (layers[i].kind == Kind::linear) {
                linear_.push_back(std::make_unique<Linear>(layers[i], plane, batch, trained));
                plane = {int(layers[i].outputs), 1, 1, int(padded(layers[i].outputs)), 0};
                if (layers[i].drop) linear_.back()->dropped = next_place(plane);
            } else {
                const Plane out = with_slack(output_plane(layers, i), layers[i + 1]);
                stages_.push_back(make_stage(layers[i], plane, out, trained));
                plane = out;
                if (layers[i].drop) stages_.back()->dropped = next_place(plane);
            }
            trained |= use == Use::train && layers[i].kind != Kind::pass;
        }
        classes_ = plane.channels;
    }

    void read(const float* theta) {
        each_weights([&](Weights& w, ptrdiff_t at) { w.read(theta + at); });
    }

    // The model that a device starts from, whose steps follow the rule.
    void begin(const float* theta, const Rule& rule) {
        read(theta);
        each_weights([&](Weights& w, ptrdiff_t) { w.begin(rule); });
    }

    void subtract(const float* theta, float* difference) {
        each_weights([&](Weights& w, ptrdiff_t at) { w.subtract(theta + at, difference + at); });
    }

    // One step by the rule, where F is the mean cross-entropy of the samples at `index`; returns
    // that mean, before the step. moves: one for each sample; null without augmentation. dropout: null
    // without.
    double step(const Samples& samples, const int64_t* index, const Move* moves,
                const Dropout* dropout, const Rule& rule) {
        for (auto& stage : stages_) stage->begin_step();
        for (int b = 0; b < batch_; ++b) {
            samples.fetch(index[b], in_, flat_, moves ? moves + b : nullptr,
                          image_.data() + b * in_.size());
            for (size_t i = 0; i < stages_.size(); ++i) {
                stages_[i]->forward(b, stage_input(i, b));
                if (drops(dropout, *stages_[i])) stages_[i]->drop_output(b, *dropout);
            }
        }
        for (size_t i = 0; i < linear_.size(); ++i) {
            linear_[i]->forward(linear_input(i), batch_);
            if (drops(dropout, *linear_[i])) linear_[i]->drop_all(*dropout, linear_[i]->output);
        }
        const double loss = loss_and_gradient(samples, index, rule.smoothing);
        for (size_t i = linear_.size(); i-- > 0;) {
            if (drops(dropout, *linear_[i])) linear_[i]->drop_all(*dropout, linear_[i]->dy);
            linear_[i]->backward(linear_input(i), rule);
            if (i > 0) std::swap(linear_[i - 1]->dy, linear_[i]->dx);
        }
        backward_stages(dropout, rule);
        if (!rule.in_place()) move(rule);
        return loss;
    }

    // Sums over the first `all` samples: how many have their label as the largest logit, and the
    // cross-entropy.
    void score(const Samples& samples, int64_t all, int64_t& hits, double& loss) {
        Linear& last = *linear_.back();
        for (auto& stage : stages_) stage->begin_step();
        hits = 0;
        loss = 0;
        for (int64_t start = 0; start < all; start += batch_) {
            const int count = int(std::min<int64_t>(batch_, all - start));
            for (int b = 0; b < count; ++b)
                samples.fetch(start + b, in_, flat_, nullptr, image_.data() + b * in_.size());
            for (int b = 0; b < count; b += few)
                for (size_t i = 0; i < stages_.size(); ++i)
                    stages_[i]->forward_some(b, std::min(few, count - b), stage_input(i, b));
            for (size_t i = 0; i < linear_.size(); ++i) linear_[i]->forward(linear_input(i), count);
            for (int b = 0; b < count; ++b) {
                const float* logits = last.output.data() + b * last.weights.columns;
                const int64_t label = samples.label[start + b];
                hits += largest(logits, classes_) == label;
                loss += cross_entropy(logits, classes_, label, 1.0, last.dy.data());
            }
        }
    }

   private:
    template <class Layer>
    static bool drops(const Dropout* dropout, const Layer& layer) {
        return dropout && layer.dropped.place >= 0;
    }

    DropPlace next_place(const Plane& plane) {
        DropPlace next{places_++, units_, ptrdiff_t{plane.height} * plane.width * plane.channels};
        units_ += batch_ * next.units;
        return next;
    }

    static constexpr int few = 4;  // images that go through the stages together: they stay in cache

    // The first linear layer reads an image as it is stored; convolutions read pixels side by side,
    // other stages whole vectors.
    Plane input_plane(const Layer& first) const {
        const int c = int(first.channels), h = int(first.height), w = int(first.width);
        if (flat_) return {c * h * w, 1, 1, c * h * w, 0};
        return {c, h, w, first.kind == Kind::conv ? c : int(padded(c)), int(first.padding)};
    }

    static Plane output_plane(const Layer* layers, size_t i) {
        const Layer &layer = layers[i], &next = layers[i + 1];
        return {int(layer.outputs), int(next.height), int(next.width), int(padded(layer.outputs)),
                int(next.padding)};
    }

    // Room for the tiles of a network that is only looked through.
    Plane with_slack(Plane plane, const Layer& next) const {
        if (use_ == Use::look && Conv::in_large_tiles(next, plane)) {
            plane.below = WinogradLarge::slack(plane.height + 2 * plane.halo);
            plane.right = WinogradLarge::slack(plane.width + 2 * plane.halo);
        }
        return plane;
    }

    std::unique_ptr<Stage> make_stage(const Layer& layer, const Plane& in, const Plane& out,
                                      bool wants_dx) {
        if (layer.kind == Kind::pass)
            return std::make_unique<Pass>(layer, in, out, batch_, wants_dx);
        auto conv = std::make_unique<Conv>(layer, in, out, batch_, wants_dx, use_);
        convs_.push_back(conv.get());
        return conv;
    }

    template <class Visit>
    void each_weights(Visit visit) {
        ptrdiff_t at = 0;
        auto next = [&](Weights& w) {
            visit(w, at);
            at += w.parameters();
        };
        for (Conv* conv : convs_) next(conv->weights);
        for (auto& layer : linear_) next(layer->weights);
    }

    const float* stage_input(size_t i, int sample) const {
        const Stage* before = i ? stages_[i - 1].get() : nullptr;
        return before ? before->output(sample) : image_.data() + sample * in_.size();
    }

    const float* linear_input(size_t i) const {
        if (i) return linear_[i - 1]->output.data();
        return stage_input(stages_.size(), 0);
    }

    // Along the gradient that the layers have handed over.
    void move(const Rule& rule) {
        double square = 0;
        each_weights([&](Weights& w, ptrdiff_t) { square += w.complete(rule); });
        float factor = 1;
        if (rule.clip > 0) {  // as PyTorch's clip_grad_norm_; a NaN stays a NaN
            const double share = rule.clip / (std::sqrt(square) + 1e-6);
            factor = share > 1 ? 1.0f : float(share);
        }
        each_weights([&](Weights& w, ptrdiff_t) { w.move(rule, factor); });
    }

    double loss_and_gradient(const Samples& samples, const int64_t* index, double smoothing) {
        Linear& last = *linear_.back();
        const ptrdiff_t row = last.weights.columns;
        double loss = 0;
        for (int b = 0; b < batch_; ++b)
            loss += cross_entropy(last.output.data() + b * row, classes_, samples.label[index[b]],
                                  1.0 / batch_, last.dy.data() + b * row, smoothing);
        return loss / batch_;
    }

    void backward_stages(const Dropout* dropout, const Rule& rule) {
        if (convs_.empty()) return;
        const ptrdiff_t size = stages_.back()->out.size();
        for (int b = 0; b < batch_; ++b) {
            float* dy = linear_[0]->dx.data() + b * size;
            for (size_t i = stages_.size(); i-- > 0;) {
                if (drops(dropout, *stages_[i])) stages_[i]->drop_gradient(b, *dropout, dy);
                stages_[i]->backward(b, stage_input(i, b), dy);
                dy = stages_[i]->input_gradient();  // null where it is not needed
                if (!dy) break;
            }
        }
        for (auto& stage : stages_) stage->end_step(rule);
    }

    int batch_, classes_ = 0;
    int places_ = 0;       // of dropout
    ptrdiff_t units_ = 0;  // of a mini-batch there
    Use use_;
    bool flat_;
    Plane in_;
    Buffer<float> image_;  // the mini-batch as the first layer reads it
    std::vector<std::unique_ptr<Stage>> stages_;
    std::vector<Conv*> convs_;  // those stages that have weights
    std::vector<std::unique_ptr<Linear>> linear_;
};

}  // namespace airfeel
