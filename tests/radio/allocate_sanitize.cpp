// Runs the allocation kernel on draws read from standard input, with arrays of exactly the needed
// size, so that a sanitizer build notices every step outside of them. Prints a checksum.
//
// Each draw: n, m, noise, then power [n] and gain2 [n][m].

#include <cstdio>
#include <iostream>

#include "kernel.cpp"

int main() {
    int64_t n, m;
    double noise;
    while (std::cin >> n >> m >> noise) {
        std::vector<double> power(n), gain2(n * m), snr(n * m), bits(n, 1.0);
        std::vector<double> allowed(n * m), filled(n * m);
        for (auto& value : power) std::cin >> value;
        for (auto& value : gain2) std::cin >> value;
        for (int64_t k = 0; k < n * m; ++k) snr[k] = power[k / m] * gain2[k] / noise;
        std::vector<int64_t> owner(m, -1);
        for (int64_t k = 0; k < n; k += 2) owner[k] = k;  // every other device has a start
        const int legal = airfeel_legal(power.data(), gain2.data(), bits.data(), n, m, noise);
        const int status = airfeel_bottleneck(snr.data(), n, m, allowed.data())
                         + airfeel_complete(snr.data(), bits.data(), n, m, owner.data())
                         + airfeel_fill(power.data(), gain2.data(), n, m, noise, owner.data(),
                                        filled.data());
        const auto edges = std::count(allowed.begin(), allowed.end(), -airfeel::infinity);
        std::vector<double> energy(n * 3);
        airfeel_energy_float64(gain2.data(), n, m, 3, energy.data());
        double sum = 0;
        for (const double e : energy) sum += e;
        for (const double p : filled) sum += p;
        std::printf("%d %d %d %.6g\n", legal, status, int(n * m - edges), sum);
    }
}
