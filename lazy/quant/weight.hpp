// Holds a layer's weights as integers, and has linear maps and convolutions multiply by these.
#pragma once
#include <algorithm>
#include <string>

#include "lazy/nn/modules/parametrize.hpp"
#include "lazy/quant/inputs.hpp"

namespace lazy::quant {

/// Is a parametrization whose parts are integers, scales and, of an affine scheme, zero points, which may be
/// any numbers of float32 where they come from a file. Unsigned integers of 4 bits in groups are packed two
/// in a byte. The parts are always of weights whose first axis is that of the outputs; those of (in, out) are
/// transposed.
class QuantizedWeight final : public nn::utils::parametrize::Parametrization {
 public:
  QuantizedWeight(const Scheme&, const Shape& shape, DType dtype, const Inputs& = {},
                  bool inputs_first = false);

  const Scheme& scheme() const { return scheme_; }
  /// True if two integers of 4 bits are in a byte.
  bool packed() const { return scheme_.packed(); }

  Tensor forward(const std::vector<Tensor>& x, Site s) override;
  std::optional<std::vector<Tensor>> right_inverse(const Tensor& value, Site s) override;
  /// Rounds what the layer is given, unless gradients go through it, or it is multiplied by
  /// groups of int8. Floats of 8 bits are read when they are multiplied by, and the layer computes as ever.
  Tensor layer(const lazy::detail::LayerCall&, const std::vector<Tensor>& x, Site s) override;
  std::string extra_repr() const override;

 protected:
  void members(nn::Visitor&) override;

 private:
  /// Returns the numbers of a row, which is what one index of the first axis has.
  int64_t row_length() const { return numel(shape_) / std::max<int64_t>(shape_[0], 1); }
  Affine affine_of(const std::vector<Tensor>& x) const;
  Tensor linear(const lazy::detail::LayerCall&, const std::vector<Tensor>& x, const Site& s) const;
  Tensor conv(const lazy::detail::LayerCall&, const std::vector<Tensor>& x, const Site& s) const;
  /// Records the layer as export.hpp says.
  Tensor exported(const lazy::detail::LayerCall&, const std::vector<Tensor>& x, const Site& s);

  Scheme scheme_;
  Shape shape_;  // of the value, or of its transpose if inputs_first_
  DType dtype_;
  Inputs inputs_;
  bool inputs_first_;  // the value is (in, out)
};

}  // namespace lazy::quant
