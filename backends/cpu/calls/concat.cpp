// Concatenates: one copy of each operand, by several threads where there is much to copy.
#include <emmintrin.h>

#include <algorithm>

#include "backends/cpu/calls/calls.hpp"
#include "backends/cpu/machine/features.hpp"
#include "backends/cpu/threads/parallel.hpp"
#include "jit/backend/backend.hpp"
#include "jit/built_in/concat.hpp"

namespace lazy::cpu_backend {
namespace {

using jit::CallRun;

constexpr double kBytesInNanosecond = 40;  // bytes per nanosecond, for a copy in the second-level cache

/// Copies like memcpy, whose string instruction takes ten times as long where addresses are equal modulo a
/// page, as those of values are. `streams`: bypasses the caches.
template <bool streams>
void copy_long(char* to, const char* from, int64_t bytes) {
  constexpr int64_t kLine = 64, kVector = 16;
  const int64_t before = std::min(bytes, static_cast<int64_t>(-reinterpret_cast<uintptr_t>(to) % kLine));
  std::memcpy(to, from, static_cast<size_t>(before));
  int64_t at = before;
  for (; at + kLine <= bytes; at += kLine) {
    __m128i v[kLine / kVector];
    for (int i = 0; i < kLine / kVector; ++i)
      v[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + i * kVector));
    for (int i = 0; i < kLine / kVector; ++i) {
      auto* const place = reinterpret_cast<__m128i*>(to + at + i * kVector);
      if constexpr (streams) _mm_stream_si128(place, v[i]);
      else _mm_store_si128(place, v[i]);
    }
  }
  std::memcpy(to + at, from + at, static_cast<size_t>(bytes - at));
}

/// Copies `count` packed pieces of sizeof(T) bytes, one to every `pitch` bytes.
template <class T>
void scatter(char* to, const char* from, int64_t count, int64_t pitch) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * pitch, from + i * int64_t{sizeof(T)}, sizeof(T));
}

struct Pair {
  uint64_t low, high;
};

/// Copies `count` packed runs of `bytes`, one to every `pitch` bytes.
void copy_runs(char* to, const char* from, int64_t bytes, int64_t count, int64_t pitch, bool streams) {
  constexpr int64_t kLongRun = 1024;
  if (bytes >= kLongRun) {
    const auto copy = streams ? copy_long<true> : copy_long<false>;
    for (int64_t i = 0; i < count; ++i) copy(to + i * pitch, from + i * bytes, bytes);
    return;
  }
  switch (bytes) {
    case 1: return scatter<uint8_t>(to, from, count, pitch);
    case 2: return scatter<uint16_t>(to, from, count, pitch);
    case 4: return scatter<uint32_t>(to, from, count, pitch);
    case 8: return scatter<uint64_t>(to, from, count, pitch);
    case 16: return scatter<Pair>(to, from, count, pitch);
    default: break;
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * pitch, from + i * bytes, static_cast<size_t>(bytes));
}

class CpuConcat final : public jit::CallKernel {
 public:
  void run(const CallRun& r) const override {
    if (!r.out[0] || numel(r.outputs[0].shape) == 0) return;
    const int axis = r.spec.as<jit::calls::ConcatAttributes>().axis;
    const int64_t whole = jit::calls::run_bytes(r.outputs[0], axis);
    int64_t rows = 1;
    for (int i = 0; i < axis; ++i) rows *= r.outputs[0].shape[i];
    const auto bytes = static_cast<double>(rows * whole);
    const bool streams = bytes >= static_cast<double>(caches().l3) / 2;
    const int64_t pieces = worth_threads(2 * bytes / kBytesInNanosecond) ? thread_count() : 1;
    const auto share = [&](int64_t p) {
      if (rows >= pieces) {
        copy_rows(r, axis, whole, rows * p / pieces, rows * (p + 1) / pieces, streams);
      } else {
        for (int64_t row = 0; row < rows; ++row)
          copy_part(r, axis, whole, row, whole * p / pieces, whole * (p + 1) / pieces, streams);
      }
      if (streams) _mm_sfence();
    };
    if (pieces == 1) share(0);
    else r.backend.for_each(pieces, share);
  }
  std::string schedule() const override { return "copies"; }

 private:
  static void copy_rows(const CallRun& r, int axis, int64_t whole, int64_t first, int64_t last,
                        bool streams) {
    int64_t at = 0;
    for (size_t o = 0; o < r.operands.size(); ++o) {
      const int64_t bytes = jit::calls::run_bytes(r.operands[o], axis);
      if (bytes)
        copy_runs(r.out[0] + first * whole + at, r.in[o] + first * bytes, bytes, last - first, whole,
                  streams);
      at += bytes;
    }
  }
  /// Copies bytes [from, to) of one row.
  static void copy_part(const CallRun& r, int axis, int64_t whole, int64_t row, int64_t from, int64_t to,
                        bool streams) {
    int64_t at = 0;
    for (size_t o = 0; o < r.operands.size() && at < to; ++o) {
      const int64_t bytes = jit::calls::run_bytes(r.operands[o], axis);
      const int64_t begin = std::max(from, at), end = std::min(to, at + bytes);
      if (begin < end)
        copy_runs(r.out[0] + row * whole + begin, r.in[o] + row * bytes + (begin - at), end - begin, 1, 0,
                  streams);
      at += bytes;
    }
  }
};

}  // namespace

std::unique_ptr<jit::CallKernel> make_concat() { return std::make_unique<CpuConcat>(); }

}  // namespace lazy::cpu_backend
