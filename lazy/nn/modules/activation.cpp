#include "lazy/nn/modules/activation.hpp"

#include "lazy/nn/modules/fresh.hpp"
#include "lazy/nn/modules/spatial.hpp"
#include "lazy/nn/modules/text.hpp"

namespace lazy::nn {

using detail::Repr;

std::string LeakyReLU::extra_repr() const { return Repr().add("negative_slope", negative_slope).str(); }
std::string ELU::extra_repr() const { return Repr().add("alpha", alpha).str(); }
std::string CELU::extra_repr() const { return Repr().add("alpha", alpha).str(); }
std::string Softshrink::extra_repr() const { return detail::text(lambda); }
std::string Hardshrink::extra_repr() const { return detail::text(lambda); }

Tensor Softmax2d::operator()(Arg x) const {
  detail::check_rank("Softmax2d", x, 3, 4);
  return softmax(std::move(x), -3);
}

std::string GELU::extra_repr() const {
  return approximate == Approximate::none ? "approximate='none'" : "approximate='tanh'";
}
std::string Softplus::extra_repr() const {
  return Repr().add("beta", beta).add("threshold", threshold).str();
}
std::string Hardtanh::extra_repr() const {
  return Repr().add("min_val", min_val).add("max_val", max_val).str();
}
std::string Threshold::extra_repr() const {
  return Repr().add("threshold", threshold).add("value", value).str();
}

PReLU::PReLU(IntegerArg n, const PReLUOptions& o, Site s)
    : weight(detail::Fresh(o, s).constant({n}, o.init)) {}
std::string PReLU::extra_repr() const { return Repr().add("num_parameters", weight.size()).str(); }

std::string RReLU::extra_repr() const { return Repr().add("lower", lower).add("upper", upper).str(); }

}  // namespace lazy::nn
