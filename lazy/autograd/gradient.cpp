#include "lazy/autograd/gradient.hpp"

#include "jit/calls/call.hpp"
#include "lazy/autograd/rules.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Returns a value of its own that is the same: an input of the function that no other has, and that nothing
/// else is recorded on.
Handle separate(const Handle& h, const Site& s) {
  return detail::record(Op::cast, {&h}, h->dtype, h->shape, s);
}

void check_float(const char* op, const char* what, DType t, const Site& s) {
  if (!is_float(t))
    fail<DtypeError>(op, std::string(what) + " is of " + name_of(t) + ": gradients are of floating point", s);
}

/// Goes through the tape backwards from the value, to which `g` belongs.
void go_back(const Tape& tape, Gradients& gradients) {
  const jit::Purpose purpose("gradient");
  for (auto op = tape.ops().rbegin(); op != tape.ops().rend(); ++op) {
    bool any = false;
    for (const Handle& r : op->results) any |= r && static_cast<bool>(gradients.of(r));
    if (!any) continue;
    const Rule rule = op->call ? rule_of_call(op->call->name()) : rule_of(op->op);
    if (!rule) fail<Error>(op->call->name(), "has no derivative yet", op->site);
    rule(Differentiation(*op, gradients));
  }
}

}  // namespace

struct Pullback::Kept {
  Tape tape;
  std::vector<Handle> inputs;
  Handle value;
  Site site;
};

Pullback vjp(const TensorFunction& f, const std::vector<Tensor>& x, Site s) {
  const auto kept = std::make_shared<Pullback::Kept>();
  kept->site = s;
  std::vector<Tensor> inputs;
  for (const Tensor& t : x) {
    const Arg arg(t, s);
    const Operand operand("vjp", arg);
    check_float("vjp", "an argument", operand->dtype, s);
    inputs.push_back(Tensor(separate(operand, s)));
    kept->inputs.push_back(inputs.back().handle());
    kept->tape.watch(kept->inputs.back());
  }
  Pullback p;
  {
    const Observing tape(kept->tape);
    p.value = f(inputs);
  }
  const Arg value(p.value, s);
  kept->value = Operand("vjp", value);
  check_float("vjp", "the value", kept->value->dtype, s);
  p.kept_ = kept;
  return p;
}

std::vector<Tensor> Pullback::operator()(Arg gradient) const {
  const Site s = gradient.site();
  if (!kept_) fail<Error>("vjp", "an empty pullback", s);
  const Handle g = Operand("vjp", gradient, kept_->value->dtype).take();
  if (g->shape != kept_->value->shape)
    fail<ShapeError>(
        "vjp",
        "a gradient of shape " + to_string(g->shape) + " for a value of " + to_string(kept_->value->shape),
        s);
  Gradients gradients(kept_->tape);
  if (kept_->tape.depends(kept_->value)) gradients.add(kept_->value, g, s);
  go_back(kept_->tape, gradients);
  std::vector<Tensor> all;
  for (const Handle& x : kept_->inputs) {
    const Handle sum = gradients.of(x);
    all.push_back(Tensor(sum ? sum : constant(0, x->dtype, x->shape, x, s)));
  }
  return all;
}

std::pair<Tensor, std::vector<Tensor>> value_and_grad_of(const TensorFunction& f,
                                                         const std::vector<Tensor>& x, Site s) {
  const Pullback p = vjp(f, x, s);
  const Handle& value = p.value.handle();
  if (numel(value->shape) != 1)
    fail<ShapeError>("grad", "the value has one element, not shape " + to_string(value->shape), s);
  return {p.value, p(Arg(constant(1, value->dtype, value->shape, value, s), s))};
}

Tensor stop_gradient(Arg x) {
  const Site s = x.site();
  const Handle h = Operand("stop_gradient", x).take();
  const no_grad scope;
  return Tensor(separate(h, s));
}

no_grad::no_grad() noexcept { ++tapes_paused; }
no_grad::~no_grad() { --tapes_paused; }

}  // namespace lazy
