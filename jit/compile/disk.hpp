// Programs on disk: what one process compiles, later ones load (cache/store.hpp keeps the bytes).
//
// A record's key is "<build id>\0<backend target>\0<canonical key>", its label a hash of the program's
// variant and guards, its value the program: plan, guards, each kernel's loop IR and code, and an instance of
// the key (jit/compile/rebuild.hpp). So a program is found only by the same build of the library, for a
// machine with the same instructions, under the same settings.
//
// What is loaded is run: whoever can write to the folder can have code run. Loading checks that all numbers
// are of something that is there (sound()), against accidents. Against anything else a program is built again
// from its key and compared (recompiles_alike()).
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/plan/program.hpp"

namespace lazy::jit {

/// Returns the programs kept for a key, strict ones last.
std::vector<std::shared_ptr<const Program>> stored_programs(std::span<const uint32_t> key, Backend&,
                                                            const CapturedGraph* = nullptr);
/// Keeps a program that was compiled from these loop kernels, for the captured graph.
void store_program(std::span<const uint32_t> key, const CapturedGraph&, const Program&,
                   const std::vector<loop::LoopKernel>&, Backend&);

/// A kept program taken apart.
/// Invariant: the views are into the record's value, which has to outlive it.
struct StoredKernel {
  std::string_view identity, name, stored;
};
struct StoredProgram {
  Program program;  // its steps have no kernels
  static constexpr uint32_t kCall = ~0u;
  std::vector<uint32_t> kernel_of;  // by step; kCall: it runs a call
  std::vector<StoredKernel> kernels;
  std::vector<std::string_view> rows;  // by tile group: the code of TileGroup::rows, or empty
  std::string_view instance;
  std::string build, target;
  std::vector<uint32_t> key;
  uint64_t label = 0;
};
/// Takes a record apart. Returns false, with a reason, if the bytes are not a program of this build that
/// makes sense for its key. Of a program of another build, it sets `build` and `target` only.
bool take_apart(std::string_view key, std::string_view value, StoredProgram&, std::string& why);
/// Returns the kernel of a tile group for which `rows` has code; null if that makes no sense.
std::shared_ptr<const Kernel> rows_kernel(const StoredProgram&, size_t tile_group, Backend&);
/// Returns the loop kernel of each step; nothing if they make no sense.
std::optional<std::vector<loop::LoopKernel>> loops_of(const StoredProgram&);
/// Returns a hash that tells programs of one key apart: those that differ in it are not interchangeable.
uint64_t label_of(const Program&);
/// Builds the program again from its key, and compares everything that is kept of it: plan, guards, loop IR
/// and code, byte by byte. False with a reason. What is alike is what this build of the library compiles for
/// the key.
bool recompiles_alike(const StoredProgram&, Backend&, std::string& why);

}  // namespace lazy::jit
