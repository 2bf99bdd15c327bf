#include "jit/plan/tiling/skips.hpp"

#include <algorithm>
#include <bit>
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

/// Returns eight bytes, with those that are `value` made 0.
uint64_t others(const char* at, bool value) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word ^ (value ? 0x0101010101010101u : 0);
}
/// Returns the first of n bytes, `stride` apart, that is not `value`; n if there is none.
int64_t first_other(const char* at, int64_t stride, int64_t n, bool value) {
  int64_t i = 0;
  if (stride == 1)
    for (; i + 8 <= n; i += 8)
      if (const uint64_t w = others(at + i, value)) return i + std::countr_zero(w) / 8;
  while (i < n && at[i * stride] == static_cast<char>(value)) ++i;
  return i;
}
/// Returns 1 + the last of n bytes, `stride` apart, that is not `value`; `least` if none from there on is.
int64_t past_last_other(const char* at, int64_t stride, int64_t least, int64_t n, bool value) {
  if (stride == 1)
    for (; n - 8 >= least; n -= 8)
      if (const uint64_t w = others(at + n - 8, value)) return n - std::countl_zero(w) / 8;
  while (n > least && at[(n - 1) * stride] == static_cast<char>(value)) --n;
  return n;
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

/// True if the step's operand is the mask: the same memory, walked alike along levels and what is hidden.
bool Skipping::is_mask(const Skip& skip, const uint64_t* own, const uint64_t* of_mask) const {
  const Mask& m = group_.mask;
  const Step &s = p_.steps[skip.step], &owner = p_.steps[m.step];
  const size_t levels = group_.levels.size();
  const auto o = skip.mask;
  const auto moves_alike = [&](size_t dim, size_t of_owner) {
    return own[s.args.stride(o, s.axis_of[dim])] ==
           of_mask[owner.args.stride(m.operand, owner.axis_of[of_owner])];
  };
  bool same =
      own[s.args.pointer(o)] == of_mask[owner.args.pointer(m.operand)] && moves_alike(skip.dim, m.dim);
  for (size_t l = 0; l < levels; ++l)
    same &= moves_alike(group_.dims_of(skip.step)[l], group_.dims_of(m.step)[l]);
  return same;
}

bool Skipping::add(const Skip& skip, const uint64_t* own, const uint64_t* other) {
  const Step& s = p_.steps[skip.step];
  const size_t levels = group_.levels.size();
  auto at = std::find_if(shortened_.begin(), shortened_.end(), [&](auto& r) { return r.step == skip.step; });
  if (at == shortened_.end()) at = shortened_.emplace(at);
  Shortened& r = *at;
  const bool first = !r.half && !r.masked;
  if (!first && r.axis != s.axis_of[skip.dim]) return false;
  r.step = skip.step;
  r.axis = s.axis_of[skip.dim];
  r.level = s.axis_of[group_.dims_of(skip.step)[levels - 1]];
  r.extent = static_cast<int64_t>(own[s.args.extent(r.axis)]);
  r.origin = static_cast<int64_t>(own[s.args.origin(r.axis)]);
  r.finite = std::max(r.finite, skip.finite), r.sums = std::max(r.sums, skip.sums);
  for (const uint16_t o : skip.zeros)
    if (std::find(r.zeros.begin(), r.zeros.end(), o) == r.zeros.end()) r.zeros.push_back(o);
  (skip.masked ? r.masked : r.half) = true;
  if (!skip.masked) r.before = skip.before, r.line = skip.bias;
  if (skip.sign != 0) {
    const auto n = number(p_.steps[skip.scalar_step].scalars[skip.scalar],
                          other[p_.steps[skip.scalar_step].args.scalar(skip.scalar)]);
    if (!n) return false;
    r.line += skip.sign * *n;
  }
  return r.extent > 0 && r.extent <= kMostIndex && own[s.args.extent(r.level)] <= uint64_t{kMostIndex};
}

const Skipping::Shortened* Skipping::of(uint32_t step) const {
  for (const Shortened& s : shortened_)
    if (s.step == step) return &s;
  return nullptr;
}

int64_t Skipping::mask_extent(const uint64_t* words) const {
  const Step& s = p_.steps[group_.mask.step];
  return static_cast<int64_t>(words[s.args.extent(s.axis_of[group_.mask.dim])]);
}

Seen Skipping::seen(const uint64_t* words) const {
  const Mask& m = group_.mask;
  const Step& s = p_.steps[m.step];
  const size_t levels = group_.levels.size();
  const int axis = s.axis_of[m.dim], level = s.axis_of[group_.dims_of(m.step)[levels - 1]];
  const auto stride = [&](int a) { return static_cast<int64_t>(words[s.args.stride(m.operand, a)]); };
  const int64_t n = mask_extent(words), across = stride(axis), down = stride(level);
  const int64_t rows = down == 0 ? 1 : static_cast<int64_t>(words[s.args.extent(level)]);
  const auto* const first = reinterpret_cast<const char*>(words[s.args.pointer(m.operand)]);
  Seen seen{n, 0};
  for (int64_t i = 0; i < rows && (seen.begin > 0 || seen.end < n); ++i) {
    const char* const row = first + i * down;
    seen.begin = first_other(row, across, seen.begin, m.hides);
    seen.end = past_last_other(row, across, seen.end, n, m.hides);
  }
  return seen;
}

bool Skipping::finite(uint32_t step, const uint64_t* words) const {
  const Shortened* const s = of(step);
  if (!s || s->finite < 0) return true;
  const Step& own = p_.steps[step];
  const loop::ArgLayout& at = own.args;
  const int o = s->finite, columns = at.rank - 1;
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

void Skipping::shorten(uint32_t step, int64_t first, int64_t length, const Seen& seen,
                       uint64_t* words) const {
  const Shortened* const s = of(step);
  if (!s) return;
  const loop::ArgLayout& at = p_.steps[step].args;
  constexpr int64_t kAtOnce = kVector / 4;
  int64_t begin = 0, end = s->extent;
  if (s->masked) begin = seen.begin, end = std::min(end, seen.end);
  if (s->half && s->before) begin = std::max(begin, first + s->line);
  if (s->half && !s->before) end = std::min(end, first + length + s->line);
  // At least an index is left: what is computed there is left out otherwise, so it does no harm.
  begin = std::clamp<int64_t>(begin, 0, s->extent - 1) / kAtOnce * kAtOnce;
  end = std::min(round_up(std::max(end, begin + 1), kAtOnce), s->extent);
  words[at.extent(s->axis)] = static_cast<uint64_t>(end - begin);
  words[at.origin(s->axis)] = static_cast<uint64_t>(s->origin + begin);
  for (int o = 0; o < at.operands; ++o)
    words[at.pointer(o)] += static_cast<uint64_t>(begin) * words[at.stride(o, s->axis)];
}

/// Makes +0 of the sums that are -0 and have a right side without sign among what was left out, as the
/// product with +0 that is then added to them would.
void Skipping::correct_signs(const Shortened& s, const uint64_t* words, int64_t done, int64_t extent) const {
  const Step& own = p_.steps[s.step];
  const loop::ArgLayout& at = own.args;
  const int out = s.sums, right = s.finite, columns = at.rank - 1;
  const auto size = [&](int o) {
    return static_cast<int64_t>(size_of(own.operands[static_cast<size_t>(o)].dtype));
  };
  const auto stride = [&](int o, int axis) { return static_cast<int64_t>(words[at.stride(o, axis)]); };
  const auto first = [&](int o) { return reinterpret_cast<char*>(words[at.pointer(o)]); };
  const auto width = static_cast<int64_t>(words[at.extent(columns)]);
  const bool packed = stride(out, columns) == size(out);
  for (int64_t i = 0; i < static_cast<int64_t>(words[at.extent(s.level)]); ++i) {
    char* const row = first(out) + i * stride(out, s.level);
    if (packed && !any_negative_zero(row, width, size(out))) continue;
    for (int64_t j = 0; j < width; ++j) {
      char* const sum = row + j * stride(out, columns);
      if (!any_negative_zero(sum, 1, size(out))) continue;
      const char* const sign = first(right) + j * stride(right, columns) + size(right) - 1;  // its byte
      for (int64_t d = done; d < extent; ++d)
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
  // Addresses are those of the first index that was done.
  const auto done = static_cast<int64_t>(words[at.extent(s->axis)]);
  const int64_t before = static_cast<int64_t>(words[at.origin(s->axis)]) - s->origin,
                after = s->extent - before - done;
  for (const uint16_t o : s->zeros) {
    const auto size = static_cast<int64_t>(size_of(own.operands[o].dtype));
    const auto across = static_cast<int64_t>(words[at.stride(o, s->axis)]);
    const auto clear = [&](int64_t first, int64_t n) {
      char* const begin = reinterpret_cast<char*>(words[at.pointer(o)]) + first * across;
      for (int64_t i = 0; n > 0 && i < static_cast<int64_t>(words[at.extent(s->level)]); ++i) {
        char* const row = begin + i * static_cast<int64_t>(words[at.stride(o, s->level)]);
        if (across == size) std::memset(row, 0, static_cast<size_t>(n * size));
        else
          for (int64_t j = 0; j < n; ++j) std::memset(row + j * across, 0, static_cast<size_t>(size));
      }
    };
    clear(-before, before);
    clear(done, after);
  }
  if (s->sums >= 0) correct_signs(*s, words, done, done + after);
  words[at.extent(s->axis)] = static_cast<uint64_t>(s->extent);
  words[at.origin(s->axis)] = static_cast<uint64_t>(s->origin);
}

}  // namespace lazy::jit
