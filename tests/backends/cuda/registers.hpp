// Registers and spills of kernels, against tables of what they were.
#pragma once
#include <map>
#include <string>

namespace lazy::test {

struct Use {
  int registers = 0, spilled = 0;
};

/// `now`, by kernel, then a tab, then the function's number in its module, against
/// tests/backends/cuda/`table`: a kernel that starts to spill, or takes more than a quarter more registers,
/// fails. LAZY_TEST_REWRITE=1 writes the table anew.
void compare_with_table(const char* table, const std::map<std::string, Use>& now);

}  // namespace lazy::test
