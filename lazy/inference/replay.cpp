#include "lazy/inference/replay.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>

#include "jit/backend/kept_results.hpp"
#include "jit/graph/accuracy.hpp"
#include "jit/graph/capturing.hpp"
#include "lazy/autograd/backward.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/device.hpp"
#include "lazy/core/element.hpp"
#include "lazy/core/memory_format.hpp"
#include "lazy/core/record.hpp"
#include "lazy/inference/reads.hpp"
#include "lazy/nn/functional/winograd.hpp"
#include "support/config.hpp"
#include "support/first_time.hpp"
#include "support/lock.hpp"
#include "support/log.hpp"
#include "support/log_fields.hpp"

namespace lazy::detail {
/// Holds the graph of one call, and what it was recorded with.
struct Replayer::Plan {
  /// Holds all that recording depends on besides the function and its inputs.
  struct Settings {
    uint32_t flags = 0;
    jit::Accuracy accuracy{};
    DType dtype{};
    Device device{};
    uint64_t modes = 0;
    friend bool operator==(const Settings&, const Settings&) = default;

    static Settings now(bool modes, const Site& s) {
      const auto& c = config::get();
      return {static_cast<uint32_t>(c.exact_casts.get()) | static_cast<uint32_t>(c.fp_contract.get()) << 1 |
                  static_cast<uint32_t>(c.dynamic.get()) << 2,
              jit::AccuracyScope::current(), get_default_dtype(), default_device(s),
              modes ? nn::Module::mode_changes() : 0};
    }
  };

  /// Holds what a program may rely on of an input.
  struct Numbers {
    bool defined = false, contiguous = true, channels_last = false;
    DType dtype{};
    Device device{};
    int8_t contiguous_axis = 0;
    uint16_t marks = 0;
    Shape shape;
    Dims strides;

    explicit Numbers(const jit::Node* n) : defined(n != nullptr) {
      if (!n) return;
      contiguous = n->contiguous;
      channels_last = n->channels_last;
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
          n->contiguous_axis != contiguous_axis || n->channels_last != channels_last ||
          n->marks.load(std::memory_order_relaxed) != marks)
        return false;
      return contiguous || n->strides == strides;
    }
  };

  Settings settings;
  std::vector<size_t> sizes;     // tensors in each argument
  std::vector<Numbers> numbers;  // of arguments, then of variables
  std::vector<ReplayVariable> variables;
  std::vector<std::pair<uint32_t, uint32_t>>
      same;  // variables that had one value: they are told apart no more
  std::vector<std::pair<ReplayVariable, Handle>>
      fixed;  // variables whose values are part of the graph: constants
  std::vector<DoubtfulRead> doubtful;
  std::unique_ptr<jit::Recording> recording;
  std::atomic<uint64_t> used{0};
};

namespace {

/// Returns a value of its own with the same memory.
Handle stand_in(const Handle& h, const Site& s) {
  if (!h) return {};
  Handle alias = alias_of(h, s);
  alias->contiguous_axis = h->contiguous_axis;
  alias->channels_last = h->channels_last;
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

/// True for what may be an image, whose channels are not in the last place of its memory.
bool lies_first(const jit::Node* n) {
  return is_float(n->dtype) && (n->shape.size() == 4 || n->shape.size() == 5) && !n->channels_last;
}

/// Returns an image in channels-last memory of its own: a copy is fast, but not where what reads it computes
/// on the way, so it is made before.
Tensor laid_out_last(const Handle& image, const Site& s) {
  const Handle last = detail::seen_last(image, s);
  const Dims none(last->shape.size(), 0), each(last->shape.size(), 1);
  const Handle memory = detail::overwritten(last->dtype, last->shape, last->device, s);
  return Tensor(detail::seen_first(detail::slice_update("to_memory_format", memory, last, none, each, s), s));
}

}  // namespace

struct Replayer::All {
  using Plans = std::vector<std::shared_ptr<Plan>>;
  using Settings = Plan::Settings;
  Call call;
  Names names;
  SpinLock lock;  // guards `plans`
  std::shared_ptr<const Plans> plans = std::make_shared<Plans>();
  std::atomic<uint64_t> now{0};
  std::atomic<size_t> most{64};  // shapes
  std::atomic<bool> by_modes{true};
  std::atomic<bool> tries_ways{false};  // images are computed with in each Way once
  Mutex recording;                      // one thread at a time records
  uint64_t dropped = 0;                 // plans, for want of room; under `recording`

  std::shared_ptr<const Plans> known() {
    const Hold hold(lock);
    if (!hold.intact()) std::construct_at(&plans, std::make_shared<Plans>());
    return plans;
  }
  void keep(std::shared_ptr<Plan> p, const Site& s) {
    const auto before = known();
    auto all = std::make_shared<Plans>(*before);
    if (all->size() >= most.load(std::memory_order_relaxed) && ++dropped == 2 * most) tell_of_shapes(s);
    while (all->size() >= most.load(std::memory_order_relaxed))
      all->erase(std::min_element(all->begin(), all->end(), [](const auto& a, const auto& b) {
        return a->used.load() < b->used.load();
      }));
    all->insert(all->begin(), std::move(p));
    std::shared_ptr<const Plans> old = std::move(all);
    const Hold hold(lock);
    plans.swap(old);
  }

  /// Says that there are more shapes than are kept.
  void tell_of_shapes(const Site& s) const {
    const size_t kept = most.load(std::memory_order_relaxed);
    const uint64_t calls = now.load(std::memory_order_relaxed) + 1;
    // A shape that comes now and then is no matter if most calls find what was recorded.
    if (dropped * 2 < calls || !is_first_time("shapes", s)) return;
    logging::hint("the call at " + lazy::to_string(s) + " has had inputs of " +
                      std::to_string(dropped + kept) + " shapes in " + std::to_string(calls) +
                      " calls, of which " + std::to_string(kept) +
                      " are kept, so most calls record anew: pad inputs to a few shapes, or keep more (of "
                      "a session: .shapes)",
                  logging::Fields().at(s).add("hint", "shapes"));
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
      for (const DoubtfulRead& d : p->doubtful)
        fits = fits && d.variable.handle() && d.variable.handle()->get() == d.value.get() &&
               d.value->handles() >= d.handles;
      if (fits && p->recording->fits_backends()) return p.get();
    }
    nodes.cut(count);
    return nullptr;
  }

  /// Says how images are computed with: as they are given, put into channels-last memory, or that and
  /// convolved by transforms of tiles.
  enum class Way : uint8_t { given, last, transformed };

  /// Records a call; where images are put into channels-last memory first, results are put back.
  std::shared_ptr<Plan> record(const Settings& settings, std::span<const Replayed* const> arguments, Way way,
                               const Site& s) {
    const bool last = way != Way::given;
    auto plan = std::make_shared<Plan>();
    plan->settings = settings;
    for (const Replayed* a : arguments) plan->sizes.push_back(a->tensors.size());
    for (int attempt = 0;; ++attempt) {
      const no_grad scope;
      std::vector<Handle> inputs;
      for (const Replayed* a : arguments)
        for (const Tensor& t : a->tensors) inputs.push_back(stand_in(t.handle(), a->site));
      ReplayReads reads(names, inputs);
      std::vector<Handle> outputs;
      {
        const Observing observing(reads);
        const jit::Capturing capturing;
        std::optional<WinogradScope> transforms;
        if (way == Way::transformed) transforms.emplace();
        std::vector<Tensor> tensors;
        for (const Handle& h : inputs)
          tensors.push_back(last && lies_first(h.get()) ? laid_out_last(h, s) : Tensor(h));
        for (Tensor& t : call(tensors, plan->sizes)) {
          if (!t.defined()) throw Error("replay: the function returns a tensor that holds nothing", s);
          outputs.push_back((last ? t.contiguous(s) : t).handle());
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
        reads.let_go();
        for (const Handle& h : reads.pending) compute(h, s);
        if (attempt < 3) continue;
        throw Error("replay: the function reads other values each time", s);
      }
      for (const Handle& h : reads.bases) plan->numbers.emplace_back(h.get());
      plan->variables = std::move(reads.variables);
      plan->same = std::move(reads.same);
      plan->fixed = std::move(reads.fixed);
      reads.bases.clear();
      for (DoubtfulRead& d : plan->doubtful) d.handles = d.value->handles();
      return plan;
    }
  }

  /// Records a call, and for images others that compute with them in other ways; returns the fastest one.
  std::shared_ptr<Plan> record_fastest(const Settings& settings, std::span<const Replayed* const> arguments,
                                       Nodes& nodes, const Site& s) {
    auto given = record(settings, arguments, Way::given, s);
    const auto all = nodes.all();
    if (!tries_ways.load(std::memory_order_relaxed) || std::none_of(all.begin(), all.end(), lies_first))
      return given;
    const uint64_t begun = jit::kept::now();
    const std::shared_ptr<Plan> plans[] = {given, record(settings, arguments, Way::last, s),
                                           record(settings, arguments, Way::transformed, s)};
    const auto run = [&](const std::shared_ptr<Plan>& plan) {
      const size_t count = nodes.all().size();
      Plan* const p = find({plan}, settings, arguments, nodes, s);
      if (!p) return -1.0;
      ReplayResults results;
      const auto begin = std::chrono::steady_clock::now();
      p->recording->run(nodes.all(), results.resize(p->recording->outputs()));
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      nodes.cut(count);
      return took.count();
    };
    constexpr int kRounds = 5;  // the first one computes what is kept of weights
    double best[] = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
    for (int round = 0; round < kRounds; ++round)
      for (size_t i = 0; i < std::size(plans); ++i) {
        const double took = run(plans[i]);
        if (took < 0) return given;
        if (round > 0) best[i] = std::min(best[i], took);
      }
    const size_t fastest = static_cast<size_t>(std::min_element(std::begin(best), std::end(best)) - best);
    const uint64_t tried = jit::kept::now();
    run(plans[fastest]);
    jit::kept::release_tried(begun, tried);
    if (logging::enabled(logging::Channel::flush))
      logging::print(
          logging::Channel::flush,
          "session at %s: images as given %.1f us, channels last %.1f us, and by transforms %.1f us",
          to_string(s).c_str(), best[0] * 1e6, best[1] * 1e6, best[2] * 1e6);
    return plans[fastest];
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

void Replayer::keep_at_most(size_t shapes) noexcept {
  all_->most.store(std::max<size_t>(shapes, 1), std::memory_order_relaxed);
}
void Replayer::benchmark() noexcept { all_->tries_ways.store(true, std::memory_order_relaxed); }
void Replayer::ignore_modes() noexcept { all_->by_modes.store(false, std::memory_order_relaxed); }

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
  const Plan::Settings settings = Plan::Settings::now(all_->by_modes.load(std::memory_order_relaxed), s);
  std::shared_ptr<const All::Plans> known = all_->known();
  Plan* plan = all_->find(*known, settings, arguments, nodes, s);
  if (!plan) {
    const Hold turn(all_->recording);
    known = all_->known();
    plan = all_->find(*known, settings, arguments, nodes, s);  // another thread may have been faster
    if (!plan) {
      all_->keep(all_->record_fastest(settings, arguments, nodes, s), s);
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
