#include "lazy/quant/quantize.hpp"

#include "lazy/core/build.hpp"
#include "lazy/formula/formula.hpp"
#include "lazy/nn/modules/convolution.hpp"
#include "lazy/nn/modules/embedding.hpp"
#include "lazy/nn/modules/linear.hpp"
#include "lazy/ops/elementwise.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/reductions.hpp"
#include "lazy/ops/views.hpp"

namespace lazy::quant {
namespace {

namespace parametrize = nn::utils::parametrize;

bool fits(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*')
    return fits(pattern.substr(1), name) || (!name.empty() && fits(pattern, name.substr(1)));
  return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) &&
         fits(pattern.substr(1), name.substr(1));
}

/// Points to the weights of a layer that can be quantised; to none in other modules.
struct LayerWeights {
  Parameter* parameter = nullptr;
  bool inputs_first = false;  // they are (in, out)
};
LayerWeights weights_of(nn::Module& m, const Config& config) {
  if (auto* const l = dynamic_cast<nn::Linear*>(&m)) return {&l->weight};
  if (auto* const l = dynamic_cast<nn::TransposedLinear*>(&m)) return {&l->weight, true};
  if (auto* const c = dynamic_cast<nn::Conv1d*>(&m)) return {&c->weight};
  if (auto* const c = dynamic_cast<nn::Conv2d*>(&m)) return {&c->weight};
  if (auto* const c = dynamic_cast<nn::Conv3d*>(&m)) return {&c->weight};
  if (auto* const e = dynamic_cast<nn::Embedding*>(&m); e && config.embeddings) return {&e->weight};
  return {};
}

struct Layer {
  std::string name;
  Parameter* weights;
  bool inputs_first;  // the weights are (in, out)
  bool training;      // the layer is
  Config config;
  /// Returns the weights with the outputs' axis first.
  Tensor outputs_first(const Site& s) const {
    return inputs_first ? matrix_transpose(Arg(*weights, s)) : Tensor(*weights);
  }
};

void check_config(const char* function, const Config& c, const Site& s) {
  check(function, c.weights, s);
  if (!(c.balance >= 0 && c.balance <= 1))
    lazy::detail::fail<Error>(function, "a balance of " + std::to_string(c.balance) + " is not from 0 to 1",
                              s);
  if (c.balance > 0 && c.activations == Activations::fixed && c.range != Range::min_max)
    lazy::detail::fail<Error>(function, "balanced activations are fixed by Range::min_max", s);
  if (c.weights.is_float8() && (c.activations != Activations::none || c.rounding != Rounding::nearest))
    lazy::detail::fail<Error>(
        function, "floats of 8 bits are rounded to the nearest, and multiply activations as they are", s);
}

std::vector<Layer> layers_of(const char* function, nn::Module& model, const Rules& rules, const Site& s) {
  for (const Rule& r : rules)
    if (r.config) check_config(function, *r.config, s);
  std::vector<Layer> all;
  for (auto& [name, module] : model.named_modules())
    for (const Rule& r : rules) {
      if (!fits(r.pattern, name) || (r.where && !r.where(*module))) continue;
      const LayerWeights w = r.config ? weights_of(*module, *r.config) : LayerWeights();
      if (w.parameter && !w.parameter->parametrized() && w.parameter->defined() &&
          numel(w.parameter->shape(s)) > 0)
        all.push_back({name, w.parameter, w.inputs_first, module->training(), *r.config});
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

/// Holds what a layer that was prepared has found. Undefined is what its config doesn't need.
struct Seen {
  Tensor input_scale;   // (), of fixed activations
  Tensor products;      // (depth, depth), of what it was given, if its weights are rounded by them
  Tensor input_factor;  // (depth), of a balanced linear map
};

/// Returns what a balanced map's activations are multiplied by: 1 / s, where s is as Config::balance says.
/// Columns that were 0 stay as they are.
Tensor factor_of(const Tensor& weights, const Tensor& columns, double balance, const Site& s) {
  constexpr double kLeast = 1e-5;  // SmoothQuant's
  Arg w(weights, s), x(columns, s);
  const lazy::detail::Formula f("convert_", {&x});
  const lazy::detail::Term most = f.term(x),
                           own = reshape(max(abs(f.term(f.as(f.work, w.handle()))), {0}), most.shape());
  const lazy::detail::Term by =
      power(maximum(own, kLeast), 1 - balance) / power(maximum(most, kLeast), balance);
  return f.tensor(where(most == 0.0, 1.0, by).handle()).eval(s);
}

/// Throws Error for a config that asks for what prepare_() finds.
void check_needs_nothing(const std::string& name, const Config& c, const Site& s) {
  const char* const missing = c.activations == Activations::fixed ? "fixed activations of "
                              : c.rounding == Rounding::second_order || c.balance > 0 ? "what is given to "
                                                                                      : nullptr;
  if (missing)
    lazy::detail::fail<Error>("quantize_",
                              missing + name + " has to be found first: prepare_(), then convert_()", s);
}

/// Has the layer multiply by integers, and returns what that saved.
Change quantize_layer(const Layer& l, const Seen& seen, const Site& s) {
  Change c{l.name, l.config, bytes_of(*l.weights, s), 0};
  QuantizedWeight weight(l.config.weights, l.weights->shape(s), l.weights->dtype(s), l.config.activations,
                         seen.input_scale, seen.input_factor, l.inputs_first);
  RoundedWeights rounded;
  if (seen.products.defined()) {
    Tensor w = l.outputs_first(s), products = seen.products;
    if (seen.input_factor.defined()) {
      const Tensor& factor = seen.input_factor;
      w = divide(Arg(w, s), Arg(factor, s));
      products = multiply(Arg(products, s), Arg(outer(Arg(factor, s), Arg(factor, s)), s));
    }
    rounded = round_second_order(w, products, l.config.weights, s);
  }
  const bool packed = weight.packed();
  parametrize::detail::add(*l.weights, parametrize::detail::item_of(std::move(weight)), false, l.training, s);
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
Config float8_weights(Float8 format) {
  return {.weights = {.format = format == Float8::e4m3 ? Format::e4m3 : Format::e5m2}};
}
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
  for (const Layer& l : layers) check_needs_nothing(l.name, l.config, s);
  std::vector<Change> done;
  for (const Layer& l : layers) done.push_back(quantize_layer(l, {}, s));
  return done;
}

Change detail::quantize_parameter(Parameter& weights, const std::string& name, const Config& config,
                                  bool inputs_first, const Site& s) {
  const no_grad scope;
  check_config("quantize_", config, s);
  check_needs_nothing(name, config, s);
  return quantize_layer({name, &weights, inputs_first, false, config}, {}, s);
}

std::vector<Change> quantize_(nn::Module& model, const Config& config, Site s) {
  return quantize_(model, Rules{{"*", config}}, s);
}

std::vector<std::string> prepare_(nn::Module& model, const Rules& rules, Prepare prepare, Site s) {
  std::vector<std::string> names;
  const std::vector<Layer> layers = layers_of("prepare_", model, rules, s);
  for (const Layer& l : layers)
    if (l.config.balance > 0 && prepare == Prepare::train)
      lazy::detail::fail<Error>("prepare_", "the balance of " + l.name + " is found by calibration", s);
  for (const Layer& l : layers) {
    ObservedWeight observed(l.config.weights, l.config.activations, prepare,
                            prepare == Prepare::train ? Range::moving_average : l.config.range,
                            l.config.rounding, l.config.balance, l.weights->device(s), l.inputs_first);
    parametrize::detail::add(*l.weights, parametrize::detail::item_of(std::move(observed)), false, l.training,
                             s);
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
    Seen seen;
  };
  std::vector<Found> all;
  for (auto& [name, module] : model.named_modules()) {
    const auto [w, inputs_first] = weights_of(*module, {.embeddings = true});
    if (!w || !w->parametrized()) continue;
    const auto* const observed =
        dynamic_cast<const ObservedWeight*>(&parametrize::parametrizations(*w, s)[0]);
    if (!observed) continue;
    Found f{{name,
             w,
             inputs_first,
             module->training(),
             {.weights = observed->scheme(), .activations = observed->activations()}},
            {}};
    if (observed->activations() == Activations::fixed) f.seen.input_scale = observed->input_scale(s);
    const bool linear = inputs_first || dynamic_cast<nn::Linear*>(module);
    const bool second = linear && observed->rounding() == Rounding::second_order,
               balanced = linear && observed->balance() > 0;
    if ((second && !observed->products().defined()) || (balanced && !observed->columns().defined()))
      lazy::detail::fail<Error>("convert_", name + " has been given nothing: run the model first", s);
    if (second) f.seen.products = observed->products();
    if (balanced) {
      const Tensor& columns = observed->columns();
      f.seen.input_factor = factor_of(f.layer.outputs_first(s), columns, observed->balance(), s);
      if (f.seen.input_scale.defined()) {
        const Tensor most = max(multiply(Arg(columns, s), Arg(f.seen.input_factor, s)));
        f.seen.input_scale = affine_of(most, most, kActivationScheme, s).scale;
      }
    }
    all.push_back(std::move(f));
  }
  std::vector<Change> done;
  for (const Found& f : all) {
    parametrize::remove_parametrizations(*f.layer.weights, false, s);
    done.push_back(quantize_layer(f.layer, f.seen, s));
  }
  return done;
}

}  // namespace lazy::quant
