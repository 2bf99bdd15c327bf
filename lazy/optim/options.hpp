// Lets an optimizer's options be listed once, for two structs: the options that the optimizer has, each with
// a value, and those of a group, of which each may be left out and is then what the optimizer was given.
//
//   template <template <class> class As>
//   struct SGDOptionsAs {
//     As<double> lr = otherwise<As>(1e-3);
//     static void each(auto&& f, auto&... o) { f("lr", o.lr...); }
//   };
//   using SGDOptions = SGDOptionsAs<Value>;
//   using SGDGroup = SGDOptionsAs<Given>;
#pragma once
#include <array>
#include <concepts>
#include <optional>
#include <type_traits>

namespace lazy::optim {

/// The type of an option that has a value.
template <class T>
using Value = T;

/// Holds an option of a group, if it is given.
template <class T>
class Given {
 public:
  constexpr Given() = default;
  constexpr Given(T v) : value_(v) {}
  /// Takes a pair, `{.betas = {0.9, 0.95}}`.
  constexpr Given(double first, double second) requires std::same_as<T, std::array<double, 2>>
      : value_(T{first, second}) {}
  constexpr explicit operator bool() const { return value_.has_value(); }
  constexpr const T& operator*() const { return *value_; }

 private:
  std::optional<T> value_;
};

/// Returns what an option is unless it is set: the default, or nothing for one that may be left out.
template <template <class> class As, class T>
constexpr As<T> otherwise(T v) {
  if constexpr (std::is_same_v<As<T>, T>) return v;
  else return {};
}

}  // namespace lazy::optim
