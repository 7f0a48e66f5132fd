// Rows of delimited text to fields, and fields to columns: text without quotes alone.
//
// Text is followed by eight bytes that are not of it, for words are read whole.
#include "python.hpp"

#include "bytes.hpp"
#include "terms.hpp"

namespace naively::SET {

// Field c of row r is text[fields[r, c] + 1 : fields[r, c + 1]].
//
// text : (size + 64 or more,), whose first `size` bytes are rows, each ended by a newline.
// fields : (more than rows, columns + 1), where a row and its fields end.
// sizes : (columns,), zeros at first: bytes in each column.
//
// Returns the number of rows, blank lines not counted; -1 if one has more or fewer fields, if a
// carriage return stands anywhere but before a newline, or if there are too many rows for `fields`.
static i64 split_fields(Flat<const u8> text, i64 size, i64 delimiter, Matrix<i32> fields,
                        Flat<i64> sizes) {
    const i64 columns = sizes.size;
    i64 r = 0, c = 0, before = -1;
    fields[0][0] = -1;
    for (i64 at = 0; at < size; at += BLOCK)
        for (u64 bits = separators(text.data + at, u8(delimiter)); bits != 0; bits &= bits - 1) {
            const i64 p = at + trailing_zeros(bits);
            if (p >= size) return r;
            if (text[p] == delimiter) {
                if (++c == columns) return -1;
                fields[r][c] = i32(p);
                sizes[c - 1] += p - before - 1;
                before = p;
            } else if (text[p] == '\n') {
                const i64 end = p > 0 && text[p - 1] == '\r' ? p - 1 : p;
                if (c > 0 || end > before + 1) {
                    if (c + 1 != columns) return -1;
                    fields[r][columns] = i32(end);
                    sizes[c] += end - before - 1;
                    if (++r == fields.rows) return -1;
                }
                c = 0, before = p;
                fields[r][0] = i32(p);
            } else if (text[p + 1] != '\n') {
                return -1;
            }
        }
    return r;
}

struct Span {
    i64 begin, length;
};
// A field, which is of the text and followed by eight bytes; else its length is -1.
static inline Span field(Flat<const u8> text, Matrix<const i32> fields, i64 row, i64 column) {
    const i64 begin = i64(fields[row][column]) + 1, end = fields[row][column + 1];
    if (begin < 0 || end < begin || end > text.size - 8) return {0, -1};
    return {begin, end - begin};
}
constexpr const char *OUTSIDE = "a field is not of the text, or there is no room for it";

// out[offsets[i] : offsets[i + 1]] = field `column` of row rows[i].
//
// offsets : (rows + 1,), of which the first is known.
// out : with room for seven bytes more.
static void copy_fields(Room &room, Flat<const u8> text, Matrix<const i32> fields, Flat<const i64> rows,
                        i64 column, Flat<i32> offsets, Flat<u8> out) {
    i64 to = offsets[0];
    for (i64 i = 0; i < rows.size; i++) {
        const Span own = field(text, fields, rows[i], column);
        const i64 a = own.begin, length = own.length;
        if (length < 0 || to < 0 || to > out.size - 8 - length) return room.refuse(OUTSIDE);
        copy_span(text.data + a, length, out.data + to);
        to += length;
        offsets[i + 1] = i32(to);
    }
}

// codes = the number of the text in a column of some rows, in order of first appearance.
//
// first, last : the rows, from the first to before the last.
// slots : a table as in vocabulary.cpp, zeros at first.
// known : (rows,), the row in which each text appeared first.
// state : [how many texts are known].
// codes : (rows,)
//
// Returns the row that is to be next: `last`, or an earlier one if the table lacks room.
static i64 number_fields(Room &room, Flat<const u8> text, Matrix<const i32> fields, i64 first,
                         i64 last, i64 column, Flat<u64> slots, Flat<i64> known, Flat<i64> state,
                         Flat<i32> codes) {
    const u64 mask = u64(slots.size / 2 - 1);
    const i64 most = smaller(slots.size / 4, known.size);
    i64 count = state[0], r = first;
    // Whether a text that is known is the same, of more than eight bytes; false of no such text.
    const auto same_as = [&](const u8 *own, i64 length, i64 number) {
        if (u64(number) >= u64(count) || u64(known[number]) >= u64(fields.rows)) return false;
        const Span other = field(text, fields, known[number], column);
        return other.length == length && same(own, text.data + other.begin, length);
    };
    for (; r < last; r++) {
        const Span span = field(text, fields, r, column);
        const u8 *own = text.data + span.begin;
        const i64 length = span.length;
        if (length < 0) {
            room.refuse(OUTSIDE);
            break;
        }
        const u64 key = term_key(own, length);
        u64 place = hash_key(key, length) & mask;
        i64 number;
        for (u64 tried = 0;; place = (place + 1) & mask, tried++) {
            const u64 meta = slots[2 * place + 1];
            number = i64(meta & NUMBER) - 1;
            if (meta == 0 || tried > mask) break;
            if (slots[2 * place] == key && meta >> 32 == u64(length) &&
                (length <= 8 || same_as(own, length, number)))
                break;
        }
        if (number < 0) {
            if (count >= most) break;
            number = count++;
            known[number] = r;
            slots[2 * place] = key;
            slots[2 * place + 1] = u64(length) << 32 | u64(number + 1);
        }
        codes[r] = i32(number);
    }
    state[0] = count;
    return r;
}

KERNELS(fields,
        KERNEL(split_fields,
               "text(s) size:0..min(s-64,2147483647) delimiter:0..255 fields(R,c+1) sizes(c) ; "
               "R>=1 c>=1"),
        KERNEL(copy_fields, "text(s) fields(R,c) rows(r)<R column:0..c-2 offsets(r+1) out(o)"),
        KERNEL(number_fields,
               "text(s) fields(R,c) first:0..last last:0..min(R,N) column:0..c-2 slots(t) "
               "known(K) state(1):0..K codes(N) ; t>=2 t&(t-1)==0"));

} // namespace naively::SET
