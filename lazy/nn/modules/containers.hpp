// Holds modules of different types: Sequential, ModuleList, ModuleDict.
#pragma once
#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lazy/nn/modules/module.hpp"

namespace lazy::nn {

class AnyModule;

namespace detail {

/// Makes a module of a function from a tensor to a tensor.
template <class F>
struct Function : Module {
  F f;
  explicit Function(F g) : f(std::move(g)) {}
  std::string name() const override { return "Function"; }
};
template <class F>
inline constexpr bool kIsFunction = false;
template <class F>
inline constexpr bool kIsFunction<Function<F>> = true;

/// Owns a module.
struct Held {
  virtual ~Held() = default;
  virtual std::unique_ptr<Held> copy() const = 0;
  virtual Tensor call(Arg x) = 0;
  virtual Tensor call_const(Arg x) const = 0;
  virtual Module& module() = 0;
};

/// Throws Error: what is there does not take one tensor (or not if it is const), or can't be copied.
[[noreturn]] void throw_not_callable(const Module&, bool as_const, const Site&);
[[noreturn]] void throw_not_copyable(const Module&);
[[noreturn]] void throw_out_of_range(const char* list, int64_t i, size_t size, const Site&);
[[noreturn]] void throw_other_type(const Module& found, const std::type_info& wanted, const Site&);

/// True for modules that are called, or have torch's forward(), with a tensor.
template <class F>
inline constexpr bool kCallable = std::is_invocable_r_v<Tensor, F&, Arg> ||
                                  std::is_invocable_r_v<Tensor, F&, Tensor> || requires(F& f, Tensor x) {
  Tensor(f.forward(x));
};
/// Calls a module with the caller's line if it takes it, which layers do.
template <class F>
Tensor call(F& f, Arg x) {
  if constexpr (std::is_invocable_r_v<Tensor, F&, Arg>) return f(std::move(x));
  else if constexpr (std::is_invocable_r_v<Tensor, F&, Tensor>) return f(Tensor(x.take()));
  else return f.forward(Tensor(x.take()));
}

template <class M>
struct HeldModule final : Held {
  M m;
  explicit HeldModule(M module) : m(std::move(module)) {}
  std::unique_ptr<Held> copy() const override {
    if constexpr (std::copy_constructible<M>) return std::make_unique<HeldModule>(m);
    else throw_not_copyable(m);
  }
  Tensor call(Arg x) override {
    if constexpr (kIsFunction<M>) return m.f(Tensor(x.take()));
    else if constexpr (kCallable<M>) return detail::call(m, std::move(x));
    else throw_not_callable(m, false, x.site());
  }
  Tensor call_const(Arg x) const override {
    if constexpr (kIsFunction<M>) {
      if constexpr (std::is_invocable_r_v<Tensor, const decltype(m.f)&, Tensor>) return m.f(Tensor(x.take()));
      else throw_not_callable(m, true, x.site());
    } else if constexpr (kCallable<const M>) {
      return detail::call(m, std::move(x));
    } else {
      throw_not_callable(m, true, x.site());
    }
  }
  Module& module() override { return m; }
};

}  // namespace detail

/// Owns a module of any type, or a function of a tensor. A copy owns a copy.
class AnyModule {
 public:
  template <class M>
  requires(std::is_base_of_v<Module, M>) AnyModule(M module)
      : held_(std::make_unique<detail::HeldModule<M>>(std::move(module))) {}
  template <class F>
  requires(!std::is_base_of_v<Module, F> && !std::same_as<F, AnyModule> &&
           std::is_invocable_r_v<Tensor, F&, Tensor>) AnyModule(F f)
      : held_(std::make_unique<detail::HeldModule<detail::Function<F>>>(detail::Function<F>(std::move(f)))) {}
  AnyModule(const AnyModule& o) : held_(o.held_->copy()) {}
  AnyModule(AnyModule&&) noexcept = default;
  AnyModule& operator=(const AnyModule& o) {
    held_ = o.held_->copy();
    return *this;
  }
  AnyModule& operator=(AnyModule&&) noexcept = default;
  ~AnyModule() = default;

  /// Calls the module. Error if it takes something else than one tensor; get() gives it by its type then.
  Tensor operator()(Arg x) { return held_->call(std::move(x)); }
  Tensor forward(Arg x) { return (*this)(std::move(x)); }
  Tensor operator()(Arg x) const { return static_cast<const detail::Held&>(*held_).call_const(std::move(x)); }
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
  Module& module() { return held_->module(); }
  const Module& module() const { return held_->module(); }
  /// Returns the module. Error if it is of another type.
  template <std::derived_from<Module> M>
  M& get(Site s = Site::current()) {
    if (M* const m = dynamic_cast<M*>(&module())) return *m;
    detail::throw_other_type(module(), typeid(M), s);
  }
  template <std::derived_from<Module> M>
  const M& get(Site s = Site::current()) const {
    return const_cast<AnyModule&>(*this).get<M>(s);
  }

 private:
  std::unique_ptr<detail::Held> held_;
};

namespace detail {

/// Takes the number of a module in a list, and the line where it was written.
struct Place {
  int64_t value;
  Site site;
  template <IntegerType T>
  Place(T i, Site s = Site::current()) : value(IntegerArg(i)), site(s) {}
};
using lazy::detail::Name;

}  // namespace detail

/// Lists modules under names: what the containers have in common.
class NamedModules : public Module {
 public:
  size_t size() const noexcept { return items_.size(); }
  bool empty() const noexcept { return items_.empty(); }
  auto begin() { return items_.begin(); }
  auto begin() const { return items_.begin(); }
  auto end() { return items_.end(); }
  auto end() const { return items_.end(); }

 protected:
  using Item = std::pair<std::string, AnyModule>;

  void members(Visitor& v) override {
    for (auto& [name, m] : items_) v.member(name, m);
  }
  /// Adds a module under its number.
  void add(AnyModule m) { items_.emplace_back(std::to_string(items_.size()), std::move(m)); }
  /// Error for a name that is there, is empty, or has a dot.
  void add(std::string name, AnyModule m, const Site& s);
  AnyModule& at(const char* list, int64_t i, const Site& s);
  const AnyModule& at(const char* list, int64_t i, const Site& s) const {
    return const_cast<NamedModules&>(*this).at(list, i, s);
  }

  std::vector<Item> items_;
};

/// Calls modules one after the other.
///
///   nn::Sequential net{nn::Linear{784, 512}, nn::ReLU{}, [](const Tensor& x) { return x * 2; }};
///   nn::Sequential named{{"hidden", nn::Linear{784, 512}}, {"act", nn::ReLU{}}};
class Sequential : public NamedModules {
 public:
  Sequential() = default;
  Sequential(std::initializer_list<std::pair<std::string, AnyModule>> named, Site s = Site::current());
  template <class... M>
  requires((std::convertible_to<M, AnyModule> && ...) && sizeof...(M) > 0 &&
           !(sizeof...(M) == 1 && (std::derived_from<std::remove_cvref_t<M>, Sequential> &&
                                   ...))) explicit Sequential(M&&... modules) {
    (add(AnyModule(std::forward<M>(modules))), ...);
  }
  Sequential& push_back(AnyModule m) {
    add(std::move(m));
    return *this;
  }
  Sequential& push_back(std::string name, AnyModule m, Site s = Site::current()) {
    add(std::move(name), std::move(m), s);
    return *this;
  }
  /// Returns a module by its number, which counts from the end if it is negative. IndexError if it is out of
  /// range.
  AnyModule& operator[](detail::Place i) { return at("Sequential", i.value, i.site); }
  const AnyModule& operator[](detail::Place i) const { return at("Sequential", i.value, i.site); }
  /// Returns a module of this type. IndexError for the number, Error for another type.
  template <std::derived_from<Module> M>
  M& get(IntegerArg i, Site s = Site::current()) {
    return at("Sequential", i, s).template get<M>(s);
  }
  template <std::derived_from<Module> M>
  const M& get(IntegerArg i, Site s = Site::current()) const {
    return at("Sequential", i, s).template get<M>(s);
  }
  Tensor operator()(Arg x);
  Tensor forward(Arg x) { return (*this)(std::move(x)); }
  /// Error if one of the modules can't be called const.
  Tensor operator()(Arg x) const;
  Tensor forward(Arg x) const { return (*this)(std::move(x)); }
};

/// Holds modules under numbers. The model that has it calls them.
class ModuleList : public NamedModules {
 public:
  ModuleList() = default;
  template <class... M>
  requires((std::convertible_to<M, AnyModule> && ...) && sizeof...(M) > 0 &&
           !(sizeof...(M) == 1 && (std::derived_from<std::remove_cvref_t<M>, ModuleList> &&
                                   ...))) explicit ModuleList(M&&... modules) {
    (add(AnyModule(std::forward<M>(modules))), ...);
  }
  ModuleList& push_back(AnyModule m) {
    add(std::move(m));
    return *this;
  }
  AnyModule& operator[](detail::Place i) { return at("ModuleList", i.value, i.site); }
  const AnyModule& operator[](detail::Place i) const { return at("ModuleList", i.value, i.site); }
  template <std::derived_from<Module> M>
  M& get(IntegerArg i, Site s = Site::current()) {
    return at("ModuleList", i, s).template get<M>(s);
  }
  template <std::derived_from<Module> M>
  const M& get(IntegerArg i, Site s = Site::current()) const {
    return at("ModuleList", i, s).template get<M>(s);
  }
};

/// Holds modules under names, in the order in which they were added.
class ModuleDict : public NamedModules {
 public:
  ModuleDict() = default;
  ModuleDict(std::initializer_list<std::pair<std::string, AnyModule>> named, Site s = Site::current());
  /// Adds a module. Error for a name that is there, is empty, or has a dot.
  ModuleDict& insert(std::string name, AnyModule m, Site s = Site::current()) {
    add(std::move(name), std::move(m), s);
    return *this;
  }
  bool contains(std::string_view name) const;
  /// IndexError if there is no module of that name.
  AnyModule& at(std::string_view name, Site s = Site::current());
  const AnyModule& at(std::string_view name, Site s = Site::current()) const {
    return const_cast<ModuleDict&>(*this).at(name, s);
  }
  AnyModule& operator[](detail::Name name) { return at(name.value, name.site); }
  const AnyModule& operator[](detail::Name name) const { return at(name.value, name.site); }
  template <std::derived_from<Module> M>
  M& get(std::string_view name, Site s = Site::current()) {
    return at(name, s).template get<M>(s);
  }
  template <std::derived_from<Module> M>
  const M& get(std::string_view name, Site s = Site::current()) const {
    return at(name, s).template get<M>(s);
  }
};

}  // namespace lazy::nn
