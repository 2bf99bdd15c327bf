// Implements functions whose derivative is not that of the ops they record: checkpoints compute again,
// custom functions bring their own.
#include "jit/built_in/barrier.hpp"
#include "lazy/autograd/backwards.hpp"
#include "lazy/autograd/gradient.hpp"
#include "lazy/core/build.hpp"
#include "lazy/random/generator.hpp"

namespace lazy {
using namespace detail;

namespace {

/// Returns the arguments as values that f is differentiated by; integers as they are. With `derived`,
/// gradients go on to what the arguments depend on.
std::vector<Tensor> inputs_of(std::span<const Handle> x, bool derived, const Site& s) {
  std::vector<Tensor> inputs;
  for (const Handle& h : x) {
    Handle own = h;
    if (is_float(h->dtype)) {
      own = derived ? alias_of(h, s) : separate(h, s);
      if (!is_tracked(own)) make_leaf(own, false);
    }
    inputs.push_back(Tensor(std::move(own)));
  }
  return inputs;
}

std::vector<Handle> handles_of(const std::vector<Tensor>& x) {
  std::vector<Handle> all;
  for (const Tensor& t : x) all.push_back(t.handle());
  return all;
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

Handle checked(const char* op, const Tensor& t, const Site& s) {
  const Arg a(t, s);
  return Operand(op, a).take();
}

}  // namespace

Tensor checkpoint(const TensorFunction& f, const std::vector<Tensor>& x, Site s) {
  std::vector<Handle> operands;
  for (const Tensor& t : x) operands.push_back(checked("checkpoint", t, s));
  if (!is_grad_enabled()) return f(x);
  const uint64_t drawn = default_generator().position(), first = derivations_so_far();
  const std::vector<Tensor> inputs = inputs_of(operands, false, s);
  Tensor value = f(inputs);
  const Handle y = checked("checkpoint", value, s);
  const std::vector<Handle> targets = handles_of(inputs);
  for (size_t i = 0; i < targets.size(); ++i)
    if (y.get() == targets[i].get()) return x[i];
  const Derivation* const d = derivation(y);
  if (!d || d->number < first) return value;  // computed from none of them
  std::vector<Handle> captured = Backwards(y, targets, s, first).boundary();
  const size_t n = operands.size();
  operands.insert(operands.end(), captured.begin(), captured.end());
  derive(
      "checkpoint", y, operands,
      [f, n, drawn](const Differentiated& at) {
        const jit::Purpose purpose("checkpoint: computed again");
        std::vector<Handle> ends = behind_barrier(at.operands.first(n), at.site);
        Tensor again;
        {
          const std::vector<Tensor> u = inputs_of(ends, is_grad_enabled(), at.site);
          const enable_grad scope;
          const Redrawing same(drawn);
          again = f(u);
          ends = handles_of(u);
        }
        ends.insert(ends.end(), at.operands.begin() + static_cast<std::ptrdiff_t>(n), at.operands.end());
        Backwards all(again.handle(), ends, at.site);
        Gradients gradients = all.run(at.gradient);
        std::vector<Handle> result;
        for (const Handle& h : ends) result.push_back(gradients.of(h));
        if (!is_grad_enabled()) all.spend();
        return result;
      },
      s);
  return value;
}

Tensor custom_function(const TensorFunction& forward, BackwardFunction backward, const std::vector<Tensor>& x,
                       Site s) {
  std::vector<Handle> operands;
  bool any = false;
  for (const Tensor& t : x) {
    operands.push_back(checked("custom_function", t, s));
    any |= is_tracked(operands.back());
  }
  Tensor value;
  {
    const no_grad scope;
    value = forward(x);
  }
  Handle y = checked("custom_function", value, s);
  if (!any || !is_grad_enabled()) return value;
  if (y->attachment) y = separate(y, s);  // one of the arguments
  derive(
      "custom_function", y, operands,
      [backward = std::move(backward)](const Differentiated& at) {
        std::vector<Tensor> x;
        for (const Handle& h : at.operands) x.push_back(Tensor(h));
        const std::vector<Tensor> g = backward(x, Tensor(at.result), Tensor(at.gradient));
        if (g.size() != x.size())
          fail<Error>("custom_function",
                      "backward returned " + std::to_string(g.size()) + " gradients for " +
                          std::to_string(x.size()) + " arguments",
                      at.site);
        for (size_t i = 0; i < g.size(); ++i)
          if (g[i].defined() && g[i].handle()->shape != at.operands[i]->shape)
            fail<ShapeError>("custom_function",
                             "backward returned a gradient of " + to_string(g[i].handle()->shape) +
                                 " for an argument of " + to_string(at.operands[i]->shape),
                             at.site);
        return handles_of(g);
      },
      s);
  return Tensor(y);
}

}  // namespace lazy
