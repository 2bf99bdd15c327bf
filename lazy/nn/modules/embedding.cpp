#include "lazy/nn/modules/embedding.hpp"

#include "lazy/autograd/backward.hpp"
#include "lazy/core/build.hpp"
#include "lazy/indexing/selecting.hpp"
#include "lazy/nn/modules/fresh.hpp"
#include "lazy/nn/modules/text.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::nn {

using detail::Repr;

namespace {

/// Returns the row that counts from the start. IndexError if there is none.
std::optional<int64_t> row_of(const char* layer, std::optional<int64_t> row, int64_t rows, const Site& s) {
  if (!row) return row;
  if (*row < -rows || *row >= rows)
    lazy::detail::fail<IndexError>(
        layer, "padding_idx " + std::to_string(*row) + " is no row of " + std::to_string(rows), s);
  return *row < 0 ? *row + rows : *row;
}

/// Returns normal numbers, a row of which is 0.
Parameter rows(const detail::Fresh& fresh, int64_t count, int64_t width, std::optional<int64_t> zero) {
  Parameter w = fresh.normal({count, width});
  if (!zero) return w;
  const no_grad scope;
  const Tensor index = reshape(arange(count, int64, fresh.device, fresh.site), {count, 1});
  return Parameter(where(index == *zero, 0, w), true, fresh.site);
}

}  // namespace

Embedding::Embedding(IntegerArg count, IntegerArg width, const EmbeddingOptions& o, Site s)
    : padding_idx(row_of("Embedding", o.padding_idx, count, s)) {
  weight = rows(detail::Fresh(o, s), count, width, padding_idx);
}

Embedding Embedding::from_pretrained(const Tensor& w, bool freeze, std::optional<int64_t> padding, Site s) {
  if (w.ndim(s) != 2)
    lazy::detail::fail<ShapeError>("Embedding", "takes a matrix, not shape " + lazy::to_string(w.shape(s)),
                                   s);
  return Embedding(Parameter(w, !freeze, s), row_of("Embedding", padding, w.size(0, s), s));
}

Tensor Embedding::operator()(Arg ids) const {
  const Site s = ids.site();
  if (!padding_idx || !is_grad_enabled()) return embedding(std::move(ids), Arg(weight, s));
  const Tensor which(ids.handle());
  Tensor y = embedding(std::move(ids), Arg(weight, s));
  const Tensor padded = equal(Arg(which, s), Arg(*padding_idx, s)).unsqueeze(-1, s);
  return where(Arg(padded, s), Arg(stop_gradient(Arg(y, s)), s), Arg(y, s));
}

std::string Embedding::extra_repr() const {
  Repr r;
  r.positional(std::to_string(weight.size(0))).positional(std::to_string(weight.size(1)));
  if (padding_idx) r.add("padding_idx", *padding_idx);
  return r.str();
}

EmbeddingBag::EmbeddingBag(IntegerArg count, IntegerArg width, const EmbeddingBagOptions& o, Site s)
    : mode(o.mode),
      include_last_offset(o.include_last_offset),
      padding_idx(row_of("EmbeddingBag", o.padding_idx, count, s)) {
  weight = rows(detail::Fresh(o, s), count, width, padding_idx);
}

Tensor EmbeddingBag::operator()(Arg ids, const Tensor& offsets, const Tensor& per_sample_weights) const {
  const Site s = ids.site();
  return embedding_bag(std::move(ids), Arg(weight, s),
                       {.mode = mode,
                        .offsets = offsets,
                        .per_sample_weights = per_sample_weights,
                        .include_last_offset = include_last_offset,
                        .padding_idx = padding_idx.value_or(-1)});
}

std::string EmbeddingBag::extra_repr() const {
  constexpr const char* kModes[] = {"'sum'", "'mean'", "'max'"};
  Repr r;
  r.positional(std::to_string(weight.size(0))).positional(std::to_string(weight.size(1)));
  r.add("mode", kModes[static_cast<int>(mode)]);
  if (padding_idx) r.add("padding_idx", *padding_idx);
  return r.str();
}

}  // namespace lazy::nn
