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

// The active outputs of a band of cells (output pixels), listed twice: by channel, telling
// positions in the input, and by position, telling the channels' filters. No branch depends on the
// data: an entry is always written, and kept by moving the end of its list or not.
class Active {
   public:
    Lists by_channel, by_position;

    Active() = default;
    // cells: the most in a band; filter: floats in one channel's filter.
    Active(int channels, ptrdiff_t cells, bool pooled, ptrdiff_t filter)
        : by_channel(channels, cells), by_position(cells * (pooled ? 4 : 1) + 1, channels),
          channels_(channels), filter_(int32_t(filter)) {
        by_channel.lists = channels;
        for (int o = 0; o < channels; ++o) by_channel.at[o] = o * filter_;
    }

    void clear() {
        for (int o = 0; o < channels_; ++o) by_channel.end[o] = by_channel.begin(o);
        by_position.lists = 0;
    }

    // A cell at one position. With a ReLU those outputs are active that are positive.
    void add(const float* __restrict y, const float* __restrict dy, bool relu, int32_t place) {
        Entry** __restrict channel = by_channel.end.data();
        Entry* position = by_position.begin(by_position.lists);
        for (int o = 0; o < channels_; ++o) {
            const bool active = !relu | (y[o] > 0);
            *position = {o * filter_, dy[o]};
            position += active;
            *channel[o] = {place, dy[o]};
            channel[o] += active;
        }
        by_position.at[by_position.lists] = place;
        by_position.end[by_position.lists++] = position;
    }

    // A pooled cell: four positions, and for each output which of them it was chosen from. What
    // nobody won goes to a fifth list, which the next cell writes over.
    void add_pooled(const int32_t* __restrict choice, const float* __restrict dy,
                    const int32_t (&place)[nobody + 1]) {
        // The four lengths share a register, 16 bits each: in memory one increment would wait for
        // another.
        static constexpr uint64_t one[] = {1, 1ull << 16, 1ull << 32, 1ull << 48, 0};
        uint64_t lengths = 0;
        const ptrdiff_t capacity = by_position.capacity;
        Entry** __restrict channel = by_channel.end.data();
        Entry* __restrict position = by_position.begin(by_position.lists);
        for (int o = 0; o < channels_; ++o) {
            const int32_t who = choice[o];
            position[who * capacity + uint16_t(lengths >> (16 * who % 64))] = {o * filter_, dy[o]};
            lengths += one[who];
            *channel[o] = {place[who], dy[o]};
            channel[o] += who != nobody;
        }
        for (int i = 0; i < nobody; ++i, ++by_position.lists) {
            by_position.at[by_position.lists] = place[i];
            const uint16_t length = lengths >> (16 * i);
            by_position.end[by_position.lists] = position + i * capacity + length;
        }
    }

   private:
    int channels_ = 0;
    int32_t filter_ = 0;
};

}  // namespace airfeel
