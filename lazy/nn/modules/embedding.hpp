// Layers that look rows of weights up.
#pragma once
#include <optional>
#include <string>

#include "lazy/nn/functional/linear.hpp"
#include "lazy/nn/modules/module.hpp"
#include "lazy/random/generator.hpp"

namespace lazy::nn {

struct EmbeddingOptions {
  std::optional<int64_t> padding_idx =
      std::nullopt;  // this row begins as 0 and has no gradient; -1: the last
  MaybeDType dtype = {};
  MaybeDevice device = {};
  Generator* generator = nullptr;
};

/// Returns the rows that integers name: (...) -> (..., embedding_dim).
struct Embedding : Module {
  Parameter weight;  // (num_embeddings, embedding_dim)
  std::optional<int64_t> padding_idx;
  Embedding(IntegerArg num_embeddings, IntegerArg embedding_dim, const EmbeddingOptions& options = {},
            Site s = Site::current());
  /// Has these rows; ShapeError unless they are a matrix.
  static Embedding from_pretrained(const Tensor& weight, bool freeze = true,
                                   std::optional<int64_t> padding_idx = std::nullopt,
                                   Site s = Site::current());
  Tensor operator()(Arg ids) const;
  Tensor forward(Arg ids) const { return (*this)(std::move(ids)); }
  std::string extra_repr() const override;
  LAZY_MODULE(weight)

 private:
  Embedding(Parameter rows, std::optional<int64_t> padding) : weight(std::move(rows)), padding_idx(padding) {}
};

struct EmbeddingBagOptions {
  Bag mode = Bag::mean;
  bool include_last_offset = false;
  std::optional<int64_t> padding_idx = std::nullopt;  // rows of this id don't count; -1: of the last
  MaybeDType dtype = {};
  MaybeDevice device = {};
  Generator* generator = nullptr;
};

/// Combines the rows of each bag, as embedding_bag() does.
struct EmbeddingBag : Module {
  Parameter weight;  // (num_embeddings, embedding_dim)
  Bag mode;
  bool include_last_offset;
  std::optional<int64_t> padding_idx;
  EmbeddingBag(IntegerArg num_embeddings, IntegerArg embedding_dim, const EmbeddingBagOptions& options = {},
               Site s = Site::current());
  Tensor operator()(Arg ids, const Tensor& offsets = {}, const Tensor& per_sample_weights = {}) const;
  std::string extra_repr() const override;
  LAZY_MODULE(weight)
};

}  // namespace lazy::nn
