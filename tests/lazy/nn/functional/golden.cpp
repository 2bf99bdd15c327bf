// Compares with torch's results in tests/golden/nn_*.txt (their format: tests/golden/make_nn.py).
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "tests/common/check.hpp"
#include "tests/common/golden_lines.hpp"

using namespace lazy;
using golden::dtype_named;
using golden::words;

namespace {

Tensor parsed(const std::string& field) {
  if (field == "-") return {};
  const std::vector<std::string> w = words(field);
  Shape shape;
  if (w[1] != "-")
    for (const std::string& n : words(w[1], ',')) shape.push_back(std::stoll(n));
  std::vector<double> v;
  for (size_t i = 2; i < w.size(); ++i) v.push_back(std::strtod(w[i].c_str(), nullptr));
  return from_span(v, shape).astype(dtype_named(w[0])).eval();
}

/// Holds one line: a function, its options by name, its operands and what torch gives.
struct Case {
  std::string function;
  std::map<std::string, std::string> options;
  mutable std::set<std::string> used;
  std::vector<Tensor> x;
  std::vector<Tensor> expected;  // the result, or a gradient for each operand

  explicit Case(const std::string& line, bool gradients = false) {
    std::vector<std::string> field = golden::fields(line);
    const size_t last = gradients ? (field.size() - 1) / 2 : 1;
    for (size_t i = field.size() - last; i < field.size(); ++i) expected.push_back(parsed(field[i]));
    field.resize(field.size() - last);
    const std::vector<std::string> head = words(field[0]);
    function = head[0];
    for (size_t i = 1; i < head.size(); ++i) {
      const size_t equals = head[i].find('=');
      options[head[i].substr(0, equals)] = head[i].substr(equals + 1);
    }
    for (size_t i = 1; i < field.size(); ++i) x.push_back(parsed(field[i]));
  }
  bool has(const std::string& name) const { return options.contains(name); }
  std::string word(const std::string& name, const std::string& otherwise = "") const {
    used.insert(name);
    return has(name) ? options.at(name) : otherwise;
  }
  double number(const std::string& name, double otherwise) const {
    return has(name) ? std::strtod(word(name).c_str(), nullptr) : otherwise;
  }
  int64_t integer(const std::string& name, int64_t otherwise = 0) const {
    return has(name) ? std::stoll(word(name)) : otherwise;
  }
  bool flag(const std::string& name, bool otherwise = false) const { return integer(name, otherwise) != 0; }
  std::vector<int64_t> list(const std::string& name) const {
    std::vector<int64_t> r;
    for (const std::string& w : words(word(name), ',')) r.push_back(std::stoll(w));
    return r;
  }
  Axes axes(const std::string& name, int64_t otherwise = 0) const {
    return has(name) ? Axes(Dims(list(name))) : Axes(otherwise);
  }
  MaybeDType dtype() const { return has("dtype") ? MaybeDType(dtype_named(word("dtype"))) : MaybeDType(); }
  Reduction reduction() const {
    static const std::map<std::string, Reduction> r{{"none", Reduction::none},
                                                    {"mean", Reduction::mean},
                                                    {"sum", Reduction::sum},
                                                    {"batchmean", Reduction::batchmean}};
    return r.at(word("reduction", "mean"));
  }
  PadMode pad_mode(const std::string& name) const {
    static const std::map<std::string, PadMode> r{{"constant", PadMode::constant},
                                                  {"reflect", PadMode::reflect},
                                                  {"replicate", PadMode::replicate},
                                                  {"circular", PadMode::circular}};
    return r.at(word(name, "constant"));
  }
  Interpolation interpolation() const {
    static const std::map<std::string, Interpolation> r{{"nearest", Interpolation::nearest},
                                                        {"nearest-exact", Interpolation::nearest_exact},
                                                        {"linear", Interpolation::linear},
                                                        {"bilinear", Interpolation::bilinear},
                                                        {"trilinear", Interpolation::trilinear},
                                                        {"bicubic", Interpolation::bicubic},
                                                        {"area", Interpolation::area}};
    return r.at(word("mode", "nearest"));
  }
  ClassOptions classes() const {
    return {.weight = x.size() > 2 ? x[2] : Tensor(),
            .ignore_index = integer("ignore_index", -100),
            .reduction = reduction(),
            .label_smoothing = number("label_smoothing", 0)};
  }
  ConvOptions conv() const {
    ConvOptions o{
        .stride = axes("stride", 1), .dilation = axes("dilation", 1), .groups = integer("groups", 1)};
    if (word("padding") == "same") o.padding = same_padding;
    else o.padding = axes("padding", 0);
    o.bias = x[2];
    o.padding_mode = pad_mode("padding_mode");
    return o;
  }
  PoolOptions pool() const {
    return {.stride = axes("stride", 1),
            .padding = axes("padding", 0),
            .count_padding = flag("count_padding", true),
            .ceil_mode = flag("ceil_mode"),
            .divisor_override = integer("divisor_override")};
  }
};

/// Says how a function is called, and how far its result may be from torch's.
struct Function {
  double tolerance;  // of float32, relative to torch's number, or to least() if that is smaller; 0 is exact
  std::function<Tensor(const Case&)> call;
};

#define ONE(name, tolerance)                                \
  {                                                         \
#name, {                                                \
      tolerance, [](const Case& c) { return name(c.x[0]); } \
    }                                                       \
  }
#define IN(name, tolerance, ...)                                 \
  {                                                              \
#name, {                                                     \
      tolerance, [](const Case& c) { return name(__VA_ARGS__); } \
    }                                                            \
  }

using Functions = std::map<std::string, Function>;

const Functions& functions() {
  static const Functions f{
      IN(softmax, 1e-6, c.x[0], c.integer("axis"), c.dtype()),
      IN(log_softmax, 1e-6, c.x[0], c.integer("axis"), c.dtype()),
      IN(softmin, 1e-6, c.x[0], c.integer("axis"), c.dtype()),
      ONE(silu, 1e-6),
      IN(leaky_relu, 0, c.x[0], c.number("negative_slope", 0.01)),
      IN(elu, 1e-6, c.x[0], c.number("alpha", 1)),
      ONE(selu, 1e-6),
      IN(celu, 1e-6, c.x[0], c.number("alpha", 1)),
      IN(softplus, 1e-6, c.x[0], c.number("beta", 1), c.number("threshold", 20)),
      ONE(softsign, 1e-7),
      ONE(mish, 1e-6),
      IN(hardtanh, 0, c.x[0], c.number("min_val", -1), c.number("max_val", 1)),
      ONE(hardsigmoid, 1e-7),
      ONE(hardswish, 1e-6),
      ONE(relu6, 0),
      ONE(logsigmoid, 1e-6),
      ONE(tanhshrink, 1e-6),
      IN(softshrink, 0, c.x[0], c.number("lambd", 0.5)),
      IN(hardshrink, 0, c.x[0], c.number("lambd", 0.5)),
      IN(threshold, 0, c.x[0], c.number("threshold", 0), c.number("value", 0)),
      IN(gelu, 1e-6, c.x[0], c.word("approximate") == "tanh" ? Approximate::tanh : Approximate::none),
      IN(glu, 1e-6, c.x[0], c.integer("axis", -1)),
      IN(prelu, 0, c.x[0], c.x[1]),
      IN(layer_norm, 2e-6, c.x[0], c.list("normalized"), c.x[1], c.x[2], c.number("eps", 1e-5)),
      IN(rms_norm, 2e-6, c.x[0], c.list("normalized"), c.x[1],
         c.has("eps") ? std::optional(c.number("eps", 0)) : std::nullopt),
      IN(batch_norm, 2e-6, c.x[0], c.x[1], c.x[2], c.x[3], c.x[4], c.number("eps", 1e-5)),
      {"batch_norm_training",
       {2e-6,
        [](const Case& c) {
          const BatchNormResult r =
              batch_norm_training(c.x[0], c.x[1], c.x[2],
                                  {.weight = c.x[3], .bias = c.x[4], .momentum = c.number("momentum", 0.1)});
          return c.integer("part") == 0 ? r.output : c.integer("part") == 1 ? r.running_mean : r.running_var;
        }}},
      IN(group_norm, 2e-6, c.x[0], c.integer("groups"), c.x[1], c.x[2], c.number("eps", 1e-5)),
      IN(instance_norm, 2e-6, c.x[0], c.x[1], c.x[2], c.number("eps", 1e-5)),
      IN(local_response_norm, 1e-6, c.x[0], c.integer("size"), c.number("alpha", 1e-4),
         c.number("beta", 0.75), c.number("k", 1)),
      IN(normalize, 1e-6, c.x[0], c.number("p", 2), c.axes("axes", 1), c.number("eps", 1e-12)),
      IN(linear, 1e-6, c.x[0], c.x[1], c.x[2]),
      IN(bilinear, 1e-6, c.x[0], c.x[1], c.x[2], c.x[3]),
      IN(embedding, 0, c.x[0], c.x[1]),
      IN(one_hot, 0, c.x[0], c.integer("classes")),
      IN(cosine_similarity, 1e-6, c.x[0], c.x[1], c.integer("axis", 1)),
      IN(pairwise_distance, 1e-6, c.x[0], c.x[1], c.number("p", 2), c.number("eps", 1e-6), c.flag("keep")),
      IN(cdist, 1e-6, c.x[0], c.x[1], c.number("p", 2)),
      IN(mse_loss, 1e-6, c.x[0], c.x[1], c.reduction()),
      IN(l1_loss, 1e-6, c.x[0], c.x[1], c.reduction()),
      IN(huber_loss, 1e-6, c.x[0], c.x[1], c.reduction(), c.number("delta", 1)),
      IN(smooth_l1_loss, 1e-6, c.x[0], c.x[1], c.reduction(), c.number("beta", 1)),
      IN(binary_cross_entropy, 1e-6, c.x[0], c.x[1], c.x[2], c.reduction()),
      IN(binary_cross_entropy_with_logits, 1e-6, c.x[0], c.x[1], c.x[2], c.reduction(), c.x[3]),
      IN(kl_div, 1e-6, c.x[0], c.x[1], c.reduction(), c.flag("log_target")),
      IN(poisson_nll_loss, 1e-6, c.x[0], c.x[1], c.flag("log_input", true), c.flag("full"), 1e-8,
         c.reduction()),
      IN(gaussian_nll_loss, 1e-6, c.x[0], c.x[1], c.x[2], c.flag("full"), c.number("eps", 1e-6),
         c.reduction()),
      IN(margin_ranking_loss, 1e-6, c.x[0], c.x[1], c.x[2], c.number("margin", 0), c.reduction()),
      IN(hinge_embedding_loss, 1e-6, c.x[0], c.x[1], c.number("margin", 1), c.reduction()),
      IN(cosine_embedding_loss, 1e-6, c.x[0], c.x[1], c.x[2], c.number("margin", 0), c.reduction()),
      IN(triplet_margin_loss, 1e-6, c.x[0], c.x[1], c.x[2],
         {.margin = c.number("margin", 1),
          .p = c.number("p", 2),
          .eps = c.number("eps", 1e-6),
          .swap = c.word("swap") == "1",
          .reduction = c.reduction()}),
      IN(nll_loss, 1e-6, c.x[0], c.x[1], c.classes()),
      IN(cross_entropy, 1e-6, c.x[0], c.x[1], c.classes()),
      IN(pad, 0, c.x[0], c.list("pads"), c.pad_mode("mode"), c.integer("value")),
      {"interpolate",
       {1e-5,
        [](const Case& c) {
          InterpolateOptions o{.mode = c.interpolation(), .align_corners = c.flag("align_corners")};
          if (c.has("size")) o.size = c.axes("size");
          else o.scale_factor = {c.number("scale_factor", 1)};
          return interpolate(c.x[0], o);
        }}},
      IN(pixel_shuffle, 0, c.x[0], c.integer("r")),
      IN(pixel_unshuffle, 0, c.x[0], c.integer("r")),
      IN(channel_shuffle, 0, c.x[0], c.integer("groups")),
      IN(grid_sample, 4e-6, c.x[0], c.x[1],
         {.mode = c.interpolation(),
          .padding = c.word("padding_mode") == "zeros"    ? GridPadding::zeros
                     : c.word("padding_mode") == "border" ? GridPadding::border
                                                          : GridPadding::reflection,
          .align_corners = c.flag("align_corners")}),
      IN(conv, 2e-6, c.x[0], c.x[1], c.conv()),
      IN(conv_transpose, 2e-6, c.x[0], c.x[1], c.conv()),
      IN(max_pool, 0, c.x[0], c.axes("window"), c.pool()),
      IN(avg_pool, 1e-6, c.x[0], c.axes("window"), c.pool()),
      IN(adaptive_avg_pool, 1e-6, c.x[0], c.axes("extents")),
      IN(adaptive_max_pool, 0, c.x[0], c.axes("extents")),
      IN(unfold, 0, c.x[0], c.axes("window"), {.stride = c.axes("stride", 1), .padding = c.axes("padding")}),
      IN(fold, 1e-6, c.x[0], c.axes("extents"), c.axes("window")),
      IN(scaled_dot_product_attention, 2e-6, c.x[0], c.x[1], c.x[2], c.x[3], c.flag("causal")),
      ONE(relu, 0),
  };
  return f;
}

/// Returns the magnitude below which errors are absolute: larger where terms cancel, in lazy or in torch.
double least(const std::string& function) {
  static const std::set<std::string> cancel{
      "batch_norm", "batch_norm_training", "conv",       "conv_transpose", "bilinear",    "cross_entropy",
      "gelu",       "grid_sample",         "group_norm", "instance_norm",  "interpolate", "layer_norm",
      "rms_norm"};
  if (function == "linear") return 4;  // its product may be rounded to 16 bits before the bias is added
  return cancel.contains(function) ? 1 : 0.001;
}

/// Returns the tolerance in a dtype: one unit in the last place for bfloat16, for float64 as many units as in
/// float32.
double tolerance(const Function& f, DType t) {
  if (t == bfloat16) return 0.0078125;
  return t == float64 ? f.tolerance * 2e-9 : f.tolerance;
}

/// True if a case is left out: compiling programs for a device other than the CPU takes long.
bool left_out(const Case& c) {
  static std::map<std::string, int> seen;
  return default_device() != Device{} && seen[c.function]++ % 16 != 0;
}

/// Compares elements: differences are at most `most` times torch's number, or `least` if that is larger.
void compare_values(const Tensor& y, const Tensor& expected, double most, double least) {
  BOOST_TEST(name_of(y.dtype()) == std::string(name_of(expected.dtype())));
  BOOST_REQUIRE_EQUAL(to_string(y.shape()), to_string(expected.shape()));
  const auto got = y.to_vector<double>(), want = expected.to_vector<double>();
  for (size_t i = 0; i < got.size(); ++i) {
    const double d = std::abs(got[i] - want[i]), bound = most * std::max(least, std::abs(want[i]));
    const bool same = std::isnan(want[i])   ? std::isnan(got[i])
                      : std::isinf(want[i]) ? got[i] == want[i]
                                            : d <= bound;
    BOOST_TEST(same, "element " << i << " is " << got[i] << ", not " << want[i]);
  }
}

/// Compares within the tolerance of the function; NaN and infinities as they are.
void compare(const std::string& line) {
  const Case c(line);
  if (left_out(c)) return;
  const auto found = functions().find(c.function);
  BOOST_REQUIRE_MESSAGE(found != functions().end(), "no function " << c.function);
  BOOST_TEST_CONTEXT(line.substr(0, 400)) {
    const Tensor y = found->second.call(c);
    for (const auto& [name, value] : c.options)
      BOOST_TEST(c.used.contains(name), "option " << name << " is not used");
    compare_values(y, c.expected[0], tolerance(found->second, c.expected[0].dtype()), least(c.function));
  }
}

/// Does so with the gradients of sum(f(x) w) for the w of make_nn.py.
void compare_gradients(const std::string& line) {
  const Case c(line, true);
  if (left_out(c)) return;
  const auto found = functions().find(c.function);
  BOOST_REQUIRE_MESSAGE(found != functions().end(), "no function " << c.function);
  BOOST_TEST_CONTEXT(line.substr(0, 400)) {
    std::vector<Tensor> by, expected;
    for (size_t i = 0; i < c.x.size(); ++i)
      if (c.expected[i].defined()) by.push_back(c.x[i]), expected.push_back(c.expected[i]);
    const Pullback back = vjp(
        [&](const std::vector<Tensor>& v) {
          Case moved = c;
          for (size_t i = 0, k = 0; i < c.x.size(); ++i)
            if (c.expected[i].defined()) moved.x[i] = v[k++];
          return found->second.call(moved);
        },
        by);
    const Tensor n = arange(numel(back.value.shape())) * 7;
    const Tensor w =
        ((n % 11 - 5).astype(float32) / 4).astype(back.value.dtype()).reshape(back.value.shape());
    const std::vector<Tensor> g = back(w);
    for (size_t i = 0; i < g.size(); ++i) BOOST_TEST_CONTEXT("gradient " << i) {
        const DType t = expected[i].dtype();
        const double most = t == bfloat16 ? 0.0078125 : t == float64 ? 1e-11 : 1e-5;
        compare_values(g[i], expected[i], most, t == bfloat16 ? 0.1 : 1);
      }
  }
}

void compare_all(const std::string& file, void (*compare_line)(const std::string&) = compare) {
  std::ifstream in(std::string(LAZY_SOURCE_DIR) + "/tests/golden/nn_" + file + ".txt");
  size_t cases = 0;
  for (std::string line; std::getline(in, line); ++cases) compare_line(line);
  BOOST_TEST(cases > 50u);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(network_goldens)

BOOST_AUTO_TEST_CASE(activation) { compare_all("activation"); }
BOOST_AUTO_TEST_CASE(normalisation) { compare_all("normalisation"); }
BOOST_AUTO_TEST_CASE(linear_) { compare_all("linear"); }
BOOST_AUTO_TEST_CASE(distance) { compare_all("distance"); }
BOOST_AUTO_TEST_CASE(loss) { compare_all("loss"); }
BOOST_AUTO_TEST_CASE(class_loss) { compare_all("class_loss"); }
BOOST_AUTO_TEST_CASE(padding) { compare_all("padding"); }
BOOST_AUTO_TEST_CASE(resize) { compare_all("resize"); }
BOOST_AUTO_TEST_CASE(grid) { compare_all("grid"); }
BOOST_AUTO_TEST_CASE(convolution) { compare_all("convolution"); }
BOOST_AUTO_TEST_CASE(gradients) { compare_all("gradients", compare_gradients); }

BOOST_AUTO_TEST_SUITE_END()
