// Visits the members of modules: what LAZY_MODULE is made of. Included by module.hpp.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lazy/nn/modules/module.hpp"

/// Names the members of a module that are parameters, buffers or modules.
#define LAZY_MODULE(...)                                                  \
  void members([[maybe_unused]] ::lazy::nn::Visitor& visitor_) override { \
    visitor_.whole(*this, this, sizeof *this);                            \
    visitor_.members_of(#__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__);         \
  }
/// Does that for a module that is derived from another one with members, which come first.
#define LAZY_MODULE_OF(Base, ...)                                         \
  void members([[maybe_unused]] ::lazy::nn::Visitor& visitor_) override { \
    visitor_.whole(*this, this, sizeof *this);                            \
    Base::members(visitor_);                                              \
    visitor_.members_of(#__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__);         \
  }

namespace lazy::nn {

namespace detail {

template <class T, template <class...> class Of>
inline constexpr bool kIs = false;
template <class... A, template <class...> class Of>
inline constexpr bool kIs<Of<A...>, Of> = true;
template <class T>
inline constexpr bool kIsArray = false;
template <class T, size_t N>
inline constexpr bool kIsArray<std::array<T, N>> = true;
template <class T>
inline constexpr bool kIsNone = false;

/// Owns a module of any type (AnyModule).
template <class T>
concept HoldsModule = requires(T& t) {
  { t.module() } -> std::same_as<Module&>;
};

/// Names what torch calls a list or dictionary of T.
template <class T>
constexpr const char* list_of(bool by_key) {
  if constexpr (std::is_same_v<T, Parameter>) return by_key ? "ParameterDict" : "ParameterList";
  else if constexpr (std::is_same_v<T, Tensor>) return by_key ? "BufferDict" : "BufferList";
  else return by_key ? "ModuleDict" : "ModuleList";
}

}  // namespace detail

/// Is told of members, with their complete names.
class Visitor {
 public:
  virtual ~Visitor() = default;

  /// Visits a module: this one's members get names that begin with `path`.
  void visit(Module& m) {
    const size_t first = parametrized_.size();
    m.members(*this);
    visit_parametrized(first);
  }
  /// Visits a member of any kind that LAZY_MODULE takes. A module whose members' names can't be names of C++
  /// calls it by itself, in an overridden members().
  template <class T>
  void member(std::string_view name, T& m);
  /// Is told where a module lies in memory: the bytes of the type that lists its members.
  virtual void whole(const Module&, const void* /*begin*/, size_t /*bytes*/) {}
  /// Visits members whose names are separated by commas.
  template <class... T>
  void members_of([[maybe_unused]] std::string_view names, T&... m) {
    (member(next_name(names), m), ...);
  }

 protected:
  /// Is called for each parameter and buffer that is defined.
  virtual void parameter(const std::string& /*path*/, Parameter&) {}
  virtual void buffer(const std::string& /*path*/, Tensor&) {}
  /// Is called for each parameter that has a parametrization, after this was visited: it is a child, named
  /// "parametrizations.weight" for the parameter "weight", that comes after the other members, as in torch.
  virtual void parametrized(const std::string& /*path*/, Parameter&) {}
  /// Is called for a module, and visits what is in it, unless overridden.
  virtual void child(const std::string& /*path*/, Module& m) { visit(m); }
  /// Are called before and after a list's elements; `kind` is torch's name of such a list.
  virtual void open(const std::string& /*path*/, const char* /*kind*/) {}
  virtual void close() {}
  /// Says for one module alone if it is being trained.
  static void set_training(Module& m, bool on) noexcept { m.training_ = on; }

 private:
  /// Cuts the first name off.
  static std::string_view next_name(std::string_view& names);
  template <class T>
  void elements(T& list);
  /// Visits a parameter, or keeps it for later if it has a parametrization.
  void one(std::string_view name, Parameter&);
  /// Visits what was kept from the `first` on: those of one module or list.
  void visit_parametrized(size_t first);

  std::string path_;  // of what is being visited
  std::vector<std::pair<std::string, Parameter*>>
      parametrized_;  // to be visited, of all that are being visited
};

template <class T>
void Visitor::member(std::string_view name, T& m) {
  using namespace detail;
  if constexpr (kIs<T, std::optional> || kIs<T, std::unique_ptr>) {
    if (m) member(name, *m);
  } else {
    const size_t before = path_.size();
    if (before && !name.empty()) path_ += '.';  // a member without a name stands for what has it
    path_ += name;
    if constexpr (std::is_same_v<T, Parameter>) {
      if (m.defined()) one(name, m);
    } else if constexpr (std::is_same_v<T, Tensor>) {
      if (m.defined()) buffer(path_, m);
    } else if constexpr (std::is_base_of_v<Module, T>) {
      whole(m, &m, sizeof m);
      child(path_, m);
    } else if constexpr (HoldsModule<T>) {
      child(path_, m.module());
    } else if constexpr (kIs<T, std::vector> || kIsArray<T> || kIs<T, std::map>) {
      elements(m);
    } else {
      static_assert(kIsNone<T>,
                    "LAZY_MODULE takes Parameter, Tensor, modules, and std::vector, array, map, optional and "
                    "unique_ptr of these; leave other members out");
    }
    path_.resize(before);
  }
}

template <class T>
void Visitor::elements(T& list) {
  const size_t first = parametrized_.size();
  if constexpr (detail::kIs<T, std::map>) {
    open(path_, detail::list_of<typename T::mapped_type>(true));
    for (auto& [key, m] : list) member(key, m);
  } else {
    static_assert(
        detail::kIsArray<T> || std::is_nothrow_move_constructible_v<typename T::value_type>,
        "a vector that grows would copy its elements, and nobody would find their parameters again");
    open(path_, detail::list_of<typename T::value_type>(false));
    size_t i = 0;
    for (auto& m : list) member(std::to_string(i++), m);
  }
  visit_parametrized(first);
  close();
}

}  // namespace lazy::nn
