// Runs under GDB. gdb_target crash: a kernel reads memory that may not be read. gdb_target steps: kernels
// that a debugger can walk through.
#include <sys/mman.h>

#include <lazy/lazy.hpp>
#include <string>
#include <vector>

using namespace lazy;

namespace {

void crash() {
  void* const closed = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const Tensor x = from_blob(static_cast<float*>(closed), {1024});
  (x * 2.0f + 1.0f).eval();  // the line that the backtrace names
}

void walk() {
  const Tensor x = from_span<float>(std::vector<float>(21, 0.5f), {3, 7});
  pow(x, x + 1).eval();
  sum(x, {1}).eval();
  matmul(x, transpose(x)).eval();
}

}  // namespace

int main(int, char** argv) {
  if (argv[1] == std::string("crash")) crash();
  else walk();
}
