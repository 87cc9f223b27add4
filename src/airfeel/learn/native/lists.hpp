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
// and by position, telling the channels' filters. No branch depends on the data: an entry is always
// written, and kept by moving the end of its list or not.
class Active {
   public:
    Lists by_channel, by_position;

    Active() = default;
    // cells: the most in a band; filter: floats in one channel's filter.
    Active(int channels, ptrdiff_t cells, bool pooled, ptrdiff_t filter)
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

#if defined(__AVX512F__)
    // Sixteen cells at a time.
    void add(const Cell& cell) {
        waiting_[count_++] = cell;
        if (count_ == lanes) finish();
    }

    void finish() {
        for (int i = 0; i < count_; ++i) list_positions(waiting_[i]);
        for (int o = 0; count_ && o < channels_; o += lanes) list_channels(o);
        count_ = 0;
    }

   private:
    // The gradients of sixteen channels, zero where inactive: such terms are left out.
    INLINE Vec active(const Cell& cell, int o) const {
        const Vec g = load(cell.dy + o);
        if (cell.choice) return load(cell.choice + o) != IntVec{} + nobody ? g : Vec{};
        return cell.y ? (load(cell.y + o) > Vec{} ? g : Vec{}) : g;
    }

    INLINE static Entry* write(Entry* to, IntVec at, Vec weight, IntVec wanted) {
        const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
        const __m512i all = reinterpret_cast<__m512i>(wanted);
        const __mmask16 mask = _mm512_test_epi32_mask(all, all);
        const __m512i a = _mm512_maskz_compress_epi32(mask, reinterpret_cast<__m512i>(at));
        const __m512i b = _mm512_maskz_compress_epi32(mask, reinterpret_cast<__m512i>(weight));
        _mm512_storeu_si512(to, _mm512_permutex2var_epi32(a, low, b));
        _mm512_storeu_si512(to + 8, _mm512_permutex2var_epi32(a, high, b));
        return to + __builtin_popcount(mask);
    }

    void list_positions(const Cell& cell) {
        const int positions = cell.choice ? 4 : 1;
        for (int i = 0; i < positions; ++i) {
            Entry* end = by_position.begin(by_position.lists);
            for (int o = 0; o < channels_; o += lanes) {
                const Vec g = active(cell, o);
                const IntVec channel = order + o;
                IntVec wanted = (g != Vec{}) & (channel < IntVec{} + channels_);  // not padding
                if (cell.choice) wanted &= load(cell.choice + o) == IntVec{} + i;
                end = write(end, channel * filter_, g, wanted);
            }
            by_position.at[by_position.lists] = cell.place + i / 2 * cell.down + i % 2 * cell.right;
            by_position.end[by_position.lists++] = end;
        }
    }

    // Sixteen channels of the waiting cells, seen channel by channel.
    void list_channels(int first) {
        const bool pooled = waiting_[0].choice;
        const int32_t down = waiting_[0].down, right = waiting_[0].right;
        Vec g[lanes] = {}, who[lanes] = {};
        int32_t places[lanes] = {};
        for (int i = 0; i < count_; ++i) {
            g[i] = active(waiting_[i], first);
            if (pooled) who[i] = Vec(load(waiting_[i].choice + first));
            places[i] = waiting_[i].place;
        }
        transpose(g);
        if (pooled) transpose(who);
        const IntVec place = load(places);
        for (int o = 0; o < lanes; ++o) {
            const IntVec from = IntVec(who[o]);
            const IntVec at = place + (from >> 1) * down + (from & 1) * right;
            Entry*& end = by_channel.end[first + o];
            end = write(end, at, g[o], g[o] != Vec{});
        }
    }

    static constexpr IntVec order = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    Cell waiting_[lanes] = {};
    int count_ = 0;
#else
    void add(const Cell& cell) { cell.choice ? add_pooled(cell) : add_single(cell); }
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

#endif
    int channels_ = 0;
    int32_t filter_ = 0;
};

}  // namespace airfeel
