// Turns rows of one dtype into keys and words and back, by functions in a table: what orders words is
// compiled once for all dtypes.
#pragma once
#include "backends/cpu/calls/order/loops.hpp"

namespace lazy::cpu_backend::order {

/// Lists the loops over elements of one dtype, compiled for one kind of machine. Rows are addressed by their
/// first element and a range of indices; words and keys by the first that is written or read.
struct CodecTable {
  int key_bits;
  int element_bytes;
  void (*encode)(const KeyBits&, const char* in, int64_t begin, int64_t count, void* keys);
  KeyRange (*range)(const KeyBits&, const char* in, int64_t begin, int64_t end);
  bool (*pack32)(const KeyBits&, const char* in, int64_t begin, int64_t end, const Packing&, uint32_t* words);
  bool (*pack64)(const KeyBits&, const char* in, int64_t begin, int64_t end, const Packing&, uint64_t* words);
  void (*elements32)(const KeyBits&, const uint32_t* words, int64_t begin, int64_t end, const Packing&,
                     char* out);
  void (*elements64)(const KeyBits&, const uint64_t* words, int64_t begin, int64_t end, const Packing&,
                     char* out);
  uint64_t (*key)(const KeyBits&, const char* in, int64_t index);
  void (*copy)(const char* in, int64_t from, char* out, int64_t to);
};

/// Encodes a row in an order. M, which compiled the table, is Plain or Avx512.
struct Codec {
  const CodecTable* table;
  KeyBits bits;

  KeyRange range(const char* in, int64_t begin, int64_t end) const {
    return table->range(bits, in, begin, end);
  }
  bool pack(const char* in, int64_t begin, int64_t end, const Packing& p, uint32_t* words) const {
    return table->pack32(bits, in, begin, end, p, words);
  }
  bool pack(const char* in, int64_t begin, int64_t end, const Packing& p, uint64_t* words) const {
    return table->pack64(bits, in, begin, end, p, words);
  }
  void elements(const uint32_t* words, int64_t begin, int64_t end, const Packing& p, char* out) const {
    table->elements32(bits, words, begin, end, p, out);
  }
  void elements(const uint64_t* words, int64_t begin, int64_t end, const Packing& p, char* out) const {
    table->elements64(bits, words, begin, end, p, out);
  }
  void encode(const char* in, int64_t begin, int64_t count, void* keys) const {
    table->encode(bits, in, begin, count, keys);
  }
  uint64_t key(const char* in, int64_t index) const { return table->key(bits, in, index); }
  void copy(const char* in, int64_t from, char* out, int64_t to) const { table->copy(in, from, out, to); }
};

/// Makes the table of dtypes with keys K.
template <class M, class K>
struct CodecOf {
  using U = typename K::Bits;
  static const U* elements_of(const char* row) { return reinterpret_cast<const U*>(row); }

  static void encode(const KeyBits& b, const char* in, int64_t begin, int64_t count, void* keys) {
    M::encode(K(b), elements_of(in) + begin, count, static_cast<typename K::Key*>(keys));
  }
  static KeyRange range(const KeyBits& b, const char* in, int64_t begin, int64_t end) {
    return M::range(K(b), elements_of(in) + begin, end - begin);
  }
  template <class W>
  static bool pack(const KeyBits& b, const char* in, int64_t begin, int64_t end, const Packing& p, W* words) {
    return M::pack(K(b), elements_of(in), begin, end, p, words);
  }
  template <class W>
  static void elements(const KeyBits& b, const W* words, int64_t begin, int64_t end, const Packing& p,
                       char* out) {
    M::elements(K(b), words + begin, end - begin, p, reinterpret_cast<U*>(out) + begin);
  }
  static uint64_t key(const KeyBits& b, const char* in, int64_t index) {
    return K(b)(elements_of(in)[index]);
  }
  static void copy(const char* in, int64_t from, char* out, int64_t to) {
    reinterpret_cast<U*>(out)[to] = elements_of(in)[from];
  }

  static constexpr CodecTable kTable{
      K::kBits,           sizeof(U),          encode, range, pack<uint32_t>, pack<uint64_t>,
      elements<uint32_t>, elements<uint64_t>, key,    copy};
};

template <class M>
Codec codec_of(DType t, bool descending) {
  return with_keys(t, [&]<class K>(uint64_t infinity) {
    return Codec{&CodecOf<M, K>::kTable, {infinity, descending ? ~uint64_t{0} : 0}};
  });
}

}  // namespace lazy::cpu_backend::order
