#include "lazy/autograd/derivation.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "jit/calls/call.hpp"
#include "lazy/autograd/backward.hpp"
#include "lazy/autograd/rules.hpp"
#include "lazy/core/build.hpp"
#include "support/config.hpp"
#include "support/first_time.hpp"
#include "support/lock.hpp"
#include "support/log.hpp"
#include "support/log_fields.hpp"

namespace lazy::detail {
namespace {

constinit std::atomic<uint64_t> derivations = 0;
constinit SpinLock dying;   // guards what derivations know of their results, which may die on any thread
constinit SpinLock adding;  // guards the gradients of leaves

/// Attaches derivations to what is recorded on tracked values.
class Deriving final : public Observer {
 public:
  void recorded(const Recorded&) override;
  void recorded_call(const RecordedCall&) override;
  void transferred(const Handle& from, const Handle& to, const Site&) override;
  void begins(const char* name, std::span<const Handle* const> operands, const Site&) override;
  void ends(const char* name, const Handle* result, const Derivative*) override;
  void updated(const Handle& from, const Handle& to, const Site&) override;
  bool wants_ops(const jit::CallSpec&, std::span<const Handle* const> operands) override;
};

bool any_tracked(std::span<const Handle* const> operands) {
  return gradients_paused == 0 &&
         std::any_of(operands.begin(), operands.end(), [](const Handle* h) { return is_tracked(*h); });
}

/// Throws Error if a value was computed in inference_mode: how is not known, and a gradient goes through its
/// neighbour.
void check_derived(const char* name, std::span<const Handle* const> operands, const Site& s) {
  for (const Handle* h : operands)
    if ((*h)->underived && is_float((*h)->dtype) && !is_tracked(*h))
      fail<Error>(name,
                  "a gradient goes through, and the value made at " + lazy::to_string((*h)->site) +
                      " was computed in inference_mode: compute it outside, or use its clone()",
                  s);
}

void derive(RecordedOp&& t, std::span<const Handle* const> operands, std::span<const Handle> results) {
  for (const Handle* h : operands) t.operands.push_back(*h);
  Derivation::attach(std::move(t), results);
}

void Deriving::recorded(const Recorded& r) {
  if (kind_of(r.op) == jit::OpKind::view && (*r.operands[0])->underived) r.result->underived = true;
  if (!is_float(r.result->dtype) || !any_tracked(r.operands) || !rule_of(r.op)) return;
  check_derived(jit::name_of(r.op), r.operands, r.site);
  derive({r.op, {}, r.attributes, r.site}, r.operands, {&r.result, 1});
}

void Deriving::recorded_call(const RecordedCall& r) {
  if (!any_tracked(r.operands)) return;
  check_derived(r.spec.name(), r.operands, r.site);
  derive({&r.spec, {}, {}, r.site}, r.operands, r.outputs);
}

bool Deriving::wants_ops(const jit::CallSpec& spec, std::span<const Handle* const> operands) {
  const jit::CallDefinition& d = spec.definition();
  return d.expand && !d.vjp && !rule_of_call(d) && any_tracked(operands);
}

void Deriving::transferred(const Handle& from, const Handle& to, const Site& s) {
  const Handle* const operand = &from;
  if (any_tracked({&operand, 1})) derive({Transfer(), {}, {}, s}, {&operand, 1}, {&to, 1});
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
  Derivation::attach({NamedComposite{name, *own}, std::move(b->operands), {}, b->site}, {result, 1});
}

void Deriving::updated(const Handle& from, const Handle& to, const Site& s) {
  Leaf* const l = leaf(from);
  if (!l || !l->variable || from.get() == to.get()) return;
  if (gradients_paused == 0)
    fail<Error>(
        "update",
        "the value requires a gradient and would be updated in place: do it in a scope with a no_grad", s);
  l->attach(to);
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

Leaf::Leaf(bool of_variable) : Tracked(true), variable(of_variable) { begin_deriving(); }
Leaf::~Leaf() {
  if (pair_) {
    const Hold hold(dying);
    for (Leaf*& l : pair_->leaves)
      if (l == this) l = nullptr;
  }
  drop_reason();
}

void Leaf::attach(const Handle& h) noexcept {
  jit::attach(*h.get(), this);
  const Hold hold(dying);
  latest_ = h.get();
}

void Leaf::left(jit::Node& n) noexcept {
  const Hold hold(dying);
  if (latest_ == &n) latest_ = nullptr;
}

PairHooks& Leaf::pair_of(Leaf& re, Leaf& im) {
  if (!re.pair_ || re.pair_ != im.pair_) {
    re.pair_ = im.pair_ = std::make_shared<PairHooks>();
    re.pair_->leaves[0] = &re, re.pair_->leaves[1] = &im;
  }
  return *re.pair_;
}

Handle Leaf::latest_of(const PairHooks& pair, int plane) noexcept {
  const Hold hold(dying);
  const Leaf* const l = pair.leaves[plane];
  return l && l->latest_ ? jit::handle_if_alive(l->latest_) : Handle();
}

Handle Leaf::gradient() const noexcept {
  const Hold hold(adding);
  return gradient_;
}

void Leaf::set_gradient(Handle h) noexcept {
  {
    const Hold hold(adding);
    std::swap(gradient_, h);
    additions_ = 0;
  }
  // What was there dies without the lock.
}

uint32_t Leaf::additions() const noexcept {
  const Hold hold(adding);
  return additions_;
}

Leaf::Added Leaf::add_gradient(Handle more, const Site& s) {
  for (;;) {
    Added a{gradient(), {}};
    a.sum = a.before ? binary("gradient", Op::add, a.before, more, s) : more;
    Handle next = a.sum;
    const Hold hold(adding);
    if (gradient_.get() != a.before.get()) continue;
    std::swap(gradient_, next);  // leaves what `before` holds
    ++additions_;
    return a;
  }
}

void Leaf::take_back(Added a) noexcept {
  const Hold hold(adding);
  if (gradient_.get() == a.sum.get()) std::swap(gradient_, a.before);
}

Leaf* make_leaf(const Handle& h, bool variable) {
  h->underived = false;
  Leaf* const l = new Leaf(variable);
  l->attach(h);
  return l;
}

namespace {

/// Returns the sum that this op of one line adds to; null if it does not go on with one.
const Derivation* total_before(const RecordedOp& t) {
  if (const Op* const op = std::get_if<Op>(&t.what); !op || *op != Op::add) return nullptr;
  for (const Handle& h : t.operands)
    if (const Derivation* const d = derivation(h); d && numel(h->shape) == 1)
      if (const Op* const op = std::get_if<Op>(&d->recorded.what);
          op && *op == Op::add && std::memcmp(&d->recorded.site, &t.site, sizeof(Site)) == 0)
        return d;
  return nullptr;
}

/// Says that a total of so many losses died without having been differentiated.
void tell_of_total(uint32_t parts, const Site& s) noexcept {
  try {
    if (config::get().hints == config::Hints::off || !is_first_time("total", s)) return;
    logging::hint("the total at " + lazy::to_string(s) + " kept how each of its " + std::to_string(parts) +
                      " parts was computed, with the values for its gradient, and was never differentiated: "
                      "add up detach()ed values, or compute them in a scope with a no_grad",
                  logging::Fields().at(s).add("hint", "total"));
  } catch (...) {}  // no memory for advice
}

}  // namespace

Derivation::Derivation(RecordedOp&& t)
    : Tracked(false),
      number(derivations.fetch_add(1, std::memory_order_relaxed)),
      recorded(std::move(t)),
      parts_of_total_([&] {
        const Derivation* const before = total_before(recorded);
        return before ? std::max(before->parts_of_total_, 1u) + 1 : 0;
      }()) {}

Derivation::~Derivation() {
  constexpr uint32_t kMany = 64;
  if (parts_of_total_ >= kMany && !(state_.load(std::memory_order_relaxed) & (kSpent | kVisited)))
    tell_of_total(parts_of_total_, recorded.site);
}

Derivation* Derivation::attach(RecordedOp&& t, std::span<const Handle> results) {
  auto* const d = new Derivation(std::move(t));
  struct Release {
    Derivation& d;
    ~Release() { d.release(); }
  } release{*d};
  d->add_reference();
  const bool several = std::count_if(results.begin(), results.end(),
                                     [](const Handle& r) { return r && is_float(r->dtype); }) > 1;
  for (const Handle& r : results) {
    const bool carries = r && is_float(r->dtype);
    // An output of a call that its user dropped may still be read by the rule.
    d->results_.push_back({carries ? r.get() : nullptr, !carries  ? r
                                                        : several ? separate(r, d->recorded.site)
                                                                  : Handle()});
  }
  for (const Handle& r : results)
    if (r && is_float(r->dtype)) jit::attach(*r.get(), d);
  return d;
}

void Derivation::left(jit::Node& n) noexcept {
  dying.lock();
  for (Result& r : results_)
    if (r.node == &n) r.node = nullptr;
  dying.unlock();
}

void Derivation::add_hook(const Handle& result, Hook hook) {
  size_t number = 0;
  if (!std::holds_alternative<Pairing>(recorded.what))
    while (number < results_.size() && results_[number].node != result.get()) ++number;
  hooks.push_back({number, std::move(hook)});
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

bool Derivation::pin() noexcept {
  add_reference();
  state_.fetch_or(kVisited, std::memory_order_relaxed);
  if (!(state_.fetch_add(1, std::memory_order_acquire) & kSpent)) return true;
  unpin();
  return false;
}

void Derivation::unpin() noexcept {
  if ((state_.fetch_sub(1, std::memory_order_acq_rel) & ~(kGivenUp | kVisited)) == (kSpent | 1)) give_up();
  release();
}

void Derivation::spend() noexcept {
  if ((state_.fetch_or(kSpent, std::memory_order_acq_rel) & ~kVisited) == 0) give_up();
}

void Derivation::give_up() noexcept {
  if (state_.fetch_or(kGivenUp, std::memory_order_acq_rel) & kGivenUp) return;
  recorded.operands.clear();
  if (auto* const c = std::get_if<NamedComposite>(&recorded.what)) c->own = nullptr;
  for (Result& r : results_) r.kept = {};
}

Handle separate(const Handle& h, const Site& s) {
  const no_grad scope;
  Handle own = alias_of(h, s);
  own->underived = inferring;
  return own;
}

Handle separate_leaf(const Handle& h, const Site& s) {
  Handle own = alias_of(h, s);
  if (!is_tracked(own)) make_leaf(own, false);
  return own;
}

}  // namespace lazy::detail
