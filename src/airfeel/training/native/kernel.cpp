// The door of the library, called through ctypes: local SGD on n devices, one after another; and how
// well a model does on samples.
//
// All that could go out of bounds (shapes, sample indices, labels) has been checked by the caller.

#include "network.hpp"

namespace airfeel {
namespace {

// A thread keeps its last network of each use, so that a device costs no allocation and no page
// faults.
struct Kept {
    std::vector<int64_t> key;
    std::unique_ptr<Network> network;
};

template <Use use>
Network& network_for(const int64_t* table, int64_t layers, int64_t batch) {
    thread_local Kept kept;
    constexpr int64_t fields = sizeof(Layer) / sizeof(int64_t);
    std::vector<int64_t> key(table, table + layers * fields);
    key.push_back(batch);
    if (kept.key != key) {
        kept.network.reset();
        kept.key.clear();
        const Layer* first = reinterpret_cast<const Layer*>(table);
        kept.network = std::make_unique<Network>(first, size_t(layers), int(batch), use);
        kept.key = std::move(key);
    }
    return *kept.network;
}

// The samples that a network's first layer takes.
Samples samples_of(const int64_t* table, const void* x, bool bytes, const int64_t* label,
                   const float* shift, const float* scale) {
    const Layer& first = *reinterpret_cast<const Layer*>(table);
    return {x,           bytes, label, shift, scale, int(first.channels), int(first.height),
            int(first.width)};
}

constexpr int64_t look_batch = 64;  // samples that linear layers look at together

}  // namespace
}  // namespace airfeel

#define EXPORTED extern "C" __attribute__((visibility("default")))

// delta[n] = w_H − theta after H = steps steps from theta on the batches of device n; loss[n] is
// the mean mini-batch loss. moves: how each sample is augmented, read if `augmented`. keep: units that
// dropout keeps, `units` of them in a step, 0 without dropout; kept_scale: one for each place. decay,
// clip, momentum, pull, smoothing: see rule.hpp; 0 switches each off. Returns 0, or 1 when memory ran
// out.
EXPORTED int airfeel_local_sgd(const int64_t* table, int64_t layers,
                               const float* theta, int64_t parameters,
                               const void* x, int64_t bytes, const int64_t* label,
                               const float* shift, const float* scale,
                               const int64_t* batches, int64_t devices, int64_t steps, int64_t batch,
                               const int32_t* moves, int64_t augmented, const uint8_t* keep,
                               int64_t units, const float* kept_scale, float rate, float decay,
                               float clip, float momentum, float pull, double smoothing,
                               float* delta, double* loss) {
    using namespace airfeel;
    const FlushSubnormals flush;
    try {
        Network& network = network_for<Use::train>(table, layers, batch);
        const Samples samples = samples_of(table, x, bytes != 0, label, shift, scale);
        const Rule rule{rate, decay, clip, momentum, pull, smoothing};
        for (int64_t n = 0; n < devices; ++n) {
            network.begin(theta, rule);
            double sum = 0;
            for (int64_t h = 0; h < steps; ++h) {
                const int64_t at = (n * steps + h) * batch;
                const Move* move = reinterpret_cast<const Move*>(moves) + at;
                const Dropout dropout{keep + (n * steps + h) * units, kept_scale};
                sum += network.step(samples, batches + at, augmented ? move : nullptr,
                                    units ? &dropout : nullptr, rule);
            }
            network.subtract(theta, delta + n * parameters);
            loss[n] = sum / double(steps);
        }
    } catch (const std::bad_alloc&) {
        return 1;
    }
    return 0;
}

// How many of `count` samples theta classifies rightly, and their summed cross-entropy. Returns 0, or
// 1 when memory ran out.
EXPORTED int airfeel_evaluate(const int64_t* table, int64_t layers, const float* theta, const void* x,
                              int64_t bytes, const int64_t* label, const float* shift,
                              const float* scale, int64_t count, int64_t* hits, double* loss) {
    using namespace airfeel;
    const FlushSubnormals flush;
    try {
        Network& network = network_for<Use::look>(table, layers, look_batch);
        network.read(theta);
        network.score(samples_of(table, x, bytes != 0, label, shift, scale), count, *hits, *loss);
    } catch (const std::bad_alloc&) {
        return 1;
    }
    return 0;
}
