#include "support/first_time.hpp"

#include <set>
#include <tuple>

#include "support/lock.hpp"

namespace lazy {
namespace {

constexpr size_t kMostSaid = 1000;
constinit Mutex said_lock;
using Said = std::set<std::tuple<std::string_view, std::string_view, uint32_t>>;  // texts of the program's
constinit Said* all_said = nullptr;  // never destroyed: tensors may outlive static destruction

}  // namespace

bool is_first_time(const char* name, const Site& s) {
  if (s.line() == 0) return false;
  const Hold hold(said_lock);
  if (!all_said || !hold.intact()) all_said = new Said;
  return all_said->size() < kMostSaid && all_said->emplace(name, s.file_name(), s.line()).second;
}

}  // namespace lazy
