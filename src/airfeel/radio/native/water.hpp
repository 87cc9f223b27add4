// Water-filling; the same in NumPy is `fill_sorted` in power.py.
#pragma once

#include <algorithm>
#include <vector>

#include "matrix.hpp"

namespace airfeel {

// A column that a device holds, as the floor of its basin.
struct Floor {
    int64_t device, column;
    double gain, height, total;
    bool wet;
};

// Water-filling of one device, its floors sorted from the lowest to the highest. Heights count from
// the lowest one in units of the device's power, as `fill_sorted` in power.py explains.
inline void fill_basin(Floor* begin, Floor* end, double power, double noise, double* filled) {
    const double best = begin->gain;
    if (!(power > 0.0 && best > 0.0)) return;
    const double unit = noise / (power * best);
    double total = 0.0;
    int64_t wet = 0;
    for (Floor* floor = begin; floor != end; ++floor) {
        const double gain = floor->gain, count = double(floor - begin + 1);
        floor->height = gain == best ? 0.0 : (best - gain) / gain * unit;
        total += floor->height;
        floor->total = total;
        floor->wet = 1.0 + total > count * floor->height && gain > 0.0;
        wet += floor->wet;
    }
    const double level = (1.0 + begin[wet - 1].total) / double(wet);  // the lowest is always wet
    for (Floor* floor = begin; floor != end; ++floor)
        if (floor->wet) filled[floor->column] = power * std::max(level - floor->height, 0.0);
}

inline void fill_all(const double* power, const Matrix& gain2, double noise, const int64_t* owner,
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

}  // namespace airfeel
