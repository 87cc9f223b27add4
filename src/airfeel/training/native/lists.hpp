// Lists of the outputs that carry a gradient: behind a ReLU about half of them do, behind a 2×2
// max-pool at most a quarter.
#pragma once

#include "plane.hpp"

namespace airfeel {

// One active output, as a term of a weighted sum: what lies `at` counts `weight` times.
struct Entry {
    int32_t at;
    float weight;
};

struct Lists {
    int lists = 0;
    ptrdiff_t capacity = 0;  // room of one list, in entries
    Buffer<Entry> entries;   // [lists][capacity]
    Buffer<Entry*> end;      // [lists]: behind the last entry of each
    Buffer<int32_t> at;      // [lists]: where its sum goes

    Lists() = default;
    Lists(ptrdiff_t most, ptrdiff_t longest)
        : capacity(longest), entries(most * capacity), end(most), at(most) {}
    Entry* begin(ptrdiff_t l) { return entries.data() + l * capacity; }
    const Entry* begin(ptrdiff_t l) const { return entries.data() + l * capacity; }
};

// An output pixel: where its gradient lies, what tells which of its channels are active, and the
// position in the input where its patch begins. Behind a max-pool it has four such positions.
struct Cell {
    const float* dy;
    const float* y;         // active where positive; everywhere if null
    const int32_t* choice;  // behind a max-pool: which position an output was chosen from
    int32_t place, down, right;
};

// The active outputs of a band of cells, listed twice: by channel, telling positions in the input,
// and by position, telling the channels' filters. Who fills the lists is in active.hpp.
struct ActiveLists {
    Lists by_channel, by_position;

    ActiveLists() = default;
    // cells: the most in a band; filter: floats in one channel's filter.
    ActiveLists(int channels, ptrdiff_t cells, bool pooled, ptrdiff_t filter)
        : by_channel(padded(channels), cells + lanes),
          by_position(cells * (pooled ? 4 : 1) + 1, padded(channels) + lanes),
          channels_(channels), filter_(int32_t(filter)) {
        by_channel.lists = channels;
        for (int o = 0; o < channels; ++o) by_channel.at[o] = o * filter_;
        clear();
    }

    void clear() {
        for (int o = 0; o < by_channel.end.size(); ++o) by_channel.end[o] = by_channel.begin(o);
        by_position.lists = 0;
    }

   protected:
    int channels_ = 0;
    int32_t filter_ = 0;
};

}  // namespace airfeel
