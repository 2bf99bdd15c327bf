#include "lazy/quant/quantize.hpp"

#include "lazy/core/build.hpp"
#include "lazy/nn/modules/convolution.hpp"
#include "lazy/nn/modules/embedding.hpp"
#include "lazy/nn/modules/linear.hpp"

namespace lazy::quant {
namespace {

namespace parametrize = nn::utils::parametrize;
constexpr const char* kWeight = "weight";

bool fits(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*')
    return fits(pattern.substr(1), name) || (!name.empty() && fits(pattern, name.substr(1)));
  return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) &&
         fits(pattern.substr(1), name.substr(1));
}

/// Returns the weights of a layer that can be quantised; null for other modules.
Parameter* weights_of(nn::Module& m, const Config& config) {
  if (auto* const l = dynamic_cast<nn::Linear*>(&m)) return &l->weight;
  if (auto* const c = dynamic_cast<nn::Conv1d*>(&m)) return &c->weight;
  if (auto* const c = dynamic_cast<nn::Conv2d*>(&m)) return &c->weight;
  if (auto* const c = dynamic_cast<nn::Conv3d*>(&m)) return &c->weight;
  if (auto* const e = dynamic_cast<nn::Embedding*>(&m); e && config.embeddings) return &e->weight;
  return nullptr;
}

struct Layer {
  std::string name;
  nn::Module* module;
  Parameter* weights;
  Config config;
};

std::vector<Layer> layers_of(const char* function, nn::Module& model, const Rules& rules, const Site& s) {
  for (const Rule& r : rules)
    if (r.config) check(function, r.config->weights, s);
  std::vector<Layer> all;
  for (auto& [name, module] : model.named_modules())
    for (const Rule& r : rules) {
      if (!fits(r.pattern, name) || (r.where && !r.where(*module))) continue;
      Parameter* const w = r.config ? weights_of(*module, *r.config) : nullptr;
      if (w && !w->parametrized() && w->defined() && numel(w->shape(s)) > 0)
        all.push_back({name, module, w, *r.config});
      break;
    }
  return all;
}

int64_t bytes_of(const Tensor& t, const Site& s) {
  return t.size(s) * static_cast<int64_t>(size_of(t.dtype(s)));
}

/// Puts integers that were found otherwise in the place of the nearest.
void replace(parametrize::ParametrizationList& list, const RoundedWeights& rounded, bool packed,
             const Site& s) {
  const auto put = [&](size_t part, const Tensor& value) { list.original(part) = value; };
  put(0, packed ? pack_4(rounded.integers, s) : rounded.integers);
  put(1, rounded.affine.scale);
  if (rounded.affine.zero_point.defined()) put(2, rounded.affine.zero_point);
}

/// Has the layer multiply by integers, and returns what that saved. `products`: of what it was given, if its
/// weights are rounded by them.
Change quantize_layer(const Layer& l, const Tensor& input_scale, const Tensor& products, const Site& s) {
  Change c{l.name, l.config, bytes_of(*l.weights, s), 0};
  QuantizedWeight weight(l.config.weights, l.weights->shape(s), l.weights->dtype(s), l.config.activations,
                         input_scale);
  const RoundedWeights rounded =
      products.defined() ? round_second_order(*l.weights, products, l.config.weights, s) : RoundedWeights();
  const bool packed = weight.packed();
  parametrize::register_parametrization(*l.module, kWeight, std::move(weight), false, s);
  parametrize::ParametrizationList& list = parametrize::parametrizations(*l.weights, s);
  if (rounded.integers.defined()) replace(list, rounded, packed, s);
  for (size_t i = 0; i < list.parts(); ++i) {
    list.original(i).requires_grad_(false, s);
    (void)list.original(i).eval(s);  // so that the memory of what was quantised is free
    c.bytes_after += bytes_of(list.original(i), s);
  }
  return c;
}

}  // namespace

Config int8_weights() { return {}; }
Config int4_weights(int64_t group) {
  return {.weights = {.bits = 4,
                      .is_signed = false,
                      .symmetric = false,
                      .granularity = Granularity::group,
                      .group = group}};
}
Config int4_dynamic(int64_t group) {
  Config c = int4_weights(group);
  c.activations = Activations::dynamic;
  return c;
}
Config int8_dynamic() { return {.activations = Activations::dynamic}; }
Config int8_fixed() { return {.activations = Activations::fixed}; }

std::string to_string(const Config& c) {
  constexpr const char* kNames[] = {"", ", dynamic activations", ", fixed activations"};
  return to_string(c.weights) + kNames[static_cast<size_t>(c.activations)];
}

std::vector<Change> quantize_(nn::Module& model, const Rules& rules, Site s) {
  const no_grad scope;
  const std::vector<Layer> layers = layers_of("quantize_", model, rules, s);
  for (const Layer& l : layers) {
    const char* const missing = l.config.activations == Activations::fixed    ? "fixed activations of "
                                : l.config.rounding == Rounding::second_order ? "what is given to "
                                                                              : nullptr;
    if (missing)
      lazy::detail::fail<Error>("quantize_",
                                missing + l.name + " has to be found first: prepare_(), then convert_()", s);
  }
  std::vector<Change> done;
  for (const Layer& l : layers) done.push_back(quantize_layer(l, {}, {}, s));
  return done;
}

std::vector<Change> quantize_(nn::Module& model, const Config& config, Site s) {
  return quantize_(model, Rules{{"*", config}}, s);
}

std::vector<std::string> prepare_(nn::Module& model, const Rules& rules, Prepare prepare, Site s) {
  std::vector<std::string> names;
  for (const Layer& l : layers_of("prepare_", model, rules, s)) {
    ObservedWeight observed(l.config.weights, l.config.activations, prepare,
                            prepare == Prepare::train ? Range::moving_average : l.config.range,
                            l.config.rounding, l.weights->device(s));
    parametrize::register_parametrization(*l.module, kWeight, std::move(observed), false, s);
    names.push_back(l.name);
  }
  return names;
}

std::vector<std::string> prepare_(nn::Module& model, const Config& config, Prepare prepare, Site s) {
  return prepare_(model, Rules{{"*", config}}, prepare, s);
}

std::vector<Change> convert_(nn::Module& model, Site s) {
  const no_grad scope;
  struct Found {
    Layer layer;
    Tensor input_scale, products;
  };
  std::vector<Found> all;
  for (auto& [name, module] : model.named_modules()) {
    Parameter* const w = weights_of(*module, {.embeddings = true});
    if (!w || !w->parametrized()) continue;
    const auto* const observed =
        dynamic_cast<const ObservedWeight*>(&parametrize::parametrizations(*w, s)[0]);
    if (!observed) continue;
    Found f{
        {name, module, w, {.weights = observed->scheme(), .activations = observed->activations()}}, {}, {}};
    if (observed->activations() == Activations::fixed) f.input_scale = observed->input_scale(s);
    if (observed->rounding() == Rounding::second_order && dynamic_cast<nn::Linear*>(module)) {
      f.products = observed->products();
      if (!f.products.defined())
        lazy::detail::fail<Error>("convert_", name + " has been given nothing: run the model first", s);
    }
    all.push_back(std::move(f));
  }
  std::vector<Change> done;
  for (const Found& f : all) {
    parametrize::remove_parametrizations(*f.layer.weights, false, s);
    done.push_back(quantize_layer(f.layer, f.input_scale, f.products, s));
  }
  return done;
}

}  // namespace lazy::quant
