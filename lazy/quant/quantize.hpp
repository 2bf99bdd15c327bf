// Makes models smaller and faster by integers in the place of their weights, and of what these multiply.
//
//   quant::quantize_(model, quant::int8_dynamic());              // linear maps and convolutions
//   quant::quantize_(model, {{"head*", {}},                      // all but these
//                            {"*.mlp.*", quant::int4_weights(32)},
//                            {"*", quant::int8_weights()}});
//
//   quant::prepare_(model, quant::int8_fixed());                 // ranges of activations are found first
//   for (const auto& batch : examples) model(batch.x).eval();
//   quant::convert_(model);
//
//   quant::prepare_(model, quant::int8_dynamic(), quant::Prepare::train);   // trained to be rounded
//   ...                                                                     // steps as ever
//   quant::convert_(model);
//
// A layer's weights become a parametrization (quant::QuantizedWeight), so layers, state_dict(), freeze and
// sessions need not know; state dictionaries have the integers and scales. A model of the same structure to
// which the same was done loads them.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/nn/modules/module.hpp"
#include "lazy/quant/config.hpp"
#include "lazy/quant/observed.hpp"

namespace lazy::quant {

/// Says how layers of certain names are computed; without a config, as they are. `*` in a pattern stands for
/// any characters, `?` for one; a predicate, if there is one, has to hold too.
struct Rule {
  std::string pattern;  // of the layer's name, as named_modules() has it
  std::optional<Config> config;
  std::function<bool(const nn::Module&)> where = {};
};
/// The first rule that fits a layer counts; a layer that none fits stays as it is.
using Rules = std::vector<Rule>;

/// Says what was done to a layer.
struct Change {
  std::string layer;
  Config config;
  int64_t bytes_before = 0, bytes_after = 0;  // of the weights
};

/// Quantises the weights of linear maps (GPT-2's, which lie transposed, too) and convolutions, and returns
/// what was done, in order. Weights that have a parametrization already are left as they are. Error for
/// activations that are fixed, for rounding by second order, balance and learned steps: these need
/// prepare_(); Error for what Config says can't be together. Nothing changes if it throws.
std::vector<Change> quantize_(nn::Module& model, const Rules&, Site = Site::current());
std::vector<Change> quantize_(nn::Module& model, const Config&, Site = Site::current());

/// Has these layers see what they are given, or be trained to be rounded, until convert_(). Returns their
/// names.
std::vector<std::string> prepare_(nn::Module& model, const Rules&, Prepare = Prepare::calibrate,
                                  Site = Site::current());
std::vector<std::string> prepare_(nn::Module& model, const Config&, Prepare = Prepare::calibrate,
                                  Site = Site::current());
/// Quantises the layers that were prepared. Error if one of fixed activations, or whose weights are rounded
/// by what it is given, has seen nothing.
std::vector<Change> convert_(nn::Module& model, Site = Site::current());

namespace detail {
/// Does to one parameter, which a linear map or a convolution multiplies by, what quantize_() does to a
/// layer's. `inputs_first`: it is (in, out), and the right operand of matmul(). Internal to lazy/.
Change quantize_parameter(Parameter& weights, const std::string& name, const Config&, bool inputs_first,
                          const Site&);
}  // namespace detail

}  // namespace lazy::quant
