// Holds a layer's weights while the range of what the layer is given is found, or while it is trained to be
// rounded.
#pragma once
#include <string>

#include "lazy/nn/modules/parametrize.hpp"
#include "lazy/quant/config.hpp"

namespace lazy::quant {

/// Says what prepare_() is for. calibrate: models are run on examples, and compute as ever. train: weights
/// and activations are rounded, and cut, as they will be, with gradients that go through
/// (quant::fake_quantize).
enum class Prepare : uint8_t { calibrate, train };

/// Is a parametrization with one part, the weights. It sees what linear maps and convolutions are given.
class ObservedWeight final : public nn::utils::parametrize::Parametrization {
 public:
  /// `weights` have the outputs' axis first; they lie transposed in the parameter if `inputs_first`.
  ObservedWeight(const Config&, Prepare, const Tensor& weights, bool inputs_first, const Site&);

  const Config& config() const { return config_; }
  /// Returns the scale of fixed activations by what was seen, (), and the zero point; Error if nothing was.
  Affine input_affine(const Site&) const;
  /// Returns the scales of the weights if they are learned, else undefined.
  Tensor weight_scale(const Site&) const;
  /// Returns the largest magnitudes of what a linear map was given, (depth), if it is balanced; undefined
  /// before it was given anything.
  const Tensor& columns() const { return columns_; }
  /// Returns the sums of products of what the layer was given, (depth, depth), and the means, (depth);
  /// undefined unless weights are rounded by them.
  const Tensor& products() const { return products_; }
  Tensor means(const Site&) const;
  /// Returns how many rows that were.
  int64_t rows() const { return rows_; }

  Tensor forward(const std::vector<Tensor>& x, Site s) override;
  Tensor layer(const lazy::detail::LayerCall&, const std::vector<Tensor>& x, Site s) override;
  std::string extra_repr() const override;

 protected:
  void members(nn::Visitor&) override;

 private:
  void add_products(const Tensor& x, const Site&);
  void add_columns(const Tensor& x, const Site&);
  void observe(const Tensor& x, const Site&);
  /// Has learning begin with a step by what is given first.
  void begin_input_step(const Tensor& x, const Site&);
  /// Returns what a layer is given as it will be rounded.
  Tensor rounded(const Tensor& x, bool is_image, const Site&);

  Config config_;
  Prepare prepare_;
  bool inputs_first_;  // the weights are (in, out)
  bool input_step_began_ = false;
  Tensor least_, most_, seen_;  // (), float32: the range so far, and 1 if there is one, else 0
  Histogram histogram_;         // of ranges that count in bins
  Tensor products_, sums_, columns_;
  int64_t rows_ = 0;                    // that products and sums are of
  Parameter weight_step_, input_step_;  // defined where they are learned
};

}  // namespace lazy::quant
