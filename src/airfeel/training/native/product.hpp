// The dense work of a network as one product, computed in tiles that live in registers.
//
//     out[m][·]  =  bias[·] + Σ_i Σ_j Σ_k  a[i][j][m][k] · b[i][j][k][·]
//
// A convolution takes the pixels of an output row as m, the rows and columns of its filter as i and
// j, the channels as k. A linear layer takes the mini-batch as m and its inputs as k; a gradient of
// weights takes the inputs as m, and the pixels or the mini-batch as k.
#pragma once

#include <algorithm>
#include <utility>

#include "simd.hpp"

namespace airfeel {

struct Product {
    int rows, vectors;             // the output: m < rows, each of `vectors` vectors
    int outer, inner, depth;       // the sum: i < outer, j < inner, k < depth,
    int part = 256;                // k in parts of at most this many
    const float* a;                // scalars, at a + i·a_outer + j·a_inner + m·a_row + k·a_depth
    ptrdiff_t a_outer, a_inner, a_row, a_depth;
    const float* b;                // vectors, at b + (i·inner + j)·b_inner + k·b_depth
    ptrdiff_t b_inner, b_depth;
    float* out;                    // vectors, at out + m·out_row
    ptrdiff_t out_row;
    const float* bias = nullptr;   // where sums start from; zero if null
    bool add = false;              // out + factor·sums, not the sums alone
    float factor = 1;
    bool relu = false;             // max(0, ·) at last

    // Rows of `depth` floats times a matrix of `width` columns, all stored row by row.
    static Product of_rows(int rows, ptrdiff_t depth, ptrdiff_t width) {
        Product p;
        p.rows = rows;
        p.vectors = int(width / lanes);
        p.outer = p.inner = 1;
        p.depth = int(depth);
        p.a_outer = p.a_inner = p.b_inner = 0;
        p.a_row = depth;
        p.a_depth = 1;
        p.b_depth = p.out_row = width;
        return p;
    }
};

// Rows and vectors of the largest tile: accumulators, weights and one scalar fill the registers.
constexpr int tile_vectors = 2;
constexpr int tile_rows = (registers - 4) / tile_vectors;

template <int M, int N>
INLINE void accumulate(Vec (&sum)[M][N], const Product& p, const float* a, const float* b) {
    const ptrdiff_t a_row = p.a_row, a_depth = p.a_depth, b_depth = p.b_depth;
    for (int k = 0; k < p.depth; ++k, a += a_depth, b += b_depth) {
        Vec weights[N];
        UNROLL for (int n = 0; n < N; ++n) weights[n] = load(b + n * lanes);
        UNROLL for (int m = 0; m < M; ++m) {
            const Vec x = spread(a[m * a_row]);
            UNROLL for (int n = 0; n < N; ++n) sum[m][n] += x * weights[n];
        }
    }
}

template <int M, int N>
INLINE void finish(Vec (&sum)[M][N], const Product& p, float* out) {
    if (!p.add && !p.relu) {
        UNROLL for (int m = 0; m < M; ++m) UNROLL for (int n = 0; n < N; ++n)
            store(out + m * p.out_row + n * lanes, sum[m][n]);
        return;
    }
    const Vec factor = spread(p.factor);
    UNROLL for (int m = 0; m < M; ++m) UNROLL for (int n = 0; n < N; ++n) {
        float* at = out + m * p.out_row + n * lanes;
        const Vec v = p.add ? load(at) + factor * sum[m][n] : sum[m][n];
        store(at, p.relu ? positive(v) : v);
    }
}

// The tile of M rows and N vectors whose corner is (row, vector).
template <int M, int N>
void tile(const Product& p, int row, int vector) {
    Vec sum[M][N];
    UNROLL for (int n = 0; n < N; ++n) {
        const Vec start = p.bias ? load(p.bias + (vector + n) * lanes) : Vec{};
        UNROLL for (int m = 0; m < M; ++m) sum[m][n] = start;
    }
    const float* b = p.b + vector * lanes;
    for (int i = 0; i < p.outer; ++i)
        for (int j = 0; j < p.inner; ++j, b += p.b_inner)
            accumulate(sum, p, p.a + i * p.a_outer + j * p.a_inner + row * p.a_row, b);
    finish(sum, p, p.out + row * p.out_row + vector * lanes);
}

using Tile = void (*)(const Product&, int, int);

template <int N, int... Ms>
Tile tile_of(int rows, std::integer_sequence<int, Ms...>) {
    static constexpr Tile tiles[] = {tile<Ms + 1, N>...};
    return tiles[rows - 1];
}

// The product with each sum in one go: columns of tiles, rows shared out as evenly as they go.
inline void multiply_at_once(const Product& p) {
    using Rows = std::make_integer_sequence<int, tile_rows>;
    const int parts = (p.rows + tile_rows - 1) / tile_rows;
    for (int vector = 0; vector < p.vectors; vector += tile_vectors) {
        const bool full = p.vectors - vector >= tile_vectors;
        for (int part = 0, row = 0; part < parts; ++part) {
            const int m = (p.rows - row) / (parts - part);
            (full ? tile_of<tile_vectors>(m, Rows{}) : tile_of<1>(m, Rows{}))(p, row, vector);
            row += m;
        }
    }
}

// The product, its sums over k made in parts: rounding errors grow less than along one chain.
inline void multiply(Product p) {
    const int depth = p.depth;
    const bool relu = p.relu;
    for (int k = 0; k < depth; k += p.part) {
        p.depth = std::min(p.part, depth - k);
        p.relu = relu && k + p.depth == depth;
        multiply_at_once(p);
        p.a += p.depth * p.a_depth;
        p.b += p.depth * p.b_depth;
        p.bias = nullptr;
        p.add = true;
    }
}

}  // namespace airfeel
