#include "lazy/autograd/parameter.hpp"

#include <atomic>
#include <utility>

#include "lazy/autograd/addresses.hpp"
#include "lazy/autograd/derivation.hpp"
#include "lazy/autograd/parametrized.hpp"
#include "lazy/autograd/planed.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/recipe.hpp"
#include "lazy/core/unchanging.hpp"

namespace lazy {
using namespace detail;

namespace detail {

namespace {
constinit std::atomic<uint64_t> frozen_ones{0};
}  // namespace

uint64_t frozen_parameters() noexcept { return frozen_ones.load(std::memory_order_relaxed); }

const char* frozen_hint() noexcept {
  return frozen_parameters() == 0 ? ""
                                  : "; the parameters of a frozen model require none: inference::thaw() it";
}

struct ParameterState {
  ParameterState(Parameter* p, bool is_trained) : trained(is_trained) { move_to(p); }
  ParameterState(const ParameterState&) = delete;
  ~ParameterState() { freeze(false); }
  void freeze(bool on) noexcept {
    if (std::exchange(frozen, on) != on) frozen_ones.fetch_add(on ? 1 : -1, std::memory_order_relaxed);
  }
  void check_thawed(const char* op, const Site& s) const {
    if (frozen) fail<Error>(op, "the parameter is frozen: inference::thaw() the model first", s);
  }

  void move_to(Parameter* p) noexcept {
    if (home) parameter_addresses().remove(home);
    home = p;
    if (home) parameter_addresses().add(home);
  }

  Parameter* home = nullptr;  // null: destroyed
  bool trained;               // means nothing beside `parts`
  bool frozen = false;
  std::shared_ptr<Parametrized> parts;  // null: the parameter has a value of its own
};

namespace {

/// Returns a value to which a leaf can be attached: one that nobody else has.
Handle own_value(Handle h, const Site& s) { return h->attachment || h->handles() > 1 ? separate(h, s) : h; }

/// Reads a parameter by its parts.
class Reading final : public Recipe {
 public:
  explicit Reading(std::shared_ptr<Parametrized> p) : parts_(std::move(p)) {}
  Handle read(const Site& s) override {
    const jit::Purpose purpose("parametrization");
    return parts_->value(s).handle();
  }
  Tensor layer(const LayerCall& call, const Site& s) override {
    const std::shared_ptr<Parametrized> keep = parts_;
    return keep->layer(call, s);
  }
  void assign(const Handle& value, const Site& s) override { parts_->assign(Tensor(value), s); }
  bool requires_grad() const override { return parts_->any_trained(); }
  void zero_grad(const Site& s) override { parts_->forget_gradients(s); }

 private:
  const std::shared_ptr<Parametrized> parts_;
};

/// Returns a handle that stands for what is computed from the parts.
Handle standing_for(const std::shared_ptr<Parametrized>& parts, const Site& s) {
  const no_grad scope;
  const Tensor value = parts->like(s);
  const Arg arg(value, s);
  const Operand like("parametrization", arg);
  return with_recipe(new Reading(parts), like->dtype, like->shape, like->device, s);
}

void check_float(const Handle& h, const Site& s) {
  if (!is_float(h->dtype) && !is_complex(h->dtype))
    fail<DtypeError>("Parameter",
                     std::string("a value of ") + name_of(h->dtype) + ": gradients are of floating point", s);
}

}  // namespace

void check_thawed(const char* op, const Tensor& variable, const Site& s) {
  const Parameter none;
  const auto before =
      reinterpret_cast<const char*>(static_cast<const Tensor*>(&none)) - reinterpret_cast<const char*>(&none);
  for (const void* p : parameter_addresses().within(reinterpret_cast<const char*>(&variable) - before, 1))
    if (static_cast<const Parameter*>(p)->frozen())
      fail<Error>(op, "the parameter is frozen: inference::thaw() the model first", s);
}

Handle separate_frozen(const Tensor& t, bool frozen, const Site& s) {
  const no_grad scope;
  Tensor value = t.detach(s);
  // A value that is made where it is read has no memory beside which results are kept.
  const Planed given(value.handle());
  const auto is_made = [&](int i) { return i < given.count && jit::is_source(given.of[i]->op); };
  if (frozen && (is_made(0) || is_made(1))) value = value.copy(s);
  if (frozen) (void)value.eval(s);
  Planed planes(value.handle());
  for (int i = 0; i < planes.count; ++i) {
    const Handle from = planes.of[i];
    Handle own = separate(from, s);
    own->contiguous_axis = from->contiguous_axis;
    own->channels_last = from->channels_last;
    own->marks.store(from->marks.load(std::memory_order_relaxed), std::memory_order_relaxed);
    own->underived = false;
    if (frozen && own->buffer) own->buffer->mark_unchanging();
    own->frozen = frozen;
    planes.of[i] = std::move(own);
  }
  return planes.value(s);
}

}  // namespace detail

Parameter::Parameter(const Tensor& value, bool requires_grad, Site s)
    : Parameter(Tensor(value), requires_grad, s) {}

Parameter::Parameter(Tensor&& value, bool requires_grad, Site s) {
  if (!value.defined()) return;
  if (requires_grad) check_float(value.handle(), s);
  state_ = std::make_shared<ParameterState>(this, requires_grad);
  take(std::move(value), s);
}

Parameter::Parameter(const Parameter& p) : Tensor() { *this = p; }

Parameter::Parameter(Parameter&& p) noexcept : Tensor(std::move(p)), state_(std::move(p.state_)) {
  if (state_) state_->move_to(this);
}

Parameter::~Parameter() {
  if (state_) state_->move_to(nullptr);
}

/// Attaches the leaf of the value so far, or a new one, to the new value.
void Parameter::take(Tensor&& value, const Site& s) {
  Tensor moved = std::move(value);
  jit::Handle h = moved.handle();
  moved = Tensor();
  Planed planes(h);
  h = Handle();
  const Planed before(handle());
  for (int i = 0; i < planes.count; ++i) {
    Handle own = own_value(std::move(planes.of[i]), s);
    own->underived = false;  // a variable, wherever its value comes from
    if (state_->trained) {
      if (Leaf* const l = i < before.count ? leaf(before.of[i]) : nullptr) l->attach(own);
      else make_leaf(own);
    }
    planes.of[i] = std::move(own);
  }
  rebind(planes.value(s));
}

Parameter& Parameter::operator=(const Tensor& value) & { return *this = Tensor(value); }

Parameter& Parameter::operator=(Tensor&& value) & {
  const Site s = value.defined() ? value.handle()->site : Site::current();
  if (!value.defined()) throw_empty("Parameter", s);
  if (Parametrized* const p = parametrized()) {
    p->assign(value, s);
    return *this;
  }
  if (state_) state_->check_thawed("Parameter", s);
  if (defined()) {
    const jit::Handle &now = handle(), &then = value.handle();
    if (now->shape != then->shape)
      fail<ShapeError>("Parameter",
                       "a value of shape " + to_string(then->shape) + " for one of " + to_string(now->shape),
                       s);
    if (now->dtype != then->dtype)
      fail<DtypeError>(
          "Parameter",
          std::string("a value of ") + name_of(then->dtype) + " for one of " + name_of(now->dtype), s);
  } else {
    check_float(value.handle(), s);
    state_ = std::make_shared<ParameterState>(this, true);
  }
  take(std::move(value), s);
  return *this;
}

Parameter& Parameter::operator=(const Parameter& p) & {
  if (this == &p) return *this;
  if (!p.defined()) {
    *this = Parameter();
    return *this;
  }
  const Site s = p.handle()->site;
  if (state_) state_->check_thawed("Parameter", s);
  if (Parametrized* const parts = p.parametrized()) {
    set_parametrized(parts->copy(), s);
    return *this;
  }
  if (parametrized()) *this = Parameter();
  if (!state_) state_ = std::make_shared<ParameterState>(this, p.state_->trained);
  take(Tensor(p), s);
  return *this;
}

Parameter& Parameter::operator=(Parameter&& p) & noexcept {
  if (this == &p) return *this;
  if (state_) state_->move_to(nullptr);
  state_ = std::move(p.state_);
  if (state_) state_->move_to(this);
  Tensor::operator=(std::move(p));
  return *this;
}

void Parameter::reset(const Tensor& value, Site s) {
  if (Parametrized* const p = parametrized()) return p->assign(value, s);
  const Arg a(value, s);
  const Operand h("Parameter", a);
  if (state_) state_->check_thawed("Parameter", s);
  if (!state_) state_ = std::make_shared<ParameterState>(this, true);
  if (state_->trained) check_float(h, s);
  const Planed before(handle());
  for (int i = 0; i < before.count; ++i)
    if (Leaf* const l = leaf(before.of[i])) l->set_gradient({});
  take(Tensor(value), s);
}

void Parameter::set_grad(const Tensor& gradient, Site s) {
  const jit::Node& n = node("set_grad", s);
  if (parametrized())
    fail<Error>("set_grad", "the parameter has a parametrization: its parts have gradients", s);
  state_->check_thawed("set_grad", s);
  const Planed planes(handle());
  if (!leaf(planes.of[0])) fail<Error>("set_grad", "the parameter does not require a gradient", s);
  const jit::Handle& g = gradient.handle();
  if (g && (g->shape != n.shape || g->dtype != n.dtype))
    fail<ShapeError>("set_grad",
                     "a gradient of " + to_string(g->shape) + ", " + name_of(g->dtype) +
                         " for a parameter of " + to_string(n.shape) + ", " + name_of(n.dtype),
                     s);
  const Planed gradients(g);
  for (int i = 0; i < planes.count; ++i) leaf(planes.of[i])->set_gradient(gradients.of[i]);
}

Parameter& Parameter::requires_grad_(bool on, Site s) & {
  (void)node("requires_grad_", s);
  if (Parametrized* const p = parametrized()) {
    p->train_parts(on, s);
    return *this;
  }
  if (on) check_float(handle(), s), state_->check_thawed("requires_grad_", s);
  state_->trained = on;
  const Planed planes(handle());
  for (int i = 0; i < planes.count; ++i) {
    if (!on) jit::attach(*planes.of[i].get(), nullptr);
    else if (!leaf(planes.of[i])) make_leaf(planes.of[i]);
  }
  return *this;
}

void Parameter::freeze(Site s) {
  if (!defined() || frozen() || parametrized()) return;
  rebind(separate_frozen(*this, true, s));
  state_->freeze(true);
}

void Parameter::thaw(Site s) {
  if (!frozen()) return;
  Tensor value(separate_frozen(*this, false, s));
  state_->freeze(false);
  take(std::move(value), s);
}

bool Parameter::frozen() const noexcept { return state_ && state_->frozen; }

Parametrized* Parameter::parametrized() const noexcept {
  return state_ && any_recipes() && recipe_of(handle()) ? state_->parts.get() : nullptr;
}

void Parameter::set_parametrized(std::shared_ptr<Parametrized> parts, Site s) {
  if (state_) state_->check_thawed("parametrization", s);
  jit::Handle h = standing_for(parts, s);
  if (!state_) state_ = std::make_shared<ParameterState>(this, true);
  state_->parts = std::move(parts);
  rebind(std::move(h));
}

void Parameter::parts_changed(Site s) {
  if (parametrized()) rebind(standing_for(state_->parts, s));
}

ParameterRef Parameter::ref() {
  ParameterRef r;
  r.state_ = state_;
  return r;
}

Parameter* ParameterRef::get() const noexcept { return state_ ? state_->home : nullptr; }

}  // namespace lazy
