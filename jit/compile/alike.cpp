// Compares programs from elsewhere with what their keys are compiled to here.
#include <algorithm>

#include "jit/compile/compile.hpp"
#include "jit/compile/disk.hpp"
#include "jit/compile/rebuild.hpp"
#include "jit/plan/program_fields.hpp"
#include "jit/plan/tiling/row_groups.hpp"
#include "support/error.hpp"

namespace lazy::jit {
namespace {

std::optional<Variant> variant_of(const std::string& name) {
  for (const Variant v : {Variant::generic, Variant::strict, Variant::fixed})
    if (name == name_of(v)) return v;
  return {};
}

/// True if the plans are equal, except for the time that compiling took.
bool same_plan(const Program& kept, Program& again) {
  again.compile_ns = kept.compile_ns;
  Saver a, b;
  a(kept);
  b(again);
  return a.bytes() == b.bytes();
}

/// True if kernels are numbered in the order of their first use, and each is used.
bool numbered_in_order(const StoredProgram& s) {
  uint32_t known = 0;
  for (const uint32_t k : s.kernel_of) {
    if (k == StoredProgram::kCall) continue;
    if (k > known) return false;
    known += k == known;
  }
  return known == s.kernels.size();
}

bool same_kernels(const StoredProgram& s, const Plan& again, Backend& backend, std::string& why) {
  std::vector<uint8_t> compiled(s.kernels.size());
  for (size_t i = 0; i < again.loops.size(); ++i) {
    const loop::LoopKernel& loop = again.loops[i];
    if (s.kernel_of[i] == StoredProgram::kCall) continue;  // the plan identifies the call
    const StoredKernel& k = s.kernels[s.kernel_of[i]];
    const bool known = std::exchange(compiled[s.kernel_of[i]], uint8_t{1});
    const bool right =
        loop::identity(loop) == k.identity &&
        (known || (again.program->steps[i].label == k.name && backend.compile(loop)->stored() == k.stored));
    if (!right) return why = "kernel " + std::string(k.name) + ": compiled again it is another one", false;
  }
  return true;
}

bool same_rows(const StoredProgram& s, Plan& again, Backend& backend, std::string& why) {
  const auto tile_groups = tile_groups_in(*again.program);
  for (size_t b = 0; b < s.rows.size(); ++b) {
    const auto rows =
        backend.fuses_rows() ? rows_of(*again.program, *tile_groups[b], again.loops) : std::nullopt;
    const auto kernel = rows ? backend.compile_rows(*rows) : nullptr;
    if ((kernel ? kernel->stored() : std::string()) != s.rows[b])
      return why = "the kernel of tile group " + std::to_string(b) + ": compiled again it is another one",
             false;
  }
  return true;
}

}  // namespace

bool recompiles_alike(const StoredProgram& s, Backend& backend, std::string& why) {
  if (backend.target() != s.target) return why = "it is for " + s.target, false;
  const auto variant = variant_of(s.program.variant);
  const auto rebuilt = RebuiltFrame::make(s.key, s.instance, s.program, why);
  if (!rebuilt) return false;
  if (!variant || rebuilt->captured().code_class() != backend.code_class() || !numbered_in_order(s))
    return why = "it does not make sense", false;
  try {
    Plan again = plan(rebuilt->captured(), *variant, backend);
    if (!same_plan(s.program, *again.program)) return why = "its key is compiled to another program", false;
    return same_kernels(s, again, backend, why) && same_rows(s, again, backend, why);
  } catch (const Error& e) { return why = e.what(), false; }
}

}  // namespace lazy::jit
