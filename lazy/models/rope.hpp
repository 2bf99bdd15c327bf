// Computes by what rotary embeddings turn pairs in models that were trained for shorter texts than they read.
#pragma once
#include <cstdint>
#include <vector>

namespace lazy::models {

/// Names Hugging Face's rope_type. none: base^(-2 i / width). linear: all slower by `factor`. dynamic: a
/// larger base for texts beyond the model's positions. llama3, yarn (Peng et al., 2023): slow pairs slower by
/// `factor`, fast ones as they were, those between in part. longrope (Ding et al., 2024): each pair slower by
/// a factor of its own, one for texts within the original positions and one for longer ones.
enum class RopeType : uint8_t { none, linear, dynamic, llama3, yarn, longrope };

struct RopeScaling {
  RopeType type = RopeType::none;
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;  // of llama3: turns within the original positions
  int64_t original_max_position_embeddings = 0;      // 0: the model's positions
  double beta_fast = 32, beta_slow = 1;              // of yarn: turns within the original positions
  double attention_factor = 0;            // of yarn; 0: 0.1 log(factor) + 1. Of longrope; 0: by positions
  double mscale = 0, mscale_all_dim = 0;  // of yarn: their ratio stands for attention_factor
  std::vector<float> factors = {};        // by which each pair is slower besides; empty: 1
  std::vector<float> long_factors = {};   // of longrope: the same for texts beyond the original positions
};

struct RopeFrequencies {
  std::vector<float> values;  // of the pairs, width / 2 of them; empty: base^(-2 i / width)
  double scale = 1;           // of what is rotated
};

/// Returns the frequencies for a text that may become `length` tokens long, of a model for `positions`
/// tokens.
RopeFrequencies rope_frequencies(const RopeScaling&, double base, int64_t width, int64_t positions,
                                 int64_t length);

}  // namespace lazy::models
