// Implements functions whose derivative is not that of the ops they record: checkpoints compute again,
// custom functions bring their own.
#include "jit/built_in/barrier.hpp"
#include "lazy/autograd/backwards.hpp"
#include "lazy/autograd/gradient.hpp"
#include "lazy/autograd/planed.hpp"
#include "lazy/core/build.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/rearranging.hpp"
#include "lazy/random/generator.hpp"

namespace lazy {
using namespace detail;

namespace {

/// Returns the arguments as values that f is differentiated by; integers as they are. With `derived`,
/// gradients go on to what the arguments depend on.
std::vector<Handle> inputs_of(std::span<const Handle> x, bool derived, const Site& s) {
  std::vector<Handle> inputs;
  for (const Handle& h : x) {
    Handle own = h;
    if (is_float(h->dtype)) {
      own = derived ? alias_of(h, s) : separate(h, s);
      if (!is_tracked(own)) make_leaf(own, false);
    }
    inputs.push_back(std::move(own));
  }
  return inputs;
}

/// Returns the arguments as values that are not merged with what the first run computed from them.
std::vector<Handle> behind_barrier(std::span<const Handle> x, const Site& s) {
  static const jit::CallSpec& barrier = jit::intern_call(jit::calls::kBarrier, "");
  std::vector<Handle> all;
  for (const Handle& h : x) {
    const Handle* const one[] = {&h};
    all.push_back(detail::record_call(barrier, one, s)[0]);
  }
  return all;
}

/// Draws, in a scope, what was drawn from a position on.
class Redrawing {
 public:
  explicit Redrawing(uint64_t position) : now_(default_generator().position()) {
    default_generator().set_position(position);
  }
  Redrawing(const Redrawing&) = delete;
  ~Redrawing() { default_generator().set_position(now_); }

 private:
  uint64_t now_;
};

/// Attaches a derivation with this derivative to the value, in place of what is attached.
void derive(const char* name, const Handle& value, std::vector<Handle> operands, Derivative own,
            const Site& s) {
  Derivation::attach({NamedComposite{name, std::move(own)}, std::move(operands), {}, s}, {&value, 1});
}

Planed checked(const char* op, const Tensor& t, const Site& s) {
  const Arg a(t, s);
  return Planed(Operand(op, a).take());
}

/// Holds arguments, of which complex ones are derived by planes.
class Arguments {
 public:
  Arguments(const char* op, const std::vector<Tensor>& x, const Site& s) {
    for (const Tensor& t : x) all_.push_back(checked(op, t, s));
  }
  std::vector<Handle> planes() const {
    std::vector<Handle> flat;
    for (const Planed& p : all_) flat.insert(flat.end(), p.all().begin(), p.all().end());
    return flat;
  }
  /// Returns tensors like the arguments, of these planes.
  std::vector<Tensor> of(std::span<const Handle> planes, const Site& s) const {
    std::vector<Tensor> x;
    for (Planed p : all_) {
      for (int i = 0; i < p.count; ++i) p.of[i] = planes[static_cast<size_t>(i)];
      planes = planes.subspan(static_cast<size_t>(p.count));
      x.push_back(Tensor(p.value(s)));
    }
    return x;
  }
  /// Returns the planes of gradients of the arguments; empty handles for undefined ones.
  std::vector<Handle> planes_of(const std::vector<Tensor>& gradients) const {
    std::vector<Handle> flat;
    for (size_t i = 0; i < all_.size(); ++i) {
      const Planed p(gradients[i].handle());
      for (int k = 0; k < all_[i].count; ++k) flat.push_back(k < p.count ? p.of[k] : Handle());
    }
    return flat;
  }

 private:
  std::vector<Planed> all_;
};

/// Returns what a derivation with one gradient can be attached to: of a complex value both planes in one.
Handle joined(const Planed& y, const Site& s) {
  if (y.count == 1) return y.of[0];
  return stack({Tensor(y.of[0]), Tensor(y.of[1])}, 0, s).handle();
}
/// Returns the value that was joined so.
Tensor parted(const Handle& joined, bool pair, const Site& s) {
  if (!pair) return Tensor(joined);
  const std::vector<Tensor> planes = unstack(Arg(joined, s));
  return Tensor(complex(planes[0].handle(), planes[1].handle(), s));
}

}  // namespace

Tensor checkpoint(const TensorFunction& f, const std::vector<Tensor>& x, Site s) {
  const Arguments arguments("checkpoint", x, s);
  if (!is_grad_enabled()) return f(x);
  const uint64_t drawn = default_generator().position(), first = derivations_so_far();
  std::vector<Handle> operands = arguments.planes();
  const std::vector<Handle> targets = inputs_of(operands, false, s);
  Tensor value = f(arguments.of(targets, s));
  const Planed planes = checked("checkpoint", value, s);
  for (size_t i = 0; planes.count == 1 && i < targets.size(); ++i)
    if (planes.of[0].get() == targets[i].get()) return Tensor(operands[i]);
  const bool pair = planes.count == 2;
  const Handle y = joined(planes, s);
  const Derivation* const d = derivation(y);
  if (!d || d->number < first) return value;  // computed from none of them
  std::vector<Handle> captured = Backwards(y, targets, s, first).boundary();
  const size_t n = operands.size();
  operands.insert(operands.end(), captured.begin(), captured.end());
  derive(
      "checkpoint", y, operands,
      [f, n, drawn, arguments](const Differentiated& at) {
        const jit::Purpose purpose("checkpoint: computed again");
        std::vector<Handle> ends = behind_barrier(at.operands.first(n), at.site);
        Handle again;
        {
          ends = inputs_of(ends, is_grad_enabled(), at.site);
          const enable_grad scope;
          const Redrawing same(drawn);
          again = joined(checked("checkpoint", f(arguments.of(ends, at.site)), at.site), at.site);
        }
        ends.insert(ends.end(), at.operands.begin() + static_cast<std::ptrdiff_t>(n), at.operands.end());
        Backwards all(again, ends, at.site);
        Gradients gradients = all.run(at.gradient);
        std::vector<Handle> result;
        for (const Handle& h : ends) result.push_back(gradients.of(h));
        if (!is_grad_enabled()) all.spend();
        return result;
      },
      s);
  return pair ? parted(y, pair, s) : value;
}

Tensor custom_function(const TensorFunction& forward, BackwardFunction backward, const std::vector<Tensor>& x,
                       Site s) {
  const Arguments arguments("custom_function", x, s);
  const std::vector<Handle> operands = arguments.planes();
  bool any = false;
  for (const Handle& h : operands) any |= is_tracked(h);
  Tensor value;
  Planed planes;
  {
    const no_grad scope;
    value = forward(x);
    planes = checked("custom_function", value, s);
  }
  if (!any || !is_grad_enabled()) return value;
  const bool pair = planes.count == 2;
  Handle y;
  {
    const no_grad scope;
    y = joined(planes, s);
  }
  if (y->attachment) y = separate(y, s);  // one of the arguments
  derive(
      "custom_function", y, operands,
      [backward = std::move(backward), arguments, pair](const Differentiated& at) {
        const std::vector<Tensor> own = arguments.of(at.operands, at.site);
        const std::vector<Tensor> g =
            backward(own, parted(at.result, pair, at.site), parted(at.gradient, pair, at.site));
        if (g.size() != own.size())
          fail<Error>("custom_function",
                      "backward returned " + std::to_string(g.size()) + " gradients for " +
                          std::to_string(own.size()) + " arguments",
                      at.site);
        for (size_t i = 0; i < g.size(); ++i)
          if (g[i].defined() && g[i].handle()->shape != own[i].handle()->shape)
            fail<ShapeError>("custom_function",
                             "backward returned a gradient of " + to_string(g[i].handle()->shape) +
                                 " for an argument of " + to_string(own[i].handle()->shape),
                             at.site);
        return arguments.planes_of(g);
      },
      s);
  return parted(y, pair, s);
}

}  // namespace lazy
