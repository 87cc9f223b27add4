// What the steps of an allocation share.
#pragma once

#include <cstdint>
#include <limits>

namespace airfeel {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t nobody = -1;

// A matrix [rows][columns] that belongs to the caller.
struct Matrix {
    const double* data;
    int64_t rows, columns;
    const double* row(int64_t n) const { return data + n * columns; }
};

}  // namespace airfeel
