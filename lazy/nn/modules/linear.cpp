#include "lazy/nn/modules/linear.hpp"

#include "lazy/nn/modules/fresh.hpp"
#include "lazy/nn/modules/text.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::nn {

using detail::Repr;

Linear::Linear(IntegerArg in_features, IntegerArg out_features, const LinearOptions& options, Site s) {
  const detail::Fresh fresh(options, s);
  const double bound = detail::bound_of(in_features);
  weight = fresh.uniform({out_features, in_features}, bound);
  if (options.bias) bias = fresh.uniform({out_features}, bound);
}

Tensor TransposedLinear::operator()(Arg x) const { return matmul(std::move(x), weight) + bias; }

std::string Linear::extra_repr() const {
  return Repr()
      .add("in_features", in_features())
      .add("out_features", out_features())
      .add("bias", bias.defined())
      .str();
}

Bilinear::Bilinear(IntegerArg in1_features, IntegerArg in2_features, IntegerArg out_features,
                   const LinearOptions& options, Site s) {
  const detail::Fresh fresh(options, s);
  const double bound = detail::bound_of(in1_features);
  weight = fresh.uniform({out_features, in1_features, in2_features}, bound);
  if (options.bias) bias = fresh.uniform({out_features}, bound);
}

std::string Bilinear::extra_repr() const {
  return Repr()
      .add("in1_features", weight.size(1))
      .add("in2_features", weight.size(2))
      .add("out_features", weight.size(0))
      .add("bias", bias.defined())
      .str();
}

Tensor Flatten::operator()(Arg x) const { return flatten(std::move(x), start_dim, end_dim); }
std::string Flatten::extra_repr() const {
  return Repr().add("start_dim", start_dim).add("end_dim", end_dim).str();
}

Tensor Unflatten::operator()(Arg x) const { return unflatten(std::move(x), dim, unflattened_size); }
std::string Unflatten::extra_repr() const {
  return Repr().add("dim", dim).add("unflattened_size", unflattened_size).str();
}

}  // namespace lazy::nn
