// Text to float64: plain decimal numbers, rounded once.
//
// Most numbers have few digits: then one division of two float64 that are exact is the number. The
// others are the highest bits of a product of 128 bits: D. Lemire, Number parsing at a gigabyte per
// second, Software: Practice and Experience 51 (2021); N. Mushtak and D. Lemire, Fast number parsing
// without fallback, the same 53 (2023), show that these bits are always enough.
#include "python.hpp"

#include "bits.hpp"

namespace naively::SET {

constexpr i64 DIGITS = 19; // so many fit 64 bits
constexpr f64 EXACT[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                         1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr u64 SHIFTS[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
// eight digits at a time, in a word whose lowest byte is the first of them
constexpr u64 ZEROS = 0x3030303030303030, LOW = 0x7F7F7F7F7F7F7F7F, NOT_NINE = 0x7676767676767676;
constexpr u64 PAIRS = 0x000000FF000000FF, TENS = 0x000F424000000064, ONES = 0x0000271000000001;

// How many digits a word begins with, from which ZEROS was taken.
static i64 digits_of(u64 word) {
    const u64 strange = (((word & LOW) + NOT_NINE) | word) & ~LOW;
    return trailing_zeros(strange) >> 3;
}

// The number of the first digits of such a word.
static u64 number_of(u64 word, i64 count) {
    const i64 half = 4 * (8 - count);
    word = word << half << half; // zeros before the digits
    word = 10 * word + (word >> 8);
    word = (word & PAIRS) * TENS + ((word >> 16) & PAIRS) * ONES;
    return word >> 32;
}

struct Digits {
    u64 whole;
    i64 at;
};
// The number that goes on with the digits from a place on, and the place after them.
static Digits read_digits(const u8 *data, i64 at, i64 end, u64 whole) {
    for (i64 count = 8; count == 8; at += count) {
        const u64 word = load_word(data + at) ^ ZEROS;
        count = smaller(digits_of(word), end - at);
        whole = whole * SHIFTS[count] + number_of(word, count);
    }
    return {whole, at};
}

struct Exponent {
    i64 number, at;
};
// The number after an e, and where that ends; (0, at) if there is none.
static Exponent read_exponent(const u8 *data, i64 at, i64 end) {
    const i64 start = at;
    if ((data[at] | 0x20) != 'e') return {0, start};
    at++;
    const bool below = at < end && data[at] == '-';
    if (at < end && (below || data[at] == '+')) at++;
    const i64 first = at;
    i64 number = 0;
    for (; at < end && at < first + 4 && u8(data[at] - '0') <= 9; at++)
        number = 10 * number + data[at] - '0';
    if (at == first) return {0, start};
    return {below ? -number : number, at};
}

// whole · 10^power; -1 if it is no normal number, or out of the table.
static f64 rounded(u64 whole, i64 power, Matrix<const u64> powers, i64 least) {
    if (whole == 0) return 0.0;
    if (power < least || power >= least + powers.rows) return -1.0;
    const u64 *factor = powers[power - least];
    const i64 zeros = leading_zeros(whole);
    whole <<= zeros;
    const u128 product = u128(whole) * factor[0];
    u64 high = u64(product >> 64), low = u64(product);
    if ((high & 0x1FF) == 0x1FF) { // 64 bits of the power may not be enough
        const u64 more = u64(u128(whole) * factor[1] >> 64);
        low += more;
        if (low < more) high++;
    }
    const i64 upper = i64(high >> 63);
    u64 bits = high >> (upper + 9);
    i64 binary = ((217706 * power) >> 16) + 1086 + upper - zeros;
    const bool between =
        low <= 1 && -4 <= power && power <= 23 && bits << (upper + 9) == high;
    if (between && (bits & 3) == 1) bits ^= 1; // two numbers: the even one
    bits = (bits + (bits & 1)) >> 1;
    if (bits >> 53 != 0) {
        bits >>= 1;
        binary++;
    }
    if (binary <= 0 || binary >= 2047) return -1.0;
    return bits_float(i64(bits & ((u64(1) << 52) - 1)) | binary << 52);
}

// out[i] = the number that data[offsets[i] : offsets[i + 1]] is.
//
// data : with eight bytes or more beyond the last text.
// others : (n,), set where the text is no plain decimal number of 19 digits or fewer, of ordinary
//     size: such are left alone.
// powers : (p, 2) the first 128 bits of 5^q, in two words, from q = `least` on.
static void read_decimals(Flat<const u8> text, Flat<const i64> offsets, Flat<f64> out,
                          Flat<bool> others, Matrix<const u64> powers, i64 least) {
    const u8 *data = text.data;
    for (i64 i = 0; i < out.size; i++) {
        i64 at = offsets[i];
        const i64 end = offsets[i + 1];
        if (at == end) {
            others[i] = true;
            continue;
        }
        const bool negative = data[at] == '-';
        at += negative || data[at] == '+';
        i64 begin = at, power = 0;
        Digits read = read_digits(data, at, end, 0);
        i64 digits = read.at - begin;
        at = read.at;
        if (at < end && data[at] == '.') {
            const i64 first = at + 1;
            read = read_digits(data, first, end, read.whole);
            power = first - read.at;
            at = read.at;
            digits -= power;
        }
        if (digits > DIGITS) // zeros at the start do not count
            for (; begin < end && (data[begin] == '0' || data[begin] == '.'); begin++)
                digits -= data[begin] == '0';
        if (at < end && digits > 0) {
            const Exponent exponent = read_exponent(data, at, end);
            power += exponent.number;
            at = exponent.at;
        }
        f64 value = -1.0;
        if (at == end && 0 < digits && digits <= DIGITS) {
            if (read.whole >> 53 == 0 && -22 <= power && power <= 0)
                value = f64(i64(read.whole)) / EXACT[-power];
            else value = rounded(read.whole, power, powers, least);
        }
        if (value < 0) others[i] = true;
        else out[i] = negative ? -value : value;
    }
}

KERNELS(decimals,
        KERNEL(read_decimals,
               "text(s) offsets(n+1)^s-8 out(n) others(n) powers(p,2) least:-99999..99999"));

} // namespace naively::SET
