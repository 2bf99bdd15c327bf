#include "jit/plan/tiling/skips.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "support/arithmetic.hpp"

namespace lazy::jit {
namespace {

// Indices up to here, and numbers added to them, don't wrap in 32 bits.
constexpr int64_t kMostIndex = int64_t{1} << 30;
constexpr int64_t kVector = 64;  // bytes: blocks are shortened by whole vectors

template <class T>
T low_bytes(uint64_t word) {
  T v;
  std::memcpy(&v, &word, sizeof v);
  return v;
}

/// Returns the value of an argument that is added to an index.
std::optional<int64_t> number(const ScalarArgument& a, uint64_t word) {
  const int64_t n = a.type == DType::int32 ? low_bytes<int32_t>(word) : static_cast<int64_t>(word);
  if ((a.type != DType::int32 && a.type != DType::int64) || n > kMostIndex || n < -kMostIndex) return {};
  return n;
}

/// Sums up in bits at `Top` and above if exponents, the bits of `kMask`, are all ones.
template <class T, T kMask>
bool all_finite(const char* at, int64_t n) {
  constexpr T magnitude = static_cast<T>(static_cast<T>(~T{0}) >> 1),
              one = static_cast<T>(kMask & (~kMask + 1));
  T any = 0;
  for (int64_t i = 0; i < n; ++i) {
    T v;
    std::memcpy(&v, at + i * static_cast<int64_t>(sizeof v), sizeof v);
    any = static_cast<T>(any | static_cast<T>((v & magnitude) + one));
  }
  return (any & static_cast<T>(~magnitude)) == 0;
}
bool all_finite(DType t, const char* at, int64_t n) {
  switch (t) {
    case DType::float16: return all_finite<uint16_t, 0x7c00>(at, n);
    case DType::bfloat16: return all_finite<uint16_t, 0x7f80>(at, n);
    case DType::float32: return all_finite<uint32_t, 0x7f800000>(at, n);
    case DType::float64: return all_finite<uint64_t, 0x7ff0000000000000>(at, n);
    default: return false;
  }
}

template <class T>
bool any_negative_zero(const char* at, int64_t n) {
  T any = 0;
  for (int64_t i = 0; i < n; ++i) {
    T v;
    std::memcpy(&v, at + i * static_cast<int64_t>(sizeof v), sizeof v);
    any |= static_cast<T>(v == T{1} << (8 * sizeof(T) - 1));
  }
  return any != 0;
}
bool any_negative_zero(const char* at, int64_t n, int64_t size) {
  return size == 4 ? any_negative_zero<uint32_t>(at, n) : any_negative_zero<uint64_t>(at, n);
}

}  // namespace

bool Skipping::is_needed(const Skip::Needed& n, const uint64_t* words) const {
  const Step& s = p_.steps[n.step];
  const uint64_t word = words[s.args.scalar(n.scalar)];
  switch (s.scalars[n.scalar].type) {
    case DType::bool_: return !n.lowest && low_bytes<uint8_t>(word) == 0;
    case DType::float32: return low_bytes<uint32_t>(word) == (n.lowest ? 0xff800000 : 0);
    case DType::float64: return word == (n.lowest ? 0xfff0000000000000 : 0);
    default: return false;
  }
}

bool Skipping::add(const Skip& skip, const uint64_t* own, const uint64_t* other) {
  const Step& s = p_.steps[skip.step];
  const size_t levels = group_.levels.size();
  Shortened r;
  r.skip = &skip;
  r.axis = s.axis_of[skip.dim];
  r.level = s.axis_of[group_.dim_of[(skip.step - group_.first) * levels + levels - 1]];
  r.extent = static_cast<int64_t>(own[s.args.extent(r.axis)]);
  r.origin = static_cast<int64_t>(own[s.args.origin(r.axis)]);
  r.line = skip.bias;
  if (skip.sign != 0) {
    const auto n = number(p_.steps[skip.scalar_step].scalars[skip.scalar],
                          other[p_.steps[skip.scalar_step].args.scalar(skip.scalar)]);
    if (!n) return false;
    r.line += skip.sign * *n;
  }
  if (r.extent == 0 || r.extent > kMostIndex || own[s.args.extent(r.level)] > uint64_t{kMostIndex})
    return false;
  shortened_.push_back(r);
  return true;
}

const Skipping::Shortened* Skipping::of(uint32_t step) const {
  for (const Shortened& s : shortened_)
    if (s.skip->step == step) return &s;
  return nullptr;
}

bool Skipping::finite(uint32_t step, const uint64_t* words) const {
  const Shortened* const s = of(step);
  if (!s || s->skip->finite < 0) return true;
  const Step& own = p_.steps[step];
  const loop::ArgLayout& at = own.args;
  const int o = s->skip->finite, columns = at.rank - 1;
  const DType t = own.operands[static_cast<size_t>(o)].dtype;
  const auto size = static_cast<int64_t>(size_of(t));
  const auto* const first = reinterpret_cast<const char*>(words[at.pointer(o)]);
  auto outer = static_cast<int64_t>(words[at.extent(s->axis)]),
       inner = static_cast<int64_t>(words[at.extent(columns)]);
  auto step_outer = static_cast<int64_t>(words[at.stride(o, s->axis)]),
       step_inner = static_cast<int64_t>(words[at.stride(o, columns)]);
  if (step_outer == size) std::swap(outer, inner), std::swap(step_outer, step_inner);
  if (step_inner == size && step_outer == inner * size) inner *= outer, outer = 1;
  for (int64_t i = 0; i < outer; ++i) {
    const char* const row = first + i * step_outer;
    if (step_inner == size) {
      if (!all_finite(t, row, inner)) return false;
    } else {
      for (int64_t j = 0; j < inner; ++j)
        if (!all_finite(t, row + j * step_inner, 1)) return false;
    }
  }
  return true;
}

void Skipping::shorten(uint32_t step, int64_t first, int64_t length, uint64_t* words) const {
  const Shortened* const s = of(step);
  if (!s) return;
  const loop::ArgLayout& at = p_.steps[step].args;
  constexpr int64_t kAtOnce = kVector / 4;
  // At least an index is left: what is computed there is left out otherwise, so it does no harm.
  if (!s->skip->before) {
    const int64_t end = std::clamp<int64_t>(first + length + s->line, 1, s->extent);
    words[at.extent(s->axis)] = static_cast<uint64_t>(std::min(round_up(end, kAtOnce), s->extent));
    return;
  }
  const int64_t begin = std::clamp<int64_t>(first + s->line, 0, s->extent - 1) / kAtOnce * kAtOnce;
  words[at.extent(s->axis)] = static_cast<uint64_t>(s->extent - begin);
  words[at.origin(s->axis)] = static_cast<uint64_t>(s->origin + begin);
  for (int o = 0; o < at.operands; ++o)
    words[at.pointer(o)] += static_cast<uint64_t>(begin) * words[at.stride(o, s->axis)];
}

/// Makes +0 of the sums that are -0 and have a right side without sign among what was left out, as the
/// product with +0 that is then added to them would.
void Skipping::correct_signs(const Shortened& s, const uint64_t* words) const {
  const Step& own = p_.steps[s.skip->step];
  const loop::ArgLayout& at = own.args;
  const int out = s.skip->sums, right = s.skip->finite, columns = at.rank - 1;
  const auto size = [&](int o) {
    return static_cast<int64_t>(size_of(own.operands[static_cast<size_t>(o)].dtype));
  };
  const auto stride = [&](int o, int axis) { return static_cast<int64_t>(words[at.stride(o, axis)]); };
  const auto first = [&](int o) { return reinterpret_cast<char*>(words[at.pointer(o)]); };
  const auto done = static_cast<int64_t>(words[at.extent(s.axis)]);
  const auto width = static_cast<int64_t>(words[at.extent(columns)]);
  const bool packed = stride(out, columns) == size(out);
  for (int64_t i = 0; i < static_cast<int64_t>(words[at.extent(s.level)]); ++i) {
    char* const row = first(out) + i * stride(out, s.level);
    if (packed && !any_negative_zero(row, width, size(out))) continue;
    for (int64_t j = 0; j < width; ++j) {
      char* const sum = row + j * stride(out, columns);
      if (!any_negative_zero(sum, 1, size(out))) continue;
      const char* const sign = first(right) + j * stride(right, columns) + size(right) - 1;  // its byte
      for (int64_t d = done; d < s.extent; ++d)
        if ((sign[d * stride(right, s.axis)] & 0x80) == 0)
          std::memset(sum, 0, static_cast<size_t>(size(out)));
    }
  }
}

void Skipping::finish(uint32_t step, uint64_t* words) const {
  const Shortened* const s = of(step);
  if (!s) return;
  const Step& own = p_.steps[step];
  const loop::ArgLayout& at = own.args;
  const auto done = static_cast<int64_t>(words[at.extent(s->axis)]);
  const int64_t left_out = s->extent - done;
  for (const uint16_t o : s->skip->zeros) {
    const auto size = static_cast<int64_t>(size_of(own.operands[o].dtype));
    const auto across = static_cast<int64_t>(words[at.stride(o, s->axis)]);
    char* const begin =
        reinterpret_cast<char*>(words[at.pointer(o)]) + (s->skip->before ? -left_out : done) * across;
    for (int64_t i = 0; left_out > 0 && i < static_cast<int64_t>(words[at.extent(s->level)]); ++i) {
      char* const row = begin + i * static_cast<int64_t>(words[at.stride(o, s->level)]);
      if (across == size) std::memset(row, 0, static_cast<size_t>(left_out * size));
      else
        for (int64_t j = 0; j < left_out; ++j) std::memset(row + j * across, 0, static_cast<size_t>(size));
    }
  }
  if (s->skip->sums >= 0) correct_signs(*s, words);
  words[at.extent(s->axis)] = static_cast<uint64_t>(s->extent);
  words[at.origin(s->axis)] = static_cast<uint64_t>(s->origin);
}

}  // namespace lazy::jit
