// Hashes of documents.
#include "python.hpp"

#include "terms.hpp"

namespace naively::SET {

// out[i] = a hash of the bytes of document i, data[offsets[i] : offsets[i + 1]].
static void hash_documents(Flat<const u8> data, Flat<const i64> offsets, Flat<u64> out) {
    for (i64 i = 0; i < out.size; i++) {
        i64 at = offsets[i];
        const i64 stop = offsets[i + 1];
        u64 key = u64(stop - at) * P1, rest = 0;
        for (; at + 8 <= stop; at += 8) key = fold(key ^ load_word(data.data + at), P0);
        for (i64 k = at; k < stop; k++) rest |= u64(data[k]) << (8 * (k - at));
        out[i] = fold(fold(key ^ rest, P0) ^ P1, P0);
    }
}

KERNELS(documents,
        KERNEL(hash_documents, "data(s) offsets(n+1)^s out(n)"));

} // namespace naively::SET
