// Documents to words or characters: spans of a copy of the text in lower case.
//
// Documents are bytes data[offsets[i] : offsets[i + 1]]. The copy holds what terms are made of, so
// that a term, be it an n-gram, is one span of it. Both have room for 64 bytes beyond their end.
#include "python.hpp"

#include "bytes.hpp"
#include "terms.hpp"
#include "unicode.hpp"

namespace naively::SET {

// Whether a span has `shortest` characters, 1 or 2.
static inline bool is_longer(const u8 *text, i64 a, i64 b, i64 shortest) {
    const i64 n = b - a;
    if (n > 4 || shortest == 1) return true;
    const i64 lead = text[a];
    return n > (lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4);
}

struct Ascii {
    u64 word, high; // a bit of each byte that is a letter, digit or _; that is no ASCII
};

// Copy 64 bytes of ASCII, lower-cased if `lower`.
static INLINE Ascii ascii_block(const u8 *from, u8 *to, bool lower) {
    const Bytes64 value = load_bytes(from);
    const u8 change = lower ? 0x20 : 0;
    Bytes64 word, high, out;
    for (int k = 0; k < PIECES; k++) {
        const Bytes x = value.piece[k], small = x | u8(0x20);
        word.piece[k] = among(small, 'a', 26) | among(x, '0', 10) | (Bytes)(x == u8('_'));
        high.piece[k] = (Bytes)((Signs)x < 0);
        out.piece[k] = x | (among(x, 'A', 26) & change);
    }
    memcpy(to, &out, sizeof out);
    return {bits_of(word), bits_of(high)};
}

// The words of documents first:last; returns their number.
//
// Word k is text[begins[k] : ends[k]]; the words of a document end at groups[document - first].
static i64 split_words(Flat<const u8> data, Flat<const i64> offsets, i64 first, i64 last,
                       i64 shortest, bool lower, Flat<const i32> properties, Flat<u8> copy,
                       Flat<i32> begins, Flat<i32> ends, Flat<i64> groups) {
    u8 *text = copy.data;
    i64 units = 0, o = 0;
    const auto add = [&](i64 a, i64 b) {
        begins[units] = i32(a), ends[units] = i32(b);
        units += is_longer(text, a, b, shortest);
    };
    for (i64 i = first; i < last; i++) {
        const i64 start = offsets[i], stop = offsets[i + 1];
        i64 p = start, began = o;
        u64 inside = 0;
        while (p < stop) {
            Ascii found = {0, 1};
            const i64 size = smaller(stop - p, BLOCK);
            if (p + BLOCK <= data.size) {
                found = ascii_block(data.data + p, text + o, lower);
                if (size < BLOCK) {
                    const u64 kept = (u64(1) << size) - 1;
                    found.word &= kept, found.high &= kept;
                }
            }
            if (found.high == 0) {
                for (u64 edges = found.word ^ (found.word << 1 | inside); edges; edges &= edges - 1) {
                    const i64 at = o + trailing_zeros(edges);
                    if (inside == 0) began = at;
                    else add(began, at);
                    inside ^= 1;
                }
                o += size;
                p += size;
                continue;
            }
            // the rest of this block, character by character
            for (const i64 until = p + size; p < until;) {
                i64 at = p;
                const Character character = decode(data.data, p, stop);
                i64 c = character.point;
                p += character.length;
                const i64 kind = properties[c];
                if (lower) {
                    if (c == DOTTED_I) { // i and a dot, which is of no word
                        if (inside == 0) began = o;
                        o = encode_point('i', text, o);
                        add(began, o);
                        inside = 0;
                        o = encode_point(DOT, text, o);
                        continue;
                    }
                    if (c == SIGMA && is_final(data.data, at, start, stop, properties))
                        c = FINAL_SIGMA;
                    else c = kind & LETTER;
                }
                const u64 now = kind & WORD ? 1 : 0;
                if (now != inside) {
                    if (inside == 0) began = o;
                    else add(began, o);
                    inside = now;
                }
                o = encode_point(c, text, o);
            }
        }
        if (inside != 0) add(began, o);
        groups[i - first] = units;
    }
    return units;
}

// Move the words of each document next to each other, with one space between them, in place.
static void join_words(Room &room, Flat<u8> text, Flat<i32> begins, Flat<i32> ends, Flat<const i64> groups) {
    i64 o = 0, first = 0;
    for (const i64 last : groups) {
        for (i64 u = first; u < last; u++) {
            const i64 a = begins[u], b = ends[u];
            if (a < o || b < a || b > text.size - 8)
                return room.refuse("a word is not of the text, or before another");
            begins[u] = i32(o);
            if (a - o >= 8) copy_span(text.data + a, b - a, text.data + o); // what is written beyond
            else memmove(text.data + o, text.data + a, b - a);              // was read before
            o += b - a;
            ends[u] = i32(o);
            if (u + 1 < last) text[o++] = ' '; // else the next document may begin here
        }
        first = last;
    }
}

// The characters of documents first:last; returns (their number, that of groups).
//
// Character k is text[begins[k] : begins[k + 1]]. Runs of spaces are one space. If `bounded`, the
// groups are the pieces between spaces, with a space on either side, else the documents; group g is
// groups[0, g], where its characters end, and groups[1, g], the document - first.
static Pair split_characters(Flat<const u8> data, Flat<const i64> offsets, i64 first, i64 last,
                             bool bounded, bool lower, Flat<const i32> properties, Flat<u8> copy,
                             Flat<i32> begins, Matrix<i64> groups) {
    u8 *text = copy.data;
    i64 units = 0, count = 0, o = 0;
    begins[0] = 0;
    const auto add = [&](i64 c) {
        o = encode_point(c, text, o);
        begins[++units] = i32(o);
    };
    for (i64 i = first; i < last; i++) {
        const i64 start = offsets[i], stop = offsets[i + 1];
        const auto close = [&] {
            groups[0][count] = units, groups[1][count] = i - first;
            count++;
        };
        bool opened = false; // whether a piece has begun
        for (i64 p = start; p < stop;) {
            const i64 at = p;
            const Character character = decode(data.data, p, stop);
            i64 c = character.point;
            p += character.length;
            const i64 kind = properties[c];
            if (kind & SPACE) {
                i64 run = 1;
                while (p < stop) {
                    const Character next = decode(data.data, p, stop);
                    if (!(properties[next.point] & SPACE)) break;
                    p += next.length;
                    run++;
                }
                if (!bounded) {
                    add(run == 1 ? c : ' ');
                } else if (opened) {
                    add(' ');
                    close();
                    opened = false;
                }
                continue;
            }
            if (bounded && !opened) {
                opened = true;
                add(' ');
            }
            const bool extra = lower && c == DOTTED_I;
            if (extra) c = 'i';
            else if (lower && c == SIGMA && is_final(data.data, at, start, stop, properties))
                c = FINAL_SIGMA;
            else if (lower) c = kind & LETTER;
            add(c);
            if (extra) add(DOT);
        }
        if (bounded && opened) add(' ');
        if (!bounded || opened) close();
    }
    return {units, count};
}

KERNELS(tokens,
        KERNEL(split_words,
               "data(s)<Q@offsets[first]:offsets[last] offsets(n+1)^s@first:last+1 first:0..last "
               "last:0..n shortest:1..2 lower properties(Q) text(t) begins(u) ends(u) "
               "groups(last-first) ; (Q-128)*(Q-1114112)==0 "
               "t>=4*(offsets[last]-offsets[first])+64 "
               "u>(offsets[last]-offsets[first])/2+last-first t<=2147483647"),
        KERNEL(join_words, "text(s) begins(u) ends(u) groups(g)^u"),
        KERNEL(split_characters,
               "data(s)<Q@offsets[first]:offsets[last] offsets(n+1)^s@first:last+1 first:0..last "
               "last:0..n bounded lower properties(Q) text(t) begins(u) groups(2,G) ; "
               "(Q-128)*(Q-1114112)==0 t>=4*(offsets[last]-offsets[first])+2*(last-first)+64 "
               "u>2*(offsets[last]-offsets[first])+2*(last-first) "
               "G>=(offsets[last]-offsets[first])/2+last-first t<=2147483647"));

} // namespace naively::SET
