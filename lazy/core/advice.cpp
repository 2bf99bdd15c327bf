#include "lazy/core/advice.hpp"

#include "support/first_time.hpp"
#include "support/log.hpp"
#include "support/log_fields.hpp"

namespace lazy::detail {

void advise(const char* name, const Site& s, const std::string& what) {
  logging::hint(std::string(name) + " at " + to_string(s) + " " + what,
                logging::Fields().at(s).add("hint", name));
}

void advise_of_widening(const char* name, const Site& s) {
  if (!is_first_time(name, s)) return;
  advise(name, s,
         "computes in float64, for its input is float64, to which the float32 parameter is converted: give "
         "x.to(float32), or convert the model, to(float64)");
}

}  // namespace lazy::detail
