// Implements lazy-cache show: prints a program for people.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "jit/key/report.hpp"
#include "jit/plan/tiling/tile_group.hpp"
#include "support/error.hpp"
#include "tools/cache/commands.hpp"

namespace lazy::tool {
namespace {

using Json = nlohmann::ordered_json;

struct KernelText {
  std::string name, ir, schedule, disassembly;
};

KernelText text_of(const jit::StoredKernel& k, const std::string& target) {
  KernelText t{std::string(k.name), {}, {}, {}};
  auto loop = jit::loop::from_identity(k.identity);
  if (!loop) {
    t.ir = "(its loop IR does not make sense)\n";
    return t;
  }
  loop->name = t.name;
  t.ir = print(*loop);
  jit::Backend* const backend = backend_of(target);
  const auto kernel = backend ? backend->load(*loop, k.stored) : nullptr;
  t.schedule = kernel ? kernel->schedule() : "(for " + target + ", which this machine is not)";
  if (kernel) t.disassembly = kernel->disassembly();
  return t;
}

/// Returns the text of the kernel that goes along a tile group's rows; nothing if it has none.
KernelText text_of_rows(const jit::StoredProgram& s, size_t tile_group) {
  KernelText t;
  if (s.rows[tile_group].empty()) return t;
  t.name = "rows of tile group " + std::to_string(tile_group);
  jit::Backend* const backend = backend_of(s.target);
  const auto kernel = backend ? jit::rows_kernel(s, tile_group, *backend) : nullptr;
  t.schedule = kernel ? kernel->schedule() : "(for " + s.target + ", which this machine is not)";
  if (kernel) t.disassembly = kernel->disassembly();
  return t;
}

std::string settings(uint32_t word) {
  constexpr const char* dynamic[] = {"auto", "always", "never", "?"};
  const auto s = jit::KeySettings::of(word);
  return std::string("LAZY_EXACT_CASTS=") + (s.exact_casts ? "on" : "off") +
         " LAZY_DYNAMIC=" + dynamic[static_cast<int>(s.dynamic)] +
         " LAZY_FP_CONTRACT=" + (s.fp_contract ? "on" : "off");
}

}  // namespace

int show(const Common& c, const std::string& id) {
  const auto store = open_store(c, false);
  cache::Store::Totals totals;
  const Items items = items_of(*store, totals);
  const Item* found = nullptr;
  for (const auto& i : items) {
    if (id.empty() || !i->id.starts_with(id)) continue;
    if (found) throw IndexError("more than one record's key starts with '" + id + "'");
    found = i.get();
  }
  if (!found) throw IndexError("no record's key starts with '" + id + "' (lazy-cache ls lists them)");
  if (found->kind != Kind::program)
    throw IndexError(found->id + " is no program of this build: " + name_of(found->kind));
  const jit::StoredProgram& s = found->program;
  const jit::Program& p = s.program;
  const auto trace = jit::describe_key(s.key);
  if (c.json) {
    Json j{{"key", found->id},
           {"pack", found->pack},
           {"build", s.build},
           {"target", s.target},
           {"settings", settings(s.key[0])},
           {"variant", p.variant},
           {"compile_ns", p.compile_ns},
           {"trace", trace}};
    j["guards"] = Json::array();
    for (const jit::Guard& g : p.guards) j["guards"].push_back(describe(g));
    j["steps"] = Json::array();
    for (size_t i = 0; i < p.steps.size(); ++i)
      if (p.steps[i].call.spec)
        j["steps"].push_back({{"call", p.steps[i].call.spec->name()}, {"text", p.steps[i].text}});
      else j["steps"].push_back({{"kernel", s.kernel_of[i]}, {"text", p.steps[i].text}});
    j["tile_groups"] = Json::array();
    for (const jit::TileGroup& b : p.tile_groups) j["tile_groups"].push_back(describe(b));
    j["kernels"] = Json::array();
    for (const auto& k : s.kernels) {
      const KernelText t = text_of(k, s.target);
      j["kernels"].push_back(
          {{"name", t.name}, {"ir", t.ir}, {"schedule", t.schedule}, {"disassembly", t.disassembly}});
    }
    for (size_t b = 0; b < s.rows.size(); ++b)
      if (const KernelText t = text_of_rows(s, b); !t.name.empty())
        j["kernels"].push_back({{"name", t.name}, {"schedule", t.schedule}, {"disassembly", t.disassembly}});
    std::printf("%s\n", j.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    return 0;
  }
  std::printf("%s: %s program for %s, %lu ops, %zu kernels, compiled in %.1f us\n", found->id.c_str(),
              p.variant.c_str(), s.target.c_str(), static_cast<unsigned long>(p.nodes), s.kernels.size(),
              static_cast<double>(p.compile_ns) / 1e3);
  std::printf("settings: %s\n\ntrace\n", settings(s.key[0]).c_str());
  for (const std::string& line : trace) std::printf("  %s\n", line.c_str());
  std::printf("\nguards%s\n", p.guards.empty() ? ": none" : "");
  for (const jit::Guard& g : p.guards) std::printf("  %s\n", describe(g).c_str());
  std::printf("\nsteps\n");
  for (size_t i = 0; i < p.steps.size(); ++i)
    if (p.steps[i].call.spec) std::printf("  %zu: %s\n", i, p.steps[i].text.c_str());
    else std::printf("  %zu: kernel %u, %s\n", i, s.kernel_of[i], p.steps[i].text.c_str());
  for (const jit::TileGroup& b : p.tile_groups) std::printf("  %s\n", describe(b).c_str());
  for (size_t i = 0; i < s.kernels.size(); ++i) {
    const KernelText t = text_of(s.kernels[i], s.target);
    std::printf("\nkernel %zu\n%s%s\n%s", i, t.ir.c_str(), t.schedule.c_str(), t.disassembly.c_str());
  }
  for (size_t b = 0; b < s.rows.size(); ++b)
    if (const KernelText t = text_of_rows(s, b); !t.name.empty())
      std::printf("\n%s\n%s\n%s", t.name.c_str(), t.schedule.c_str(), t.disassembly.c_str());
  return 0;
}

}  // namespace lazy::tool
