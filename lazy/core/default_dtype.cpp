#include "lazy/core/build.hpp"
#include "support/config.hpp"

namespace lazy {

DType get_default_dtype() {
  return config::get().default_dtype == config::DefaultDType::float64 ? float64 : float32;
}

void set_default_dtype(DType t, Site s) {
  if (t != float32 && t != float64)
    detail::fail<DtypeError>("set_default_dtype", std::string("takes float32 or float64, not ") + name_of(t),
                             s);
  config::set("LAZY_DEFAULT_DTYPE", name_of(t));
}

}  // namespace lazy
