#include "jit/compile/disk.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "cache/process_store.hpp"
#include "jit/compile/compile.hpp"
#include "jit/compile/copies.hpp"
#include "jit/compile/kernels.hpp"
#include "jit/compile/rebuild.hpp"
#include "jit/plan/names.hpp"
#include "jit/plan/program_fields.hpp"
#include "jit/plan/tiling/row_groups.hpp"
#include "support/build_id.hpp"
#include "support/cancel.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "support/log.hpp"
#include "support/log_fields.hpp"
#include "support/metrics.hpp"
#include "support/text.hpp"

namespace lazy::jit {
namespace {

std::string record_key(std::span<const uint32_t> key, const std::string& target) {
  std::string k(build_id());
  k += '\0';
  k += target;
  k += '\0';
  k.append(reinterpret_cast<const char*>(key.data()), key.size() * sizeof(uint32_t));
  return k;
}

bool read_program(std::string_view bytes, StoredProgram& s) {
  Loader l(bytes);
  l(s.program, s.kernel_of);
  const size_t kernels = l.count();
  if (kernels > l.left()) return false;
  s.kernels.resize(kernels);
  for (StoredKernel& k : s.kernels) l(k.identity, k.name, k.stored);
  s.rows.resize(tile_groups_in(s.program).size());
  for (std::string_view& r : s.rows) l(r);
  l(s.instance);
  if (!l.done() || s.kernel_of.size() != s.program.steps.size()) return false;
  for (size_t i = 0; i < s.kernel_of.size(); ++i)
    if (s.program.steps[i].call.spec ? s.kernel_of[i] != StoredProgram::kCall : s.kernel_of[i] >= kernels)
      return false;
  return true;
}

}  // namespace

uint64_t label_of(const Program& p) {
  Saver s;
  s(p.variant, p.guards);
  return checksum64(s.bytes().data(), s.bytes().size());
}

bool take_apart(std::string_view key, std::string_view value, StoredProgram& s, std::string& why) {
  const size_t a = key.find('\0'), b = a == key.npos ? a : key.find('\0', a + 1);
  if (b == key.npos || b + 1 == key.size() || (key.size() - b - 1) % sizeof(uint32_t) != 0) {
    why = "its key is not a program's";
    return false;
  }
  s.build = key.substr(0, a);
  s.target = key.substr(a + 1, b - a - 1);
  if (s.build != build_id()) {
    why = "it is of another build of the library";
    return false;
  }
  s.key.resize((key.size() - b - 1) / sizeof(uint32_t));
  std::memcpy(s.key.data(), key.data() + b + 1, s.key.size() * sizeof(uint32_t));
  if (!read_program(value, s) || !sound(s.program, s.key)) {
    why = "it does not make sense";
    return false;
  }
  name_steps(s.program, nullptr);
  return true;
}

std::optional<std::vector<loop::LoopKernel>> loops_of(const StoredProgram& s) {
  std::vector<loop::LoopKernel> loops;
  for (size_t i = 0; i < s.kernel_of.size(); ++i) {
    if (s.kernel_of[i] == StoredProgram::kCall) {
      loops.emplace_back();
      continue;
    }
    const StoredKernel& k = s.kernels[s.kernel_of[i]];
    auto loop = loop::from_identity(k.identity);
    if (!loop) return {};
    loop->name = k.name;
    loop->at = s.program.steps[i].at;
    try {
      loop::check(*loop);
    } catch (const CompileError&) { return {}; }
    if (loop->operands.size() != s.program.steps[i].operands.size()) return {};
    loops.push_back(std::move(*loop));
  }
  return loops;
}

namespace {

bool load_rows(StoredProgram& s, Backend& backend, std::string& why) {
  const auto tile_groups = tile_groups_in(s.program);
  for (size_t b = 0; b < s.rows.size(); ++b) {
    if (s.rows[b].empty()) continue;
    TileGroup& tile_group = *tile_groups[b];
    tile_group.rows = rows_kernel(s, b, backend);
    if (tile_group.rows) s.program.code_bytes += tile_group.rows->code_bytes();
    else return why = "its kernel for tile group " + std::to_string(b) + " could not be loaded", false;
  }
  return true;
}

}  // namespace

// The inputs of a rows kernel follow from the program and its loop kernels, so only its code is stored.
std::shared_ptr<const Kernel> rows_kernel(const StoredProgram& s, size_t tile_group, Backend& backend) {
  const auto loops = loops_of(s);
  const auto rows = loops ? rows_of(s.program, *tile_groups_in(s.program)[tile_group], *loops) : std::nullopt;
  return rows ? rows_from(*rows, s.rows[tile_group], backend) : nullptr;
}

std::vector<std::shared_ptr<const Program>> stored_programs(std::span<const uint32_t> key, Backend& backend,
                                                            const CapturedGraph* captured) {
  const NoCancel whole;
  std::vector<std::shared_ptr<const Program>> programs;
  const std::string target = backend.target();
  if (target.empty() || !config::get().dump_dir.empty()) return programs;  // dumps need compiling
  const auto store = cache::process_store();
  if (!store) return programs;
  const auto start = std::chrono::steady_clock::now();
  const std::string wanted = record_key(key, target);
  for (const cache::Record& found : store->find(cache::KeyView(wanted.data(), wanted.size()))) {
    StoredProgram s;
    std::string why;
    bool good = take_apart(wanted, found.value(), s, why);
    if (good && config::get().cache_verify) good = recompiles_alike(s, backend, why);
    if (good) name_steps(s.program, captured);
    for (size_t i = 0; good && i < s.program.steps.size(); ++i) {
      Step& step = s.program.steps[i];
      if (step.call.spec) {
        step.call.kernel = call_kernel_for(*step.call.spec, backend);
        continue;
      }
      const StoredKernel& k = s.kernels[s.kernel_of[i]];
      step.kernel = kernel_from(k.identity, step_name(step, captured), step.at, k.stored, backend);
      good = step.kernel != nullptr;
      if (good) s.program.code_bytes += step.kernel->code_bytes();
      else why = "kernel " + std::string(k.name) + " could not be loaded";
    }
    if (good) good = load_rows(s, backend, why);
    if (!good) {
      logging::warning("a program in " + store->directory() + " is not used: " + why);
      continue;
    }
    mark_copies(s.program, backend.host());
    s.program.from_disk = true;
    programs.push_back(std::make_shared<const Program>(std::move(s.program)));
  }
  std::stable_partition(programs.begin(), programs.end(),
                        [](const auto& p) { return p->variant != name_of(Variant::strict); });
  metric::add(programs.empty() ? MetricCounter::disk_misses : MetricCounter::disk_hits);
  if (logging::enabled(logging::Channel::cache)) {
    const auto ns = (std::chrono::steady_clock::now() - start).count();
    if (programs.empty())
      logging::write(logging::Channel::cache, store->directory() + ": no program for this graph",
                     logging::Fields().add("folder", store->directory()).add("event", "missing"));
    const double us = static_cast<double>(ns) / 1e3;
    for (const auto& p : programs)
      logging::write(logging::Channel::cache,
                     store->directory() + ": " + p->variant + " program of " +
                         text::counted(p->steps.size(), "kernel") + " and " + std::to_string(p->code_bytes) +
                         " bytes of code loaded, " + text::formatted("%.1f", us) + " us",
                     logging::Fields()
                         .add("folder", store->directory())
                         .add("event", "loaded")
                         .add("variant", p->variant)
                         .add("kernels", p->steps.size())
                         .add("bytes_of_code", p->code_bytes)
                         .add("us", us));
  }
  return programs;
}

void store_program(std::span<const uint32_t> key, const CapturedGraph& captured, const Program& p,
                   const std::vector<loop::LoopKernel>& loops, Backend& backend) {
  const NoCancel whole;
  const std::string target = backend.target();
  if (target.empty() || config::get().cache != config::CacheMode::on) return;
  const auto store = cache::process_store();
  if (!store) return;
  std::vector<uint32_t> kernel_of;
  Saver bodies;
  size_t kernels = 0;
  std::unordered_map<const Kernel*, uint32_t> numbers;
  for (size_t i = 0; i < p.steps.size(); ++i) {
    if (!p.steps[i].kernel) {
      kernel_of.push_back(StoredProgram::kCall);
      continue;
    }
    const Kernel& k = *p.steps[i].kernel;
    const auto [at, fresh] = numbers.emplace(&k, static_cast<uint32_t>(kernels));
    kernel_of.push_back(at->second);
    if (!fresh) continue;
    const std::string stored = k.stored();
    if (stored.empty()) return;  // the backend can't store them
    bodies(loop::identity(loops[i]), p.steps[i].label, stored);
    ++kernels;
  }
  Saver s;
  s(p, kernel_of);
  s.count(kernels);
  for (const TileGroup* b : tile_groups_in(p)) {
    const std::string rows = b->rows ? b->rows->stored() : std::string();
    if (b->rows && rows.empty()) return;
    bodies(rows);
  }
  bodies(instance_of(captured));
  const std::string value = s.take() += bodies.bytes();
  const std::string wanted = record_key(key, target);
  const bool kept = store->add(cache::KeyView(wanted.data(), wanted.size()), label_of(p), value);
  if (kept) metric::add(MetricCounter::disk_writes);
  if (logging::enabled(logging::Channel::cache))
    logging::write(logging::Channel::cache,
                   store->directory() + ": " + p.variant + " program of " +
                       text::counted(p.steps.size(), "kernel") + (kept ? " kept, " : " not kept, ") +
                       std::to_string(value.size()) + " bytes",
                   logging::Fields()
                       .add("folder", store->directory())
                       .add("event", kept ? "kept" : "not kept")
                       .add("variant", p.variant)
                       .add("kernels", p.steps.size())
                       .add("bytes", value.size()));
}

}  // namespace lazy::jit
