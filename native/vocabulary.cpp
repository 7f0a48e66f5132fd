// Terms to numbers: a hash table over spans of bytes.
//
// A slot of the table is two words: a key, and (length << 32 | number + 1), or 0 where it is free.
// Keys are those of terms.hpp; the bytes of a term are arena[starts[number] : starts[number + 1]].
#include "python.hpp"

#include "sorting.hpp"
#include "terms.hpp"

namespace naively::SET {

constexpr i64 DONE = 0, FULL = 1;
constexpr i64 CHUNK = 64; // n-grams whose slots are fetched at once

// ids = the numbers of all n-grams, those of document i at ids[indptr[i] : indptr[i + 1]].
//
// begins, ends : units, of which each n-gram is the span of n in a row within its group.
// groups, documents : where the units of each group end, and the document it belongs to.
// low, high : least and greatest n.
// short_too : whether a group of fewer than n units counts as one n-gram, for the least such n.
// grow : whether new terms get the next number; else theirs is -1.
// buckets : 0, or the number of buckets, a power of two: then the number is that of the hash.
// slots, arena, starts : the table.
// sizes : [number of terms], and where the next one's bytes go.
// state : [group, n, first unit, number of ids] to go on from; and the bytes of terms to come.
// indptr : zeros at first.
//
// Returns DONE, or FULL if the table may lack room for the next terms: enlarge it and call again.
static i64 number_grams(Room &room, Flat<const u8> text, Indices begins, Indices ends, Flat<const i64> groups,
                        Flat<const i64> documents, i64 low, i64 high, bool short_too, bool grow,
                        i64 buckets, Flat<u64> slots, Flat<u8> arena, Flat<i64> starts,
                        Flat<i64> sizes, Flat<i64> state, Flat<i32> ids, Flat<i64> indptr) {
    i64 froms[CHUNK], lengths[CHUNK], numbers[CHUNK];
    u64 keys[CHUNK], places[CHUNK];
    const u64 mask = u64(slots.size / 2 - 1);
    i64 g = state[0], n = state[1], u = state[2], filled = state[3];
    if (g < 0 || n < 1 || u < 0 || filled < 0 || u64(starts[sizes[0]]) > u64(arena.size)) {
        room.refuse("state or starts are beyond what they count");
        return FULL;
    }
    // Whether a term that is known is the same, of more than eight bytes; false of no such term.
    const auto same_as = [&](const u8 *term, i64 length, i64 number) {
        if (u64(number) >= u64(sizes[0])) return false;
        const i64 start = starts[number];
        return 0 <= start && start <= arena.size - length && same(term, arena.data + start, length);
    };
    for (;;) {
        // the next few spans
        i64 m = 0, total = 0;
        while (g < groups.size && m < CHUNK) {
            const i64 first = g > 0 ? groups[g - 1] : 0, size = groups[g] - first;
            if (n > high || (n > size && !(short_too && size > 0))) {
                indptr[documents[g] + 1] = filled + m;
                g++, n = low, u = 0;
                continue;
            }
            const i64 width = smaller(n, size), until = smaller(size - width + 1, u + CHUNK - m);
            for (i64 k = u; k < until; k++, m++) {
                froms[m] = begins[first + k];
                lengths[m] = ends[first + k + width - 1] - froms[m];
                if (lengths[m] < 0) {
                    room.refuse("a unit ends before it begins");
                    return FULL;
                }
                total += lengths[m] + 8;
            }
            u = until;
            if (u > size - width) {
                n = short_too && width == size ? high + 1 : n + 1;
                u = 0;
            }
        }
        if (m == 0) break;
        if (filled > ids.size - m) {
            room.refuse("there is no room for the ids");
            return FULL;
        }
        if (grow && (sizes[0] + m > slots.size / 4 || sizes[0] + m >= starts.size ||
                     starts[sizes[0]] + total > arena.size)) {
            state[4] = total;
            return FULL;
        }
        state[0] = g, state[1] = n, state[2] = u, state[3] = filled + m;
        // their keys; the table is far away, so it is asked for early
        for (i64 k = 0; k < m; k++) {
            keys[k] = term_key(text.data + froms[k], lengths[k]);
            const u64 hashed = hash_key(keys[k], lengths[k]);
            if (buckets > 0) {
                ids[filled + k] = i32(hashed & u64(buckets - 1));
            } else {
                places[k] = hashed & mask;
                prefetch(slots.data + 2 * places[k]);
            }
        }
        if (buckets == 0) {
            if (total > 16 * m) { // of long terms the bytes decide, which are further away
                for (i64 k = 0; k < m; k++) {
                    numbers[k] = i64(slots[2 * places[k] + 1] & NUMBER) - 1;
                    if (u64(numbers[k]) < u64(sizes[0])) prefetch(starts.data + numbers[k]);
                }
                for (i64 k = 0; k < m; k++)
                    if (u64(numbers[k]) < u64(sizes[0]) && lengths[k] > 8)
                        prefetch(arena.data + starts[numbers[k]]);
            }
            for (i64 k = 0; k < m; k++) {
                const u64 key = keys[k], length = u64(lengths[k]);
                const u8 *term = text.data + froms[k];
                i64 number;
                u64 tried = 0;
                for (u64 s = places[k];; s = (s + 1) & mask, tried++) {
                    if (tried > mask) {
                        room.refuse("slots are full");
                        return FULL;
                    }
                    const u64 meta = slots[2 * s + 1];
                    number = i64(meta & NUMBER) - 1;
                    if (meta == 0) {
                        if (!grow) break;
                        number = sizes[0];
                        const i64 end = starts[number];
                        copy_span(term, lengths[k], arena.data + end);
                        starts[number + 1] = end + lengths[k];
                        sizes[0] = number + 1;
                        slots[2 * s] = key;
                        slots[2 * s + 1] = length << 32 | u64(number + 1);
                        break;
                    }
                    if (slots[2 * s] == key && meta >> 32 == length &&
                        (lengths[k] <= 8 || same_as(term, lengths[k], number)))
                        break;
                }
                ids[filled + k] = i32(number);
            }
        }
        filled += m;
    }
    for (i64 i = 1; i < indptr.size; i++) indptr[i] = larger(indptr[i], indptr[i - 1]);
    state[3] = filled;
    return DONE;
}

// Close the gaps of ids that are -1, in place; returns how many are left.
static i64 drop_unknown(Flat<i32> ids, Flat<i64> indptr) {
    i64 kept = 0, first = 0;
    for (i64 i = 0; i + 1 < indptr.size; i++) {
        const i64 last = indptr[i + 1];
        for (i64 p = first; p < last; p++) {
            ids[kept] = ids[p];
            kept += ids[p] >= 0;
        }
        first = last;
        indptr[i + 1] = kept;
    }
    return kept;
}

// Put all that is in a table into a larger one.
static void rehash(Room &room, Flat<const u64> old, Flat<u64> larger_one) {
    const u64 mask = u64(larger_one.size / 2 - 1);
    for (i64 s = 0; s < old.size / 2; s++) {
        const u64 key = old[2 * s], meta = old[2 * s + 1];
        if (meta == 0) continue;
        u64 t = hash_key(key, i64(meta >> 32)) & mask;
        for (u64 tried = 0; larger_one[2 * t + 1] != 0; t = (t + 1) & mask, tried++)
            if (tried > mask) return room.refuse("there is no room for all");
        larger_one[2 * t] = key, larger_one[2 * t + 1] = meta;
    }
}

constexpr const char *OTHER_TYPES = "both counts need the same type";

// Count the terms of each document in the row of its class; returns the next stamp.
//
// ids, indptr : as `number_grams` makes them.
// classes : class of each document, of which document 0 here is number `first`; those of -1 are not
//     counted.
// counts : flat, `stride` numbers a class.
// once : whether a term counts once a document.
// seen : of each term the stamp of the last document that had it; empty if nothing asks for it.
// stamp : of the first document.
// documents : as counts, how many documents have the term; or empty.
static i64 count_terms(Room &room, Flat<const i32> ids, Flat<const i64> indptr,
                       Flat<const i64> classes, i64 first, i64 stride, Counts counts, bool once,
                       Flat<i64> seen, i64 stamp, Counts documents) {
    if (counts.wide != documents.wide) {
        room.refuse(OTHER_TYPES);
        return stamp;
    }
    return counts.typed([&](auto table) {
        using T = decltype(table);
        const T others = {static_cast<decltype(table.data)>(documents.data), documents.size};
        for (i64 i = 0; i + 1 < indptr.size; i++) {
            const i64 base = classes[first + i] * stride;
            if (base < 0) continue;
            if (!once)
                for (i64 p = indptr[i]; p < indptr[i + 1]; p++) table[base + ids[p]]++;
            if (seen.size == 0) continue;
            for (i64 p = indptr[i]; p < indptr[i + 1]; p++) {
                const i64 t = ids[p];
                if (seen[t] == stamp) continue;
                seen[t] = stamp;
                if (once) table[base + t]++;
                if (others.size > 0) others[base + t]++;
            }
            stamp++;
        }
        return stamp;
    });
}

// Drop the units whose id is 0 or more, in place; returns how many are left.
static i64 keep_others(Flat<const i32> ids, Flat<i32> begins, Flat<i32> ends, Flat<i64> groups) {
    i64 kept = 0, first = 0;
    for (i64 &group : groups) {
        const i64 last = group;
        for (i64 u = first; u < last; u++) {
            begins[kept] = begins[u], ends[kept] = ends[u];
            kept += ids[u] < 0;
        }
        group = kept;
        first = last;
    }
    return kept;
}

// Eight bytes of each of some terms from byte `at` on, as a number that sorts as they do.
static void term_pieces(Room &room, Flat<const u8> arena, Flat<const i64> starts, Flat<const i64> lengths,
                        Flat<const i64> numbers, i64 at, Flat<u64> out) {
    for (i64 k = 0; k < numbers.size; k++) {
        u64 value = 0;
        const i64 first = starts[numbers[k]] + at, size = smaller<i64>(lengths[numbers[k]] - at, 8);
        if (size > 0 && (first < at || first > arena.size - size))
            return room.refuse("a term is not of the arena");
        for (i64 q = 0; q < size; q++) value |= u64(arena[first + q]) << (56 - 8 * q);
        out[k] = value;
    }
}

// table[c, places[k]] += more[c, k], where most are zero; both are flat, of so many classes.
static void add_counts(Room &room, Counts table, Counts more, i64 classes, Flat<const i32> places) {
    if (classes == 0 || places.size == 0) return;
    if (table.wide != more.wide) return room.refuse(OTHER_TYPES);
    table.typed([&](auto sums) {
        using T = decltype(sums);
        const T others = {static_cast<decltype(sums.data)>(more.data), more.size};
        for (i64 c = 0; c < classes; c++) {
            auto *row = sums.data + c * (sums.size / classes);
            const auto *other = others.data + c * (others.size / classes);
            for (i64 k = 0; k < places.size; k++)
                if (other[k] != 0) row[places[k]] += other[k];
        }
        return true;
    });
}

// How many of the first columns of sums, (C, d, L), have a number that is not 0.
static i64 count_met(Steps3<const i64> sums, i64 size) {
    constexpr i64 STEP = 512;
    i64 met[STEP], count = 0;
    for (i64 first = 0; first < size; first += STEP) {
        const i64 last = smaller(first + STEP, size);
        fill<i64>(met, last - first, 0);
        for (i64 c = 0; c < sums.first; c++)
            for (i64 k = 0; k < sums.columns; k++)
                for (i64 j = first; j < last; j++) met[j - first] |= sums(c, j, k);
        for (i64 j = 0; j < last - first; j++) count += met[j] != 0;
    }
    return count;
}

// Divide each document's values by their norm, in place; a document of zeros stays.
//
// Values are added up by size, so that their order is no matter.
static void normalise_rows(Room &room, Flat<f64> values, Flat<const i64> indptr, bool squares) {
    f64 *ordered = room.get<f64>(values.size).data;
    if (room.failed) return;
    for (i64 i = 0; i + 1 < indptr.size; i++) {
        f64 *part = values.data + indptr[i], total = 0.0;
        const i64 size = indptr[i + 1] - indptr[i];
        memcpy(ordered, part, size * sizeof(f64));
        sort(ordered, size);
        for (i64 k = 0; k < size; k++) total += squares ? ordered[k] * ordered[k] : ordered[k];
        if (squares) total = __builtin_sqrt(total);
        if (total > 0.0)
            for (i64 k = 0; k < size; k++) part[k] /= total;
    }
}

KERNELS(vocabulary,
        KERNEL(number_grams,
               "text(s)! begins(u):0..s-8 ends(u):0..s-8 groups(g)^u documents(g)<n "
               "low:1..2147483647 high:0..2147483647 short_too grow buckets:0..2147483647 "
               "slots(t) arena(b) starts(v) sizes(1):0..v-1 state(5) ids(i) indptr(n+1) ; "
               "t&(t-1)==0 buckets&(buckets-1)==0 t+2*buckets>=2"),
        KERNEL(drop_unknown, "ids(m) indptr(n+1)^m"),
        KERNEL(rehash, "old(s) larger_one(t) ; t>=2 t&(t-1)==0"),
        KERNEL(count_terms,
               "ids(m)<stride indptr(n+1)^m classes(c):-1..s/stride-1@first:first+n first:0..c "
               "stride:0..2147483647 counts(s) once seen(V) stamp documents(s0) ; V*(V-stride)>=0 "
               "s0*(s0-s)>=0"),
        KERNEL(keep_others, "ids(u) begins(u) ends(u) groups(g)^u"),
        KERNEL(term_pieces, "arena(s) starts(v) lengths(v) numbers(k)<v at:0..2147483647 out(k)"),
        KERNEL(add_counts,
               "table(s) more(m) classes:0..2147483647 places(k)<s/classes ; m/classes>=k"),
        KERNEL(count_met, "sums(C,d,L) size:0..d"),
        KERNEL(normalise_rows, "values(m) indptr(n+1)^m squares"));

} // namespace naively::SET
