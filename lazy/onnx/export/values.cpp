// Writes what is no op: numbers, extents, weights.
#include "lazy/core/scalar.hpp"
#include "lazy/onnx/export/parts.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/ops/rearranging.hpp"
#include "support/text.hpp"

namespace lazy::onnx {

double Exporter::constant_of(const Node& n) {
  constexpr int64_t kExact = int64_t{1} << 53;
  return detail::with_type(n.dtype, [&](auto e) {
    const auto v = n.scalar.as<decltype(e)>();
    if constexpr (std::is_integral_v<decltype(e)> && sizeof v == 8)
      if (static_cast<int64_t>(v) > kExact || static_cast<int64_t>(v) < -kExact)
        problem(n, "an integer beyond 2^53");
    return detail::cast_value<double>(v);
  });
}

std::string Exporter::node(const char* op, const Names& inputs, const std::vector<Bytes>& attributes) {
  const std::string name = "v" + std::to_string(++count_);
  Bytes m;
  for (const std::string& i : inputs) m.text(1, i);
  m.text(2, name).text(3, name + "_" + op).text(4, op);
  for (const Bytes& a : attributes) m.message(5, a);
  nodes_.push_back(std::move(m));
  return name;
}

std::string Exporter::cast(const std::string& x, DType to) {
  return node("Cast", {x}, {attribute("to", static_cast<int64_t>(data_type_of(to)))});
}

std::string Exporter::initializer(Tensor value, const std::string& wish) {
  std::string name = wish;
  // Values between nodes are named v1, v2, ...: an initializer of another thing's name gets a number.
  for (int i = 1; name.empty() || used_.contains(name); ++i)
    name = (wish.empty() ? "constant" : wish) + "_" + std::to_string(wish.empty() ? ++count_ : i);
  used_.insert(name);
  initializers_.push_back({name, std::move(value)});
  return name;
}

std::string Exporter::integers(const std::vector<int64_t>& v) {
  std::string key = "integers";
  for (const int64_t n : v) key += " " + std::to_string(n);
  std::string& name = known_[key];
  if (name.empty()) name = initializer(from_span(v));
  return name;
}

std::string Exporter::number(double v, DType t, int rank) {
  std::string& name = known_["number " + std::string(lazy::name_of(t)) + " " + text::formatted("%.17g", v) +
                             " " + std::to_string(rank)];
  if (name.empty()) {
    Shape ones;
    for (int i = 0; i < rank; ++i) ones.push_back(1);
    name = initializer(full(ShapeArg(ones), ScalarNumber(v), t));
  }
  return name;
}

std::vector<TwinSize> Exporter::extents(const Twin& t) {
  std::vector<TwinSize> all;
  for (int i = 0; i < t.a->shape.size(); ++i) all.push_back(extent(t, i));
  return all;
}

std::string Exporter::sizes(const std::vector<TwinSize>& all) {
  std::vector<int64_t> fixed;
  Names parts;
  bool same = true;
  for (const TwinSize& n : all) same = same && n.same();
  if (same) {
    for (const TwinSize& n : all) fixed.push_back(n.a);
    return integers(fixed);
  }
  if (batch_.empty())
    batch_ = node("Shape", {inputs_.at(0)}, {attribute("start", int64_t{0}), attribute("end", int64_t{1})});
  for (const TwinSize& n : all) {
    if (n.same()) {
      parts.push_back(integers({n.a}));
      continue;
    }
    const int64_t factor = n.a / rows_;
    if (factor * rows_ != n.a || factor * other_rows_ != n.b)
      problems_.push_back("an extent is " + std::to_string(n.a) + " for " + std::to_string(rows_) +
                          " rows and " + std::to_string(n.b) + " for " + std::to_string(other_rows_) +
                          ", which is no multiple of them");
    parts.push_back(factor == 1 ? batch_ : node("Mul", {batch_, integers({factor})}));
  }
  return parts.size() == 1 ? parts[0] : node("Concat", parts, {attribute("axis", int64_t{0})});
}

std::string Exporter::weight(const Twin& t) {
  Tensor value(handle_to(t.a));
  const auto found = weights_.find({t.a->data(), static_cast<int>(t.a->dtype)});
  const std::string name = found == weights_.end() ? std::string() : found->second;
  if (!t.b || t.b == t.a) return initializer(value, name);
  const Tensor other(handle_to(t.b));
  if (t.a->shape == t.b->shape) {
    if (t.b->data() != t.a->data() && value.to_vector<double>(site_) != other.to_vector<double>(site_))
      problem(*t.a, "a value that the model makes depends on the number of rows");
    return initializer(value, name);
  }
  // This is one row of a weight that is repeated for each of the batch, such as a token of a class.
  bool repeated = t.a->shape.size() == t.b->shape.size() && t.a->data() == t.b->data();
  for (int i = 0; repeated && i < t.a->shape.size(); ++i) {
    if (extent(t, i).same()) continue;
    repeated = !t.a->contiguous && !t.b->contiguous && t.a->strides[i] == 0 && t.b->strides[i] == 0;
    if (repeated) value = narrow(Arg(value, site_), i, 0, 1);
  }
  if (!repeated) problem(*t.a, "a value that the model makes depends on the number of rows");
  return node("Expand", {initializer(value, name), sizes(extents(t))});
}

}  // namespace lazy::onnx
