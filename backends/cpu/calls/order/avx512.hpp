// Declares the order of words on machines with AVX-512: quicksort by compression, networks for what is short.
#pragma once
#include "backends/cpu/calls/order/loops.hpp"

namespace lazy::cpu_backend::order {

#define LAZY_ORDER_512 \
  __attribute__((target("avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))

/// Has the functions of Plain, on vectors of 512 bits.
struct Avx512 {
  static constexpr int64_t kSlack = 16;
  static constexpr const char* kName = "by AVX-512";

  template <class K>
  LAZY_ORDER_512 static void encode(const K& keys, const typename K::Bits* in, int64_t n,
                                    typename K::Key* out) {
    loops::encode(keys, in, n, out);
  }
  template <class K>
  LAZY_ORDER_512 static KeyRange range(const K& keys, const typename K::Bits* in, int64_t n) {
    return loops::range(keys, in, n);
  }
  template <class K, class W>
  LAZY_ORDER_512 static bool pack(const K& keys, const typename K::Bits* in, int64_t begin, int64_t end,
                                  const Packing& p, W* words) {
    return loops::pack(keys, in, begin, end, p, words);
  }
  template <class K, class W>
  LAZY_ORDER_512 static void elements(const K& keys, const W* words, int64_t n, const Packing& p,
                                      typename K::Bits* out) {
    loops::elements(keys, words, n, p, out);
  }
  template <class W>
  LAZY_ORDER_512 static void indices(const W* words, int64_t n, const Packing& p, int64_t* out) {
    loops::indices(words, n, p, out);
  }
  template <class W>
  static int64_t partition(W* words, W* other, int64_t n, W pivot, bool or_equal);
  template <class W>
  static void sort(W* words, W* other, int64_t n, int low, Wanted wanted);
  static Kept keep(const uint32_t* keys, int64_t n, int64_t index, uint32_t low, uint32_t high,
                   const Packing&, uint64_t* words);
  static Kept keep(const uint64_t* keys, int64_t n, int64_t index, uint64_t low, uint64_t high,
                   const Packing&, uint64_t* words);
  template <class W>
  static int64_t doubtful(const W* words, int64_t n, int index_bits, W* places);
};

}  // namespace lazy::cpu_backend::order
