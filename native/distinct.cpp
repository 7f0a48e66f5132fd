// The different numbers of a column, counted by class: all of them while they are few.
#include "python.hpp"

#include "bits.hpp"

namespace naively::SET {

constexpr u64 GOLDEN = 0x9E3779B97F4A7C15;

// `hashing.mixed` of the bits of a number.
static inline u64 hashed(f64 value) {
    u64 state = u64(float_bits(value)) + GOLDEN;
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9;
    state = (state ^ state >> 27) * 0x94D049BB133111EB;
    return state ^ state >> 31;
}

// Whether a hash begins with so many zero bits.
static inline bool drawn(u64 state, i64 shift) { return shift == 0 || state >> (64 - shift) == 0; }

// The place from which a hash looks for a slot, and the first of its value there, or a free one.
static inline i64 slot_of(u64 state, f64 value, Flat<i32> slots, Flat<f64> keys) {
    const u64 mask = u64(slots.size) - 1;
    u64 at = state & mask;
    while (slots[i64(at)] >= 0 && keys[slots[i64(at)]] != value) at = (at + 1) & mask;
    return i64(at);
}

// Keep the numbers of a table whose hashes begin with so many zero bits: how many these are.
static i64 thinned(Flat<f64> keys, Matrix<i64> counts, Flat<i32> slots, i64 shift) {
    const i64 classes = counts.columns;
    i64 kept = 0;
    fill<i32>(slots.data, slots.size, -1);
    for (i64 k = 0; k < keys.size; k++) {
        const u64 state = hashed(keys[k]);
        if (drawn(state, shift)) {
            if (kept < k) {
                keys[kept] = keys[k];
                memcpy(counts[kept], counts[k], classes * sizeof(i64));
                fill<i64>(counts[k], classes, 0);
            }
            slots[slot_of(state, keys[kept], slots, keys)] = i32(kept);
            kept++;
        } else {
            fill<i64>(counts[k], classes, 0);
        }
    }
    return kept;
}

// Count the different numbers of a column by class.
//
// Once there are more than `keys` has room for, those are counted whose hash begins with so many
// zero bits that they fit: a sample that does not depend on the order of the rows.
//
// x : (n,) NaN where missing; without -0.0.
// codes : (n,) class of each row.
// keys : (limit,) the different numbers. counts : (limit, C) how often each was there.
// missing : (C,) values that are missing.
// slots : (S,) -1; S is a power of two, at least twice the limit.
// report : (5,) values that are there, that are no whole numbers, that are below 0, different ones,
//     and the zero bits.
static void tabulate(Flat<const f64> x, Flat<const i64> codes, Flat<f64> keys, Matrix<i64> counts,
                     Flat<i64> missing, Flat<i32> slots, Flat<i64> report) {
    const i64 limit = keys.size;
    i64 known = 0, shift = 0;
    for (i64 i = 0; i < x.size; i++) {
        const f64 value = x[i];
        if (is_nan(value)) {
            missing[codes[i]]++;
            continue;
        }
        report[0]++;
        report[1] += value != __builtin_floor(value);
        report[2] += value < 0.0;
        const u64 state = hashed(value);
        if (!drawn(state, shift)) continue;
        i64 at = slot_of(state, value, slots, keys);
        if (slots[at] < 0) {
            while (known == limit && drawn(state, shift)) known = thinned(keys, counts, slots, ++shift);
            if (!drawn(state, shift)) continue;
            at = slot_of(state, value, slots, keys);
            slots[at] = i32(known);
            keys[known++] = value;
        }
        counts[slots[at]][codes[i]]++;
    }
    report[3] = known;
    report[4] = shift;
}

KERNELS(distinct_numbers,
        KERNEL(tabulate,
               "x(n) codes(n)<C keys(k) counts(k,C) missing(C) slots(s):-1..-1 report(5) ; k>=1 "
               "s>k s&(s-1)==0"));

} // namespace naively::SET
