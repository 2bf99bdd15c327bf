// Lists the contents of a store, record by record.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cache/store.hpp"
#include "jit/compile/disk.hpp"

namespace lazy::tool {

enum class Kind : uint8_t {
  program,  // compiled by this build of the library
  other,    // compiled by another build: never used by this one, dropped in time
  machine,  // measurements of a machine
  broken,   // of this build, and senseless
};
const char* name_of(Kind);

struct Item {
  std::string id;  // 16 hexadecimal digits
  Kind kind{};
  std::string key, value;      // as stored
  jit::StoredProgram program;  // its views are into `value`
  std::string why;             // reason, for a broken one
  uint64_t stamp = 0, bytes = 0;
  std::string pack;

  size_t kernels() const { return program.kernels.size(); }
  size_t code_bytes() const;
  /// Returns the names of its steps' kernels and calls, in order: "kernel_add_tanh, 2 x sum, sort".
  std::string what() const;
};
using Items = std::vector<std::unique_ptr<Item>>;  // pointers, for the views need a fixed place

std::unique_ptr<Item> make_item(const cache::Store::Listed&);
/// Returns all items, those used last first.
Items items_of(cache::Store&, cache::Store::Totals&);

/// Returns the backend of a target such as "cpu-avx512+vnni"; null if this machine hasn't got that.
jit::Backend* backend_of(const std::string& target);

/// Return text such as "3 min ago", "12.5 KiB".
std::string ago(uint64_t stamp);
std::string size_text(uint64_t bytes);

}  // namespace lazy::tool
