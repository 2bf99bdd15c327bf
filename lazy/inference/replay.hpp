// Runs a function again without recording it: the graph, the program and the arguments of one call are kept,
// and a later call with the same shapes binds the addresses of its arguments and launches.
//
//   auto step = lazy::replay([&](const Tensor& x) { return softmax(model(x), -1); });
//   Tensor p = step(image);      // records, once for each shape
//   Tensor q = step(other);      // records nothing: some 2 us and 0.1 us a kernel besides the kernels' own
//   time
//
// What a call gives is what the function gives, to the bit, computed, and without gradients: the function
// runs under no_grad.
//
// Inputs. Arguments are bound by position. Parameters that the function reads are inputs too, wherever they
// are moved, and so are the variables and modules named behind the function (their parameters and buffers),
// and tensors that a lambda captures by value. Each call reads what they are at that time: one that an
// optimizer has updated in between has its new value. All other tensors that the function reads must be made
// in it; for one that is not, the first call throws Error at the line that reads it.
//
// What C++ computes is computed once for each shape: numbers that are no tensors, branches, the length of
// loops, and tensors that the function makes of numbers. A module's train() or eval() is noticed.
//
// What a replay can't do throws Error at its line: a value is read in between (item(), to_vector(), print, an
// if), numbers are drawn from a generator, a value that was recorded outlives the call (a variable that the
// function updates, as running statistics or weights), a call with effects runs.
//
// Any number of threads may call it at once. Other shapes, dtypes, strides, devices, settings record as ever
// and are kept as well, the least recently used of more than 64 is dropped. With LAZY_EAGER, LAZY_CHECK_NAN
// or LAZY_VERIFY, and within another replay's function, the function is called each time.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/nn/modules/module.hpp"

namespace lazy {

namespace detail {

/// Takes an argument of a replay: a tensor, or a list of tensors.
struct Replayed {
  Replayed(const Tensor& t, Site s = Site::current()) : tensors(&t, 1), site(s) {}
  Replayed(const std::vector<Tensor>& all, Site s = Site::current()) : tensors(all), site(s) {}
  Replayed(std::span<const Tensor> all, Site s = Site::current()) : tensors(all), site(s) {}
  std::span<const Tensor> tensors;
  Site site;
};

/// Holds the results of a call. Those of most functions need no memory.
class ReplayResults {
 public:
  std::span<jit::Handle> resize(size_t n) {
    if (n > few_.size()) many_.resize(n);
    return all_ = n > few_.size() ? std::span(many_) : std::span(few_).first(n);
  }
  size_t size() const { return all_.size(); }
  Tensor take(size_t i) { return Tensor(std::move(all_[i])); }

 private:
  std::array<jit::Handle, 8> few_;
  std::vector<jit::Handle> many_;
  std::span<jit::Handle> all_;
};

/// Keeps what the calls of one function recorded.
class Replayer {
 public:
  /// Calls the function with tensors in the places of its arguments, of which each has so many.
  using Call = std::function<std::vector<Tensor>(std::span<const Tensor>, std::span<const size_t> sizes)>;
  /// What the replay may read: tensors that lie in [begin, begin + bytes), where the function is, and these.
  struct Names {
    const void* begin = nullptr;
    size_t bytes = 0;
    std::vector<const Tensor*> variables;
    std::vector<nn::Module*> modules;
  };
  Replayer(Call, Names);
  ~Replayer();
  void call(std::span<const Replayed* const> arguments, ReplayResults&, const Site&);
  /// Keeps what was recorded of so many shapes at most, at least 1; 64 if it was not called.
  void keep_at_most(size_t shapes) noexcept;
  /// Has train() and eval() of modules be no reason to record anew: the caller looks after them.
  void ignore_modes() noexcept;
  /// Has the first call of each shape try other ways of computing with images, too, and keeps the fastest.
  void benchmark() noexcept;

 private:
  struct Plan;
  struct All;
  std::unique_ptr<All> all_;
};

/// Names what a replay returns where the function returns R: a Tensor for what becomes one.
template <class R>
using ReplayResult = std::conditional_t<std::is_convertible_v<R, Tensor>, Tensor, std::decay_t<R>>;

/// Finds the type of a function object that is called in one way only; one that is called in several ways is
/// called with a tensor.
template <class F>
struct CallOf {
  using type = ReplayResult<std::invoke_result_t<F&, const Tensor&>>(const Tensor&);
};
template <class F>
requires requires { &F::operator(); }
struct CallOf<F> : CallOf<decltype(&F::operator())> {};
template <class R, class C, class... A, bool N>
struct CallOf<R (C::*)(A...) noexcept(N)> {
  using type = ReplayResult<R>(A...);
};
template <class R, class C, class... A, bool N>
struct CallOf<R (C::*)(A...) const noexcept(N)> {
  using type = ReplayResult<R>(A...);
};
template <class R, class... A, bool N>
struct CallOf<R (*)(A...) noexcept(N)> {
  using type = ReplayResult<R>(A...);
};

template <class R>
inline constexpr bool kIsTuple = false;
template <class... T>
inline constexpr bool kIsTuple<std::tuple<T...>> = (std::is_same_v<T, Tensor> && ...);
template <class A, class B>
inline constexpr bool kIsTuple<std::pair<A, B>> = std::is_same_v<A, Tensor>&& std::is_same_v<B, Tensor>;
template <size_t n>
inline constexpr bool kIsTuple<std::array<Tensor, n>> = true;

template <class R>
std::vector<Tensor> listed(R&& r) {
  using T = std::decay_t<R>;
  if constexpr (std::is_convertible_v<R&&, Tensor>) {
    std::vector<Tensor> one;
    one.push_back(std::forward<R>(r));
    return one;
  } else if constexpr (kIsTuple<T>) {
    std::vector<Tensor> all;
    std::apply([&](auto&&... t) { (all.push_back(std::move(t)), ...); }, std::move(r));
    return all;
  } else {
    static_assert(std::is_same_v<T, std::vector<Tensor>>,
                  "a replay's function returns a Tensor, or a tuple, pair, array or vector of them");
    return std::forward<R>(r);
  }
}

template <class R>
R unlisted(ReplayResults& results) {
  if constexpr (std::is_same_v<R, Tensor>) {
    return results.take(0);
  } else if constexpr (kIsTuple<R>) {
    return [&]<size_t... i>(std::index_sequence<i...>) { return R{results.take(i)...}; }
    (std::make_index_sequence<std::tuple_size_v<R>>());
  } else {
    R all;
    all.reserve(results.size());
    for (size_t i = 0; i < results.size(); ++i) all.push_back(results.take(i));
    return all;
  }
}

/// Takes the next argument of type A from a list of tensors.
template <class A>
decltype(auto) next_argument(std::span<const Tensor>& tensors, std::span<const size_t>& sizes) {
  const std::span<const Tensor> mine = tensors.first(sizes.front());
  tensors = tensors.subspan(sizes.front());
  sizes = sizes.subspan(1);
  using T = std::remove_cvref_t<A>;
  if constexpr (std::is_same_v<T, Tensor>) return (mine.front());
  else if constexpr (std::is_same_v<T, std::span<const Tensor>>) return T(mine);
  else if constexpr (std::is_same_v<T, std::vector<Tensor>>) return T(mine.begin(), mine.end());
  else {
    static_assert(std::is_constructible_v<T, const Tensor&>,
                  "a replay's function takes Tensors, and vectors or spans of them");
    return T(mine.front());
  }
}

template <class F, class R, class... A>
std::vector<Tensor> call_listed(F& f, std::type_identity<R(A...)>, std::span<const Tensor> tensors,
                                std::span<const size_t> sizes) {
  // Braces, so that arguments are taken from left to right.
  return [&]<size_t... i>(std::index_sequence<i...>) {
    std::tuple<decltype(next_argument<A>(tensors, sizes))...> arguments{next_argument<A>(tensors, sizes)...};
    return listed(f(std::forward<std::tuple_element_t<i, decltype(arguments)>>(std::get<i>(arguments))...));
  }
  (std::index_sequence_for<A...>());
}

/// Calls a model that lives elsewhere.
template <class M>
struct Referred {
  M* model;
  template <class... A>
  decltype(auto) operator()(A&&... a) const {
    return (*model)(std::forward<A>(a)...);
  }
};

inline void add_name(Replayer::Names& n, const Tensor& t) { n.variables.push_back(&t); }
inline void add_name(Replayer::Names& n, nn::Module& m) { n.modules.push_back(&m); }

}  // namespace detail

/// Runs a function of type `R(A...)` as replay() says. Copies share what is kept.
template <class Signature>
class Replay;
template <class R, class... A>
class Replay<R(A...)> {
 public:
  template <class Held, class... Named>
  Replay(std::shared_ptr<Held> f, Named&... named) {
    detail::Replayer::Names names;
    names.begin = f.get(), names.bytes = sizeof *f;
    (detail::add_name(names, named), ...);
    all_ = std::make_shared<detail::Replayer>(
        [f](std::span<const Tensor> tensors, std::span<const size_t> sizes) {
          return detail::call_listed(*f, std::type_identity<R(A...)>(), tensors, sizes);
        },
        std::move(names));
  }
  /// Calls the function, or runs what an earlier call recorded. The results are computed. Throws what the
  /// function and the computation of its results throw, and Error at the line of what a replay can't do.
  R operator()(std::conditional_t<true, const detail::Replayed&, A>... arguments,
               Site s = Site::current()) const {
    const std::array<const detail::Replayed*, sizeof...(A)> all{&arguments...};
    detail::ReplayResults results;
    all_->call(all, results, s);
    return detail::unlisted<R>(results);
  }
  const std::shared_ptr<detail::Replayer>& replayer() const { return all_; }

 private:
  std::shared_ptr<detail::Replayer> all_;
};

/// Returns an object that is called as `f` is, with tensors and lists of tensors, and records each shape once
/// (see above). It holds a copy of `f`; a module is only referred to, and named. `named` are the other
/// variables (Tensor) and modules that `f` reads; they must live as long as it is called.
///
///   auto step = lazy::replay([&](const Tensor& x) { return linear(x, w) * scale; }, w, scale);
///   auto scores = lazy::replay<Tensor(const Tensor&, const Tensor&)>(model);  // a function with several
///   forms
template <class Signature = void, class F, class... Named>
auto replay(F&& f, Named&... named) {
  using T = std::decay_t<F>;
  if constexpr (std::is_void_v<Signature>) {
    return replay<typename detail::CallOf<T>::type>(std::forward<F>(f), named...);
  } else if constexpr (std::is_base_of_v<nn::Module, T>) {
    static_assert(std::is_lvalue_reference_v<F>, "a model that is replayed must live on");
    auto& model = const_cast<T&>(f);
    return Replay<Signature>(std::make_shared<detail::Referred<T>>(detail::Referred<T>{&model}), model,
                             named...);
  } else {
    return Replay<Signature>(std::make_shared<T>(std::forward<F>(f)), named...);
  }
}

}  // namespace lazy
