// JSON lines whose values are all strings, to columns of text.
//
// Text is followed by 64 newlines that are not of it, for blocks are read whole.
#include "python.hpp"

#include "bytes.hpp"
#include "unicode.hpp"

namespace naively::SET {

// What a character after a backslash stands for; 0 if it is no short escape.
static u8 short_escape(u8 c) {
    switch (c) {
    case '"': case '\\': case '/': return c;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
    }
}

// The place of the first character from p on that is no space of JSON within a line.
static i64 after_spaces(const u8 *text, i64 p) {
    while (text[p] == ' ' || text[p] == '\t' || text[p] == '\r') p++;
    return p;
}

// The place of the quote that ends a string which goes on at p; -1 if none does.
static i64 after_string(const u8 *text, i64 p) {
    for (;;) {
        const u64 bits = breaks(text + p);
        if (bits == 0) {
            p += BLOCK;
            continue;
        }
        p += trailing_zeros(bits);
        if (text[p] == '"') return p;
        if (text[p] != '\\') return -1; // a control character, such as the newline at the end
        if (text[p + 1] < 32) return -1;
        p += 2;
    }
}

// The value of key c of object r is text[spans[r, 2 c] : spans[r, 2 c + 1]], escapes and all.
//
// text : (size + 64 or more,)
// keys, ends : the keys in their quotes one after the other, and where each ends.
// spans : (more than objects, 2 · keys)
// sizes : (keys,), zeros at first: bytes in each column.
//
// Returns the number of objects, one a line, blank lines not counted; -1 if one has other keys, or
// the same in another order, or a value that is no string; if there is anything that is no JSON; or
// if there are too many for `spans`.
static i64 split_objects(Room &room, Flat<const u8> given, i64 size, Flat<const u8> keys, Flat<const i64> ends,
                         Matrix<i32> spans, Flat<i64> sizes) {
    const u8 *text = given.data;
    i64 p = 0, r = 0;
    for (i64 k = size; k < size + BLOCK; k++)
        if (text[k] != '\n') {
            room.refuse("text needs 64 newlines beyond its size");
            return -1;
        }
    for (;;) {
        p = after_spaces(text, p);
        if (p >= size) return r;
        if (text[p] == '\n') {
            p++;
            continue;
        }
        if (r == spans.rows || text[p] != '{') return -1;
        p++;
        i64 first = 0;
        for (i64 c = 0; c < ends.size; c++) {
            p = after_spaces(text, p);
            for (i64 k = first; k < ends[c]; k++, p++)
                if (text[p] != keys[k]) return -1;
            first = ends[c];
            p = after_spaces(text, p);
            if (text[p] != ':') return -1;
            p = after_spaces(text, p + 1);
            if (text[p] != '"') return -1;
            const i64 end = after_string(text, p + 1);
            if (end < 0) return -1;
            spans[r][2 * c] = i32(p + 1), spans[r][2 * c + 1] = i32(end);
            sizes[c] += end - p - 1;
            p = after_spaces(text, end + 1);
            if (text[p] != (c + 1 < ends.size ? ',' : '}')) return -1;
            p++;
        }
        p = after_spaces(text, p);
        if (text[p] != '\n') return -1;
        r++;
    }
}

// The number that four hexadecimal digits are; -1 if these are none.
static i64 four_digits(const u8 *text) {
    i64 value = 0;
    for (int k = 0; k < 4; k++) {
        const i64 c = text[k], letter = c & ~32;
        if (48 <= c && c <= 57) value = 16 * value + c - 48;
        else if (65 <= letter && letter <= 70) value = 16 * value + letter - 55;
        else return -1;
    }
    return value;
}

// out[offsets[r] : offsets[r + 1]] = the value of a key, with the characters that escapes mean.
//
// spans : as `split_objects` makes them.
// offsets : (rows + 1,), of which the first is 0.
// out : with room for 64 bytes more.
//
// Returns whether all escapes mean a character; NUL is none, nor is half of a pair of surrogates.
static bool copy_strings(Room &room, Flat<const u8> given, Matrix<const i32> spans, i64 column, i64 rows,
                         Flat<i32> offsets, Flat<u8> copy) {
    constexpr i64 HIGH = 0xD800, LOW = 0xDC00, SURROGATES = 0x400;
    const u8 *text = given.data;
    u8 *out = copy.data;
    i64 o = 0;
    for (i64 r = 0; r < rows; r++) {
        i64 p = spans[r][2 * column];
        const i64 end = spans[r][2 * column + 1];
        if (p < 0 || end < p || end > given.size - BLOCK || o > copy.size - BLOCK - (end - p)) {
            room.refuse("a string is not of the text, or there is no room for it");
            return false;
        }
        while (p < end) {
            const u64 bits = breaks(text + p);
            const i64 n = smaller(end - p, bits != 0 ? trailing_zeros(bits) : BLOCK);
            memcpy(out + o, text + p, BLOCK);
            o += n;
            p += n;
            if (p == end || n == BLOCK) continue;
            const u8 kind = text[p + 1], meant = short_escape(kind);
            if (meant != 0) {
                out[o++] = meant;
                p += 2;
                continue;
            }
            if (kind != 'u') return false;
            i64 c = four_digits(text + p + 2);
            p += 6;
            if (HIGH <= c && c < LOW) {
                const i64 low = four_digits(text + p + 2) - LOW;
                if (text[p] != '\\' || text[p + 1] != 'u' || low < 0 || low >= SURROGATES)
                    return false;
                c = 0x10000 + (c - HIGH) * SURROGATES + low;
                p += 6;
            } else if (c <= 0 || (LOW <= c && c < LOW + SURROGATES)) {
                return false;
            }
            o = encode_point(c, out, o);
        }
        offsets[r + 1] = i32(o);
    }
    return true;
}

KERNELS(objects,
        KERNEL(split_objects,
               "text(s) size:0..min(s-64,2147483647) keys(K):32..255 ends(c)^K spans(R,2*c) "
               "sizes(c)"),
        KERNEL(copy_strings,
               "text(s) spans(R,c) column:0..c/2-1 rows:0..R offsets(rows+1) out(o)"));

} // namespace naively::SET
