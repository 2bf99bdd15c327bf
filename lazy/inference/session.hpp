// Serves a model: frozen, and recorded once for each shape of its inputs.
//
//   auto s = lazy::inference::session(model, {.example = x});
//   Tensor y = s(x);   // runs: nothing is recorded, compiled or allocated for a shape that was there before
//
// A call gives what the frozen model gives, to the bit (freeze.hpp says what that is beside the model
// before), computed and without gradients. The first call of a shape records and perhaps compiles; `example`
// does that before the session is there.
//
// Any number of threads may call a session, or several of one model: weights, what is computed of them and
// code are there once. Each call that is under way has intermediate values of its own. `threads` bounds how
// many threads a call uses, so that several sessions share a machine.
//
// Errors are thrown at the line of the call or of the argument: an argument of another dtype than the
// example's, one that requires a gradient, a model that was thawed or set to train meanwhile; and at its own
// line what a replay can't do (lazy/inference/replay.hpp), such as reading a value in the model. A model that
// was thawed and frozen again is served again, with the weights that it has then.
//
// The model must outlive its sessions, and isn't moved. C++ values that it reads (numbers, branches) are
// those of the first call of each shape.
#pragma once
#include <atomic>
#include <initializer_list>
#include <memory>
#include <vector>

#include "lazy/inference/replay.hpp"

namespace lazy::inference {

/// Holds an argument for each of the model's, of one tensor each.
struct Examples {
  Examples() = default;
  Examples(const Tensor& one) : all{one} {}
  Examples(std::initializer_list<Tensor> several) : all(several) {}
  std::vector<Tensor> all;
};

struct SessionOptions {
  Examples example = {};  // called at once; arguments of calls then have its dtypes
  size_t shapes = 64;     // that are kept: of more the least recently used one is recorded again
  int threads = 0;        // that a call uses at most; 0: as many as any other flush
  bool freeze = true;     // freezes the model; false: Error unless it is frozen
  /// Has the first call of each shape run with images (of 4 or 5 axes) as they are given, in channels-last
  /// memory (Tensor::to_memory_format), and so with convolutions of 3 x 3 windows by Winograd's transforms, a
  /// few times each, and keeps what was fastest. Sums are then in another order: float32 results may differ
  /// from the frozen model's by some 1e-5 of the largest.
  bool benchmark = false;
};

}  // namespace lazy::inference

namespace lazy::detail {

/// Checks the calls of a session, and passes them on.
class Serving {
 public:
  Serving(std::shared_ptr<Replayer>, nn::Module&, const inference::SessionOptions&, size_t arguments,
          const Site&);
  void call(std::span<const Replayed* const> arguments, ReplayResults&, const Site&);

 private:
  void check_model(const Site&);

  const std::shared_ptr<Replayer> replayer_;
  nn::Module& model_;
  const int threads_;
  std::vector<DType> dtypes_;      // of the arguments; none without an example
  std::atomic<uint64_t> seen_{0};  // mode changes of the process when the model was last looked at
};

}  // namespace lazy::detail

namespace lazy::inference {

/// Is called as the model is. Copies are the same session.
template <class Signature>
class Session;
template <class R, class... A>
class Session<R(A...)> {
 public:
  Session(const Replay<R(A...)>& calls, nn::Module& model, const SessionOptions& options, const Site& s)
      : serving_(std::make_shared<lazy::detail::Serving>(calls.replayer(), model, options, sizeof...(A), s)) {
  }
  /// Runs the model. The result is computed.
  R operator()(std::conditional_t<true, const lazy::detail::Replayed&, A>... arguments,
               Site s = Site::current()) const {
    const std::array<const lazy::detail::Replayed*, sizeof...(A)> all{&arguments...};
    lazy::detail::ReplayResults results;
    serving_->call(all, results, s);
    return lazy::detail::unlisted<R>(results);
  }

 private:
  std::shared_ptr<lazy::detail::Serving> serving_;
};

/// Returns a session of the model, which it freezes. `Signature` is said for a model that is called in
/// several ways.
///
///   auto s = lazy::inference::session(model, {.example = x, .threads = 2});
///   auto t = lazy::inference::session<Tensor(const Tensor&, const Tensor&)>(pairs);
template <class Signature = void, class M>
auto session(M& model, const SessionOptions& options = {}, Site s = Site::current()) {
  if constexpr (std::is_void_v<Signature>)
    return session<typename lazy::detail::CallOf<M>::type, M>(model, options, s);
  else return Session<Signature>(replay<Signature>(model), model, options, s);
}

}  // namespace lazy::inference
