#include "tests/differential/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace lazy::test {
namespace {

size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
constexpr int kPattern = 0xa5;
/// Larger mappings stay as the system gives them, zero and mostly untouched.
constexpr size_t kSparse = size_t{64} << 20;

}  // namespace

Guarded::Guarded(size_t bytes, bool at_end, size_t shift) {
  const size_t body = (bytes + shift + page()) / page() * page();
  mapped_ = body + 2 * page();
  void* p = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::runtime_error("mmap of " + std::to_string(mapped_) + " bytes failed");
  map_ = static_cast<char*>(p);
  if (mprotect(map_ + page(), body, PROT_READ | PROT_WRITE)) throw std::runtime_error("mprotect failed");
  data_ = at_end ? map_ + page() + body - bytes - shift : map_ + page() + shift;
  if (body < kSparse) std::memset(map_ + page(), kPattern, body);
}

Guarded::~Guarded() {
  if (map_) munmap(map_, mapped_);
}

const char* Guarded::begin() const { return map_ + page(); }
const char* Guarded::end() const { return map_ + mapped_ - page(); }
void Guarded::make_read_only() const { mprotect(map_ + page(), mapped_ - 2 * page(), PROT_READ); }

int64_t extent_in_memory(const Case& c, size_t operand, int axis) {
  const auto a = static_cast<size_t>(axis);
  if (c.plans[operand].indexed == axis) return std::max<int64_t>(1, c.extents[a]);
  return c.kernel.operands[operand].stride[axis] == jit::loop::Stride::zero ? 1 : c.extents[a];
}

Span span_of(const Case& c, int operand) {
  Span s{0, static_cast<int64_t>(size_of(c.kernel.operands[operand].dtype))};
  for (int a = 0; a < c.kernel.rank; ++a) {
    const int64_t extent = extent_in_memory(c, static_cast<size_t>(operand), a);
    if (extent == 0) return {};
    if (extent == 1) continue;
    const int64_t reach = (extent - 1) * c.plans[operand].strides[a];
    (reach < 0 ? s.low : s.high) += reach;
  }
  return s;
}

}  // namespace lazy::test
