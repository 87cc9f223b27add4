// Fills the lists of active outputs, cell after cell: `add` takes a cell, `finish` ends a band. No
// branch depends on the data: an entry is always written, and kept by moving the end of its list or
// not. One cell at a time anywhere, sixteen where the processor can compress vectors.
#pragma once

#include "lists.hpp"

#if defined(__AVX512F__)
#include "active_sixteen.hpp"
#endif

namespace airfeel {

class OneByOne : public ActiveLists {
   public:
    using ActiveLists::ActiveLists;

    void add(const Cell& cell) {
        if (cell.choice)
            add_pooled(cell);
        else
            add_single(cell);
    }

    void finish() {}

   private:
    void add_single(const Cell& cell) {
        const float *__restrict y = cell.y, *__restrict dy = cell.dy;
        Entry** __restrict channel = by_channel.end.data();
        Entry* position = by_position.begin(by_position.lists);
        for (int o = 0; o < channels_; ++o) {
            const bool active = !y || y[o] > 0;
            *position = {o * filter_, dy[o]};
            position += active;
            *channel[o] = {cell.place, dy[o]};
            channel[o] += active;
        }
        by_position.at[by_position.lists] = cell.place;
        by_position.end[by_position.lists++] = position;
    }

    // What nobody won goes to a fifth list, which the next cell writes over.
    void add_pooled(const Cell& cell) {
        // The four lengths share a register, 16 bits each: in memory one increment would wait for
        // another.
        static constexpr uint64_t one[] = {1, 1ull << 16, 1ull << 32, 1ull << 48, 0};
        const int32_t place[] = {cell.place, cell.place + cell.right, cell.place + cell.down,
                                 cell.place + cell.down + cell.right, 0};
        const int32_t* __restrict choice = cell.choice;
        const float* __restrict dy = cell.dy;
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
};

#if defined(__AVX512F__)
using Active = SixteenAtOnce;
#else
using Active = OneByOne;
#endif

}  // namespace airfeel
