// Fills the lists of active outputs sixteen cells at a time, with AVX-512.
#pragma once

#include "lists.hpp"

namespace airfeel {

class SixteenAtOnce : public ActiveLists {
   public:
    using ActiveLists::ActiveLists;

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
};

}  // namespace airfeel
