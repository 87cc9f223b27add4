// One step of training: the terms of its gradient, and how the weights move along it.
#pragma once

#include "simd.hpp"

namespace airfeel {

// g ← ∇F + decay·w + pull·(w − start); g ← g·min(1, clip/‖g‖); v ← momentum·v + g; w ← w − rate·v.
// Zero switches a term off.
struct Rule {
    float rate, decay = 0, clip = 0, momentum = 0, pull = 0;
    double smoothing = 0;  // of the labels

    // Whether w ← w − rate·(∇F + decay·w) is all: layers then update their weights at once.
    bool in_place() const { return clip == 0 && momentum == 0 && pull == 0; }
};

// What a step that is not in place keeps beside an array of weights, in the same layout. The arrays
// are whole vectors; what pads them is zero.
struct Terms {
    Buffer<float> gradient, velocity, start;

    // The step is the first one of a device, whose weights are w.
    void begin(const Rule& rule, const Buffer<float>& w) {
        fit(gradient, w.size()), gradient.clear();  // of a device whose step was not finite
        if (rule.momentum != 0) fit(velocity, w.size()), velocity.clear();
        if (rule.pull != 0) fit(start, w.size()), std::copy_n(w.data(), w.size(), start.data());
    }

    // Adds decay and pull to the gradient; returns the squared norm of the sum.
    double complete(const Rule& rule, const Buffer<float>& w) {
        const Vec decay = spread(rule.decay), pull = spread(rule.pull);
        double square = 0;
        for (ptrdiff_t i = 0; i < w.size();) {
            Vec part = {};
            for (const ptrdiff_t end = std::min(i + 64 * lanes, w.size()); i < end; i += lanes) {
                Vec g = load(&gradient[i]) + decay * load(&w[i]);
                if (rule.pull != 0) g += pull * (load(&w[i]) - load(&start[i]));
                store(&gradient[i], g);
                part += g * g;
            }
            for (int j = 0; j < lanes; ++j) square += part[j];
        }
        return square;
    }

    // w ← w − rate·v with v ← momentum·v + factor·g
    void move(const Rule& rule, float factor, Buffer<float>& w) {
        const Vec scale = spread(factor), momentum = spread(rule.momentum), rate = spread(rule.rate);
        for (ptrdiff_t i = 0; i < w.size(); i += lanes) {
            Vec v = scale * load(&gradient[i]);
            if (rule.momentum != 0) {
                v += momentum * load(&velocity[i]);
                store(&velocity[i], v);
            }
            store(&w[i], load(&w[i]) - rate * v);
        }
    }

   private:
    static void fit(Buffer<float>& buffer, ptrdiff_t size) {
        if (buffer.size() != size) buffer = Buffer<float>(size);
    }
};

// w ← w − share·w: exact but for one rounding, which 1 − share would not be.
inline void shrink(float share, Buffer<float>& w) {
    const Vec part = spread(share);
    for (ptrdiff_t i = 0; i < w.size(); i += lanes) store(&w[i], load(&w[i]) - part * load(&w[i]));
}

}  // namespace airfeel
