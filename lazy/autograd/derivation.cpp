#include "lazy/autograd/derivation.hpp"

#include <algorithm>
#include <memory>

#include "lazy/autograd/backward.hpp"
#include "lazy/autograd/rules.hpp"
#include "lazy/core/build.hpp"
#include "support/lock.hpp"

namespace lazy::detail {
namespace {

constinit std::atomic<uint64_t> derivations = 0;
constinit SpinLock dying;  // guards what derivations know of their results, which may die on any thread

/// Attaches derivations to what is recorded on tracked values.
class Deriving final : public Observer {
 public:
  void recorded(const Recorded&) override;
  void recorded_call(const RecordedCall&) override;
  void transferred(const Handle& from, const Handle& to, const Site&) override;
  void begins(const char* name, std::span<const Handle* const> operands, const Site&) override;
  void ends(const char* name, const Handle* result, const Derivative*) override;
  void updated(const Handle& from, const Handle& to, const Site&) override;
};

bool any_tracked(std::span<const Handle* const> operands) {
  return gradients_paused == 0 &&
         std::any_of(operands.begin(), operands.end(), [](const Handle* h) { return is_tracked(*h); });
}

void derive(RecordedOp t, std::span<const Handle* const> operands, std::span<const Handle> results) {
  for (const Handle* h : operands) t.operands.push_back(*h);
  (new Derivation(std::move(t)))->attach(results);
}

void Deriving::recorded(const Recorded& r) {
  if (!is_float(r.result->dtype) || !any_tracked(r.operands) || !rule_of(r.op)) return;
  derive({r.op, nullptr, {}, r.attributes, {}, r.site}, r.operands, {&r.result, 1});
}

void Deriving::recorded_call(const RecordedCall& r) {
  if (any_tracked(r.operands)) derive({Op::call, &r.spec, {}, {}, {}, r.site}, r.operands, r.outputs);
}

void Deriving::transferred(const Handle& from, const Handle& to, const Site& s) {
  const Handle* const operand = &from;
  if (any_tracked({&operand, 1})) derive({Op::input, nullptr, {}, {}, {}, s}, {&operand, 1}, {&to, 1});
}

/// Holds a composite that has begun and not ended.
struct Begun {
  const char* name;
  std::vector<Handle> operands;
  Site site;
  uint64_t first;  // number of the first derivation in it
  Begun* outer;
};
thread_local constinit Begun* begun = nullptr;  // the innermost

void Deriving::begins(const char* name, std::span<const Handle* const> operands, const Site& s) {
  begun = new Begun{name, {}, s, derivations_so_far(), begun};
  if (!any_tracked(operands)) return;
  for (const Handle* h : operands) begun->operands.push_back(*h);
}

void Deriving::ends(const char* name, const Handle* result, const Derivative* own) {
  if (!begun || begun->name != name) return;  // began before anything was differentiated
  const std::unique_ptr<Begun> b(begun);
  begun = b->outer;
  if (!result || !own || b->operands.empty() || gradients_paused > 0) return;
  const Derivation* const inner = derivation(*result);
  if (!inner || inner->number < b->first) return;  // not computed by the composite
  auto* const d = new Derivation({Op::call, nullptr, b->operands, {}, {}, b->site});
  d->own = *own;
  d->name = name;
  d->attach({result, 1});
}

void Deriving::updated(const Handle& from, const Handle& to, const Site& s) {
  Leaf* const l = leaf(from);
  if (!l || from.get() == to.get()) return;
  if (gradients_paused == 0)
    fail<Error>(
        "update",
        "the value requires a gradient and would be updated in place: do it in a scope with a no_grad", s);
  jit::attach(*to.get(), l);
}

/// Has the process' observer observe, and sees to it that it does as long as there are leaves.
void begin_deriving() {
  static Deriving* const deriving = [] {
    auto* const d = new Deriving;
    observe_all(*d);
    return d;
  }();
  (void)deriving;
  add_reason();
}

}  // namespace

thread_local constinit int gradients_paused = 0;

uint64_t derivations_so_far() { return derivations.load(std::memory_order_relaxed); }

Leaf::Leaf() : Tracked(true) { begin_deriving(); }
Leaf::~Leaf() { drop_reason(); }

Leaf* make_leaf(const Handle& h) {
  Leaf* const l = new Leaf;
  jit::attach(*h.get(), l);
  return l;
}

Derivation::Derivation(RecordedOp t)
    : Tracked(false), recorded(std::move(t)), number(derivations.fetch_add(1, std::memory_order_relaxed)) {}

void Derivation::attach(std::span<const Handle> results) {
  const bool several = std::count_if(results.begin(), results.end(),
                                     [](const Handle& r) { return r && is_float(r->dtype); }) > 1;
  for (const Handle& r : results) {
    const bool carries = r && is_float(r->dtype);
    // An output of a call that its user dropped may still be read by the rule.
    results_.push_back({carries ? r.get() : nullptr, !carries  ? r
                                                     : several ? separate(r, recorded.site)
                                                               : Handle()});
  }
  add_reference();
  for (const Handle& r : results)
    if (r && is_float(r->dtype)) jit::attach(*r.get(), this);
  release();
}

void Derivation::left(jit::Node& n) noexcept {
  dying.lock();
  for (Result& r : results_)
    if (r.node == &n) r.node = nullptr;
  dying.unlock();
}

std::vector<Handle> Derivation::results() {
  std::vector<Handle> all;
  for (Result& r : results_) {
    dying.lock();
    Handle h = r.node ? jit::handle_if_alive(r.node) : Handle();
    dying.unlock();
    if (!h && r.kept && is_float(r.kept->dtype) && gradients_paused == 0) {
      // A rule's gradient by it is the one by the result that is gone.
      h = separate(r.kept, recorded.site);
      jit::attach(*h.get(), this);
      dying.lock();
      r.node = h.get();
      dying.unlock();
    }
    all.push_back(h ? std::move(h) : r.kept);
  }
  return all;
}

void Derivation::spend() noexcept {
  spent = true;
  recorded.operands.clear();
  own = nullptr;
  for (Result& r : results_) r.kept = {};
}

namespace {
/// Returns attributes of a permutation that leaves the axes where they are: a view, which takes no memory.
jit::Attributes unmoved(int rank) {
  jit::Attributes a;
  for (int axis = 0; axis < rank; ++axis) a.axes.push_back(axis);
  return a;
}
}  // namespace

Handle separate(const Handle& h, const Site& s) {
  const no_grad scope;
  return separate_derived(h, s);
}

Handle separate_derived(const Handle& h, const Site& s) {
  return detail::record(Op::permute, {&h}, h->dtype, h->shape, s, unmoved(h->shape.size()));
}

Handle separate_leaf(const Handle& h, const Site& s) {
  Handle own = separate_derived(h, s);
  if (!is_tracked(own)) make_leaf(own);
  return own;
}

}  // namespace lazy::detail
