// What the arguments of a kernel must be, said beside it and checked before each call.
//
// A contract names the arguments in order, as NumPy's generalised functions do their dimensions:
//
//     "x(n) codes(n)<C keys(k) counts(k,C) missing(C) slots(s):-1..-1 report(5) ; s>k s&(s-1)==0"
//
// A name with dimensions is an array, one without a number. Equal names are equal lengths; a length
// may be an expression of + - * / & and min(a, b), of names, whole numbers, numbers among the
// arguments and elements such as offsets[n]. What is divided by 0 has no limit. After an array:
//
//     <E          its values are from 0 to E - 1; also of a number
//     :A..B       its values are from A to B; also of a number
//     ^E          its values do not decrease, and are from 0 to E: the ends of rows
//     @A:B        this holds of elements A to B - 1 alone, as they are all that is read
//     @rows       it holds of the elements with these numbers (of ends, of these rows)
//     @ends[rows] it holds of the elements of these rows
//     ?           after a length: or 0
//     !           it may be written in place: others share no memory with an array that is written
//
// and after a semicolon, comparisons. Contracts are read by the compiler, which refuses bad ones.
#pragma once
#include "abi.hpp"
#include "arrays.hpp"

namespace naively::SET {



struct Token {
    char op = 0; // n: number; v: length or number among the arguments; [: element; or an operator
    i32 value = 0;
};
struct Expression { // its tokens, operators after what they are applied to
    u8 first = 0, count = 0;
};
struct Length {
    Expression size;
    bool or_none = false;
};
struct Demand {
    uint16_t name = 0; // its place in the text
    u8 name_size = 0, dimensions = 0;
    Length length[4];
    char kind = 0;  // r: range, ^: ends
    char where = 0; // 0: all, w: window, g: elements of `rows`, c: elements of `rows` by `ends`
    Expression low, high, from, to;
    u8 rows = 0, ends = 0;
    bool in_place = false;
};
struct Comparison {
    Expression left, right;
    char op = 0; // <, l: <=, >, g: >=, =
    uint16_t text = 0, text_size = 0;
};
struct Name { // where a length or number comes from
    uint16_t at = 0;
    u8 size = 0, argument = 0;
    int8_t dimension = -1; // of a number
    i32 beyond = 0;
};

void bad_contract(); // that this is called makes the compiler refuse the contract

// A contract that has been read, in arrays of these lengths.
template <int TOKENS, int DEMANDS, int COMPARISONS, int NAMES> struct Stored {
    Token tokens[TOKENS + 1] = {};
    Demand demands[DEMANDS + 1] = {};
    Comparison comparisons[COMPARISONS + 1] = {};
    Name names[NAMES + 1] = {};
};
constexpr int MOST_NAMES = 40;
struct Whole : Stored<255, 24, 12, MOST_NAMES> {
    const char *text = nullptr;
    int n_tokens = 0, n_demands = 0, n_comparisons = 0, n_names = 0;
};
struct Contract {
    const char *text;
    const Token *tokens;
    const Demand *demands;
    const Comparison *comparisons;
    const Name *names;
    int n_demands, n_comparisons, n_names;
};

// Reads a contract: numbers and plain lengths give names their values, then all else is checked.
class Reader {
  public:
    Whole found;
    constexpr explicit Reader(const char *text) : at(0) {
        found.text = text;
        for (int round = 0; round < 3; round++) name(round);
        at = 0;
        for (spaces(); here() && here() != ';'; spaces()) demand();
        if (take(';'))
            for (spaces(); here(); spaces()) comparison();
    }

  private:
    int at;
    constexpr char here() const { return found.text[at]; }
    constexpr void spaces() {
        while (here() == ' ' || here() == '\n') at++;
    }
    static constexpr bool letter(char c) {
        return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_';
    }
    static constexpr bool digit(char c) { return '0' <= c && c <= '9'; }
    constexpr int word() {
        const int start = at;
        while (letter(here()) || (at > start && digit(here()))) at++;
        if (at == start) bad_contract();
        return start;
    }
    constexpr bool take(char c) {
        if (here() != c) return false;
        at++;
        return true;
    }
    constexpr void need(char c) {
        if (!take(c)) bad_contract();
    }
    constexpr bool equal(int a, int a_size, int b, int b_size) const {
        bool same = a_size == b_size;
        for (int k = 0; same && k < a_size; k++) same = found.text[a + k] == found.text[b + k];
        return same;
    }
    constexpr int find_name(int start, int size) const {
        for (int k = 0; k < found.n_names; k++)
            if (equal(found.names[k].at, found.names[k].size, start, size)) return k;
        return -1;
    }
    constexpr void add_name(int start, int size, int argument, int dimension, i64 beyond) {
        if (find_name(start, size) < 0)
            found.names[found.n_names++] = {uint16_t(start), u8(size), u8(argument), int8_t(dimension),
                                            i32(beyond)};
    }
    // In turn, names of numbers; of lengths that are a name; of such as n+1.
    constexpr void name(int round) {
        at = 0;
        int argument = 0;
        for (spaces(); here() && here() != ';'; spaces(), argument++) {
            const int start = word(), size = at - start;
            if (round == 0 && here() != '(') add_name(start, size, argument, -1, 0);
            if (here() == '(') {
                for (int dimension = 0; here() != ')'; dimension++) {
                    at++;
                    const int first = at;
                    int depth = 0;
                    if (letter(here())) {
                        word();
                        const int end = at;
                        if (round == 1 && (here() == ',' || here() == ')'))
                            add_name(first, end - first, argument, dimension, 0);
                        if (round == 2 && take('+') && digit(here())) {
                            const i64 beyond = number();
                            if (here() == ',' || here() == ')')
                                add_name(first, end - first, argument, dimension, beyond);
                        }
                    }
                    for (; depth > 0 || (here() != ',' && here() != ')'); at++) {
                        if (here() == '(') depth++;
                        if (here() == ')') depth--;
                        if (!here()) bad_contract();
                    }
                }
            }
            while (here() && here() != ' ' && here() != '\n') at++;
        }
    }
    constexpr i64 number() {
        i64 value = 0;
        while (digit(here())) value = 10 * value + (found.text[at++] - '0');
        return value;
    }
    constexpr void emit(char op, i64 value = 0) {
        if (found.n_tokens == 255 || value > INT32_MAX) bad_contract();
        found.tokens[found.n_tokens++] = {op, i32(value)};
    }
    constexpr Expression since(int first) const {
        return {u8(first), u8(found.n_tokens - first)};
    }
    // The number of the array argument of this name, or -1.
    constexpr int array(int start, int size) const {
        int k = 0, p = 0;
        const char *text = found.text;
        while (text[p] && text[p] != ';') {
            while (text[p] == ' ' || text[p] == '\n') p++;
            const int first = p;
            while (letter(text[p]) || digit(text[p])) p++;
            if (p > first && text[p] == '(' && equal(first, p - first, start, size)) return k;
            while (text[p] && text[p] != ' ' && text[p] != '\n') p++;
            k++;
        }
        return -1;
    }
    constexpr void atom() {
        if (digit(here())) return emit('n', number());
        if (take('-')) {
            emit('n', 0);
            atom();
            return emit('-');
        }
        if (take('(')) {
            expression();
            return need(')');
        }
        const int start = word(), size = at - start;
        if (size == 3 && found.text[start] == 'm' && take('(')) { // min(a, b)
            expression();
            need(',');
            expression();
            need(')');
            return emit('m');
        }
        if (here() == '[') {
            const int argument = array(start, size);
            if (argument < 0) bad_contract();
            at++;
            expression();
            need(']');
            return emit('[', argument);
        }
        const int known = find_name(start, size);
        if (known < 0) bad_contract();
        emit('v', known);
    }
    constexpr void product() {
        atom();
        for (;;) {
            const char op = here();
            if (op != '*' && op != '/') return;
            at++;
            atom();
            emit(op);
        }
    }
    constexpr void sum() {
        product();
        for (;;) {
            const char op = here();
            if (op != '+' && op != '-') return;
            at++;
            product();
            emit(op);
        }
    }
    constexpr Expression expression() {
        const int first = found.n_tokens;
        sum();
        while (take('&')) {
            sum();
            emit('&');
        }
        return since(first);
    }
    constexpr Expression constant(i64 value) {
        emit('n', value);
        return since(found.n_tokens - 1);
    }
    constexpr void demand() {
        Demand own;
        own.name = uint16_t(word()), own.name_size = u8(at - own.name);
        if (here() == '(') {
            do {
                at++;
                Length &length = own.length[own.dimensions++];
                length.size = expression();
                length.or_none = take('?');
            } while (here() == ',');
            need(')');
        }
        if (take('<')) {
            own.kind = 'r';
            own.low = constant(0);
            const int first = found.n_tokens;
            sum();
            emit('n', 1);
            emit('-');
            own.high = since(first);
        } else if (take(':')) {
            own.kind = 'r';
            own.low = expression();
            need('.'), need('.');
            own.high = expression();
        } else if (take('^')) {
            own.kind = '^';
            own.low = constant(0);
            own.high = expression();
        }
        if (take('@')) {
            const int start = at, size = word_size();
            const int argument = array(start, size);
            if (argument >= 0 && over(start + size)) {
                at = start + size;
                own.where = 'g', own.rows = u8(argument);
            } else if (argument >= 0 && rows_after(start + size) >= 0) {
                own.where = 'c', own.ends = u8(argument);
                own.rows = u8(rows_after(start + size));
                while (here() != ']') at++;
                at++;
            } else {
                own.where = 'w';
                own.from = expression();
                need(':');
                own.to = expression();
            }
        }
        own.in_place = take('!');
        if (!over(at)) bad_contract();
        found.demands[found.n_demands++] = own;
    }
    constexpr int word_size() const {
        int end = at;
        while (letter(found.text[end]) || digit(found.text[end])) end++;
        return end - at;
    }
    constexpr bool over(int p) const {
        const char c = found.text[p];
        return c == ' ' || c == '\n' || c == 0 || c == ';' || c == '!';
    }
    // The array in brackets at a place that ends a demand, or -1.
    constexpr int rows_after(int p) const {
        if (found.text[p] != '[') return -1;
        const int start = ++p;
        while (letter(found.text[p]) || digit(found.text[p])) p++;
        if (found.text[p] != ']' || !over(p + 1)) return -1;
        return array(start, p - start);
    }
    constexpr void comparison() {
        Comparison own;
        own.text = uint16_t(at);
        own.left = expression();
        own.op = here();
        at++;
        if (own.op == '=') need('=');
        else if (take('=')) own.op = own.op == '<' ? 'l' : 'g';
        own.right = expression();
        own.text_size = uint16_t(at - own.text);
        if (!over(at)) bad_contract();
        found.comparisons[found.n_comparisons++] = own;
    }
};

constexpr Whole read_contract(const char *text) { return Reader(text).found; }

template <int T, int D, int C, int N> constexpr Stored<T, D, C, N> stored(const Whole &whole) {
    Stored<T, D, C, N> found;
    for (int k = 0; k < T; k++) found.tokens[k] = whole.tokens[k];
    for (int k = 0; k < D; k++) found.demands[k] = whole.demands[k];
    for (int k = 0; k < C; k++) found.comparisons[k] = whole.comparisons[k];
    for (int k = 0; k < N; k++) found.names[k] = whole.names[k];
    return found;
}

// An argument as contracts see it: an array, or a number.
struct View {
    const Py_buffer *array = nullptr;
    i64 number = 0;
    char letter = 0;
    bool writable = false;
};

// What is wrong with a call.
struct Fault {
    enum { NONE, DIMENSION, VALUE, ORDER, SHARED, WINDOW, COMPARED } kind = NONE;
    int argument = 0, detail = 0;
    i64 found = 0, low = 0, high = 0;
};

// Whether the arguments are as they must be; else the fault is noted.
bool holds(const Contract &contract, const View *views, Fault &fault);

// Says what is wrong as a ValueError.
void tell(const char *kernel, const Contract &contract, const Fault &fault);

} // namespace naively::SET
