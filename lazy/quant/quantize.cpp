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
#include "lazy/quant/weight.hpp"

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
  Parameter* bias = nullptr;  // of a linear map
};
LayerWeights weights_of(nn::Module& m, const Config& config) {
  if (auto* const l = dynamic_cast<nn::Linear*>(&m)) return {&l->weight, false, &l->bias};
  if (auto* const l = dynamic_cast<nn::TransposedLinear*>(&m)) return {&l->weight, true, &l->bias};
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
  Parameter* bias = nullptr;  // of a linear map, if it has one
  /// Returns the weights with the outputs' axis first.
  Tensor outputs_first(const Site& s) const {
    return inputs_first ? matrix_transpose(Arg(*weights, s)) : Tensor(*weights);
  }
};

std::vector<Layer> layers_of(const char* function, nn::Module& model, const Rules& rules, const Site& s) {
  for (const Rule& r : rules)
    if (r.config) check(function, *r.config, s);
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
  Affine input;         // of fixed activations
  Tensor products;      // (depth, depth), of what it was given, if its weights are rounded by them
  Tensor means;         // (depth), likewise
  int64_t rows = 0;     // that they are of
  Tensor input_factor;  // (depth), of a balanced linear map
  Tensor weight_scale;  // the weights' scales, if they were learned
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
  const char* const missing = c.learned_steps                       ? "learned steps of "
                              : c.activations == Activations::fixed ? "fixed activations of "
                              : c.rounding == Rounding::second_order || c.balance > 0 ? "what is given to "
                                                                                      : nullptr;
  if (missing)
    lazy::detail::fail<Error>("quantize_",
                              missing + name + " has to be found first: prepare_(), then convert_()", s);
}

/// Has the layer multiply by integers, and returns what that saved.
Change quantize_layer(const Layer& l, const Seen& seen, const Site& s) {
  Change c{l.name, l.config, bytes_of(*l.weights, s), 0};
  const Scheme& how = l.config.weights;
  QuantizedWeight weight(how, l.weights->shape(s), l.weights->dtype(s),
                         {l.config.activations, l.config.activation_scheme, seen.input, seen.input_factor},
                         l.inputs_first);
  RoundedWeights rounded;
  const Tensor before = seen.products.defined() ? l.outputs_first(s).eval(s) : Tensor();
  if (seen.weight_scale.defined()) {
    rounded.affine.scale = seen.weight_scale;
    rounded.integers = quantize(detail::in_rows(l.outputs_first(s), how, s), rounded.affine, how, s);
  }
  if (seen.products.defined()) {
    Tensor w = l.outputs_first(s), products = seen.products;
    if (l.bias) {
      const Tensor& m = seen.means;
      const Tensor of_means =
          multiply(Arg(outer(Arg(m, s), Arg(m, s)), s), Arg(static_cast<double>(seen.rows), s));
      products = subtract(Arg(products, s), Arg(of_means, s));
    }
    if (seen.input_factor.defined()) {
      const Tensor& factor = seen.input_factor;
      w = divide(Arg(w, s), Arg(factor, s));
      products = multiply(Arg(products, s), Arg(outer(Arg(factor, s), Arg(factor, s)), s));
    }
    rounded = round_second_order(w, products, how, s);
  }
  const bool packed = weight.packed();
  parametrize::detail::add(*l.weights, parametrize::detail::item_of(std::move(weight)), false, l.training, s);
  parametrize::ParametrizationList& list = parametrize::parametrizations(*l.weights, s);
  if (rounded.integers.defined()) replace(list, rounded, packed, s);
  if (seen.products.defined() && l.bias) {
    // The bias takes back what rounding changes in the mean, so only what differs from the mean counted.
    const Tensor change = subtract(Arg(before, s), Arg(l.outputs_first(s), s));
    const Tensor of_means = matmul(Arg(change, s), Arg(seen.means, s));
    *l.bias = add(Arg(*l.bias, s), Arg(of_means, s)).astype(l.bias->dtype(s), s).eval(s);
  }
  for (size_t i = 0; i < list.parts(); ++i) {
    list.original(i).requires_grad_(false, s);
    (void)list.original(i).eval(s);  // so that the memory of what was quantised is free
    c.bytes_after += bytes_of(list.original(i), s);
  }
  return c;
}

}  // namespace

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
  check("quantize_", config, s);
  check_needs_nothing(name, config, s);
  return quantize_layer({name, &weights, inputs_first, false, config}, {}, s);
}

std::vector<Change> quantize_(nn::Module& model, const Config& config, Site s) {
  return quantize_(model, Rules{{"*", config}}, s);
}

std::vector<std::string> prepare_(nn::Module& model, const Rules& rules, Prepare prepare, Site s) {
  std::vector<std::string> names;
  const std::vector<Layer> layers = layers_of("prepare_", model, rules, s);
  for (const Layer& l : layers) {
    const bool trains = prepare == Prepare::train;
    if (trains ? l.config.balance > 0 : l.config.learned_steps)
      lazy::detail::fail<Error>("prepare_",
                                (trains ? "the balance of " + l.name + " is found by calibration"
                                        : "the steps of " + l.name + " are learned by Prepare::train"),
                                s);
  }
  for (const Layer& l : layers) {
    Config config = l.config;
    if (prepare == Prepare::train) config.range = Range::moving_average;
    ObservedWeight observed(config, prepare, l.outputs_first(s), l.inputs_first, s);
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
    const auto [w, inputs_first, bias] = weights_of(*module, {.embeddings = true});
    if (!w || !w->parametrized()) continue;
    const auto* const observed =
        dynamic_cast<const ObservedWeight*>(&parametrize::parametrizations(*w, s)[0]);
    if (!observed) continue;
    const Config& config = observed->config();
    Found f{{name, w, inputs_first, module->training(), config, bias && bias->defined() ? bias : nullptr},
            {}};
    f.seen.weight_scale = observed->weight_scale(s);
    if (config.activations == Activations::fixed) f.seen.input = observed->input_affine(s);
    const bool linear = inputs_first || dynamic_cast<nn::Linear*>(module);
    const bool second = linear && config.rounding == Rounding::second_order,
               balanced = linear && config.balance > 0;
    if ((second && !observed->products().defined()) || (balanced && !observed->columns().defined()))
      lazy::detail::fail<Error>("convert_", name + " has been given nothing: run the model first", s);
    if (second)
      f.seen.products = observed->products(), f.seen.means = observed->means(s),
      f.seen.rows = observed->rows();
    if (balanced) {
      const Tensor& columns = observed->columns();
      f.seen.input_factor = factor_of(f.layer.outputs_first(s), columns, config.balance, s);
      if (f.seen.input.scale.defined()) {
        const Tensor most = max(multiply(Arg(columns, s), Arg(f.seen.input_factor, s)));
        f.seen.input = affine_of(most, most, config.activation_scheme, s);
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
