#include <limits>

#include "lazy/core/build.hpp"
#include "lazy/core/promotion.hpp"
#include "lazy/core/scalar.hpp"

namespace lazy {

FInfo finfo(DType t, Site s) {
  t = plane_type(t);
  if (!is_float(t))
    detail::fail<DtypeError>("finfo", std::string(name_of(t)) + " is not a floating-point dtype", s);
  return detail::with_type(t, [&](auto tag) {
    using L = std::numeric_limits<decltype(tag)>;
    return FInfo{t,
                 static_cast<int>(size_of(t) * 8),
                 static_cast<double>(L::epsilon()),
                 static_cast<double>(L::max()),
                 static_cast<double>(L::lowest()),
                 static_cast<double>(L::min())};
  });
}
FInfo finfo(const Tensor& x, Site s) { return finfo(detail::Operand("finfo", Arg(x, s))->dtype, s); }

IInfo iinfo(DType t, Site s) {
  if (!is_int(t)) detail::fail<DtypeError>("iinfo", std::string(name_of(t)) + " is not an integer dtype", s);
  return detail::with_type(t, [&](auto tag) {
    using L = std::numeric_limits<decltype(tag)>;
    return IInfo{t, static_cast<int>(size_of(t) * 8), static_cast<uint64_t>(L::max()),
                 static_cast<int64_t>(L::lowest())};
  });
}
IInfo iinfo(const Tensor& x, Site s) { return iinfo(detail::Operand("iinfo", Arg(x, s))->dtype, s); }

}  // namespace lazy
