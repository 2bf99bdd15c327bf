#include "jit/built_in/registry.hpp"

#include <unordered_map>

#include "jit/built_in/list.hpp"
#include "support/error.hpp"
#include "support/lock.hpp"

namespace lazy::jit {
namespace {

using Definitions = std::unordered_map<std::string_view, const CallDefinition*>;

constinit Mutex definitions_lock;

/// Returns the registry; the caller holds the lock. Never destroyed: programs refer to definitions until the
/// process ends.
Definitions& definitions(bool intact) {
  static constinit Definitions* all = nullptr;
  if (all && intact) return *all;
  all = new Definitions;  // a forked child leaks what a thread of its parent was changing
  for (const CallDefinition* d : kBuiltInCalls) all->emplace(d->name, d);
  return *all;
}

}  // namespace

void register_call(const CallDefinition& d) {
  const Hold hold(definitions_lock);
  const auto [at, fresh] = definitions(hold.intact()).emplace(d.name, &d);
  if (!fresh && at->second != &d) throw Error(std::string("two calls are named '") + d.name + "'");
}

const CallDefinition* find_call(std::string_view name) {
  const Hold hold(definitions_lock);
  const Definitions& all = definitions(hold.intact());
  const auto at = all.find(name);
  return at == all.end() ? nullptr : at->second;
}

std::string call_text(std::string_view name, std::string_view attributes) {
  std::string s(name);
  const CallDefinition* const d = find_call(name);
  return d && d->describe ? s + "(" + d->describe(attributes) + ")" : s;
}

}  // namespace lazy::jit
