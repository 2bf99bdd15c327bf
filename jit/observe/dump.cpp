#include "jit/observe/dump.hpp"

#include <atomic>
#include <filesystem>

#include "jit/plan/tiling/tile_group.hpp"
#include "support/config.hpp"
#include "support/files.hpp"
#include "support/log.hpp"
#include "support/text.hpp"

namespace lazy::jit {
namespace {

bool write(const std::filesystem::path& file, const std::string& text) {
  return files::write_whole(file.string(), text);
}

}  // namespace

void dump_program(const Trace& t, const Fusion& f, const Program& p,
                  const std::vector<loop::LoopKernel>& kernels) {
  const std::string& where = config::get().dump_dir.get();
  if (where.empty()) return;
  static std::atomic<int> number{0};
  static std::atomic<bool> warned{false};
  std::error_code ignored;
  std::filesystem::create_directories(where, ignored);
  const std::string prefix = "program" + std::to_string(number++);
  const std::filesystem::path dir(where);
  std::string text = print(t);
  const auto tile_groups = tile_groups_in(p);
  for (const TileGroup& b : p.tile_groups) text += describe(b) + "\n";
  bool good =
      write(dir / (prefix + ".dot"), dot(t, f.kernel_of)) && write(dir / (prefix + ".trace.txt"), text);
  for (size_t i = 0; i < kernels.size() && good; ++i) {
    if (!p.steps[i].kernel) continue;
    const std::string name = prefix + ".kernel" + std::to_string(i);
    good = write(dir / (name + ".ir.txt"),
                 print(kernels[i]) + "schedule: " + p.steps[i].kernel->schedule() + "\n") &&
           write(dir / (name + "." + p.steps[i].kernel->listing()), p.steps[i].kernel->disassembly());
  }
  for (size_t b = 0; b < tile_groups.size() && good; ++b)
    if (const auto& rows = tile_groups[b]->rows)
      good = write(dir / (prefix + ".tile_group" + std::to_string(b) + "." + rows->listing()),
                   rows->disassembly());
  if (!good && !warned.exchange(true))
    logging::warning("LAZY_DUMP_DIR: cannot write to " + text::quoted(where));
}

}  // namespace lazy::jit
