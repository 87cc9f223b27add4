// The sparse work of a network: weighted sums over lists of active outputs. For each list l,
//
//     out[at_l + r·out_row + i]  +=  Σ_{e in l}  e.weight · source[e.at + r·source_row + i]
//
// for r < rows and i < width. With a list of input positions for each output channel this is a
// gradient of the weights; with a list of filters for each position, one of the input.
#pragma once

#include <algorithm>
#include <utility>

#include "lists.hpp"

namespace airfeel {

// Where the sums read and write: planes of floats with a row stride.
struct Sums {
    const float* source;
    ptrdiff_t source_row;
    float* out;
    ptrdiff_t out_row;
};

// Sums of every list over R rows of V vectors, held in registers. They start from zero, not from
// `out`, so that lists whose outputs overlap do not wait for one another.
template <int R, int V>
void sum_block(const Lists& lists, const Sums& s) {
    const ptrdiff_t source_row = s.source_row, out_row = s.out_row;
    for (int l = 0; l < lists.lists; ++l) {
        const Entry *entry = lists.begin(l), *end = lists.end[l];
        if (entry == end) continue;
        Vec sum[R][V] = {};
        for (; entry != end; ++entry) {
            const Vec weight = spread(entry->weight);
            const float* source = s.source + entry->at;
            UNROLL for (int r = 0; r < R; ++r, source += source_row) {
                asm("" : "+r"(source));  // a pointer for each row, not an index sum for each vector
                UNROLL for (int v = 0; v < V; ++v) sum[r][v] += weight * load(source + v * lanes);
            }
        }
        float* out = s.out + lists.at[l];
        UNROLL for (int r = 0; r < R; ++r, out += out_row) {
            asm("" : "+r"(out));
            UNROLL for (int v = 0; v < V; ++v)
                store(out + v * lanes, load(out + v * lanes) + sum[r][v]);
        }
    }
}

constexpr int most_sums = registers - registers / 4;  // the rest holds an entry and addresses
constexpr int widest_block = 8, tallest_block = 3;

using Block = void (*)(const Lists&, const Sums&);

template <int R, int V>
constexpr Block block_or_none() {
    if constexpr (R * V <= most_sums) return sum_block<R, V>;
    return nullptr;
}

template <int R, int... Vs>
Block block_of(int vectors, std::integer_sequence<int, Vs...>) {
    static constexpr Block blocks[] = {block_or_none<R, Vs + 1>()...};
    return blocks[vectors - 1];
}

inline Block block_of(int rows, int vectors) {
    using Widths = std::make_integer_sequence<int, widest_block>;
    return rows == 1   ? block_of<1>(vectors, Widths{})
           : rows == 2 ? block_of<2>(vectors, Widths{})
                       : block_of<3>(vectors, Widths{});
}

// The sums of all lists over `rows` rows of `vectors` vectors, block by block: what one block reads
// (a slice of the filters, or of a band of the input) stays in the first-level cache for all lists.
inline void sum_lists(const Lists& lists, const Sums& s, int rows, int vectors) {
    const int columns = (vectors + widest_block - 1) / widest_block;
    for (int column = 0, vector = 0; column < columns; ++column) {
        const int wide = (vectors - vector) / (columns - column);
        const int tall = std::min(tallest_block, most_sums / wide);
        for (int row = 0; row < rows; row += tall) {
            const int high = std::min(tall, rows - row);
            const float* source = s.source + row * s.source_row + vector * lanes;
            float* out = s.out + row * s.out_row + vector * lanes;
            block_of(high, wide)(lists, {source, s.source_row, out, s.out_row});
        }
        vector += wide;
    }
}

}  // namespace airfeel
