// Interns the specs that are made of definitions, and answers questions about calls.
#include <unordered_map>

#include "jit/calls/call.hpp"
#include "jit/core/op.hpp"
#include "jit/graph/node.hpp"
#include "support/error.hpp"
#include "support/lock.hpp"

namespace lazy::jit {
namespace {

using Specs = std::unordered_map<std::string_view, std::unique_ptr<CallSpec>>;  // by identity, which they own

constinit Mutex specs_lock;

/// Returns all specs; the caller holds the lock. Never destroyed: nodes refer to specs until the process
/// ends.
Specs& all_specs(bool intact) {
  static constinit Specs* all = nullptr;
  if (!all || !intact) all = new Specs;  // a forked child leaks what a thread of its parent was changing
  return *all;
}

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
  const Hold hold(specs_lock);
  Specs& specs = all_specs(hold.intact());
  if (const auto at = specs.find(identity); at != specs.end()) return *at->second;
  auto made = std::make_unique<CallSpec>(d, std::move(identity));
  const std::string_view key = made->identity();
  return *specs.emplace(key, std::move(made)).first->second;
}

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

std::string describe(const CallSpec& c) {
  const auto attributes = c.definition().describe;
  return attributes ? std::string(c.name()) + "(" + attributes(c.attributes()) + ")" : c.name();
}

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
