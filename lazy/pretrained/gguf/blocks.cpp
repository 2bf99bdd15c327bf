// Reads blocks of a few bits: as numbers, in the order of operations that GGML has, so that the bits are its,
// and as integers with a scale for each group.
#include <algorithm>
#include <cstring>

#include "lazy/pretrained/gguf/state.hpp"
#include "support/fp16.hpp"

namespace lazy::gguf {
namespace {

using Bytes = const uint8_t*;

constexpr int kSmall = 32, kLarge = 256;  // elements of a block
constexpr int kHalf = kSmall / 2;

float half_at(Bytes b) {
  uint16_t h;
  std::memcpy(&h, b, sizeof h);
  return fp16::float16_value(h);
}
uint32_t word_at(Bytes b) {
  uint32_t w;
  std::memcpy(&w, b, sizeof w);
  return w;
}

/// Holds a block's integers, and scales and minima of its groups: element i of group g is scale[g] q[i] -
/// minimum[g].
struct Elements {
  int8_t q[kLarge];
  float scale[16], minimum[16];
};

/// Takes integers of halves of bytes, less `zero`.
void take_halves(Bytes b, int zero, Elements& e) {
  for (int i = 0; i < kHalf; ++i) {
    e.q[i] = static_cast<int8_t>((b[i] & 15) - zero);
    e.q[i + kHalf] = static_cast<int8_t>((b[i] >> 4) - zero);
  }
}
void q4_0(Bytes b, Elements& e) {
  e.scale[0] = half_at(b), e.minimum[0] = 0;
  take_halves(b + 2, 8, e);
}
void q4_1(Bytes b, Elements& e) {
  e.scale[0] = half_at(b), e.minimum[0] = -half_at(b + 2);
  take_halves(b + 4, 0, e);
}

/// Takes integers of 5 bits, less `zero`: the fifths are in one word, the rest in halves of bytes.
void take_fives(Bytes low, uint32_t high, int zero, Elements& e) {
  for (int i = 0; i < kSmall; ++i) {
    const int four = i < kHalf ? low[i] & 15 : low[i - kHalf] >> 4;
    e.q[i] = static_cast<int8_t>((four | static_cast<int>(high >> i & 1) << 4) - zero);
  }
}
void q5_0(Bytes b, Elements& e) {
  e.scale[0] = half_at(b), e.minimum[0] = 0;
  take_fives(b + 6, word_at(b + 2), 16, e);
}
void q5_1(Bytes b, Elements& e) {
  e.scale[0] = half_at(b), e.minimum[0] = -half_at(b + 2);
  take_fives(b + 8, word_at(b + 4), 0, e);
}
void q8_0(Bytes b, Elements& e) {
  e.scale[0] = half_at(b), e.minimum[0] = 0;
  std::memcpy(e.q, b + 2, kSmall);
}

void q2_k(Bytes b, Elements& e) {
  const Bytes scales = b, q = b + 16;
  const float d = half_at(b + 80), least = half_at(b + 82);
  for (int group = 0; group < 16; ++group) {
    const int part = group / 8, shift = group % 8 / 2 * 2, first = part * 32 + group % 2 * 16;
    e.scale[group] = d * static_cast<float>(scales[group] & 15);
    e.minimum[group] = least * static_cast<float>(scales[group] >> 4);
    for (int i = 0; i < 16; ++i) e.q[group * 16 + i] = static_cast<int8_t>(q[first + i] >> shift & 3);
  }
}

/// Returns the scale of 6 bits of a group of Q3_K.
int scale_3(Bytes s, int group) {
  const int low = group < 8 ? s[group] & 15 : s[group - 8] >> 4,
            high = s[8 + group % 4] >> (group / 4 * 2) & 3;
  return (low | high << 4) - 32;
}
void q3_k(Bytes b, Elements& e) {
  const Bytes mask = b, q = b + 32, scales = b + 96;
  const float d = half_at(b + 108);
  for (int group = 0; group < 16; ++group) {
    const int part = group / 8, shift = group % 8 / 2 * 2, first = group % 2 * 16;
    e.scale[group] = d * static_cast<float>(scale_3(scales, group)), e.minimum[group] = 0;
    for (int i = 0; i < 16; ++i) {
      const int low = q[part * 32 + first + i] >> shift & 3, high = mask[first + i] >> (group / 2) & 1;
      e.q[group * 16 + i] = static_cast<int8_t>(low - (high ? 0 : 4));
    }
  }
}

/// Returns scale and minimum of a group of 32, which lie in 12 bytes, 6 bits each.
struct ScaleMin {
  int scale, minimum;
};
ScaleMin scale_min(Bytes s, int group) {
  if (group < 4) return {s[group] & 63, s[group + 4] & 63};
  const int both = s[group + 4];
  return {(both & 15) | (s[group - 4] >> 6) << 4, (both >> 4) | (s[group] >> 6) << 4};
}
/// Takes integers of 4 bits, and of 5 if there are bytes for the fifths.
void take_large(Bytes b, Bytes high, Bytes low, Elements& e) {
  const float d = half_at(b), least = half_at(b + 2);
  for (int group = 0; group < 8; ++group) {
    const ScaleMin s = scale_min(b + 4, group);
    e.scale[group] = d * static_cast<float>(s.scale),
    e.minimum[group] = least * static_cast<float>(s.minimum);
    const Bytes q = low + group / 2 * 32;
    const int shift = group % 2 * 4;
    for (int i = 0; i < 32; ++i) {
      const int fifth = high ? (high[i] >> group & 1) << 4 : 0;
      e.q[group * 32 + i] = static_cast<int8_t>((q[i] >> shift & 15) | fifth);
    }
  }
}
void q4_k(Bytes b, Elements& e) { take_large(b, nullptr, b + 16, e); }
void q5_k(Bytes b, Elements& e) { take_large(b, b + 16, b + 48, e); }
void q6_k(Bytes b, Elements& e) {
  const Bytes low = b, high = b + 128, scales = b + 192;
  const float d = half_at(b + 208);
  for (int group = 0; group < 16; ++group) {
    const int half = group / 8, part = group % 8 / 2, first = group % 2 * 16;
    e.scale[group] = d * static_cast<float>(static_cast<int8_t>(scales[group])), e.minimum[group] = 0;
    for (int i = 0; i < 16; ++i) {
      const int at = first + i, four = low[half * 64 + part % 2 * 32 + at] >> (part / 2 * 4) & 15;
      e.q[group * 16 + i] = static_cast<int8_t>((four | (high[half * 32 + at] >> (part * 2) & 3) << 4) - 32);
    }
  }
}

struct Row {
  Block block;
  void (*read)(Bytes, Elements&);  // null: elements as they are
};
constexpr Row kRows[] = {{{TensorType::f32, "F32", 1, 4}, nullptr},
                         {{TensorType::f16, "F16", 1, 2}, nullptr},
                         {{TensorType::bf16, "BF16", 1, 2}, nullptr},
                         {{TensorType::f64, "F64", 1, 8}, nullptr},
                         {{TensorType::i8, "I8", 1, 1}, nullptr},
                         {{TensorType::i16, "I16", 1, 2}, nullptr},
                         {{TensorType::i32, "I32", 1, 4}, nullptr},
                         {{TensorType::i64, "I64", 1, 8}, nullptr},
                         {{TensorType::q4_0, "Q4_0", kSmall, 18, {4, kSmall, false}}, q4_0},
                         {{TensorType::q4_1, "Q4_1", kSmall, 20, {4, kSmall, true}}, q4_1},
                         {{TensorType::q5_0, "Q5_0", kSmall, 22, {8, kSmall, false}}, q5_0},
                         {{TensorType::q5_1, "Q5_1", kSmall, 24, {8, kSmall, true}}, q5_1},
                         {{TensorType::q8_0, "Q8_0", kSmall, 34, {8, kSmall, false}}, q8_0},
                         {{TensorType::q2_k, "Q2_K", kLarge, 84, {8, 16, true}}, q2_k},
                         {{TensorType::q3_k, "Q3_K", kLarge, 110, {8, 16, false}}, q3_k},
                         {{TensorType::q4_k, "Q4_K", kLarge, 144, {4, 32, true}}, q4_k},
                         {{TensorType::q5_k, "Q5_K", kLarge, 176, {8, 32, true}}, q5_k},
                         {{TensorType::q6_k, "Q6_K", kLarge, 210, {8, 16, false}}, q6_k}};

const Row* row_of(TensorType t) {
  const auto* const row =
      std::find_if(std::begin(kRows), std::end(kRows), [t](const Row& r) { return r.block.type == t; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

const Block* block_of(TensorType t) {
  const Row* const row = row_of(t);
  return row ? &row->block : nullptr;
}

const char* name_of(TensorType t) {
  const Row* const row = row_of(t);
  return row ? row->block.name : "?";
}

bool is_block(TensorType t) {
  const Row* const row = row_of(t);
  return row && row->read;
}

void dequantize(TensorType t, const char* blocks, uint64_t count, float* to) {
  const Row& row = *row_of(t);
  const uint32_t length = row.block.elements, group = static_cast<uint32_t>(row.block.groups.length);
  Elements e;
  for (uint64_t i = 0; i < count; ++i, to += length) {
    row.read(reinterpret_cast<Bytes>(blocks) + i * row.block.bytes, e);
    for (uint32_t k = 0; k < length; ++k)
      to[k] = e.scale[k / group] * static_cast<float>(e.q[k]) - e.minimum[k / group];
  }
}

void read_groups(TensorType t, const char* block, uint8_t* integers, float* scales, float* zeros) {
  const Row& row = *row_of(t);
  const GroupsOf& how = row.block.groups;
  const uint32_t length = row.block.elements;
  Elements e;
  row.read(reinterpret_cast<Bytes>(block), e);
  for (uint32_t g = 0; g < length / static_cast<uint32_t>(how.length); ++g) {
    if (how.has_zeros && e.scale[g] == 0) {  // all are the minimum
      std::fill_n(e.q + g * static_cast<uint32_t>(how.length), how.length, int8_t{0});
      e.scale[g] = 1;
    }
    scales[g] = e.scale[g];
    zeros[g] = e.minimum[g] / e.scale[g];
  }
  if (how.bits == 8) {
    std::memcpy(integers, e.q, length);
    return;
  }
  const int zero = how.has_zeros ? 0 : 8;
  for (uint32_t first = 0; first < length; first += kSmall)
    for (uint32_t i = 0; i < kHalf; ++i) {
      const int low = e.q[first + i] + zero, high = e.q[first + kHalf + i] + zero;
      *integers++ = static_cast<uint8_t>(low | high << 4);
    }
}

}  // namespace lazy::gguf
