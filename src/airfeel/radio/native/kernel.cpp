// The steps of Sun et al. 2022, Algorithm 2, called through ctypes: the bottleneck value, greedy
// completion, water-filling. What matching.py and power.py say in NumPy is done here with the same
// operations in the same order, so that every bit of the result is the same. And the energy of
// segments, as air.py has it, but for the order of its sums.
//
// All that could go out of bounds (shapes, owners) has been checked by the caller.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace airfeel {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t nobody = -1;

// A matrix [rows][columns] that belongs to the caller.
struct Matrix {
    const double* data;
    int64_t rows, columns;
    const double* row(int64_t n) const { return data + n * columns; }
};

// Rows enter a matching one by one, each along an alternating path from it to a column that is free,
// over rates of at least the threshold. Where no such path is left, the threshold falls to the
// largest rate in sight: it is never lower than the rows that have entered require.
class Bottleneck {
   public:
    explicit Bottleneck(const Matrix& rate)
        : rate_(rate), column_(rate.rows, nobody), owner_(rate.columns, nobody),
          via_(rate.columns), best_(rate.columns) {}

    double value() {
        threshold_ = bound();
        for (int64_t n = 0; n < rate_.rows; ++n) swap_along_path(n, reach_free_column(n));
        return threshold_;
    }

   private:
    // No more than the smallest row maximum, nor than the n-th largest column maximum, since n
    // columns are used; the answer is mostly near it.
    double bound() {
        double bound = infinity;
        std::fill(best_.begin(), best_.end(), -infinity);
        for (int64_t n = 0; n < rate_.rows; ++n) {
            const double* rate = rate_.row(n);
            bound = std::min(bound, *std::max_element(rate, rate + rate_.columns));
            for (int64_t m = 0; m < rate_.columns; ++m) best_[m] = std::max(best_[m], rate[m]);
        }
        const auto nth = best_.end() - rate_.rows;
        std::nth_element(best_.begin(), nth, best_.end());
        return std::min(bound, *nth);
    }

    int64_t reach_free_column(int64_t start) {
        std::fill(best_.begin(), best_.end(), -infinity);
        queue_.assign(1, start);
        for (size_t next = 0;; ++next) {
            if (next == queue_.size()) {
                const int64_t m = largest_in_sight();
                threshold_ = std::min(threshold_, best_[m]);
                if (owner_[m] == nobody) return m;
                pass_through(m);
            }
            const int64_t row = queue_[next];
            const double* rate = rate_.row(row);
            for (int64_t m = 0; m < rate_.columns; ++m) {
                if (!(rate[m] > best_[m])) continue;
                via_[m] = row;
                best_[m] = rate[m];
                if (rate[m] < threshold_) continue;
                if (owner_[m] == nobody) return m;
                pass_through(m);
            }
        }
    }

    // From a column that is taken to the row that owns it; nothing reaches it any more.
    void pass_through(int64_t m) {
        best_[m] = infinity;
        queue_.push_back(owner_[m]);
    }

    int64_t largest_in_sight() const {
        int64_t largest = nobody;
        for (int64_t m = 0; m < rate_.columns; ++m)
            if (best_[m] < infinity && (largest == nobody || best_[m] > best_[largest])) largest = m;
        return largest;
    }

    // Every row on the path takes the column it reached, back to the row that came in.
    void swap_along_path(int64_t start, int64_t column) {
        for (int64_t row = nobody; row != start;) {
            row = owner_[column] = via_[column];
            std::swap(column, column_[row]);
        }
    }

    Matrix rate_;
    double threshold_ = infinity;
    std::vector<int64_t> column_, owner_;  // of each row, of each column
    std::vector<int64_t> queue_;           // rows reached, in order
    std::vector<int64_t> via_;             // [columns]: the row from which it is best reached
    std::vector<double> best_;             // [columns]: the rate there; ∞ when passed through
};

// Gives the columns that nobody owns, one at a time, to the slowest device if it gains by that.
class Greedy {
   public:
    Greedy(const Matrix& snr, const double* bits, int64_t* owner)
        : snr_(snr), bits_(bits), owner_(owner), held_(snr.rows), speed_(snr.rows) {
        for (int64_t m = 0; m < snr.columns; ++m)
            (owner[m] == nobody ? free_ : held_[owner[m]]).push_back(m);
        for (int64_t n = 0; n < snr.rows; ++n) speed_[n] = speed(n);
    }

    void complete() {
        while (!free_.empty() && !speed_.empty()) {
            const auto slowest = std::min_element(speed_.begin(), speed_.end());
            if (*slowest == infinity) return;  // nobody is willing any more
            *slowest = offer_best(slowest - speed_.begin(), *slowest);
        }
    }

   private:
    // The device's speed with its best free column; infinite if it does not want that one: then it
    // leaves the willing, and what it holds here counts no more.
    double offer_best(int64_t n, double before) {
        const double* snr = snr_.row(n);
        const auto best = std::max_element(free_.begin(), free_.end(),
                                           [=](int64_t a, int64_t b) { return snr[a] < snr[b]; });
        held_[n].push_back(*best);
        const double after = speed(n);
        if (!(after > before)) return infinity;
        owner_[*best] = n;
        free_.erase(best);
        return after;
    }

    // Rate over bits with equal power on all columns that the device holds.
    double speed(int64_t n) const {
        const double* snr = snr_.row(n);
        const double shares = double(held_[n].size());
        double rate = 0.0;
        for (const int64_t m : held_[n]) rate += std::log1p(snr[m] / shares);
        return rate / bits_[n];
    }

    Matrix snr_;
    const double* bits_;
    int64_t* owner_;
    std::vector<std::vector<int64_t>> held_;
    std::vector<int64_t> free_;
    std::vector<double> speed_;
};

// Keeps a product from being fused with a sum into one operation, which would round differently.
double rounded(double product) {
    volatile double kept = product;
    return kept;
}

// A column that a device holds, as the floor of its basin.
struct Floor {
    int64_t device, column;
    double gain, height, total;
    bool wet;
};

// Water-filling of one device, its floors sorted from the lowest to the highest. Heights count from
// the lowest one in units of the device's power, as `_fill_sorted` in power.py explains.
void fill_basin(Floor* begin, Floor* end, double power, double noise, double* filled) {
    const double best = begin->gain;
    if (!(power > 0.0 && best > 0.0)) return;
    const double unit = noise / (power * best);
    double total = 0.0;
    int64_t wet = 0;
    for (Floor* floor = begin; floor != end; ++floor) {
        const double gain = floor->gain, count = double(floor - begin + 1);
        floor->height = gain == best ? 0.0 : rounded((best - gain) / gain * unit);
        floor->total = total += floor->height;
        floor->wet = 1.0 + total > count * floor->height && gain > 0.0;
        wet += floor->wet;
    }
    const double level = (1.0 + begin[wet - 1].total) / double(wet);  // the lowest is always wet
    for (Floor* floor = begin; floor != end; ++floor)
        if (floor->wet) filled[floor->column] = power * std::max(level - floor->height, 0.0);
}

void fill_all(const double* power, const Matrix& gain2, double noise, const int64_t* owner,
              double* filled) {
    std::vector<Floor> floors;
    for (int64_t m = 0; m < gain2.columns; ++m)
        if (owner[m] != nobody)
            floors.push_back({owner[m], m, gain2.row(owner[m])[m], 0.0, 0.0, false});
    std::stable_sort(floors.begin(), floors.end(), [](const Floor& a, const Floor& b) {
        return a.device != b.device ? a.device < b.device : a.gain > b.gain;
    });
    Floor *begin = floors.data(), *behind = begin + floors.size();
    while (begin != behind) {
        const int64_t n = begin->device;
        Floor* end = std::find_if(begin, behind, [n](const Floor& f) { return f.device != n; });
        fill_basin(begin, end, power[n], noise, filled + n * gain2.columns);
        begin = end;
    }
}

// Whether all values are at least 0, and the largest of them.
bool not_negative(const double* values, int64_t count, double& largest) {
    bool fine = true;
    for (int64_t k = 0; k < count; ++k) {
        fine &= values[k] >= 0.0;
        largest = values[k] > largest ? values[k] : largest;
    }
    return fine;
}

// Σ x² in float64: sums side by side, which do not wait for each other.
template <class T>
double energy_of(const T* x, int64_t count) {
    constexpr int64_t lanes = 32;
    double sum[lanes] = {};
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        for (int64_t l = 0; l < lanes; ++l) sum[l] += double(x[i + l]) * double(x[i + l]);
    for (; i < count; ++i) sum[i % lanes] += double(x[i]) * double(x[i]);
    for (int64_t half = lanes / 2; half > 0; half /= 2)
        for (int64_t l = 0; l < half; ++l) sum[l] += sum[l + half];
    return sum[0];
}

// The energy of each of `parts` segments of x, of equal length but for one more at the first ones.
template <class T>
void segment_energy(const T* x, int64_t count, int64_t parts, double* energy) {
    for (int64_t p = 0; p < parts; ++p) {
        const int64_t size = count / parts + (p < count % parts);
        energy[p] = energy_of(x, size);
        x += size;
    }
}

// 0, or 1 when memory ran out.
template <class Work>
int status_of(const Work& work) {
    try {
        work();
    } catch (const std::bad_alloc&) {
        return 1;
    }
    return 0;
}

}  // namespace
}  // namespace airfeel

#define EXPORTED extern "C" __attribute__((visibility("default")))

// 1 if no value is below zero, infinite or not a number, nor the noise zero, nor any ratio of signal
// to noise infinite; else 0. Written so that a NaN fails.
EXPORTED int airfeel_legal(const double* power, const double* gain2, const double* bits, int64_t n,
                           int64_t m, double noise) {
    using namespace airfeel;
    double strongest = 0.0, best = 0.0, most = 0.0;
    return not_negative(power, n, strongest) && not_negative(gain2, n * m, best)
        && not_negative(bits, n, most) && noise > 0.0 && noise < infinity
        && strongest < infinity && best < infinity && most < infinity
        && strongest * best / noise < infinity;
}

// allowed [n][m]: rate where it reaches the largest threshold whose edges (rate ≥ threshold) hold
// a matching of all rows, −∞ elsewhere; n ≤ m.
EXPORTED int airfeel_bottleneck(const double* rate, int64_t n, int64_t m, double* allowed) {
    using namespace airfeel;
    return status_of([=] {
        const double value = Bottleneck({rate, n, m}).value();
        for (int64_t k = 0; k < n * m; ++k) allowed[k] = rate[k] >= value ? rate[k] : -infinity;
    });
}

// owner [m]: −1 is replaced by who takes the sub-channel, where somebody does.
EXPORTED int airfeel_complete(const double* snr, const double* bits, int64_t n, int64_t m,
                              int64_t* owner) {
    using namespace airfeel;
    return status_of([=] { Greedy({snr, n, m}, bits, owner).complete(); });
}

// filled [n][m]: zero at first, receives the power of each device on each sub-channel it owns.
EXPORTED int airfeel_fill(const double* power, const double* gain2, int64_t n, int64_t m,
                          double noise, const int64_t* owner, double* filled) {
    using namespace airfeel;
    return status_of([=] { fill_all(power, {gain2, n, m}, noise, owner, filled); });
}

EXPORTED void airfeel_energy_float32(const float* x, int64_t rows, int64_t count, int64_t parts,
                                    double* energy) {
    for (int64_t r = 0; r < rows; ++r)
        airfeel::segment_energy(x + r * count, count, parts, energy + r * parts);
}

EXPORTED void airfeel_energy_float64(const double* x, int64_t rows, int64_t count, int64_t parts,
                                    double* energy) {
    for (int64_t r = 0; r < rows; ++r)
        airfeel::segment_energy(x + r * count, count, parts, energy + r * parts);
}
