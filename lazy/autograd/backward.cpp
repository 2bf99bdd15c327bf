#include "lazy/autograd/backward.hpp"

#include <optional>

#include "lazy/autograd/backwards.hpp"
#include "lazy/autograd/parameter.hpp"
#include "lazy/autograd/planed.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/memory_format.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/core/recipe.hpp"
#include "lazy/core/unchanging.hpp"

namespace lazy {
using namespace detail;

namespace {

/// Adds to the gradients of the leaves that a pass reaches, and calls their hooks. Takes back what no hook
/// was told of, unless the pass comes to its end.
class Adding {
 public:
  explicit Adding(size_t leaves) { added_.reserve(leaves); }
  Adding(const Adding&) = delete;
  ~Adding() {
    for (auto& [l, a] : added_) {
      if (!whole_) l->take_back(std::move(a));
      l->release();
    }
  }
  /// Adds to a leaf, or to both of a complex variable's.
  void add(std::span<Backwards::Part> parts, const Site& s) {
    const std::vector<LeafHook> hooks = hooks_of(parts);  // one may register others
    for (Backwards::Part& p : parts) {
      Handle more = std::move(p.gradient);
      if (more) more = in_format_of(p.value, std::move(more), s);
      else if (!p.leaf.gradient()) more = zeros_like(p.value, s);
      else continue;
      Leaf::Added a = p.leaf.add_gradient(std::move(more), s);
      if (!hooks.empty()) continue;  // one may be the last to hold it
      p.leaf.add_reference();
      added_.emplace_back(&p.leaf, std::move(a));
    }
    if (hooks.empty()) return;
    const Tensor variable(parts.size() == 2
                              ? jit::complex(parts[0].value, parts[1].value, parts[0].value->site)
                              : parts[0].value);
    const jit::Purpose none(nullptr);
    for (const LeafHook& hook : hooks) hook(variable);
  }
  /// Says that the pass came to its end.
  void keep() noexcept { whole_ = true; }

 private:
  /// Returns what is to be called after the sum. Nothing of a complex variable that nobody has any more.
  static std::vector<LeafHook> hooks_of(std::span<const Backwards::Part> parts) {
    const Leaf& l = parts[0].leaf;
    if (!l.pair()) return l.after;
    return parts.size() == 2 ? l.pair()->after : std::vector<LeafHook>();
  }

  std::vector<std::pair<Leaf*, Leaf::Added>> added_;
  bool whole_ = false;
};

/// Returns what a variable is read by that has no value of its own; else null.
Recipe* recipe(const Handle& h) { return any_recipes() ? recipe_of(h) : nullptr; }

/// Marks the planes of a complex variable, each one a value of its own.
Tensor& mark_planes(Tensor& x, bool on, const Site& s) {
  Tensor parts[] = {Tensor(jit::real_plane(x.handle())), Tensor(plain_imaginary_plane(x.handle()))};
  if (on == (leaf(parts[0].handle()) != nullptr)) return x;
  for (Tensor& part : parts) {
    if (derivation(part.handle())) part.requires_grad_(on, s);  // throws unless it is spent
    part = Tensor(separate(part.handle(), s));
    if (on) make_leaf(part.handle());
  }
  return x = Tensor(detail::complex(parts[0].handle(), parts[1].handle(), s));
}

constexpr const char* kNoGradient =
    "the value does not depend on anything that requires a gradient: requires_grad_() marks what does";

}  // namespace

Tensor& Tensor::requires_grad_(bool on, Site s) & {
  const jit::Node& n = node("requires_grad_", s);
  if (recipe(handle_))
    fail<Error>("requires_grad_", "the parameter has a parametrization: mark its parts", s);
  if (lazy::is_complex(n.dtype)) return mark_planes(*this, on, s);
  if (!is_float(n.dtype))
    fail<DtypeError>("requires_grad_",
                     std::string("a value of ") + name_of(n.dtype) + ": gradients are of floating point", s);
  if (Derivation* const d = derivation(handle_); d && !d->spent())
    fail<Error>("requires_grad_",
                "the value is computed from ones that require a gradient: detach() it first", s);
  if (on && n.frozen) check_thawed("requires_grad_", *this, s);
  if (on == (leaf(handle_) != nullptr)) return *this;
  // The mark is this variable's: others that hold the same value, copies and clones, keep theirs.
  if (n.handles() > 1) handle_ = separate(handle_, s);
  else if (!on) jit::attach(*handle_.get(), nullptr);
  if (on) make_leaf(handle_);
  return *this;
}

bool Tensor::requires_grad(Site s) const {
  (void)node("requires_grad", s);
  if (const Recipe* const r = recipe(handle_)) return r->requires_grad();
  if (lazy::is_complex(handle_->dtype))
    return is_tracked(jit::real_plane(handle_)) || is_tracked(jit::imaginary_plane(handle_));
  return is_tracked(handle_);
}

void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph, Site s) const {
  (void)node("backward", s);
  const Handle value = Arg(*this, s).take();
  const Planed values(value);
  const bool pair = values.count == 2;
  if (!values.of[0]->attachment && !(pair && values.of[1]->attachment))
    fail<Error>("backward",
                values.of[0]->underived
                    ? "the value was computed in inference_mode, at " + lazy::to_string(value->site)
                    : std::string(kNoGradient) + frozen_hint(),
                s);
  if (!gradient.defined() && pair)
    fail<Error>("backward", "a complex value needs a gradient to begin with: a loss is real", s);
  if (!gradient.defined() && lazy::numel(value->shape) != 1)
    fail<ShapeError>(
        "backward",
        "a value of shape " + to_string(value->shape) +
            " needs a gradient to begin with: give one, or make one number of it first, by sum() or mean()",
        s);
  const Handle g = gradient.defined() ? Arg(gradient, s).take()
                                      : detail::constant(1, value->dtype, value->shape, value, s);
  check_gradient("backward", g, value, s);
  Backwards all(values.all(), {}, s);
  std::optional<no_grad> alone;
  if (!create_graph) alone.emplace();
  Adding adding(2 * all.boundary().size());
  all.run(Planed(g).all(), [&](std::span<Backwards::Part> parts) { adding.add(parts, s); });
  adding.keep();
  if (!retain_graph && !create_graph) all.spend();
}

Tensor Tensor::grad(Site s) const {
  (void)node("grad", s);
  if (recipe(handle_))
    fail<Error>("grad", "the parameter has a parametrization: its parts have gradients", s);
  if (lazy::is_complex(handle_->dtype)) {
    const auto [re, im] = planes_of(handle_);
    const Leaf *const a = leaf(re), *const b = leaf(im);
    const Handle x = a ? a->gradient() : Handle(), y = b ? b->gradient() : Handle();
    if (!x && !y) return {};
    return Tensor(detail::complex(x ? x : zeros_like(re, s), y ? y : zeros_like(re, s), s));
  }
  const Leaf* const l = leaf(handle_);
  return l ? Tensor(l->gradient()) : Tensor();
}

void Tensor::zero_grad(Site s) {
  (void)node("zero_grad", s);
  if (Recipe* const r = recipe(handle_)) r->zero_grad(s);
  else if (lazy::is_complex(handle_->dtype)) {
    for (const Handle& plane : {jit::real_plane(handle_), jit::imaginary_plane(handle_)})
      if (Leaf* const l = leaf(plane)) l->set_gradient({});
  } else if (Leaf* const l = leaf(handle_)) l->set_gradient({});
}

Tensor Tensor::detach(Site s) const { return stop_gradient(Arg(*this, s)); }

Tensor stop_gradient(Arg x) {
  const Site s = x.site();
  const Handle h = Operand("stop_gradient", x).take();
  if (is_complex(h->dtype)) {
    const auto stopped = [&](const Handle& plane) { return stop_gradient(Arg(plane, s)).handle(); };
    return Tensor(detail::complex(stopped(jit::real_plane(h)), stopped(jit::imaginary_plane(h)), s));
  }
  return Tensor(h->attachment || h->underived ? separate(h, s) : h);
}

namespace {

[[noreturn]] void fail_untracked(const char* name, const Site& s) {
  fail<Error>(name, "the value does not require a gradient", s);
}

/// Adds a hook of a complex value. One that is computed gets planes of its own, which nothing else reads:
/// what comes to them comes to the value.
void hook_planes(const Handle& h, std::function<Tensor(const Tensor&)> f, const Site& s) {
  const Planed planes(h);
  Leaf *const re = leaf(planes.of[0]), *const im = leaf(planes.of[1]);
  if (re && im) {
    Leaf::pair_of(*re, *im).hooks.push_back(std::move(f));
    return;
  }
  if (!is_tracked(planes.of[0]) && !is_tracked(planes.of[1])) fail_untracked("register_hook", s);
  Derivation* d = derivation(planes.of[0]);
  if (!d || d != derivation(planes.of[1]) || !std::holds_alternative<Pairing>(d->recorded.what)) {
    const Handle own[] = {separate(planes.of[0], s), separate(planes.of[1], s)};
    d = Derivation::attach({Pairing(), {planes.of[0], planes.of[1]}, {}, s}, own);
    jit::replace_planes(h, own[0], own[1]);
  }
  d->add_hook({}, std::move(f));
}

}  // namespace

void register_hook(const Tensor& x, std::function<Tensor(const Tensor&)> f, Site s) {
  const Arg a(x, s);
  const Operand h("register_hook", a);
  if (is_complex(h->dtype)) return hook_planes(h, std::move(f), s);
  if (!is_tracked(h)) fail_untracked("register_hook", s);
  if (Leaf* const l = leaf(h)) l->hooks.push_back(std::move(f));
  else derivation(h)->add_hook(h, std::move(f));
}

void register_post_accumulate_grad_hook(const Tensor& x, std::function<void(Tensor)> f, Site s) {
  const Arg a(x, s);
  const Operand h("register_post_accumulate_grad_hook", a);
  const Planed planes(h);
  Leaf *const l = leaf(planes.of[0]), *const im = leaf(planes.of[1]);
  if (!l || (planes.count == 2 && !im)) {
    if (!is_tracked(planes.of[0]) && !is_tracked(planes.of[1]))
      fail_untracked("register_post_accumulate_grad_hook", s);
    fail<Error>("register_post_accumulate_grad_hook",
                "the value is computed from others: only a marked one has a gradient", s);
  }
  (planes.count == 2 ? Leaf::pair_of(*l, *im).after : l->after).push_back(std::move(f));
}

no_grad::no_grad() noexcept { ++gradients_paused; }
no_grad::~no_grad() { --gradients_paused; }
enable_grad::enable_grad() noexcept
    : paused_(std::exchange(gradients_paused, 0)), inferring_(std::exchange(inferring, false)) {}
enable_grad::~enable_grad() {
  gradients_paused = paused_;
  inferring = inferring_;
}

inference_mode::inference_mode(bool on) noexcept
    : paused_(std::exchange(gradients_paused, on ? 1 : 0)), outer_(std::exchange(inferring, on)), on_(on) {
  if (on_) add_reason();  // so that the door looks whether the thread infers
}
inference_mode::~inference_mode() {
  if (on_) drop_reason();
  inferring = outer_;
  gradients_paused = paused_;
}

bool is_grad_enabled() noexcept { return gradients_paused == 0; }
bool is_inference_mode_enabled() noexcept { return inferring; }
bool is_inference(const Tensor& t, Site s) {
  if (!t.defined()) throw_empty("is_inference", s);
  return t.handle()->underived;
}

}  // namespace lazy
