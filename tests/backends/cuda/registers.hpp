// Compares registers and spills of kernels with tables of earlier ones.
#pragma once
#include <map>
#include <string>

namespace lazy::test {

struct Use {
  int registers = 0, spilled = 0;
};

/// Compares `now`, keyed by kernel, then a tab, then the function's number in its module, with
/// tests/backends/cuda/`table`: a kernel that starts to spill, or takes more than a quarter more registers,
/// fails. LAZY_TEST_REWRITE=1 writes the table anew.
void compare_with_table(const char* table, const std::map<std::string, Use>& now);

}  // namespace lazy::test
