#include "lazy/io/gzip.hpp"

#include <algorithm>

#include "lazy/io/zlib.hpp"

namespace lazy::detail {

FileBytes unpacked(const FileBytes& f, uint64_t most) {
  if (!f.bytes.starts_with("\x1f\x8b")) return f;
  const auto all = std::make_shared<std::string>();
  all->reserve(std::min<uint64_t>(most, f.bytes.size() * kMostInflation));
  if (!gunzip(f.op, f.bytes, *all, most, f.site)) f.bad(0, "damaged: gzip can't unpack it");
  return {f.op, f.name, f.site, *all, all};
}

}  // namespace lazy::detail
