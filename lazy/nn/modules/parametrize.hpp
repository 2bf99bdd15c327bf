// Has parameters computed from parts whenever they are read, by torch.nn.utils.parametrize's names.
//
//   struct Symmetric : nn::utils::parametrize::Parametrization {
//     Tensor forward(const std::vector<Tensor>& x, Site) override { return triu(x[0]) + triu(x[0], 1).T(); }
//   };
//   nn::Linear layer{4, 4};
//   nn::utils::parametrize::register_parametrization(layer, "weight", Symmetric());
//
// The contract. A parameter with a parametrization has no value of its own: each reading of it records
// forward() of its parts as they are then, in the flush of whoever reads, and nothing stores the result. So
// layers need not know, and no_grad, copies of what was read, and gradients are as for any value. The parts
// are parameters, the module's in the parameter's place: "parametrizations.weight.original", or "original0",
// "original1" of several, as in torch, are what optimizers get and state_dict() has. The module, copied, has
// parts of its own. Assigning to the parameter sets the parts by right_inverse().
//
// Threads may read a parameter at once where forward() changes nothing; spectral_norm's does in training.
#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lazy/autograd/parametrized.hpp"
#include "lazy/nn/modules/module.hpp"

namespace lazy::nn::utils::parametrize {

/// Computes a parameter from parts. It is a module: it may have parameters and buffers, which LAZY_MODULE
/// lists, and is copied with the module that has the parameter.
class Parametrization : public Module {
 public:
  /// Returns the parameter's value of its parts, or of the one value that the parametrization registered
  /// before this one gives. `s` is the line that reads the parameter.
  virtual Tensor forward(const std::vector<Tensor>& x, Site s) = 0;
  /// Returns what a linear map or a convolution with the parameter as its weights gives, where there is a
  /// better way than by forward(): of integers, say. `x` are the parts. Undefined: it goes by forward(). Not
  /// asked where the parameter has several parametrizations.
  virtual Tensor layer(const lazy::detail::LayerCall&, const std::vector<Tensor>& /*x*/, Site) { return {}; }
  /// Returns parts of which forward() makes this value, or one near it; nothing if there is no way: then the
  /// one part begins with the parameter's value, and the parameter can't be assigned to.
  virtual std::optional<std::vector<Tensor>> right_inverse(const Tensor& /*value*/, Site) { return {}; }
};

namespace detail {

/// Owns a parametrization of any type.
struct Item {
  std::unique_ptr<Parametrization> of;
  std::unique_ptr<Parametrization> (*copy)(const Parametrization&);
};

[[noreturn]] void throw_not_copyable(const Parametrization&);

template <std::derived_from<Parametrization> P>
Item item_of(P p) {
  return {std::make_unique<P>(std::move(p)),
          [](const Parametrization& from) -> std::unique_ptr<Parametrization> {
            if constexpr (std::copy_constructible<P>) return std::make_unique<P>(static_cast<const P&>(from));
            else throw_not_copyable(from);
          }};
}

void add(Parameter&, Item, bool unsafe, bool training, const Site&);
/// Returns the parameter of that name; Error if the module has none.
Parameter& named(const char* op, Module&, std::string_view name, const Site&);

/// Makes a parametrization of functions.
class Functions final : public Parametrization {
 public:
  using Forward = std::function<Tensor(const std::vector<Tensor>&)>;
  using Inverse = std::function<std::vector<Tensor>(const Tensor&)>;
  Functions(Forward f, Inverse inverse) : forward_(std::move(f)), inverse_(std::move(inverse)) {}
  Tensor forward(const std::vector<Tensor>& x, Site) override { return forward_(x); }
  std::optional<std::vector<Tensor>> right_inverse(const Tensor& value, Site) override {
    if (!inverse_) return {};
    return inverse_(value);
  }
  std::string name() const override { return "Function"; }

 private:
  Forward forward_;
  Inverse inverse_;
};

}  // namespace detail

/// Holds a parameter's parts, and the parametrizations that they go through, one after the other.
class ParametrizationList final : public Module, public lazy::detail::Parametrized {
 public:
  /// Returns the number of parametrizations, and of parts.
  size_t size() const noexcept { return list_.size(); }
  size_t parts() const noexcept { return originals_.size(); }
  Parametrization& operator[](size_t i) { return *list_[i].of; }
  /// Returns a part. It stays where it is, as long as the parameter has the parametrization.
  Parameter& original(size_t i = 0) { return originals_[i]; }

  Tensor value(const Site&) override;
  Tensor layer(const lazy::detail::LayerCall&, const Site&) override;
  Tensor like(const Site&) override;
  void assign(const Tensor& value, const Site&) override;
  std::shared_ptr<Parametrized> copy() const override;
  bool any_trained() const override;
  void train_parts(bool on, const Site&) override;
  void forget_gradients(const Site&) override;

 protected:
  void members(Visitor&) override;

 private:
  friend void detail::add(Parameter&, detail::Item, bool, bool, const Site&);
  friend void remove_parametrizations(Parameter&, bool, Site);

  std::vector<Parameter> originals_;
  bool one_ = true;  // a single value went through the first, which need be no list
  std::vector<detail::Item> list_;
};

/// Has the parameter of the module, or this one, computed by p from now on; of one that is already, p takes
/// what the ones before give. The parts begin with right_inverse() of its value. A single part is the
/// parameter that there was: who refers to it, as an optimizer, refers to the part then, and several parts
/// are new parameters. ShapeError or DtypeError if p changes shape or dtype, unless `unsafe`; Error for a
/// name that the module has not. If it throws, nothing changes.
template <std::derived_from<Parametrization> P>
void register_parametrization(Parameter& parameter, P p, bool unsafe = false, Site s = Site::current()) {
  detail::add(parameter, detail::item_of(std::move(p)), unsafe, true, s);
}
template <std::derived_from<Parametrization> P>
void register_parametrization(Module& module, std::string_view name, P p, bool unsafe = false,
                              Site s = Site::current()) {
  Parameter& parameter = detail::named("register_parametrization", module, name, s);
  detail::add(parameter, detail::item_of(std::move(p)), unsafe, module.training(), s);
}
/// Does so by a function of the one part, or by functions of parts and to parts.
inline void register_parametrization(Module& module, std::string_view name,
                                     std::function<Tensor(const Tensor&)> forward, Site s = Site::current()) {
  register_parametrization(
      module, name,
      detail::Functions([f = std::move(forward)](const std::vector<Tensor>& x) { return f(x[0]); }, {}),
      false, s);
}
inline void register_parametrization(Module& module, std::string_view name,
                                     std::function<Tensor(const std::vector<Tensor>&)> forward,
                                     std::function<std::vector<Tensor>(const Tensor&)> right_inverse,
                                     Site s = Site::current()) {
  register_parametrization(module, name, detail::Functions(std::move(forward), std::move(right_inverse)),
                           false, s);
}

/// Ends that. The parameter has its present value from then on or, if not `leave_parametrized`, that of its
/// one part (Error if there are several). A single part is the parameter again, trained if the part was; else
/// it is a new one, trained if any part was. Error if it has no parametrization.
void remove_parametrizations(Parameter& parameter, bool leave_parametrized = true, Site s = Site::current());
void remove_parametrizations(Module& module, std::string_view name, bool leave_parametrized = true,
                             Site s = Site::current());

/// True if the parameter, or that parameter of the module, or any of it (not of those below), has one.
bool is_parametrized(const Parameter& parameter);
bool is_parametrized(const Module& module, std::string_view name = {});

/// Returns the parts and parametrizations of a parameter. Error if it has none.
ParametrizationList& parametrizations(Parameter& parameter, Site s = Site::current());
ParametrizationList& parametrizations(Module& module, std::string_view name, Site s = Site::current());

}  // namespace lazy::nn::utils::parametrize
