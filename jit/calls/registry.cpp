// Registers the definitions by name, and interns the specs made of them.
#include <unordered_map>

#include "jit/calls/built_in.hpp"
#include "jit/calls/call.hpp"
#include "jit/core/op.hpp"
#include "jit/graph/node.hpp"
#include "support/error.hpp"
#include "support/lock.hpp"

namespace lazy::jit {
namespace {

struct Known {
  std::unordered_map<std::string_view, const CallDefinition*> definitions;
  std::unordered_map<std::string_view, std::unique_ptr<CallSpec>> specs;  // by identity, which they own
};

constinit Mutex known_lock;

/// Returns the registry; the caller holds the lock. Never destroyed: nodes refer to specs until the process
/// ends.
Known& known(bool intact) {
  static constinit Known* all = nullptr;
  if (all && intact) return *all;
  all = new Known;  // a forked child leaks what a thread of its parent was changing
  for (const CallDefinition* d : kBuiltInCalls) all->definitions.emplace(d->name, d);
  return *all;
}

}  // namespace

void register_call(const CallDefinition& d) {
  const Hold hold(known_lock);
  const auto [at, fresh] = known(hold.intact()).definitions.emplace(d.name, &d);
  if (!fresh && at->second != &d) throw Error(std::string("two calls are named '") + d.name + "'");
}

const CallDefinition* find_call(std::string_view name) {
  const Hold hold(known_lock);
  const auto& all = known(hold.intact()).definitions;
  const auto at = all.find(name);
  return at == all.end() ? nullptr : at->second;
}

namespace {

/// Caches the specs that a thread made last, so that recording takes no lock.
struct Recent {
  const CallDefinition* definition = nullptr;
  const CallSpec* spec = nullptr;
};
constexpr size_t kRecent = 8;
constinit thread_local Recent recent[kRecent];

const CallSpec& intern_anew(const CallDefinition& d, std::string_view attributes) {
  std::string identity = std::string(d.name) + '\0' + std::string(attributes);
  if (identity.size() > kMostAttributeBytes)
    throw Error(std::string(d.name) + ": " + std::to_string(attributes.size()) +
                " bytes of attributes are more than a key takes");
  const Hold hold(known_lock);
  auto& specs = known(hold.intact()).specs;
  if (const auto at = specs.find(identity); at != specs.end()) return *at->second;
  auto made = std::make_unique<CallSpec>(d, std::move(identity));
  const std::string_view key = made->identity();
  return *specs.emplace(key, std::move(made)).first->second;
}

}  // namespace

namespace {

/// Returns a hash of attributes, which are few words.
size_t hash_of(std::string_view attributes) {
  uint64_t hash = attributes.size(), word = 0;
  for (; attributes.size() >= sizeof word; attributes.remove_prefix(sizeof word)) {
    std::memcpy(&word, attributes.data(), sizeof word);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  }
  word = 0;
  if (!attributes.empty()) std::memcpy(&word, attributes.data(), attributes.size());
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  return hash >> 32;
}

}  // namespace

const CallSpec& intern_call(const CallDefinition& d, std::string_view attributes) {
  Recent& r = recent[(hash_of(attributes) + reinterpret_cast<uintptr_t>(&d) / sizeof(d)) % kRecent];
  if (r.definition != &d || r.spec->attributes() != attributes) r = {&d, &intern_anew(d, attributes)};
  return *r.spec;
}

std::string call_text(std::string_view name, std::string_view attributes) {
  std::string s(name);
  const CallDefinition* const d = find_call(name);
  return d && d->describe ? s + "(" + d->describe(attributes) + ")" : s;
}

std::string describe(const CallSpec& c) { return call_text(c.name(), c.attributes()); }

std::vector<CallOutput> infer_outputs(const CallSpec& c, std::span<const Meta> operands) {
  return c.definition().infer(c, operands);
}

bool is_run_once(const Node& call) { return call.call && call.call->definition().runs_once(); }
bool may_pass(const Node& call) {
  return is_run_once(call) && call.call->definition().has(call_trait::kMayPass);
}

CallOutput CallOutput::like(int operand, const Meta& of, DType dtype) {
  CallOutput o{{dtype, of.shape}, {}};
  for (int i = 0; i < of.shape.size(); ++i)
    o.tied[static_cast<size_t>(i)] = {static_cast<int16_t>(operand), static_cast<int8_t>(i)};
  return o;
}

}  // namespace lazy::jit
