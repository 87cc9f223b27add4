// What arrives of symbols without noise; the same in PyTorch is `superpose` in air.py.
#pragma once

#include <cstdint>

namespace airfeel {

// total [count] = Σ over the rows named, in that order, of x[row]·arriving[row][part], a part of
// `size[part]` symbols at a time: it stays in the cache while all rows are added.
template <class T>
void superpose(const T* x, int64_t count, const T* arriving, const int64_t* size, int64_t parts,
               const int64_t* row, int64_t rows, T* total) {
    for (int64_t p = 0, first = 0; p < parts; first += size[p++]) {
        T* const sum = total + first;
        for (int64_t i = 0; i < size[p]; ++i) sum[i] = 0;
        for (int64_t r = 0; r < rows; ++r) {
            const T* const said = x + row[r] * count + first;
            const T h = arriving[row[r] * parts + p];
            for (int64_t i = 0; i < size[p]; ++i) sum[i] += said[i] * h;
        }
    }
}

}  // namespace airfeel
