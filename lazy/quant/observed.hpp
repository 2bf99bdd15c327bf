// Holds a layer's weights while the range of what the layer is given is found, or while it is trained to be
// rounded.
#pragma once
#include <string>

#include "lazy/nn/modules/parametrize.hpp"
#include "lazy/quant/histogram.hpp"
#include "lazy/quant/second_order.hpp"
#include "lazy/quant/weight.hpp"

namespace lazy::quant {

/// Says what prepare_() is for. calibrate: models are run on examples, and compute as ever. train: weights
/// and activations are rounded, and cut, as they will be, with gradients that go through
/// (quant::fake_quantize).
enum class Prepare : uint8_t { calibrate, train };

/// Is a parametrization with one part, the weights. It sees what linear maps and convolutions are given.
class ObservedWeight final : public nn::utils::parametrize::Parametrization {
 public:
  ObservedWeight(const Scheme& weights, Activations, Prepare, Range, Rounding, double balance, Device,
                 bool inputs_first = false);

  const Scheme& scheme() const { return scheme_; }
  Activations activations() const { return activations_; }
  /// Returns the scale of what was seen, (); Error if nothing was.
  Tensor input_scale(const Site&) const;
  Rounding rounding() const { return rounding_; }
  double balance() const { return balance_; }
  /// Returns the largest magnitudes of what a linear map was given, (depth), if it is balanced; undefined
  /// before it was given anything.
  const Tensor& columns() const { return columns_; }
  /// Returns the sums of products of what the layer was given, (depth, depth); undefined unless weights are
  /// rounded by them.
  const Tensor& products() const { return products_; }

  Tensor forward(const std::vector<Tensor>& x, Site s) override;
  Tensor layer(const lazy::detail::LayerCall&, const std::vector<Tensor>& x, Site s) override;
  std::string extra_repr() const override;

 protected:
  void members(nn::Visitor&) override;

 private:
  Affine input_affine() const;
  void add_products(const Tensor& x, const Site&);
  void add_columns(const Tensor& x, const Site&);
  void observe(const Tensor& x, const Site&);

  Scheme scheme_;
  Activations activations_;
  Prepare prepare_;
  Range range_;
  Rounding rounding_;
  double balance_;
  bool inputs_first_;           // the weights are (in, out)
  Tensor least_, most_, seen_;  // (), float32: the range so far, and 1 if there is one, else 0
  Histogram histogram_;         // of ranges that count in bins
  Tensor products_, columns_;
};

}  // namespace lazy::quant
