#include "model_picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "format.hpp"
#include "layers.hpp"
#include "support/text.hpp"

namespace report {
namespace {

using nlohmann::json;

constexpr std::string_view kForward = ", forward";
constexpr double kWidth = 236, kTitle = 24, kLine = 16, kPadding = 10, kMargin = 20;

/// Returns the module of "in layer1.conv1, forward", with so many names of its path at most; empty for what
/// does not run forward.
std::string module_of(std::string_view place, size_t depth) {
  if (!place.starts_with("in ") || !place.ends_with(kForward)) return {};
  std::string_view path = place.substr(3, place.size() - 3 - kForward.size());
  size_t at = 0;
  for (size_t names = 0; names < depth && at != path.npos; ++names) at = path.find('.', at + (at > 0));
  return std::string(path.substr(0, at));
}

struct Module {
  std::string name;                     // empty: an input
  std::vector<std::string> lines;       // what it computes, its result
  std::map<std::string, size_t> order;  // of its functions: the first op of each
  std::string result;                   // "float32 [1, 64]"
  std::set<size_t> from;
  std::set<size_t> above;  // all modules that values come from, directly or not
  double ms = 0;           // of one run
};

std::string text_of(const json& node, const char* key) { return node.value(key, std::string()); }
std::string type_of(const json& node) {
  std::string s = text_of(node, "dtype") + " [";
  const json& shape = node.at("shape");
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + shape[i].dump();
  return s + "]";
}

/// Returns the function that an op is of: its purpose's first word, else its own name.
std::string function_of(const json& node) {
  const std::string purpose = text_of(node, "purpose");
  return purpose.empty() ? text_of(node, "op") : purpose.substr(0, purpose.find(':'));
}

bool is_quiet(const json& node) {
  const std::string op = text_of(node, "op");
  return op == "constant" || op == "iota" || op == "cast";
}

/// Builds modules from a program's nodes, which are in the order of their computation.
class Builder {
 public:
  Builder(const json& program, size_t depth) : depth_(depth) {
    for (const json& n : program.at("nodes")) add(n);
  }
  std::vector<Module> take() { return std::move(modules_); }

 private:
  void add(const json& n) {
    const int64_t v = n.at("v");
    std::set<size_t>& from = from_[v];
    if (text_of(n, "op") == "input") {
      // A vector may be a module's own, as running statistics are.
      if (n.value("weight", false) || n.at("shape").size() < 2) return;
      inputs_[v] = n;
      return;
    }
    for (const json& f : n.at("from")) {
      const int64_t operand = f;
      if (const auto input = inputs_.find(operand); input != inputs_.end() && !input->second.is_null()) {
        from_[operand] = {make_input(input->second)};
        input->second = nullptr;
      }
      from.insert(from_[operand].begin(), from_[operand].end());
    }
    const std::string name = module_of(text_of(n, "place"), depth_);
    if (name.empty()) return;  // it is between modules: values go through it
    const size_t at = module_for(name, from);
    Module& m = modules_[at];
    for (const size_t f : from)
      if (f != at) {
        m.from.insert(f), m.above.insert(f);
        m.above.insert(modules_[f].above.begin(), modules_[f].above.end());
      }
    if (!is_quiet(n)) m.order.try_emplace(function_of(n), m.order.size());
    m.result = type_of(n);
    from = {at};
  }
  size_t make_input(const json& n) {
    modules_.emplace_back().result = type_of(n);
    return modules_.size() - 1;
  }
  /// Returns the latest box of the module, or a new one if values have come from that by way of others.
  size_t module_for(const std::string& name, const std::set<size_t>& from) {
    const auto latest = latest_.find(name);
    if (latest != latest_.end() && std::none_of(from.begin(), from.end(), [&](size_t f) {
          return f != latest->second && (f > latest->second || modules_[f].above.contains(latest->second));
        }))
      return latest->second;
    modules_.emplace_back().name = name;
    return latest_[name] = modules_.size() - 1;
  }

  const size_t depth_;
  std::vector<Module> modules_;
  std::map<int64_t, json> inputs_;            // not read so far; null: they were
  std::map<int64_t, std::set<size_t>> from_;  // by value: the modules that it comes from
  std::map<std::string, size_t> latest_;
};

size_t placed_nodes(const json& program) {
  size_t n = 0;
  for (const json& node : program.at("nodes")) n += !module_of(text_of(node, "place"), 1).empty();
  return n;
}

const json& choose(const Trace& t, int64_t number) {
  const json* best = nullptr;
  for (const json& p : t.programs) {
    if (number > 0 && p.value("program", int64_t{0}) != number) continue;
    if (placed_nodes(p) > 0 && (!best || placed_nodes(p) > placed_nodes(*best))) best = &p;
  }
  if (!best)
    throw BadTrace(number > 0 ? "program " + std::to_string(number) + " is not there, or has no modules"
                              : "no program has modules: name the model's with lazy::TraceModules");
  return *best;
}

/// Adds the time of kernels to the modules that they name; a module of several boxes shares it.
void add_times(const Trace& t, size_t depth, std::vector<Module>& modules) {
  std::map<std::string, double> total;
  std::map<std::string, double> boxes;
  for (const Kernel& k : t.kernels) {
    if (k.purpose < 0) continue;
    const std::string& all = t.strings.all()[static_cast<size_t>(k.purpose)];
    const size_t end = all.find(kForward);
    if (end == all.npos) continue;
    total[module_of(std::string_view(all).substr(0, end + kForward.size()), depth)] += k.total / 1000;
  }
  for (const Module& m : modules) ++boxes[m.name];
  for (Module& m : modules)
    if (const auto at = total.find(m.name); at != total.end()) m.ms = at->second / boxes[m.name];
}

std::string number(double v) {
  char s[32];
  std::snprintf(s, sizeof s, "%.1f", v);
  return s;
}
/// Cuts a text to what fits a box, its whole is in the box's title.
std::string fitting(const std::string& s, size_t most) {
  return s.size() <= most ? s : s.substr(0, most - 1) + "\xe2\x80\xa6";
}

void write_lines(Module& m, double all_ms) {
  std::vector<std::pair<size_t, std::string>> functions;
  for (const auto& [name, at] : m.order) functions.emplace_back(at, name);
  std::sort(functions.begin(), functions.end());
  std::string list;
  for (const auto& [at, name] : functions) list += (list.empty() ? "" : ", ") + name;
  if (!list.empty()) m.lines.push_back(list);
  m.lines.push_back(m.result);
  if (m.ms <= 0) return;
  char s[64];
  std::snprintf(s, sizeof s, "%.3g ms in all, %.0f%%", m.ms, 100 * m.ms / std::max(all_ms, 1e-9));
  m.lines.emplace_back(s);
}

std::string arrow(const LayeredArrow& a) {
  std::string path = "M" + number(a.points[0].first) + "," + number(a.points[0].second);
  for (size_t i = 1; i < a.points.size(); ++i) {
    const auto [x0, y0] = a.points[i - 1];
    const auto [x1, y1] = a.points[i];
    const double middle = (y0 + y1) / 2;
    path += "C" + number(x0) + "," + number(middle) + " " + number(x1) + "," + number(middle) + " " +
            number(x1) + "," + number(y1);
  }
  return "<path class=\"arrow\" d=\"" + path + "\" marker-end=\"url(#head)\"/>\n";
}

std::string box(const Module& m, const LayeredBox& b, double all_ms) {
  const double share = m.ms / std::max(all_ms, 1e-9);
  std::string title = m.name.empty() ? "input" : m.name;
  for (const std::string& l : m.lines) title += "\n" + l;
  std::string s = "<g><title>" + escaped(title) + "</title><rect class=\"" +
                  (m.name.empty() ? "input" : "module") + "\" x=\"" + number(b.x) + "\" y=\"" + number(b.y) +
                  "\" width=\"" + number(b.width) + "\" height=\"" + number(b.height) + "\" rx=\"" +
                  (m.name.empty() ? number(b.height / 2) : "8") + "\"/>\n";
  if (share > 0)
    s += "<rect class=\"share\" x=\"" + number(b.x + 8) + "\" y=\"" + number(b.y + b.height - 6) +
         "\" width=\"" + number(std::max(1.0, (b.width - 16) * std::min(1.0, share))) +
         "\" height=\"3\" rx=\"1.5\"/>\n";
  const double x = b.x + b.width / 2;
  double y = b.y + (m.name.empty() ? 18 : 19);
  if (!m.name.empty()) {
    s += "<text class=\"name\" x=\"" + number(x) + "\" y=\"" + number(y) + "\">" +
         escaped(fitting(m.name, 30)) + "</text>\n";
    y += kLine;
  }
  for (const std::string& l : m.lines) {
    s += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\">" + escaped(fitting(l, 36)) + "</text>\n";
    y += kLine;
  }
  return s + "</g>\n";
}

constexpr const char* kStyle =
    "text { font: 11.5px system-ui, 'DejaVu Sans', sans-serif; fill: #5d6b7c; text-anchor: middle; }\n"
    ".name { font-weight: 600; font-size: 12.5px; fill: #17202c; }\n"
    ".page { fill: #ffffff; }\n"
    ".module { fill: #f3f6fb; stroke: #9db4dc; }\n"
    ".input { fill: #eaf6f1; stroke: #7cc9b0; }\n"
    ".share { fill: #2f6fed; }\n"
    ".arrow { fill: none; stroke: #8996a8; stroke-width: 1.3; }\n"
    ".head { fill: #8996a8; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #93a0b2; } .name { fill: #e5eaf1; } .page { fill: #12171f; }\n"
    ".module { fill: #1d2531; stroke: #3d5680; } .input { fill: #16261f; stroke: #2b7a5c; }\n"
    ".share { fill: #6c9cff; } .arrow { stroke: #6b7889; } .head { fill: #6b7889; }\n"
    "}\n";

}  // namespace

std::string model_picture(const Trace& t, int64_t program, size_t depth) {
  const json& chosen = choose(t, program);
  std::vector<Module> modules = Builder(chosen, depth).take();
  add_times(t, depth, modules);
  double all_ms = 0;
  for (const Module& m : modules) all_ms += m.ms;
  std::vector<LayeredBox> boxes;
  for (Module& m : modules) {
    write_lines(m, all_ms);
    const double height = (m.name.empty() ? 10 : kTitle) + kLine * static_cast<double>(m.lines.size()) +
                          (m.name.empty() ? 0 : kPadding - 2);
    boxes.push_back({kWidth, height, {m.from.begin(), m.from.end()}});
  }
  const Layered placed = place_in_layers(boxes);
  const double width = placed.width + 2 * kMargin, height = placed.height + 2 * kMargin;
  std::string s = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width) + " " +
                  number(height) + "\" width=\"" + number(width) + "\" height=\"" + number(height) + "\">\n";
  s += std::string("<style>\n") + kStyle + "</style>\n";
  s += "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
       "markerHeight=\"7\" orient=\"auto\"><path class=\"head\" d=\"M0,0L8,4L0,8z\"/></marker></defs>\n";
  s += "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n<g transform=\"translate(" + number(kMargin) +
       "," + number(kMargin) + ")\">\n";
  for (const LayeredArrow& a : placed.arrows) s += arrow(a);
  for (size_t i = 0; i < modules.size(); ++i) s += box(modules[i], boxes[i], all_ms);
  return s + "</g>\n</svg>\n";
}

}  // namespace report
