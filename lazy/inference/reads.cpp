#include "lazy/inference/reads.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "jit/graph/capturing.hpp"
#include "lazy/autograd/addresses.hpp"
#include "support/error.hpp"

namespace lazy::detail {
namespace {

[[noreturn]] void unknown(const jit::Node& n, const Site& site) {
  throw Error("replay: the function reads a tensor (" + std::string(name_of(n.dtype)) + ' ' +
                  lazy::to_string(n.shape) +
                  ") that is neither an argument nor a parameter nor captured by value: name the variable or "
                  "module behind the function, so that each call sees what it is then",
              site);
}

/// True if the parameter has the value. Another thread may be updating the parameter, which is not the one
/// that is sought then.
[[gnu::no_sanitize("thread")]] bool has(const Parameter& p, const jit::Node* n) {
  return p.handle().get() == n;
}

/// Returns the parameter whose handle this is, null if it is none's.
Parameter* parameter_of(const Handle& h) {
  const Parameter none;
  const auto before = reinterpret_cast<const char*>(&none.handle()) - reinterpret_cast<const char*>(&none);
  const auto found = parameter_addresses().within(reinterpret_cast<const char*>(&h) - before, 1);
  return found.empty() ? nullptr : static_cast<Parameter*>(const_cast<void*>(found[0]));
}

}  // namespace

ReplayReads::ReplayReads(const Replayer::Names& names, std::span<const Handle> arguments) : names_(names) {
  for (const Tensor* t : names.variables) named_.push_back(&t->handle());
  for (nn::Module* m : names.modules) add_members(*m);
  for (const Handle& h : arguments) {
    if (h) views[h.get()] = static_cast<uint32_t>(bases.size());
    bases.push_back(h);
  }
  first_ = bases.size();
}

void ReplayReads::recorded(const Recorded& r) {
  for (const Handle* h : r.operands) read(*h, r.site);
  const jit::Node* const n = r.result.get();
  if (n->ready() && !r.operands.empty())
    if (const auto base = views.find(r.operands[0]->get()); base != views.end() && !views.contains(n))
      views[n] = base->second;
  note(r.result);
}
void ReplayReads::recorded_call(const RecordedCall& c) {
  for (const Handle* h : c.operands) read(*h, c.site);
  for (const Handle& h : c.outputs) note(h);
}
void ReplayReads::transferred(const Handle& from, const Handle& to, const Site& s) {
  read(from, s);
  note(to);
}

void ReplayReads::check_outlived(std::span<const Handle> outputs) {
  for (const jit::Node* n : noted_) {
    if (n->handles() == 0 ||
        std::any_of(outputs.begin(), outputs.end(), [&](const Handle& h) { return h.get() == n; }))
      continue;
    throw Error(
        "replay: the value of " + std::string(name_of(n->op)) +
            ", recorded here, is held by something else than what the function returns: a replay would "
            "not renew it",
        n->site);
  }
  let_go();
}

std::vector<DoubtfulRead> ReplayReads::doubtful() const {
  std::vector<DoubtfulRead> all;
  for (const auto& [v, n] : read_elsewhere_) {
    size_t known = holders(n).size();
    for (const Handle& h : bases) known += h.get() == n;
    for (const auto& f : fixed) known += f.second.get() == n;
    if (n->handles() > known) all.push_back({v, *v.handle(), 0});
  }
  return all;
}

/// Keeps what was recorded until the function is over: no other value gets its address. A reference is no
/// handle, so nothing is stored for that.
void ReplayReads::note(const Handle& h) {
  jit::Node* const n = h.get();
  if (!views.contains(n)) known_.insert(n);
  noted_.push_back(n);
  jit::add_reference(n);
}

void ReplayReads::let_go() noexcept {
  while (!noted_.empty()) {
    jit::drop_reference(noted_.back());
    noted_.pop_back();
  }
}

void ReplayReads::read(const Handle& h, const Site& site) {
  const jit::Node* const n = h.get();
  if (known_.contains(n)) return;
  const auto base = views.find(n);
  const bool seen = base != views.end();
  if (seen && (base->second < first_ || bases[base->second].get() != n)) return;  // a view, or an argument
  if (is_made(n, site)) return;
  ReplayVariable v;
  if (!find(h, v)) {
    if (seen || is_fixed(n)) return;
    const std::vector<ReplayVariable> all = holders(n);
    if (all.empty()) unknown(*n, site);
    v = all.front();
    read_elsewhere_.emplace_back(v, n);
  }
  const auto is = [&](const ReplayVariable& x) { return x.handle() == v.handle(); };
  if (jit::is_source(n->op)) {
    if (std::none_of(fixed.begin(), fixed.end(), [&](const auto& f) { return is(f.first); }))
      fixed.emplace_back(v, h);
    return;
  }
  if (std::any_of(variables.begin(), variables.end(), is)) return;
  const auto index = static_cast<uint32_t>(bases.size());
  if (seen) same.emplace_back(base->second, index);
  else views[n] = index;
  variables.push_back(v);
  bases.push_back(h);
  if (!n->ready()) pending.push_back(h);
}

/// True for a value that the function made of numbers. Throws Error if it lies in memory of the user's.
bool ReplayReads::is_made(const jit::Node* n, const Site& site) const {
  for (const Handle& made : jit::Capturing::current()->made) {
    if (made.get() != n) continue;
    if (n->buffer && n->buffer->borrowed())
      throw Error("replay: the function makes a tensor of memory of its own, which a replay would read again",
                  site);
    return true;
  }
  return false;
}

bool ReplayReads::is_fixed(const jit::Node* n) const {
  return std::any_of(fixed.begin(), fixed.end(), [&](const auto& f) { return f.second.get() == n; });
}

/// Finds the variable whose handle this is.
bool ReplayReads::find(const Handle& h, ReplayVariable& v) const {
  if (Parameter* const p = parameter_of(h)) {
    v.parameter = p->ref();
    return true;
  }
  const auto at = reinterpret_cast<uintptr_t>(&h), begin = reinterpret_cast<uintptr_t>(names_.begin);
  if (std::find(named_.begin(), named_.end(), &h) == named_.end() &&
      (at < begin || at >= begin + names_.bytes))
    return false;
  v.at = &h;
  return true;
}

/// Returns the variables that the function may have read this value from: those that are named, lie in the
/// function, or are parameters.
std::vector<ReplayVariable> ReplayReads::holders(const jit::Node* n) const {
  std::vector<const Handle*> found;
  const auto add = [&](const Handle* h) {
    if (std::find(found.begin(), found.end(), h) == found.end()) found.push_back(h);
  };
  for (const Handle* h : named_)
    if (h->get() == n) add(h);
  // A handle is a pointer to its node.
  static_assert(sizeof(Handle) == sizeof n);
  for (size_t at = 0; at + sizeof n <= names_.bytes; at += alignof(Handle)) {
    const jit::Node* word = nullptr;
    const char* const here = static_cast<const char*>(names_.begin) + at;
    std::memcpy(&word, here, sizeof word);
    if (word == n) add(reinterpret_cast<const Handle*>(here));
  }
  parameter_addresses().for_each([&](const void* p) {
    if (const auto& one = *static_cast<const Parameter*>(p); has(one, n)) add(&one.handle());
  });
  std::vector<ReplayVariable> all;
  for (const Handle* h : found) {
    Parameter* const p = parameter_of(*h);
    all.push_back(p ? ReplayVariable{nullptr, p->ref()} : ReplayVariable{h, {}});
  }
  return all;
}

void ReplayReads::add_members(nn::Module& m) {
  struct Members final : nn::Visitor {
    std::vector<const Handle*>* named = nullptr;

   protected:
    void buffer(const std::string&, Tensor& t) override { named->push_back(&t.handle()); }
    void parameter(const std::string&, Parameter& p) override { named->push_back(&p.handle()); }
  } members;
  members.named = &named_;
  members.visit(m);
}

}  // namespace lazy::detail
