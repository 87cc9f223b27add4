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
    const int64_t rows = up_to(3), places = rows + 2;
    std::vector<T> delta(rows * d), memory(places * d), x(rows * d), common(rows * k), value(rows * l);
    for (T& one : delta) one = T(ties ? double(random() % 3) : normal(random));
    if (rows > 1) delta[d] = std::numeric_limits<T>::infinity();
    std::vector<int64_t> support(k), index(rows * l), none(1, d), row(rows), place(rows, 1);
    for (int64_t r = 0; r < rows; ++r) row[r] = r, place[r] = rows + 1 - r;
    std::vector<uint8_t> finite(rows);
    std::vector<double> die(rows * l);
    for (double& one : die) one = std::uniform_real_distribution<double>()(random);
    airfeel::add_rows(delta.data(), memory.data(), place.data(), rows, d, x.data(), finite.data());
    airfeel::top_k(x.data(), std::min(rows, int64_t(1)), d, none.data(), 0, k, support.data());
    if (!rows) std::iota(support.begin(), support.end(), 0);
    airfeel::top_k(x.data(), rows, d, support.data(), k, l, index.data());
    if (airfeel::top_k(x.data(), 1, d, none.data(), 1, 0, index.data()) != airfeel::OUT_OF_RANGE)
        std::abort();
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t j = 0; j < k; ++j) common[r * k + j] = x[r * d + support[j]];
        for (int64_t j = 0; j < l; ++j) value[r * l + j] = x[r * d + index[r * l + j]];
        airfeel::quantize(std::vector<T>(value.begin() + r * l, value.begin() + (r + 1) * l).data(), l,
                          127.0, die.data() + r * l, value.data() + r * l);
    }
    airfeel::keep(x.data(), d, support.data(), common.data(), k, index.data(), value.data(), l,
                  row.data(), row.data(), place.data(), rows, memory.data());
}

int main() {
    std::mt19937 random(7);
    for (int i = 0; i < 150; ++i) {
        run<float>(random);
        run<double>(random);
    }
    std::printf("300 vectors\n");
}
