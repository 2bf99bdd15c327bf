#include "jit/ir/rows.hpp"

namespace lazy::jit::loop {

std::string identity(const FusedRows& r) {
  std::string s = "rows";
  const auto number = [&](size_t v) {
    for (int i = 0; i < 4; ++i) s += static_cast<char>(v >> 8 * i & 0xff);
  };
  number(r.inner.size());
  for (const FusedRows::Inner& i : r.inner) {
    s += static_cast<char>(i.dtype);
    s += static_cast<char>(i.whole);
  }
  number(r.members.size());
  for (const FusedRows::Member& m : r.members) {
    const std::string one = identity(m.kernel);
    number(one.size());
    s += one;
    for (int16_t i : m.inner) number(static_cast<uint16_t>(i));
  }
  return s;
}

}  // namespace lazy::jit::loop
