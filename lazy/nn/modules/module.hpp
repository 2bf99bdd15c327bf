// Defines Module: what makes a model of a plain struct of parameters and other modules.
//
//   struct Net : nn::Module {
//     nn::Linear hidden{784, 512}, out{512, 10};
//     nn::Dropout drop{0.1};
//     LAZY_MODULE(hidden, drop, out)
//     Tensor operator()(const Tensor& x) const { return out(drop(relu(hidden(x)))); }
//   };
//
// The contract. A model is a value: a copy is another model with the same values, trained apart from the
// first one; a moved model is the same one, and references to its parameters (ParameterRef) follow.
// LAZY_MODULE names the members once, in order, and everything else follows from that. A Parameter is
// trained. A Tensor is a buffer: part of the state, not trained. A module is a child. std::vector, std::array
// and std::map of these are children with numbers or keys as names; std::optional and std::unique_ptr stand
// for what they hold, if anything. Other types don't compile. An undefined Parameter or Tensor (a bias that
// is left out) is skipped. A name is the members' names on the way, joined by dots: "hidden.weight", as in
// torch, so that weights of either load into the other.
//
// Calling a model records ops and computes nothing. It may be called const if that changes nothing in it.
// What changes in a step, parameters and running statistics, is assigned a value that is computed in the
// step's flush.
#pragma once
#include <atomic>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "lazy/autograd/parameter.hpp"
#include "lazy/core/named.hpp"

namespace lazy::nn {

class Visitor;

/// Holds the names on which a model and a dictionary of tensors differ.
struct IncompatibleKeys {
  std::vector<std::string> missing_keys;     // the model has them, the dictionary does not
  std::vector<std::string> unexpected_keys;  // the dictionary has them, the model does not
};

class Module {
 public:
  Module() noexcept;
  Module(const Module&) noexcept;
  Module(Module&&) noexcept;
  Module& operator=(const Module&) noexcept;
  Module& operator=(Module&&) noexcept;
  virtual ~Module();

  // Members of this module and of all below it, in the order of LAZY_MODULE. The first function that is asked
  // for all of them, trains, saves or moves them throws Error if LAZY_MODULE leaves out a Parameter, or a
  // module that has any or that training and evaluation differ for: one that is a member itself, or lies in
  // one. What a member owns by a pointer or vector can't be found so.

  std::vector<ParameterRef> parameters(Site s = Site::current());
  std::vector<std::pair<std::string, ParameterRef>> named_parameters(Site s = Site::current());
  std::vector<Tensor> buffers(Site s = Site::current()) const;
  NamedTensors named_buffers(Site s = Site::current()) const;
  /// Returns the modules right below this one. Pointers hold until the model is moved, or a vector of modules
  /// grows.
  std::vector<Module*> children();
  std::vector<std::pair<std::string, Module*>> named_children();
  /// Returns this module and all below it, each before those below it; its own name is "".
  std::vector<Module*> modules();
  std::vector<std::pair<std::string, Module*>> named_modules();
  /// Returns the number of elements of all parameters, or of those that are trained.
  int64_t num_parameters(bool trained_only = false) const;

  /// Returns parameters and buffers by name. They share the values they have now: a step later the model has
  /// others.
  NamedTensors state_dict(Site s = Site::current()) const;
  /// Takes the values of parameters and buffers, in their dtypes and on their devices. Nothing changes if it
  /// throws: ShapeError, which names all that differ in shape, or, if `strict`, Error, which names all that
  /// are missing in the dictionary or in the model. Returns these names.
  IncompatibleKeys load_state_dict(const NamedTensors& state, bool strict = true, Site s = Site::current());
  /// Writes state_dict() as a safetensors file, and takes it from one, as load_state_dict() does. Errors are
  /// those of save_safetensors() and load_safetensors(), too.
  void save(const std::string& path, Site s = Site::current()) const;
  IncompatibleKeys load(const std::string& path, bool strict = true, Site s = Site::current());

  /// Says if the model is being trained: dropout drops and batch normalisation uses the batch's statistics.
  /// Error to train a frozen one.
  Module& train(bool on = true, Site s = Site::current());
  Module& eval(Site s = Site::current()) { return train(false, s); }
  bool training() const noexcept { return training_; }
  /// Returns how often train() and eval() changed any module of the process.
  static uint64_t mode_changes() noexcept;
  /// Has what was recorded of modules be recorded anew, as after train(): a model was frozen or thawed.
  static void note_mode_change() noexcept;
  /// Moves parameters and buffers to a device. DeviceError if there is none.
  Module& to(Device, Site s = Site::current());
  /// Takes the device's name: "cpu", "cuda", "cuda:1". DeviceError for others.
  Module& to(std::string_view device, Site s = Site::current()) {
    return to(lazy::detail::device_named(device, s), s);
  }
  Module& cpu(Site s = Site::current()) { return to(Device{}, s); }
  Module& cuda(Site s = Site::current()) { return to(lazy::detail::device_named("cuda", s), s); }
  /// Converts parameters and buffers of floating point. DtypeError unless to one of these.
  Module& to(DType, Site s = Site::current());
  Module& half(Site s = Site::current()) { return to(float16, s); }
  /// Puts parameters and buffers of 4 and 5 axes into memory of this order (Tensor::to_memory_format):
  /// weights of convolutions, mostly. A convolution of such weights gives images in channels-last memory.
  Module& to_memory_format(ChannelLayout format, Site s = Site::current());
  /// Forgets all gradients.
  void zero_grad(Site s = Site::current());
  /// Trains all parameters, or freezes them.
  Module& requires_grad_(bool on = true, Site s = Site::current());
  /// Calls f with each module, those below one before it: f(Module&), or f(Conv2d&) for modules of that type.
  template <class F>
  Module& apply(F&& f);

  /// Returns the type's name without namespaces.
  virtual std::string name() const;
  /// Returns what stands between the parentheses when the module is printed: "in_features=784".
  virtual std::string extra_repr() const { return {}; }

 protected:
  /// Says to the visitor what members there are. LAZY_MODULE defines it.
  virtual void members(Visitor&) {}

 private:
  friend class Visitor;
  /// Throws Error if a member is left out; looks once.
  void check_members(const Site& s) const;

  bool training_ = true;
  mutable std::atomic<bool> checked_ = false;  // no member is left out
};

/// Prints the tree of modules as torch does, and behind `#` the shapes of each one's parameters and how many
/// elements they have; in the last line, how many all have. Computes nothing.
std::ostream& operator<<(std::ostream&, const Module&);

namespace detail {

/// Returns a type's name without namespaces and template arguments.
std::string type_name(const std::type_info&);

/// Finds the argument of a function object of one argument.
template <class F>
struct ArgumentOf : ArgumentOf<decltype(&std::remove_reference_t<F>::operator())> {};
template <class R, class C, class A, bool N>
struct ArgumentOf<R (C::*)(A) noexcept(N)> {
  using type = A;
};
template <class R, class C, class A, bool N>
struct ArgumentOf<R (C::*)(A) const noexcept(N)> {
  using type = A;
};
template <class R, class A, bool N>
struct ArgumentOf<R (*)(A) noexcept(N)> {
  using type = A;
};
template <class R, class A, bool N>
struct ArgumentOf<R(A) noexcept(N)> {
  using type = A;
};

}  // namespace detail

template <class F>
Module& Module::apply(F&& f) {
  for (Module* child : children()) child->apply(f);
  if constexpr (std::is_invocable_v<F&, Module&>) {
    f(*this);
  } else {
    using T = std::remove_reference_t<typename detail::ArgumentOf<std::remove_reference_t<F>>::type>;
    static_assert(std::is_base_of_v<Module, T>, "apply() calls a function of a module");
    if (T* const module = dynamic_cast<T*>(this)) f(*module);
  }
  return *this;
}

}  // namespace lazy::nn

namespace lazy {

/// Write and read a model's state: torch's order of arguments.
inline void save(const nn::Module& m, const std::string& path, Site s = Site::current()) { m.save(path, s); }
inline void load(nn::Module& m, const std::string& path, Site s = Site::current()) { m.load(path, true, s); }

}  // namespace lazy

#include "lazy/nn/modules/members.hpp"
