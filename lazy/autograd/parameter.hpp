// Defines Parameter: a variable that is trained. It is a Tensor wherever one is read, and keeps being one
// that requires a gradient whatever it is assigned.
//
// Value semantics: a copy is a parameter of its own with the same value and no gradient yet, so copying a
// module copies the model (the value is shared until one of the two is updated). A moved parameter is the
// same one: references to it (ParameterRef) follow.
//
// A gradient by a copy is lost to the original, so a copy has to be asked for: `Parameter
// mine(layer.weight);`. What C++ copies where nobody writes a copy does not compile: `auto w =
// layer.weight;`, a list {a.weight, b.weight} that a loop goes over, std::vector<Parameter>{w}. A reference
// (`const Tensor& w`, `auto& w`) is the parameter itself. Copies of structs that have parameters compile as
// ever, and so does a lambda's [w].
//
// A parameter may have a parametrization (lazy/nn/modules/parametrize.hpp): then it has no value of its own,
// and each reading records one from its parts, which have values and gradients.
#pragma once
#include <concepts>
#include <cstdint>
#include <memory>

#include "lazy/autograd/backward.hpp"

namespace lazy {

namespace detail {
struct ParameterState;  // where the parameter is, and if it is trained
class Parametrized;     // how its value is computed from parts (parametrized.hpp)
}  // namespace detail

class ParameterRef;

namespace detail {
/// Returns how many parameters of the process are frozen.
uint64_t frozen_parameters() noexcept;
/// Says, behind a message, that a frozen parameter may be why; empty where there is none.
const char* frozen_hint() noexcept;
/// Returns a value of its own with the same memory, which is marked as staying if it is to be `frozen`.
/// Computes it.
jit::Handle separate_frozen(const Tensor&, bool frozen, const Site&);
}  // namespace detail

class Parameter : public Tensor {
 public:
  /// Holds nothing, as an optional bias that is left out.
  Parameter() noexcept = default;
  /// Has the value, detached. DtypeError unless it is of floating point, if it requires a gradient.
  Parameter(const Tensor& value, bool requires_grad = true, Site = Site::current());
  Parameter(Tensor&& value, bool requires_grad = true, Site = Site::current());
  explicit Parameter(const Parameter&);
  // Better than a Tensor's, which would do for a Parameter too.
  template <std::derived_from<Parameter> P>
  Parameter(const P&) = delete;  // refer to it, `const Tensor& w = p;`, or ask for a copy, `Parameter w(p);`
  Parameter(Parameter&&) noexcept;
  /// Takes the value, detached; the gradient, and if it is trained, remain. ShapeError or DtypeError if it
  /// differs in shape or dtype from the value it has, if it has one, thrown at the line that recorded it.
  Parameter& operator=(const Tensor& value) &;
  Parameter& operator=(Tensor&& value) &;
  Parameter& operator=(const Parameter&) &;
  Parameter& operator=(Parameter&&) & noexcept;
  ~Parameter();

  /// Takes a value of any shape and dtype, detached, and forgets the gradient: what load_state_dict() and
  /// to(dtype) do.
  void reset(const Tensor& value, Site = Site::current());
  /// Replaces the gradient; an undefined one is none.
  void set_grad(const Tensor& gradient, Site = Site::current());
  /// Says if it is trained: false freezes it.
  Parameter& requires_grad_(bool on = true, Site = Site::current()) &;
  /// Returns what finds it again after it was moved.
  ParameterRef ref();

  /// Has the value stay as it is (lazy/inference/freeze.hpp): computed, without a gradient, in memory that
  /// nobody writes to. Whatever would change or train it throws Error until it is thawed. One that has a
  /// parametrization stays what it is: its parts are frozen.
  void freeze(Site = Site::current());
  /// Has it be trained again, if it was before.
  void thaw(Site = Site::current());
  bool frozen() const noexcept;

  /// Returns how its value is computed from parts; null if it has a value of its own.
  detail::Parametrized* parametrized() const noexcept;
  /// Has its value computed from parts from now on. Throws what that throws: the parameter is then as it was.
  void set_parametrized(std::shared_ptr<detail::Parametrized>, Site = Site::current());
  /// Takes dtype, shape and device from the parts again, which have got others.
  void parts_changed(Site = Site::current());

 private:
  friend class ParameterRef;
  void take(Tensor&& value, const Site&);
  std::shared_ptr<detail::ParameterState> state_;
};

/// Refers to a parameter wherever it is moved: what optimizers hold.
class ParameterRef {
 public:
  ParameterRef() = default;
  /// Returns the parameter; null if it was destroyed.
  Parameter* get() const noexcept;
  explicit operator bool() const noexcept { return get() != nullptr; }
  Parameter& operator*() const noexcept { return *get(); }
  Parameter* operator->() const noexcept { return get(); }
  friend bool operator==(const ParameterRef&, const ParameterRef&) = default;

 private:
  friend class Parameter;
  std::shared_ptr<detail::ParameterState> state_;
};

}  // namespace lazy
