// Observes what rows record when they are tried, and maps names of other libraries to them.
#pragma once
#include "tests/oracle/table.hpp"

namespace oracle {

/// Says what became of a row's sample.
struct Tried {
  std::vector<DType> dtypes;  // that the function takes
  std::string kind;  // "primitive", "view", "cast", "source", "operand", "composite", "call" or "intention"
  std::vector<std::string>
      ops;  // recorded with float32, or the first dtype that is taken; no views, constants, casts
  std::vector<std::string> calls;  // likewise
  std::string backends;
  bool reads = false;  // true if it needed values while it recorded
  std::string wrong;   // what a sample says that fails with an error other than DtypeError
};
Tried try_sample(const Row&);

/// Holds one line of aten.tsv or array_api.tsv.
struct Mapped {
  std::string set, op, state;      // state: "has", "expression", "none" or "artefact" (of strides or storage)
  std::vector<std::string> names;  // of rows' functions
  std::string note;
};
std::vector<Mapped> read_map(const std::string& file);

/// Prints what the maps claim wrongly, and where they fall short of what is required. Returns how many.
int print_map_faults(const std::string& folder);

}  // namespace oracle
