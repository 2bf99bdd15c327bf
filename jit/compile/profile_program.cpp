// Writes for LAZY_PROFILE what a program consists of: its graph, the groups that were fused, its kernels and
// guards.
#include "jit/compile/profile_program.hpp"

#include <utility>

#include "jit/compile/compile.hpp"
#include "jit/graph/places.hpp"
#include "jit/lower/lower.hpp"
#include "jit/passes/passes.hpp"
#include "jit/plan/tiling/tile_group.hpp"
#include "support/config.hpp"
#include "support/json.hpp"

namespace lazy::jit::event {
namespace {

using profile::Form;
using profile::Kind;
using profile::Type;

constexpr Kind kProgram{"program", "program", {{{"graph", Type::json}}}, Form::instant};
constexpr Kind kLoad{"load", "compile", {{{"programs", Type::integer}}}};

template <class T>
void list(std::string& out, const char* key, const T& items, auto&& item) {
  json::quote(out, key);
  out += ":[";
  bool some = false;
  for (const auto& i : items) {
    if (std::exchange(some, true)) out += ',';
    item(i);
  }
  out += ']';
}

/// True for an input that is a model's rather than data: gradients go to it, or it stays as it is.
bool is_weight(const Node& n) { return n.attachment || (n.buffer && n.buffer->unchanging()); }

/// Records the program's event. `groups`: each step's fusion group. Without a fusion the graph is as it was
/// recorded.
void describe_program(const Trace& t, const Fusion* f, const Program& p, const std::vector<int>& groups,
                      const std::vector<loop::LoopKernel>* loops) {
  std::string out = "{\"program\":" + std::to_string(number_of(p)) +
                    ",\"variant\":" + json::quoted(p.variant) + ",\"ops\":" + std::to_string(p.nodes) + ",";
  std::vector<uint32_t> shown;  // values that some output needs
  for (uint32_t v = 0; v < t.values.size(); ++v)
    if (!f || (v < f->needed.size() && f->needed[v])) shown.push_back(v);
  constexpr size_t kMost = 2000;  // a larger picture can't be read
  out += "\"nodes_in_all\":" + std::to_string(shown.size()) + ",";
  if (shown.size() > kMost) shown.resize(kMost);
  list(out, "nodes", shown, [&](uint32_t v) {
    const Value& x = t.values[v];
    out += "{\"v\":" + std::to_string(v) + ",\"op\":\"" + name_of(x.op) + "\",\"dtype\":\"" +
           name_of(x.dtype) + "\",\"shape\":" + to_string(t.shape(v));
    const Node& n = t.node(v);
    if (x.op != Op::input) out += ",\"at\":" + json::quoted(lazy::to_string(n.site));
    else if (is_weight(n)) out += ",\"weight\":true";
    if (const std::string_view place = place_of(n.purpose); !place.empty())
      out += ",\"place\":" + json::quoted(std::string(place));
    if (const char* const purpose = without_place(n.purpose)) out += ",\"purpose\":" + json::quoted(purpose);
    if (f && v < f->kernel_of.size() && f->kernel_of[v] >= 0)
      out += ",\"group\":" + std::to_string(f->kernel_of[v]);
    if (f && v < f->materialised.size() && f->materialised[v]) out += ",\"stored\":true";
    if (x.output) out += ",\"kept\":true";
    out += ',';
    std::vector<uint32_t> from;
    for (int i = 0; i < x.arity; ++i) from.push_back(x.operand[i]);
    list(out, "from", from, [&](uint32_t o) { out += std::to_string(o); });
    out += '}';
  });
  out += ',';
  std::vector<size_t> steps(p.steps.size());
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = i;
  list(out, "kernels", steps, [&](size_t i) {
    const Step& s = p.steps[i];
    out += "{\"name\":" + json::quoted(name_of(p, s)) + ",\"at\":" + json::quoted(line_of(p, s)) +
           ",\"group\":" + std::to_string(groups[i]) + ",\"ops\":" + std::to_string(s.ops) +
           ",\"code_bytes\":" + std::to_string(s.kernel ? s.kernel->code_bytes() : 0) +
           ",\"schedule\":" + json::quoted(s.kernel ? s.kernel->schedule() : s.call.kernel->schedule());
    if (loops && s.kernel) out += ",\"ir\":" + json::quoted(loop::print((*loops)[i]));
    out += '}';
  });
  out += ',';
  list(out, "tile_groups", p.tile_groups, [&](const TileGroup& b) {
    out += "{\"first\":" + std::to_string(b.first) + ",\"count\":" + std::to_string(b.count) +
           ",\"text\":" + json::quoted(describe(b)) + "}";
  });
  out += ',';
  list(out, "guards", p.guards, [&](const Guard& g) {
    out += std::string("{\"kind\":\"") + name_of(g.kind) + "\",\"v\":" + std::to_string(g.node) +
           ",\"kernel\":" + std::to_string(g.step) + ",\"operand\":" + std::to_string(g.operand) +
           ",\"dim\":" + std::to_string(g.dim) + ",\"value\":" + std::to_string(g.value) + "}";
  });
  out += '}';
  const profile::Ticks now = profile::now();
  profile::put(kProgram, now, now, profile::intern(out));
}

std::vector<int> groups_of(const Program& p) {
  std::vector<int> groups;
  for (const Step& s : p.steps) groups.push_back(s.group);
  return groups;
}

}  // namespace

void program(const Trace& t, const Fusion& f, const Program& p, const std::vector<loop::LoopKernel>& loops) {
  describe_program(t, &f, p, groups_of(p), &loops);
}

void loaded(profile::Ticks start, const CapturedGraph& f,
            const std::vector<std::shared_ptr<const Program>>& programs) {
  profile::put(kLoad, start, profile::now(), programs.size());
  for (const auto& p : programs) {
    // The fusion groups are not stored on disk, but follow from the captured graph.
    const bool strict = p->variant == name_of(Variant::strict);
    Trace trace(f);
    simplify(trace);
    if (f.contracts()) contract(trace);
    const Fusion fusion = fuse(trace, {strict, f.code_class() == kHostCode});
    Program again;
    std::vector<loop::LoopKernel> loops;
    lower(trace, fusion, {strict, f.exact_casts()}, again, loops);
    if (again.steps.size() == p->steps.size()) describe_program(trace, &fusion, *p, groups_of(again), &loops);
    else describe_program(Trace(f), nullptr, *p, groups_of(*p), nullptr);  // made for other layouts
  }
}

}  // namespace lazy::jit::event
