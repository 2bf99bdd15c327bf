#include "lazy/core/advice.hpp"

#include <mutex>
#include <set>
#include <tuple>

#include "support/lock.hpp"
#include "support/log.hpp"

namespace lazy::detail {
namespace {

/// Holds the lines that were told, by function. Past so many no more are.
constexpr size_t kMost = 1000;
struct Told {
  Mutex lock;
  std::set<std::tuple<std::string_view, std::string_view, uint32_t>> lines;  // texts of the program's
};
Told& told() {
  static Told* const all = new Told;
  return *all;
}

}  // namespace

bool is_new_advice(const char* name, const Site& s) {
  if (s.line() == 0) return false;
  Told& all = told();
  const std::scoped_lock hold(all.lock);
  return all.lines.size() < kMost && all.lines.emplace(name, s.file_name(), s.line()).second;
}

void advise(const char* name, const Site& s, const std::string& what) {
  logging::warning(std::string(name) + " at " + to_string(s) + " " + what);
}

void advise_of_widening(const char* name, const Site& s) {
  if (!is_new_advice(name, s)) return;
  advise(name, s,
         "computes in float64, for its input is float64, to which the float32 parameter is converted: give "
         "x.to(float32), or convert the model, to(float64)");
}

}  // namespace lazy::detail
