#include "lazy/inference/replay.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "jit/calls/call.hpp"
#include "jit/flush/recording.hpp"
#include "jit/graph/accuracy.hpp"
#include "jit/graph/capturing.hpp"
#include "lazy/autograd/addresses.hpp"
#include "lazy/autograd/backward.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/device.hpp"
#include "lazy/core/element.hpp"
#include "lazy/core/record.hpp"
#include "support/config.hpp"
#include "support/lock.hpp"

namespace lazy::detail {
namespace {

/// Holds all that recording depends on besides the function and its inputs.
struct Settings {
  uint32_t flags = 0;
  jit::Accuracy accuracy{};
  DType dtype{};
  Device device{};
  uint64_t modes = 0;
  friend bool operator==(const Settings&, const Settings&) = default;

  static Settings now(const Site& s) {
    const auto& c = config::get();
    return {static_cast<uint32_t>(c.exact_casts.get()) | static_cast<uint32_t>(c.fp_contract.get()) << 1 |
                static_cast<uint32_t>(c.dynamic.get()) << 2,
            jit::AccuracyScope::current(), get_default_dtype(), default_device(s),
            nn::Module::mode_changes()};
  }
};

/// Holds what a program may rely on of an input.
struct Numbers {
  bool defined = false, contiguous = true;
  DType dtype{};
  Device device{};
  int8_t contiguous_axis = 0;
  uint16_t marks = 0;
  Shape shape;
  Dims strides;

  explicit Numbers(const jit::Node* n) : defined(n != nullptr) {
    if (!n) return;
    contiguous = n->contiguous;
    dtype = n->dtype;
    device = n->device;
    contiguous_axis = n->contiguous_axis;
    marks = n->marks.load(std::memory_order_relaxed);
    shape = n->shape;
    if (!contiguous) strides = n->strides;
  }
  bool fit(const jit::Node* n) const {
    if (!n || !defined) return !n && !defined;
    if (n->dtype != dtype || n->contiguous != contiguous || n->device != device || !(n->shape == shape) ||
        n->contiguous_axis != contiguous_axis || n->marks.load(std::memory_order_relaxed) != marks)
      return false;
    return contiguous || n->strides == strides;
  }
};

/// Refers to a variable that the function reads.
struct Variable {
  const Handle* at = nullptr;  // null: the parameter, wherever it is
  ParameterRef parameter;
  /// Returns its handle; null if the parameter is there no more.
  const Handle* handle() const {
    if (at) return at;
    const Parameter* const p = parameter.get();
    return p ? &p->handle() : nullptr;
  }
};

/// Says that a variable was read through a copy while others had its value, too.
struct Doubtful {
  Variable variable;
  Handle value;
  uint32_t handles;  // that the value has at least
};

/// Holds the graph of one call, and what it was recorded with.
struct Plan {
  Settings settings;
  std::vector<size_t> sizes;     // tensors in each argument
  std::vector<Numbers> numbers;  // of arguments, then of variables
  std::vector<Variable> variables;
  std::vector<std::pair<uint32_t, uint32_t>>
      same;  // variables that had one value: they are told apart no more
  std::vector<std::pair<Variable, Handle>> fixed;  // variables whose values are part of the graph: constants
  std::vector<Doubtful> doubtful;
  std::unique_ptr<jit::Recording> recording;
  std::atomic<uint64_t> used{0};
};
using Plans = std::vector<std::shared_ptr<Plan>>;

constexpr size_t kMostShapes = 64;

/// Finds out, while the function is recorded, which variables it reads.
class Reads final : public Observer {
 public:
  Reads(const Replayer::Names& names, std::span<const Handle> arguments) : names_(names) {
    for (const Tensor* t : names.variables) named_.push_back(&t->handle());
    for (nn::Module* m : names.modules) add_members(*m);
    for (const Handle& h : arguments) {
      if (h) views[h.get()] = static_cast<uint32_t>(bases.size());
      bases.push_back(h);
    }
    first_ = bases.size();
  }

  std::vector<Handle> bases;     // arguments, then what the variables have
  jit::Recording::Inputs views;  // those, and values that are views of them
  std::vector<Variable> variables;
  std::vector<std::pair<uint32_t, uint32_t>> same;
  std::vector<std::pair<Variable, Handle>> fixed;
  std::vector<Handle> pending;  // values of variables that have to be computed first

  void recorded(const Recorded& r) override {
    for (const Handle* h : r.operands) read(*h, r.site);
    const jit::Node* const n = r.result.get();
    if (n->ready() && !r.operands.empty()) {
      if (const auto base = views.find(r.operands[0]->get()); base != views.end() && !views.contains(n))
        views[n] = base->second;
    }
    note(r.result);
  }
  void recorded_call(const RecordedCall& c) override {
    for (const Handle* h : c.operands) read(*h, c.site);
    for (const Handle& h : c.outputs) note(h);
  }
  void transferred(const Handle& from, const Handle& to, const Site& s) override {
    read(from, s);
    note(to);
  }
  Reads(const Reads&) = delete;
  ~Reads() { let_go(); }

  /// Throws Error, at its line, for a value that was recorded and is held by something else than the
  /// function's results. Then lets go of all that was recorded.
  void check_outlived(std::span<const Handle> outputs) {
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

  /// Returns the variables of which it is not sure that they were meant, for others have their values too:
  /// what was read of those is right as long as nobody changes any of them.
  std::vector<Doubtful> doubtful() const {
    std::vector<Doubtful> all;
    for (const auto& [v, n] : read_elsewhere_) {
      size_t known = holders(n).size();
      for (const Handle& h : bases) known += h.get() == n;
      for (const auto& f : fixed) known += f.second.get() == n;
      if (n->handles() > known) all.push_back({v, *v.handle(), 0});
    }
    return all;
  }

 private:
  /// Keeps what was recorded until the function is over: no other value gets its address. A reference is no
  /// handle, so nothing is stored for that.
  void note(const Handle& h) {
    jit::Node* const n = h.get();
    if (!views.contains(n)) known_.insert(n);
    noted_.push_back(n);
    jit::add_reference(n);
  }
  void let_go() noexcept {
    while (!noted_.empty()) {
      jit::drop_reference(noted_.back());
      noted_.pop_back();
    }
  }

  void read(const Handle& h, const Site& site) {
    const jit::Node* const n = h.get();
    if (known_.contains(n)) return;
    const auto base = views.find(n);
    if (base != views.end() && base->second < first_) return;
    if (base != views.end() && bases[base->second].get() != n) return;  // a view that the function made
    for (const Handle& made : jit::Capturing::current()->made)
      if (made.get() == n) {
        if (n->buffer && n->buffer->borrowed())
          throw Error(
              "replay: the function makes a tensor of memory of its own, which a replay would read again",
              site);
        return;
      }
    Variable v;
    if (!find(h, v)) {
      if (base != views.end() || is_fixed(n)) return;  // seen before
      const std::vector<Variable> all = holders(n);
      if (all.empty()) unknown(*n, site);
      v = all.front();
      read_elsewhere_.emplace_back(v, n);
    }
    const auto is = [&](const Variable& x) { return x.handle() == v.handle(); };
    if (jit::is_source(n->op)) {
      if (std::none_of(fixed.begin(), fixed.end(), [&](const auto& f) { return is(f.first); }))
        fixed.emplace_back(v, h);
      return;
    }
    if (std::any_of(variables.begin(), variables.end(), is)) return;
    const auto index = static_cast<uint32_t>(bases.size());
    if (base != views.end()) same.emplace_back(base->second, index);
    else views[n] = index;
    variables.push_back(v);
    bases.push_back(h);
    if (!n->ready()) pending.push_back(h);
  }

  bool is_fixed(const jit::Node* n) const {
    return std::any_of(fixed.begin(), fixed.end(), [&](const auto& f) { return f.second.get() == n; });
  }

  /// Returns the variables that the function may have read this value from: those that are named, lie in the
  /// function, or are parameters.
  std::vector<Variable> holders(const jit::Node* n) const {
    std::vector<const Handle*> found;
    for (const Handle* h : named_)
      if (h->get() == n) found.push_back(h);
    // A handle is a pointer to its node.
    static_assert(sizeof(Handle) == sizeof n);
    for (size_t at = 0; at + sizeof n <= names_.bytes; at += alignof(Handle)) {
      const jit::Node* word = nullptr;
      const char* const here = static_cast<const char*>(names_.begin) + at;
      std::memcpy(&word, here, sizeof word);
      if (word == n) found.push_back(reinterpret_cast<const Handle*>(here));
    }
    std::vector<Variable> all;
    for (const Handle* h : found) {
      all.emplace_back();
      all.back().at = h;
    }
    const Parameter* parameter = nullptr;
    parameter_addresses().for_each([&](const void* p) {
      const auto& one = *static_cast<const Parameter*>(p);
      if (has(one, n) && std::find(found.begin(), found.end(), &one.handle()) == found.end())
        parameter = &one;
    });
    if (parameter) {
      all.emplace_back();
      all.back().parameter = const_cast<Parameter*>(parameter)->ref();
    }
    return all;
  }
  /// True if the parameter has the value. Another thread may be updating the parameter, which is not the one
  /// that is sought then.
  [[gnu::no_sanitize("thread")]] static bool has(const Parameter& p, const jit::Node* n) {
    return p.handle().get() == n;
  }

  /// Finds the variable whose handle this is.
  bool find(const Handle& h, Variable& v) const {
    const auto at = reinterpret_cast<uintptr_t>(&h), begin = reinterpret_cast<uintptr_t>(names_.begin);
    if (std::find(named_.begin(), named_.end(), &h) != named_.end() ||
        (at >= begin && at < begin + names_.bytes)) {
      v.at = &h;
      return true;
    }
    const Parameter none;
    const auto before = reinterpret_cast<const char*>(&none.handle()) - reinterpret_cast<const char*>(&none);
    const auto found = parameter_addresses().within(reinterpret_cast<const char*>(&h) - before, 1);
    if (found.empty()) return false;
    v.parameter = static_cast<Parameter*>(const_cast<void*>(found[0]))->ref();
    return true;
  }

  void add_members(nn::Module& m) {
    struct Members final : nn::Visitor {
      std::vector<const Handle*>* named = nullptr;

     protected:
      void buffer(const std::string&, Tensor& t) override { named->push_back(&t.handle()); }
      void parameter(const std::string&, Parameter& p) override { named->push_back(&p.handle()); }
    } members;
    members.named = &named_;
    members.visit(m);
  }

  [[noreturn]] static void unknown(const jit::Node& n, const Site& site) {
    throw Error("replay: the function reads a tensor (" + std::string(name_of(n.dtype)) + ' ' +
                    lazy::to_string(n.shape) +
                    ") that is neither an argument nor a parameter nor captured by value: name the variable "
                    "or module "
                    "behind the function, so that each call sees what it is then",
                site);
  }

  const Replayer::Names& names_;
  size_t first_ = 0;  // bases before it are arguments
  std::vector<const Handle*> named_;
  std::unordered_set<const jit::Node*> known_;                         // recorded meanwhile
  std::vector<jit::Node*> noted_;                                      // in order, of each a reference
  std::vector<std::pair<Variable, const jit::Node*>> read_elsewhere_;  // through a copy of the variable
};

/// Returns a value of its own with the same memory.
Handle stand_in(const Handle& h, const Site& s) {
  if (!h) return {};
  Handle alias = alias_of(h, s);
  alias->contiguous_axis = h->contiguous_axis;
  alias->marks.store(h->marks.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return alias;
}

/// Lists nodes; few models have more.
class Nodes {
 public:
  void push_back(jit::Node* n) {
    if (count_ < few_.size()) few_[count_] = n;
    else if (many_.empty()) many_.assign(few_.begin(), few_.end()), many_.push_back(n);
    else many_.push_back(n);
    ++count_;
  }
  void cut(size_t n) {
    count_ = n;
    if (!many_.empty()) many_.resize(n);
  }
  std::span<jit::Node* const> all() const {
    return many_.empty() ? std::span(few_).first(count_) : std::span<jit::Node* const>(many_);
  }

 private:
  std::array<jit::Node*, 256> few_;
  size_t count_ = 0;
  std::vector<jit::Node*> many_;
};

/// Computes a value. A source is one already, but for an argument: that is read from memory.
void compute(const Handle& h, const Site& s, bool argument = false) {
  if (!h || h->ready() || (!argument && jit::is_source(h->op))) return;
  const Handle* one[] = {&h};
  jit::evaluate(one, jit::Cause::eval, s);
}

}  // namespace

struct Replayer::All {
  Call call;
  Names names;
  SpinLock lock;  // guards `plans`
  std::shared_ptr<const Plans> plans = std::make_shared<Plans>();
  std::atomic<uint64_t> now{0};
  Mutex recording;  // one thread at a time records

  std::shared_ptr<const Plans> known() {
    const Hold hold(lock);
    if (!hold.intact()) std::construct_at(&plans, std::make_shared<Plans>());
    return plans;
  }
  void keep(std::shared_ptr<Plan> p) {
    const auto before = known();
    auto all = std::make_shared<Plans>(*before);
    if (all->size() >= kMostShapes)
      all->erase(std::min_element(all->begin(), all->end(), [](const auto& a, const auto& b) {
        return a->used.load() < b->used.load();
      }));
    all->insert(all->begin(), std::move(p));
    std::shared_ptr<const Plans> old = std::move(all);
    const Hold hold(lock);
    plans.swap(old);
  }

  /// Returns the plan for these inputs, null if there is none; then `nodes` has what it runs with.
  Plan* find(const Plans& all, const Settings& settings, std::span<const Replayed* const> arguments,
             Nodes& nodes, const Site& s) {
    const size_t count = nodes.all().size();
    for (const auto& p : all) {
      if (!(p->settings == settings) || p->sizes.size() != arguments.size()) continue;
      bool fits = true;
      for (size_t i = 0; i < p->sizes.size(); ++i) fits = fits && p->sizes[i] == arguments[i]->tensors.size();
      for (size_t i = 0; fits && i < count; ++i) fits = p->numbers[i].fit(nodes.all()[i]);
      if (!fits) continue;
      nodes.cut(count);
      for (size_t i = 0; fits && i < p->variables.size(); ++i) {
        const Handle* const h = p->variables[i].handle();
        if (h) compute(*h, s);
        nodes.push_back(h ? h->get() : nullptr);
        fits = h && *h && p->numbers[count + i].fit(h->get());
      }
      for (const auto& [a, b] : p->same) fits = fits && nodes.all()[a] == nodes.all()[b];
      for (const auto& [v, h] : p->fixed) fits = fits && v.handle() && v.handle()->get() == h.get();
      for (const Doubtful& d : p->doubtful)
        fits = fits && d.variable.handle() && d.variable.handle()->get() == d.value.get() &&
               d.value->handles() >= d.handles;
      if (fits && p->recording->fits_backends()) return p.get();
    }
    nodes.cut(count);
    return nullptr;
  }

  std::shared_ptr<Plan> record(const Settings& settings, std::span<const Replayed* const> arguments,
                               const Site& s) {
    auto plan = std::make_shared<Plan>();
    plan->settings = settings;
    for (const Replayed* a : arguments) plan->sizes.push_back(a->tensors.size());
    for (int attempt = 0;; ++attempt) {
      const no_grad scope;
      std::vector<Handle> inputs;
      for (const Replayed* a : arguments)
        for (const Tensor& t : a->tensors) inputs.push_back(stand_in(t.handle(), a->site));
      Reads reads(names, inputs);
      std::vector<Handle> outputs;
      {
        const Observing observing(reads);
        const jit::Capturing capturing;
        std::vector<Tensor> tensors;
        for (const Handle& h : inputs) tensors.emplace_back(h);
        for (Tensor& t : call(tensors, plan->sizes)) {
          if (!t.defined()) throw Error("replay: the function returns a tensor that holds nothing", s);
          outputs.push_back(t.handle());
        }
        tensors.clear();
        if (reads.pending.empty()) {
          plan->doubtful = reads.doubtful();
          reads.check_outlived(outputs);
          plan->recording = std::make_unique<jit::Recording>(outputs, reads.bases, reads.views, s);
        }
      }
      if (!reads.pending.empty()) {
        outputs.clear();
        for (const Handle& h : reads.pending) compute(h, s);
        if (attempt < 3) continue;
        throw Error("replay: the function reads other values each time", s);
      }
      for (const Handle& h : reads.bases) plan->numbers.emplace_back(h.get());
      plan->variables = std::move(reads.variables);
      plan->same = std::move(reads.same);
      plan->fixed = std::move(reads.fixed);
      reads.bases.clear();
      for (Doubtful& d : plan->doubtful) d.handles = d.value->handles();
      return plan;
    }
  }

  /// Calls the function as if there were no replay.
  void as_ever(std::span<const Replayed* const> arguments, ReplayResults& results, const Site& s) {
    const no_grad scope;
    std::vector<Tensor> tensors;
    std::vector<size_t> sizes;
    for (const Replayed* a : arguments) {
      tensors.insert(tensors.end(), a->tensors.begin(), a->tensors.end());
      sizes.push_back(a->tensors.size());
    }
    std::vector<Tensor> found = call(tensors, sizes);
    tensors.clear();
    if (!jit::Capturing::current()) eval(found, s);
    const auto to = results.resize(found.size());
    for (size_t i = 0; i < found.size(); ++i) to[i] = found[i].handle();
  }
};

Replayer::Replayer(Call call, Names names) : all_(std::make_unique<All>()) {
  all_->call = std::move(call);
  all_->names = std::move(names);
}
Replayer::~Replayer() = default;

void Replayer::call(std::span<const Replayed* const> arguments, ReplayResults& results, const Site& caller) {
  const Site s = arguments.empty() ? caller : arguments[0]->site;
  const auto& c = config::get();
  if (c.eager || c.check_nan || c.verify != config::Verify::off || jit::Capturing::current())
    return all_->as_ever(arguments, results, s);
  Nodes nodes;
  for (const Replayed* a : arguments)
    for (const Tensor& t : a->tensors) {
      if (is_grad_enabled() && t.defined() && t.requires_grad(a->site))
        throw Error(
            "replay: gradients don't go through a replay, and this argument requires one (no_grad, detach())",
            a->site);
      compute(t.handle(), a->site, true);
      nodes.push_back(t.handle().get());
    }
  const Settings settings = Settings::now(s);
  std::shared_ptr<const Plans> known = all_->known();
  Plan* plan = all_->find(*known, settings, arguments, nodes, s);
  if (!plan) {
    const Hold turn(all_->recording);
    known = all_->known();
    plan = all_->find(*known, settings, arguments, nodes, s);  // another thread may have been faster
    if (!plan) {
      all_->keep(all_->record(settings, arguments, s));
      known = all_->known();
      plan = all_->find(*known, settings, arguments, nodes, s);
      if (!plan) return all_->as_ever(arguments, results, s);
    }
  }
  plan->used.store(all_->now.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  try {
    plan->recording->run(nodes.all(), results.resize(plan->recording->outputs()));
  } catch (...) {
    // The function, called as ever, tells of an index out of range, and where; or there is memory now.
    all_->as_ever(arguments, results, s);
  }
}

}  // namespace lazy::detail
