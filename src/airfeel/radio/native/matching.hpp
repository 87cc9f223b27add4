// Who gets which sub-channel: the bottleneck value of a matching, and greedy completion; the same in
// NumPy is in matching.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "matrix.hpp"

namespace airfeel {

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
            row = via_[column];
            owner_[column] = row;
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
            if (*slowest == infinity) return;  // no candidate is left
            *slowest = offer_best(slowest - speed_.begin(), *slowest);
        }
    }

   private:
    // The device's speed with its best free column; infinite if that one would not make it faster:
    // then it is no longer a candidate, and what it holds here counts no more.
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

}  // namespace airfeel
