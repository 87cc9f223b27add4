// Runs the native kernel on networks read from standard input, with arrays of exactly the needed
// size, so that a sanitizer build notices every step outside of them. Prints a checksum.
//
// Each network: samples, bytes, parameters, classes, devices, steps, batch, layers, units that dropout
// has in a sample, then its table.

#include <cstdio>
#include <iostream>
#include <random>

#include "kernel.cpp"

int main() {
    std::mt19937 dice(1);
    std::uniform_real_distribution<float> small(-0.3f, 0.3f);
    int64_t samples, bytes, parameters, classes, devices, steps, batch, layers, units;
    while (std::cin >> samples >> bytes >> parameters >> classes
           >> devices >> steps >> batch >> layers >> units) {
        std::vector<int64_t> table(layers * sizeof(airfeel::Layer) / sizeof(int64_t));
        for (auto& field : table) std::cin >> field;
        const int64_t pixels = samples * table[1] * table[2] * table[3];
        std::vector<uint8_t> stored(pixels * (bytes ? 1 : sizeof(float)));
        if (bytes)
            for (auto& value : stored) value = uint8_t(dice());
        else
            std::generate_n(reinterpret_cast<float*>(stored.data()), pixels,
                            [&] { return small(dice); });
        std::vector<float> theta(parameters), shift(table[1], 0.1f), scale(table[1], 0.02f);
        for (auto& value : theta) value = small(dice);
        std::vector<int64_t> label(samples), index(devices * steps * batch);
        for (auto& value : label) value = dice() % classes;
        for (auto& value : index) value = dice() % samples;
        const int high = int(table[2]), wide = int(table[3]);
        std::vector<airfeel::Move> moves(index.size());
        for (auto& m : moves) {
            auto upto = [&](int most) { return int(dice() % unsigned(most + 1)); };
            const int top = upto(high), left = upto(wide);
            m = {upto(2 * high) - high, upto(2 * wide) - wide, upto(1),
                 top, left, top + upto(high - top), left + upto(wide - left)};
        }
        std::vector<float> delta(devices * parameters);
        std::vector<double> loss(devices);
        std::vector<uint8_t> keep(devices * steps * batch * units);
        for (auto& kept : keep) kept = dice() % 4 > 0;
        const std::vector<float> factors(layers, 4.0f / 3.0f);
        auto train = [&](bool augmented, float decay = 0, float more = 0) {
            return airfeel_local_sgd(table.data(), layers, theta.data(), parameters, stored.data(),
                                     bytes, label.data(), shift.data(), scale.data(), index.data(),
                                     devices, steps, batch,
                                     reinterpret_cast<const int32_t*>(moves.data()), augmented,
                                     keep.data(), decay != 0 ? batch * units : 0, factors.data(),
                                     0.05f, decay, more, more, more, more, delta.data(),
                                     loss.data());
        };
        theta[parameters / 2] = INFINITY;  // what is not finite must not lead astray either
        train(true);
        train(true, 0.1f, 0.5f);
        theta[parameters / 2] = 0;
        const int status = train(true) + train(false, 0.1f) + train(true, 0.1f, 0.5f) + train(false);
        int64_t hits = 0;
        double whole = 0;
        const int looked = airfeel_evaluate(table.data(), layers, theta.data(), stored.data(), bytes,
                                            label.data(), shift.data(), scale.data(), samples, &hits,
                                            &whole);
        double sum = 0;
        for (float value : delta) sum += std::abs(value);
        std::printf("%d %.6g %.6g %d %.6g %d\n", status, loss[0], sum, looked, whole, int(hits));
    }
}
