// Runs every loop of the kernel on random vectors in arrays of exact size, for a sanitizer to watch.

#include "kernel.cpp"

#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

template <class T> void run(std::mt19937& random) {
    const auto up_to = [&](int64_t most) { return int64_t(random() % uint64_t(most + 1)); };
    const int64_t d = 1 + up_to(random() % 4 ? 300 : 20000), k = up_to(d), l = up_to(d - k);
    const bool ties = random() % 2;
    std::normal_distribution<double> normal;
    std::vector<T> delta(d), memory(d), x(d), common(k), value(l), kept(d);
    for (T& one : delta) one = T(ties ? double(random() % 3) : normal(random));
    std::vector<int64_t> support(k), index(l), none(1, d);
    std::vector<double> die(l);
    for (double& one : die) one = std::uniform_real_distribution<double>()(random);
    airfeel::add(delta.data(), memory.data(), d, x.data());
    airfeel::top_k(x.data(), d, none.data(), 0, k, support.data());
    airfeel::top_k(x.data(), d, support.data(), k, l, index.data());
    if (airfeel::top_k(x.data(), d, none.data(), 1, 0, index.data()) != airfeel::OUT_OF_RANGE)
        std::abort();
    for (int64_t j = 0; j < k; ++j) common[j] = x[support[j]];
    for (int64_t j = 0; j < l; ++j) value[j] = x[index[j]];
    airfeel::quantize(std::vector<T>(value).data(), l, 127.0, die.data(), value.data());
    airfeel::keep(x.data(), d, support.data(), common.data(), k, index.data(), value.data(), l,
                  kept.data());
}

int main() {
    std::mt19937 random(7);
    for (int i = 0; i < 150; ++i) {
        run<float>(random);
        run<double>(random);
    }
    std::printf("300 vectors\n");
}
