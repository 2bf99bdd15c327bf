#include "lazy/nn/modules/parametrize.hpp"

#include "lazy/core/build.hpp"

namespace lazy::nn::utils::parametrize {

using lazy::detail::fail;

namespace {

constexpr const char* kRegister = "register_parametrization";
constexpr const char* kRemove = "remove_parametrizations";

/// Finds a parameter by its name, in the module or in those below it.
struct Find final : Visitor {
  std::string_view wanted;
  Parameter* found = nullptr;
  explicit Find(std::string_view name) : wanted(name) {}

 protected:
  void parameter(const std::string& path, Parameter& p) override { note(path, p); }
  void parametrized(const std::string& path, Parameter& p) override { note(path, p); }

 private:
  void note(const std::string& path, Parameter& p) {
    if (path == wanted) found = &p;
  }
};

struct AnyTrained final : Visitor {
  bool found = false;

 protected:
  void parameter(const std::string&, Parameter& p) override { found |= p.requires_grad(); }
};

struct AnyParametrized final : Visitor {
  bool found = false;

 protected:
  void child(const std::string&, Module&) override {}
  void parametrized(const std::string&, Parameter&) override { found = true; }
};

/// Has the modules below one evaluate, in a scope.
class Evaluating final : public Visitor {
 public:
  explicit Evaluating(Module& m) {
    visit(m);
    for (Module* each : trained_) set_training(*each, false);
  }
  Evaluating(const Evaluating&) = delete;
  ~Evaluating() override {
    for (Module* each : trained_) set_training(*each, true);
  }

 protected:
  void child(const std::string&, Module& m) override {
    if (m.training()) trained_.push_back(&m);
    visit(m);
  }

 private:
  std::vector<Module*> trained_;
};

ParametrizationList* list_of(const Parameter& p) {
  return dynamic_cast<ParametrizationList*>(p.parametrized());
}

bool has_gradients(DType t) { return is_float(t) || is_complex(t); }

void check_like(const Tensor& made, const Shape& shape, DType t, const Site& s) {
  if (made.shape(s) != shape)
    fail<ShapeError>(kRegister,
                     "it makes a value of shape " + to_string(made.shape(s)) + " for a parameter of " +
                         to_string(shape) + ": register it as unsafe if that is meant",
                     s);
  if (made.dtype(s) != t)
    fail<DtypeError>(kRegister,
                     std::string("it makes a value of ") + name_of(made.dtype(s)) + " for a parameter of " +
                         name_of(t) + ": register it as unsafe if that is meant",
                     s);
}

}  // namespace

void ParametrizationList::members(Visitor& v) {
  for (size_t i = 0; i < originals_.size(); ++i)
    v.member(one_ ? "original" : "original" + std::to_string(i), originals_[i]);
  for (size_t i = 0; i < list_.size(); ++i) v.member(std::to_string(i), *list_[i].of);
}

Tensor ParametrizationList::value(const Site& s) {
  std::vector<Tensor> x(originals_.begin(), originals_.end());
  for (const detail::Item& each : list_) {
    Tensor y = each.of->forward(x, s);
    if (!y.defined()) lazy::detail::throw_empty(each.of->name().c_str(), s);
    x.assign(1, std::move(y));
  }
  return std::move(x[0]);
}

Tensor ParametrizationList::layer(const lazy::detail::LayerCall& call, const Site& s) {
  if (list_.size() != 1) return {};
  return list_[0].of->layer(call, {originals_.begin(), originals_.end()}, s);
}

Tensor ParametrizationList::like(const Site& s) {
  const no_grad scope;
  const Evaluating evaluating(*this);
  return value(s);
}

void ParametrizationList::assign(const Tensor& v, const Site& s) {
  const no_grad scope;
  std::vector<Tensor> x{v};
  for (auto each = list_.rbegin(); each != list_.rend(); ++each) {
    auto parts = each->of->right_inverse(x[0], s);
    if (!parts)
      fail<Error>(each->of->name().c_str(),
                  "a parameter that it computes was assigned to, and it has no right_inverse()", s);
    x = std::move(*parts);
  }
  if (x.size() != originals_.size())
    fail<Error>(list_[0].of->name().c_str(),
                "right_inverse() gave " + std::to_string(x.size()) + " parts, there are " +
                    std::to_string(originals_.size()),
                s);
  for (size_t i = 0; i < x.size(); ++i) {
    const Shape &now = originals_[i].shape(s), &then = x[i].shape(s);
    if (now != then)
      fail<ShapeError>(
          list_[0].of->name().c_str(),
          "right_inverse() gave a part of shape " + to_string(then) + " for one of " + to_string(now), s);
  }
  for (size_t i = 0; i < x.size(); ++i) originals_[i] = x[i].to(originals_[i].dtype(s), s);
}

std::shared_ptr<lazy::detail::Parametrized> ParametrizationList::copy() const {
  const auto c = std::make_shared<ParametrizationList>();
  c->train(training());
  c->one_ = one_;
  c->originals_.reserve(originals_.size());
  for (const Parameter& p : originals_) c->originals_.emplace_back(p);
  for (const detail::Item& each : list_) c->list_.push_back({each.copy(*each.of), each.copy});
  return c;
}

bool ParametrizationList::any_trained() const {
  AnyTrained visitor;
  visitor.visit(const_cast<ParametrizationList&>(*this));  // which only reads
  return visitor.found;
}

void ParametrizationList::train_parts(bool on, const Site& s) { requires_grad_(on, s); }
void ParametrizationList::forget_gradients(const Site& s) { Module::zero_grad(s); }

void detail::throw_not_copyable(const Parametrization& p) {
  fail<Error>(p.name().c_str(), "the parametrization can't be copied, and so can't the module",
              Site::current());
}

Parameter& detail::named(const char* op, Module& m, std::string_view name, const Site& s) {
  Find visitor(name);
  visitor.visit(m);
  if (!visitor.found) fail<Error>(op, m.name() + " has no parameter '" + std::string(name) + "'", s);
  return *visitor.found;
}

void detail::add(Parameter& p, Item item, bool unsafe, bool training, const Site& s) {
  if (!p.defined()) lazy::detail::throw_empty(kRegister, s);
  const Shape shape = p.shape(s);
  const DType type = p.dtype(s);
  item.of->train(training, s);
  if (ParametrizationList* const list = list_of(p)) {
    list->list_.push_back(std::move(item));
    try {
      if (!unsafe) check_like(list->like(s), shape, type, s);
      p.parts_changed(s);
    } catch (...) {
      list->list_.pop_back();
      throw;
    }
    return;
  }
  const no_grad scope;
  const bool trained = p.requires_grad(s);
  const Tensor value = p.detach(s);
  const auto list = std::make_shared<ParametrizationList>();
  list->train(training, s);
  const auto parts = item.of->right_inverse(value, s);
  list->one_ = !parts || parts->size() == 1;
  list->list_.push_back(std::move(item));
  Parameter made;
  if (list->one_) {
    // It begins as a part of the same value, and is tried; then the parameter itself takes the part's place.
    list->originals_.emplace_back(parts ? (*parts)[0] : value, false, s);
  } else {
    list->originals_.reserve(parts->size());
    for (const Tensor& part : *parts)
      list->originals_.emplace_back(part, trained && has_gradients(part.dtype(s)), s);
  }
  made.set_parametrized(list, s);
  if (!unsafe) check_like(list->like(s), shape, type, s);
  if (list->one_) {
    const Tensor part = list->originals_[0].detach(s);
    if (part.shape(s) == shape && part.dtype(s) == type) {
      if (parts) p = part;
    } else {
      if (!has_gradients(part.dtype(s))) p.requires_grad_(false, s);
      p.reset(part, s);
    }
    list->originals_[0] = std::move(p);
  }
  p = std::move(made);
}

void remove_parametrizations(Parameter& p, bool leave_parametrized, Site s) {
  ParametrizationList* const list = list_of(p);
  if (!list) fail<Error>(kRemove, "the parameter has no parametrization", s);
  if (!leave_parametrized && !list->one_)
    fail<Error>(
        kRemove,
        "the parameter has " + std::to_string(list->parts()) + " parts: none of them is what it was before",
        s);
  const no_grad scope;
  const bool trained = list->any_trained();
  Tensor value;
  if (leave_parametrized) value = Tensor(Arg(p, s).take()).detach(s);
  if (!list->one_) {
    p = Parameter(std::move(value), trained, s);
    return;
  }
  Parameter part = std::move(list->original());
  p = std::move(part);  // the list goes with what stood for it
  if (!leave_parametrized) return;
  if (p.shape(s) == value.shape(s) && p.dtype(s) == value.dtype(s)) p = value;
  else p.reset(value, s);
}

void remove_parametrizations(Module& m, std::string_view name, bool leave_parametrized, Site s) {
  remove_parametrizations(detail::named(kRemove, m, name, s), leave_parametrized, s);
}

bool is_parametrized(const Parameter& p) { return p.parametrized() != nullptr; }

bool is_parametrized(const Module& m, std::string_view name) {
  Module& all = const_cast<Module&>(m);  // visitors only read
  if (name.empty()) {
    AnyParametrized visitor;
    visitor.visit(all);
    return visitor.found;
  }
  Find visitor(name);
  visitor.visit(all);
  return visitor.found && is_parametrized(*visitor.found);
}

ParametrizationList& parametrizations(Parameter& p, Site s) {
  ParametrizationList* const list = list_of(p);
  if (!list) fail<Error>("parametrizations", "the parameter has none", s);
  return *list;
}

ParametrizationList& parametrizations(Module& m, std::string_view name, Site s) {
  return parametrizations(detail::named("parametrizations", m, name, s), s);
}

}  // namespace lazy::nn::utils::parametrize
