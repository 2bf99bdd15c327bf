// Puts special tokens around what a text was cut into.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/text/pipeline/encoding.hpp"

namespace lazy::text::pipeline {

/// Holds the tokens of a text on their way into an Encoding.
struct Row {
  Encoding tokens;
  std::string_view text;  // what they are of; none of special tokens
  // How many spaces each token begins and ends with, where offsets may be trimmed; else empty.
  std::vector<uint32_t> spaces_before, spaces_behind;
  void add_special(int64_t id, int64_t type_id);
};

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  /// Changes the rows of a text, or of a pair; those that it leaves follow each other in the Encoding.
  virtual void operator()(std::vector<Row>&, bool special_tokens) const = 0;
  /// Returns how many tokens it adds to a text, or to a pair.
  virtual size_t added(bool pair) const = 0;
  /// Returns whether rows need spaces_before and spaces_behind.
  virtual bool needs_spaces() const { return false; }
};
using PostProcessorPtr = std::unique_ptr<const PostProcessor>;

/// Puts `cls` before a text, `sep` behind it, and behind the second of a pair, which is of type 1.
struct BertProcessing final : PostProcessor {
  int64_t cls = 0, sep = 0;
  void operator()(std::vector<Row>&, bool special_tokens) const override;
  size_t added(bool pair) const override { return pair ? 3 : 2; }
};
/// Puts `cls` before a text and `sep` behind it, and another `sep` before the second of a pair. All are of
/// type 0.
struct RobertaProcessing final : PostProcessor {
  int64_t cls = 0, sep = 0;
  bool trim_offsets = true, add_prefix_space = true;
  void operator()(std::vector<Row>&, bool special_tokens) const override;
  size_t added(bool pair) const override { return pair ? 4 : 2; }
  bool needs_spaces() const override { return trim_offsets; }
};
/// Takes spaces out of offsets.
struct ByteLevelProcessing final : PostProcessor {
  bool trim_offsets = true, add_prefix_space = true;
  void operator()(std::vector<Row>&, bool special_tokens) const override;
  size_t added(bool) const override { return 0; }
  bool needs_spaces() const override { return trim_offsets; }
};
/// Arranges texts and special tokens as two templates say.
struct TemplateProcessing final : PostProcessor {
  struct Part {
    int sequence = -1;  // 0 and 1: the texts; -1: the special tokens `ids`
    std::vector<int64_t> ids;
    int64_t type_id = 0;
  };
  std::vector<Part> single, pair;
  void operator()(std::vector<Row>&, bool special_tokens) const override;
  size_t added(bool pair) const override;
};
struct PostProcessorSequence final : PostProcessor {
  std::vector<PostProcessorPtr> all;
  void operator()(std::vector<Row>& rows, bool special_tokens) const override {
    for (const auto& p : all) (*p)(rows, special_tokens);
  }
  size_t added(bool pair) const override;
  bool needs_spaces() const override;
};

}  // namespace lazy::text::pipeline
