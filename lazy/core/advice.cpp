#include "lazy/core/advice.hpp"

#include <set>
#include <string_view>
#include <tuple>

#include "support/lock.hpp"
#include "support/log.hpp"

namespace lazy::detail {
namespace {

/// Holds the lines that were told, by function. Past so many no more are.
constexpr size_t kMost = 1000;
constinit Mutex mutex;
using Lines = std::set<std::tuple<std::string_view, std::string_view, uint32_t>>;  // texts of the program's
constinit Lines* all_lines = nullptr;  // never destroyed: tensors may outlive static destruction
Lines& lines(const Hold<Mutex>& hold) {
  if (!all_lines || !hold.intact()) all_lines = new Lines;
  return *all_lines;
}

}  // namespace

bool is_new_advice(const char* name, const Site& s) {
  if (s.line() == 0) return false;
  const Hold hold(mutex);
  Lines& told = lines(hold);
  return told.size() < kMost && told.emplace(name, s.file_name(), s.line()).second;
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
