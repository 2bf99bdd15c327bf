#include "lazy/pretrained/gguf_weights.hpp"

#include <algorithm>
#include <unordered_map>

#include "lazy/core/build.hpp"
#include "lazy/core/unchanging.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/quant/weight.hpp"
#include "support/text.hpp"

namespace lazy::pretrained {
namespace {

Tensor stays(Tensor t, const Site& s) {
  if (t.device(s) == Device{}) lazy::detail::mark_unchanging(t, s);
  return t;
}

/// Puts rows of a head, pairs of which stand side by side in the file, into halves: x (heads * width, ...).
Tensor in_halves(const Tensor& x, int64_t heads, const Site& s) {
  const Shape shape = x.shape(s);
  const int64_t columns = shape.size() > 1 ? shape[1] : 1;
  const Tensor pairs = reshape(Arg(x, s), {heads, shape[0] / heads / 2, 2, columns});
  return stays(reshape(permute(pairs, {0, 2, 1, 3}), ShapeArg(shape)), s);
}

/// Holds a model's matrix that stays integers.
struct Quantized {
  std::string layer;  // of the model
  gguf::Groups groups;
};

/// Points to the weights of a layer that can be integers.
struct Target {
  Parameter* weight;
  bool inputs_first;  // it is (in, out)
};

/// Has a layer compute by the file's integers.
void quantize(const Target& to, const Quantized& q, DType dtype, const Site& s) {
  namespace parametrize = nn::utils::parametrize;
  const gguf::Groups& g = q.groups;
  const quant::Scheme scheme{.bits = g.bits,
                             .is_signed = g.bits == 8,
                             .symmetric = !g.zeros.defined(),
                             .granularity = quant::Granularity::group,
                             .group = g.length};
  const int64_t out = g.scales.size(0, s), in = g.length * g.scales.size(1, s);
  const Shape shape = to.inputs_first ? Shape{in, out} : Shape{out, in};
  *to.weight = Parameter(zeros(ShapeArg(shape), dtype, {}, s));
  parametrize::register_parametrization(
      *to.weight, quant::QuantizedWeight(scheme, shape, dtype, {}, to.inputs_first), false, s);
  parametrize::ParametrizationList& list = parametrize::parametrizations(*to.weight, s);
  list.original(0).reset(g.integers, s);
  list.original(1).reset(g.scales, s);
  if (g.zeros.defined()) list.original(2).reset(g.zeros, s);
}

/// Takes the weights of a file: what stays integers apart.
class Taking {
 public:
  Taking(const gguf::File& f, const GgufLayout& layout, const Options& o, const Site& s)
      : file_(f), layout_(layout), options_(o), site_(s), weights{{}, f.path()} {}

  void take(const gguf::TensorInfo& t) {
    const std::vector<std::string>& ignored = layout_.ignored;
    if (std::find(ignored.begin(), ignored.end(), t.name) != ignored.end()) return;
    const int64_t heads = layout_.heads ? layout_.heads(t.name) : 0;
    if (heads && (t.shape.empty() || t.shape[0] % (2 * heads) != 0))
      throw IoError(file_.path() + ": " + text::quoted(t.name) + " is " + to_string(t.shape) +
                        ", but there are " + std::to_string(heads) + " heads",
                    site_);
    std::vector<GgufPart> parts;
    if (layout_.parts) parts = layout_.parts(t.name);
    int64_t rows = 0;
    for (const GgufPart& p : parts) rows += p.rows;
    if (!parts.empty() && (t.shape.empty() || t.shape[0] != rows))
      throw IoError(file_.path() + ": " + text::quoted(t.name) + " is " + to_string(t.shape) + ", expected " +
                        std::to_string(rows) + " rows",
                    site_);
    if (stays_integers(t)) take_integers(t, heads, parts);
    else take_numbers(t, heads, parts);
  }

 private:
  /// Says if a matrix stays integers. Of embeddings rows are read, for which all of them would become numbers
  /// in each call.
  bool stays_integers(const gguf::TensorInfo& t) const {
    return gguf::is_block(t.type) && !options_.dequantize && t.shape.size() == 2 &&
           t.name != "token_embd.weight" && t.name != "position_embd.weight";
  }
  Tensor rows(const Tensor& t, int64_t first, int64_t count) const {
    return stays(narrow(Arg(t, site_), 0, first, count).copy(site_), site_);
  }
  void take_integers(const gguf::TensorInfo& t, int64_t heads, const std::vector<GgufPart>& parts) {
    const gguf::Groups g = file_.groups(t.name, options_.device, site_);
    const auto each = [&](auto&& f) {
      gguf::Groups r{.bits = g.bits, .length = g.length, .integers = f(g.integers), .scales = f(g.scales)};
      if (g.zeros.defined()) r.zeros = f(g.zeros);
      return r;
    };
    if (parts.empty()) {
      quantized.push_back({renamed(t.name, layout_.names),
                           each([&](const Tensor& x) { return heads ? in_halves(x, heads, site_) : x; })});
      return;
    }
    int64_t at = 0;
    for (const GgufPart& p : parts) {
      quantized.push_back(
          {renamed(p.name, layout_.names), each([&](const Tensor& x) { return rows(x, at, p.rows); })});
      at += p.rows;
    }
  }
  void take_numbers(const gguf::TensorInfo& t, int64_t heads, const std::vector<GgufPart>& parts) {
    Tensor x = file_.tensor(t.name, options_.device, site_);
    // Converted one by one: else all of a file of blocks would be there as float32 at first.
    const DType dtype = options_.dtype.or_else(float32);
    if (is_float(x.dtype(site_)) && x.dtype(site_) != dtype) x = stays(x.to(dtype, site_), site_);
    if (heads) x = in_halves(x, heads, site_);
    const bool map = t.name.starts_with("blk.") && t.shape.size() == 2;
    if (layout_.transposed && map) x = stays(matrix_transpose(Arg(x, site_)).copy(site_), site_);
    int64_t at = 0;
    for (const GgufPart& p : parts) {
      weights.tensors.set(p.name, rows(x, at, p.rows));
      at += p.rows;
    }
    if (parts.empty()) weights.tensors.set(t.name, x);
  }

  const gguf::File& file_;
  const GgufLayout& layout_;
  const Options& options_;
  const Site& site_;

 public:
  Weights weights;
  std::vector<Quantized> quantized;
};

/// Finds the matrices that stay integers, by their names; Error for names and shapes that don't fit.
std::vector<std::pair<Target, const Quantized*>> targets_of(const char* op, nn::Module& m,
                                                            const std::vector<Quantized>& all,
                                                            const std::string& path, const Site& s) {
  std::unordered_map<std::string, Target> weights;
  for (const auto& [name, module] : m.named_modules()) {
    if (auto* const l = dynamic_cast<nn::Linear*>(module)) weights[name + ".weight"] = {&l->weight, false};
    if (auto* const l = dynamic_cast<nn::TransposedLinear*>(module))
      weights[name + ".weight"] = {&l->weight, true};
  }
  std::vector<std::pair<Target, const Quantized*>> r;
  for (const Quantized& q : all) {
    const auto at = weights.find(q.layer);
    if (at == weights.end())
      throw Error(std::string(op) + ": " + path + ": the model has no " + text::quoted(q.layer), s);
    const Shape &here = at->second.weight->shape(s), &groups = q.groups.scales.shape(s);
    Shape there{groups[0], q.groups.length * groups[1]};
    if (at->second.inputs_first) std::swap(there[0], there[1]);
    if (here != there)
      throw Error(std::string(op) + ": " + path + ": " + text::quoted(q.layer) + " is " + to_string(here) +
                      " by the metadata, and " + to_string(there) + " in the file",
                  s);
    r.emplace_back(at->second, &q);
  }
  return r;
}

}  // namespace

void adopt_gguf(const char* op, nn::Module& model, const gguf::File& f, const GgufLayout& layout,
                const Options& o, const Site& s) {
  Taking taking(f, layout, o, s);
  for (const gguf::TensorInfo& t : f.tensors()) taking.take(t);
  const auto integers = targets_of(op, model, taking.quantized, f.path(), s);
  for (const auto& [to, q] : integers) *to.weight = Parameter();  // which others need not look for
  adopt(op, model, taking.weights, {.renames = layout.names}, {}, s);
  for (const auto& [to, q] : integers) quantize(to, *q, o.dtype.or_else(float32), s);
  model.eval(s);
}

}  // namespace lazy::pretrained
