// Prints random programs as C++ text.
#include <algorithm>

#include "tests/differential/random_graph.hpp"

namespace random_graph {
namespace {

std::string list(const std::vector<std::string>& v) {
  std::string s = "{";
  for (size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + v[i];
  return s + "}";
}
std::string list(const std::vector<int>& v) {
  std::vector<std::string> s;
  for (int i : v) s.push_back(std::to_string(i));
  return list(s);
}
std::string text(const std::vector<Dim>& dims) {
  std::vector<std::string> s;
  for (const Dim& d : dims) {
    std::string product;
    for (int id : d) product += (product.empty() ? "n" : " * n") + std::to_string(id);
    s.push_back(product.empty() ? "1" : product);
  }
  return list(s);
}
std::string text(const Range& g) {
  if (g.integer) return std::to_string(g.start);
  if (!g.has_start && !g.has_stop && g.step == 1) return "_";
  return "slice(" + (g.has_start ? std::to_string(g.start) : "none") + ", " +
         (g.has_stop ? std::to_string(g.stop) : "none") + ", " + std::to_string(g.step) + ")";
}
std::string index(const Statement& s) {
  std::string t = "(";
  for (size_t i = 0; i < s.ranges.size(); ++i) t += (i ? ", " : "") + text(s.ranges[i]);
  return t + ")";
}

std::string expression(const Statement& s) {
  const std::string type = name_of(s.dtype);
  const auto reg = [&](int i) { return "r" + std::to_string(s.operand[i]); };
  const auto call = [&](const std::string& f, const std::string& more) {
    return f + "(" + reg(0) + more + ")";
  };
  constexpr const char* scalars[] = {"true or false", "int", "float", "double"};
  switch (s.kind) {
    case Kind::input:
      return "data(" + text(s.dims) + ", " + type + ")" +
             (s.layout ? "  /* from_blob, layout " + std::to_string(s.layout) + ", salt " +
                             std::to_string(s.salt) + " */"
                       : "");
    case Kind::arange: return "arange(0, " + text(s.dims) + "[0], 1, " + type + ")";
    case Kind::full: return "full(" + text(s.dims) + ", value, " + type + ")";
    case Kind::eye: return "eye(" + text(s.dims) + ", k, " + type + ")";
    case Kind::triangle: return call(s.flipped ? "tril" : "triu", ", " + std::to_string(s.fn));
    case Kind::unary: return call(kUnary[static_cast<size_t>(s.fn)].name, "");
    case Kind::binary: return call(kBinary[static_cast<size_t>(s.fn)].name, ", " + reg(1));
    case Kind::with_scalar: {
      const std::string f = kBinary[static_cast<size_t>(s.fn)].name, v = scalars[s.scalar_kind];
      return s.flipped ? f + "(" + v + ", " + reg(0) + ")" : f + "(" + reg(0) + ", " + v + ")";
    }
    case Kind::where: return call("where", ", " + reg(1) + ", " + reg(2));
    case Kind::cast: return call("astype", ", " + type);
    case Kind::reshape: return call("reshape", ", " + text(s.dims));
    case Kind::permute: return call("permute", ", " + list(s.axes));
    case Kind::slice: return reg(0) + index(s);
    case Kind::flip: return call("flip", ", " + list(s.axes));
    case Kind::window:
      return call("sliding_window_view", ", " + std::to_string(s.axes[1]) + ", " + std::to_string(s.axes[0]) +
                                             ", " + std::to_string(s.ranges[0].step) + ", " +
                                             std::to_string(s.axes[2]));
    case Kind::expand: return call("expand_dims", ", " + std::to_string(s.axes[0]));
    case Kind::squeeze: return call("squeeze", ", " + list(s.axes));
    case Kind::broadcast: return call("broadcast_to", ", " + text(s.dims));
    case Kind::reduce:
      return call(kReduce[static_cast<size_t>(s.fn)].name,
                  ", " + list(s.axes) + (s.keepdims ? ", keepdims" : ""));
    case Kind::scan: return call(kScan[static_cast<size_t>(s.fn)].name, ", " + list(s.axes));
    case Kind::matmul: return call("matmul", ", " + reg(1));
    case Kind::convolve:
      return call("conv", ", " + reg(1) + ", {stride..., padding..., dilation...: " + list(s.axes) +
                              (s.keepdims ? ", a group for each channel" : "") +
                              (s.flipped ? ", channels_last}" : "}"));
    case Kind::attention:
      return call("scaled_dot_product_attention",
                  ", " + reg(1) + ", " + reg(2) + (s.flipped ? ", {}, true" : ""));
    case Kind::sort:
      return call("sort", ", " + std::to_string(s.axes[0]) + (s.keepdims ? ", descending" : "")) +
             (s.flipped ? ".indices" : ".values");
    case Kind::join:
      return (s.flipped ? "halves of concat({" : "max of stack({") + reg(0) + ", " + reg(1) + ", " + reg(0) +
             "}, " + std::to_string(s.axes[0]) + ")";
    case Kind::take:
      return call(s.keepdims ? "take_along_axis" : "take",
                  ", " + reg(1) + ", " + std::to_string(s.axes[0]) + ", rule " + std::to_string(s.axes[1]));
    case Kind::put:
      return call("scatter", ", " + std::to_string(s.axes[0]) + ", " + reg(1) + ", " + reg(2) + ", combine " +
                                 std::to_string(s.axes[2]) + ", rule " + std::to_string(s.axes[1]));
    case Kind::assign:
      return "copy of " + reg(0) + " with " + index(s) + (s.flipped ? " += " : " = ") + reg(1);
    case Kind::assign_mask:
      return "copy of " + reg(0) + " with (" + reg(1) + ") " + (s.flipped ? "*= 2" : "= value");
    case Kind::read: return reg(0) + "; read(" + reg(0) + ")";
  }
  return {};
}

}  // namespace

std::string to_string(const Program& p) {
  std::string t = "// instruction set " + std::to_string(p.isa) + "\n";
  t += p.specials ? "// data with NaN, infinities and extremes\n" : "";
  std::vector<char> used(p.symbols.size(), 0);
  const auto use = [&](auto& self, const Dim& d) -> void {
    for (int id : d) {
      used[static_cast<size_t>(id)] = 1;
      if (p.symbols[static_cast<size_t>(id)].derived) self(self, p.symbols[static_cast<size_t>(id)].of);
    }
  };
  for (const Statement& s : p.statements)
    for (const Dim& d : s.dims) use(use, d);
  for (size_t k = 0; k < p.symbols.size(); ++k) {
    if (!used[k]) continue;
    const Symbol& s = p.symbols[k];
    t += "n" + std::to_string(k) + " = " +
         (s.derived ? "length of " + text(s.range) + " of " + text({s.of})
                    : std::to_string(s.first) + ", then " + std::to_string(s.second)) +
         ";\n";
  }
  for (size_t i = 0; i < p.statements.size(); ++i) {
    const Statement& s = p.statements[i];
    t += "Tensor r" + std::to_string(i) + " = " + expression(s) + ";  // [";
    for (size_t k = 0; k < s.shape.size(); ++k) t += (k ? ", " : "") + std::to_string(s.shape[k]);
    t += "]";
    for (size_t r = 0; r <= i; ++r)
      if (p.dropped_after[r] == static_cast<int>(i)) t += " drops r" + std::to_string(r);
    t += "\n";
  }
  return t;
}

}  // namespace random_graph
