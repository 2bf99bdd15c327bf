// Writes blocks of a few bits as numbers, in the order of operations that GGML has, so that the bits are its.
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

void q4_0(Bytes b, float* y) {
  const float d = half_at(b);
  for (int i = 0; i < kHalf; ++i) {
    y[i] = d * static_cast<float>((b[2 + i] & 15) - 8);
    y[i + kHalf] = d * static_cast<float>((b[2 + i] >> 4) - 8);
  }
}
void q4_1(Bytes b, float* y) {
  const float d = half_at(b), m = half_at(b + 2);
  for (int i = 0; i < kHalf; ++i) {
    y[i] = d * static_cast<float>(b[4 + i] & 15) + m;
    y[i + kHalf] = d * static_cast<float>(b[4 + i] >> 4) + m;
  }
}

/// Returns element i of 5 bits: the fifths are in one word, the rest in halves of bytes.
int five(Bytes low, uint32_t high, int i) {
  const int four = i < kHalf ? low[i] & 15 : low[i - kHalf] >> 4;
  return four | static_cast<int>(high >> i & 1) << 4;
}
void q5_0(Bytes b, float* y) {
  const float d = half_at(b);
  const uint32_t high = word_at(b + 2);
  for (int i = 0; i < kSmall; ++i) y[i] = d * static_cast<float>(five(b + 6, high, i) - 16);
}
void q5_1(Bytes b, float* y) {
  const float d = half_at(b), m = half_at(b + 2);
  const uint32_t high = word_at(b + 4);
  for (int i = 0; i < kSmall; ++i) y[i] = d * static_cast<float>(five(b + 8, high, i)) + m;
}
void q8_0(Bytes b, float* y) {
  const float d = half_at(b);
  for (int i = 0; i < kSmall; ++i) y[i] = static_cast<float>(static_cast<int8_t>(b[2 + i])) * d;
}

void q2_k(Bytes b, float* y) {
  const Bytes scales = b, q = b + 16;
  const float d = half_at(b + 80), least = half_at(b + 82);
  for (int group = 0; group < 16; ++group) {
    const int part = group / 8, shift = group % 8 / 2 * 2, first = part * 32 + group % 2 * 16;
    const float scale = d * static_cast<float>(scales[group] & 15),
                minimum = least * static_cast<float>(scales[group] >> 4);
    for (int i = 0; i < 16; ++i)
      y[group * 16 + i] = scale * static_cast<float>(q[first + i] >> shift & 3) - minimum;
  }
}

/// Returns the scale of 6 bits of a group of Q3_K.
int scale_3(Bytes s, int group) {
  const int low = group < 8 ? s[group] & 15 : s[group - 8] >> 4,
            high = s[8 + group % 4] >> (group / 4 * 2) & 3;
  return (low | high << 4) - 32;
}
void q3_k(Bytes b, float* y) {
  const Bytes mask = b, q = b + 32, scales = b + 96;
  const float d = half_at(b + 108);
  for (int group = 0; group < 16; ++group) {
    const int part = group / 8, shift = group % 8 / 2 * 2, first = group % 2 * 16;
    const float scale = d * static_cast<float>(scale_3(scales, group));
    for (int i = 0; i < 16; ++i) {
      const int low = q[part * 32 + first + i] >> shift & 3, high = mask[first + i] >> (group / 2) & 1;
      y[group * 16 + i] = scale * static_cast<float>(low - (high ? 0 : 4));
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
void q4_k(Bytes b, float* y) {
  const float d = half_at(b), least = half_at(b + 2);
  for (int group = 0; group < 8; ++group) {
    const ScaleMin s = scale_min(b + 4, group);
    const float scale = d * static_cast<float>(s.scale), minimum = least * static_cast<float>(s.minimum);
    const Bytes q = b + 16 + group / 2 * 32;
    const int shift = group % 2 * 4;
    for (int i = 0; i < 32; ++i) y[group * 32 + i] = scale * static_cast<float>(q[i] >> shift & 15) - minimum;
  }
}
void q5_k(Bytes b, float* y) {
  const float d = half_at(b), least = half_at(b + 2);
  const Bytes high = b + 16;
  for (int group = 0; group < 8; ++group) {
    const ScaleMin s = scale_min(b + 4, group);
    const float scale = d * static_cast<float>(s.scale), minimum = least * static_cast<float>(s.minimum);
    const Bytes q = b + 48 + group / 2 * 32;
    const int shift = group % 2 * 4;
    for (int i = 0; i < 32; ++i) {
      const int v = (q[i] >> shift & 15) | (high[i] >> group & 1) << 4;
      y[group * 32 + i] = scale * static_cast<float>(v) - minimum;
    }
  }
}
void q6_k(Bytes b, float* y) {
  const Bytes low = b, high = b + 128, scales = b + 192;
  const float d = half_at(b + 208);
  for (int group = 0; group < 16; ++group) {
    const int half = group / 8, part = group % 8 / 2, first = group % 2 * 16;
    const float scale = d * static_cast<float>(static_cast<int8_t>(scales[group]));
    for (int i = 0; i < 16; ++i) {
      const int at = first + i, four = low[half * 64 + part % 2 * 32 + at] >> (part / 2 * 4) & 15;
      const int v = (four | (high[half * 32 + at] >> (part * 2) & 3) << 4) - 32;
      y[group * 16 + i] = scale * static_cast<float>(v);
    }
  }
}

struct Row {
  Block block;
  void (*write)(Bytes, float*);  // null: elements as they are
};
constexpr Row kRows[] = {
    {{TensorType::f32, "F32", 1, 4}, nullptr},       {{TensorType::f16, "F16", 1, 2}, nullptr},
    {{TensorType::bf16, "BF16", 1, 2}, nullptr},     {{TensorType::f64, "F64", 1, 8}, nullptr},
    {{TensorType::i8, "I8", 1, 1}, nullptr},         {{TensorType::i16, "I16", 1, 2}, nullptr},
    {{TensorType::i32, "I32", 1, 4}, nullptr},       {{TensorType::i64, "I64", 1, 8}, nullptr},
    {{TensorType::q4_0, "Q4_0", kSmall, 18}, q4_0},  {{TensorType::q4_1, "Q4_1", kSmall, 20}, q4_1},
    {{TensorType::q5_0, "Q5_0", kSmall, 22}, q5_0},  {{TensorType::q5_1, "Q5_1", kSmall, 24}, q5_1},
    {{TensorType::q8_0, "Q8_0", kSmall, 34}, q8_0},  {{TensorType::q2_k, "Q2_K", kLarge, 84}, q2_k},
    {{TensorType::q3_k, "Q3_K", kLarge, 110}, q3_k}, {{TensorType::q4_k, "Q4_K", kLarge, 144}, q4_k},
    {{TensorType::q5_k, "Q5_K", kLarge, 176}, q5_k}, {{TensorType::q6_k, "Q6_K", kLarge, 210}, q6_k}};

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

void dequantize(TensorType t, const char* blocks, uint64_t count, float* to) {
  const Row& row = *row_of(t);
  for (uint64_t i = 0; i < count; ++i)
    row.write(reinterpret_cast<Bytes>(blocks) + i * row.block.bytes, to + i * row.block.elements);
}

}  // namespace lazy::gguf
