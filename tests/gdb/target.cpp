// Runs under GDB. gdb_target crash: a kernel reads memory that may not be read. gdb_target steps: kernels
// that a debugger can walk through. gdb_target print: tensors in each state.
#include <sys/mman.h>

#include <cstdio>
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

[[gnu::noinline]] void stop_here() { asm volatile(""); }

void print() {
  const Tensor ready = (from_span<float>(std::vector<float>{1, 2.5, -3, 4, 5, 6}, {2, 3}) + 1).eval();
  const Tensor strided = ready.T();
  const Tensor halves = from_span(std::vector<bfloat16_t>{bfloat16_t(0.5f), bfloat16_t(-2.0f)});
  const Tensor many = from_span<int64_t>(std::vector<int64_t>(100, -7));
  const Tensor flags = tensor({true, false});
  const Tensor none = from_span<double>(std::vector<double>(), {0, 4});
  const Tensor pending = tanh(ready * 2);  // the line that is printed
  const Tensor empty;
  const uint64_t before = metrics().flushes;
  stop_here();
  std::printf("flushes while printing: %d\n", static_cast<int>(metrics().flushes - before));
  std::printf("%g\n", pending.to_vector<double>()[0] +
                          static_cast<double>(strided.size() + halves.size() + many.size()) +
                          static_cast<double>(flags.size() + none.size()) +
                          static_cast<double>(empty.defined()));
}

}  // namespace

int main(int, char** argv) {
  if (argv[1] == std::string("crash")) crash();
  else if (argv[1] == std::string("print")) print();
  else walk();
}
