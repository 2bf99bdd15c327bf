// Stores programs on disk: what one process compiles, later ones load (cache/store.hpp stores the bytes).
//
// A record's key is "<build id>\0<backend target>\0<canonical key>", its label a hash of the program's
// variant and guards, its value the program: plan, guards, each kernel's loop IR and code, and an instance of
// the key (jit/compile/rebuild.hpp). So a program is found only by the same build of the library, for a
// machine with the same instructions, under the same settings.
//
// Loaded code is run: anyone who can write to the folder can have code run. Against accidents, loading checks
// that all numbers refer to something that exists (sound()). Against anything else a program is compiled
// again from its key and compared (recompiles_alike()).
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Returns the programs stored for a key, strict ones last.
std::vector<std::shared_ptr<const Program>> stored_programs(std::span<const uint32_t> key, Backend&,
                                                            const CapturedGraph* = nullptr);
/// Stores a program that was compiled from these loop kernels, for the captured graph.
void store_program(std::span<const uint32_t> key, const CapturedGraph&, const Program&,
                   const std::vector<loop::LoopKernel>&, Backend&);

/// Holds the parts of a stored program.
/// Invariant: the views are into the record's value, which has to outlive it.
struct StoredKernel {
  std::string_view identity, name, stored;
};
struct StoredProgram {
  Program program;  // its steps have no kernels yet
  static constexpr uint32_t kCall = ~0u;
  std::vector<uint32_t> kernel_of;  // indexed by step; kCall: the step runs a call
  std::vector<StoredKernel> kernels;
  std::vector<std::string_view> rows;  // indexed by tile group: the code of TileGroup::rows, or empty
  std::string_view instance;
  std::string build, target;
  std::vector<uint32_t> key;
  uint64_t label = 0;
};
/// Parses a record. Returns false, with a reason, if the bytes are not a program of this build that makes
/// sense for its key. For a program of another build, it sets `build` and `target` only.
bool take_apart(std::string_view key, std::string_view value, StoredProgram&, std::string& why);
/// Returns the kernel of a tile group for which `rows` has code; null if that makes no sense.
std::shared_ptr<const Kernel> rows_kernel(const StoredProgram&, size_t tile_group, Backend&);
/// Returns the loop kernel of each step; nothing if they make no sense.
std::optional<std::vector<loop::LoopKernel>> loops_of(const StoredProgram&);
/// Returns a hash that distinguishes programs of one key: those that differ in it are not interchangeable.
uint64_t label_of(const Program&);
/// Compiles the program again from its key, and compares everything that is stored of it: plan, guards, loop
/// IR and code, byte by byte. False with a reason. True proves that this build of the library compiles the
/// same for the key.
bool recompiles_alike(const StoredProgram&, Backend&, std::string& why);

}  // namespace lazy::jit
