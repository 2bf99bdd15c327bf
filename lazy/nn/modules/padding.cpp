#include "lazy/nn/modules/padding.hpp"

#include "lazy/core/build.hpp"
#include "lazy/nn/modules/spatial.hpp"
#include "lazy/nn/modules/text.hpp"

namespace lazy::nn::detail {

PadBase::PadBase(const char* layer, int axes, const Pads& given, double v, const Site& s)
    : padding(given), value(v) {
  const size_t sides = 2 * static_cast<size_t>(axes);
  if (padding.values.size() == 1) padding.values.assign(sides, padding.values[0]);
  if (padding.values.size() != sides)
    lazy::detail::fail<ShapeError>(
        with_axes(layer, axes).c_str(),
        "takes 1 or " + std::to_string(sides) + " numbers, not " + std::to_string(padding.values.size()), s);
}

Tensor PadBase::pad_axes(Arg x, int axes, PadMode mode) const {
  check_rank(name().c_str(), x, axes + (mode == PadMode::constant ? 0 : 1),
             mode == PadMode::constant ? kMaxRank : axes + 2);
  return pad(std::move(x), padding, mode, value);
}

std::string PadBase::sides() const {
  std::string r = "(";
  for (size_t i = 0; i < padding.values.size(); ++i) r += (i ? ", " : "") + std::to_string(padding.values[i]);
  return r + ")";
}

std::string PadBase::sides_and_value() const {
  return Repr().add("padding", sides()).add("value", value).str();
}

}  // namespace lazy::nn::detail
