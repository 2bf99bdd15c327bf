#include "jit/key/key.hpp"

namespace lazy::jit {

Dims KeyValue::axes() const {
  Dims d;
  for (const char c : attributes.substr(0, kMaxRank)) d.push_back(static_cast<uint8_t>(c));
  return d;
}

uint16_t KeyValue::marks() const {
  uint16_t m = 0;
  if (attributes.size() == sizeof m) std::memcpy(&m, attributes.data(), sizeof m);
  return m;
}

bool KeyReader::next(KeyValue& v) {
  if (!ok_ || at_ >= key_.size()) return false;
  const std::span<const uint32_t> left = key_.subspan(at_);
  ok_ = left.size() >= 2 && words_of_value(left[1]) <= left.size();
  if (!ok_) return false;
  v = read_value(left.data());
  ok_ = static_cast<int>(v.op) < kOpCount && static_cast<int>(v.dtype) < kDTypeCount && v.rank <= kMaxRank &&
        form_of(v.op, v.dtype, v.accuracy) == v.accuracy && v.ones >> v.rank == 0;
  if (!ok_) return false;
  at_ += words_of_value(left[1]);
  return true;
}

}  // namespace lazy::jit
