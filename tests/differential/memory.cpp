#include "tests/differential/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

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

Span span_of(const Case& c, int operand) {
  const auto& o = c.kernel.operands[operand];
  Span s{0, static_cast<int64_t>(size_of(o.dtype))};
  for (int a = 0; a < c.kernel.rank; ++a) {
    if (o.stride[a] == jit::loop::Stride::zero) continue;
    if (c.extents[a] == 0) return {};
    const int64_t reach = (c.extents[a] - 1) * c.plans[operand].strides[a];
    (reach < 0 ? s.low : s.high) += reach;
  }
  return s;
}

}  // namespace lazy::test
