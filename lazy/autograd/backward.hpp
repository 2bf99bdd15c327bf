// Differentiates by values that are marked, as PyTorch does:
//
//   Tensor w = randn({3});
//   w.requires_grad_();
//   Tensor loss = mean(square(matmul(x, w) - y));
//   loss.backward();
//   {
//     no_grad scope;
//     w -= 0.1 * w.grad();
//     w.zero_grad();
//   }
//
// The members are Tensor's (lazy/core/tensor.hpp). backward() computes nothing: it records the gradients, and
// forward, backward and update are one flush when a value is needed. What is recorded on values that require
// a gradient keeps, for backward(), the values that its derivatives read; but only as long as somebody holds
// the result, and it runs as if nobody had named them: one that is cheap to compute again is not stored.
#pragma once
#include <functional>
#include <vector>

#include "lazy/core/tensor.hpp"

namespace lazy {

/// Keeps what this thread records in a scope from having gradients.
class no_grad {
 public:
  no_grad() noexcept;
  no_grad(const no_grad&) = delete;
  ~no_grad();
};

/// Records gradients again in a scope within a no_grad or an inference_mode.
class enable_grad {
 public:
  enable_grad() noexcept;
  enable_grad(const enable_grad&) = delete;
  ~enable_grad();

 private:
  int paused_;
  bool inferring_;
};

/// Keeps what this thread records in a scope from having gradients, for good: ops cost what they cost in a
/// program without parameters. A value of floating point that was computed in it, and is used outside where a
/// gradient goes through, is an Error that tells both lines; its clone() or detach() made outside is a value
/// like any other. Variables that were there before (parameters, running statistics) may be updated in it and
/// are what they were. `inference_mode off(false);` records gradients again, as enable_grad does.
class inference_mode {
 public:
  explicit inference_mode(bool on = true) noexcept;
  inference_mode(const inference_mode&) = delete;
  ~inference_mode();

 private:
  int paused_;
  bool outer_, on_;
};

/// True unless a no_grad or an inference_mode is in force on this thread.
bool is_grad_enabled() noexcept;
/// True if an inference_mode is in force on this thread.
bool is_inference_mode_enabled() noexcept;
/// True if the value was computed in an inference_mode: no gradient may go through what is computed with it.
bool is_inference(const Tensor&, Site = Site::current());

/// Returns the value as one that does not depend on anything: no gradient goes through it.
Tensor stop_gradient(Arg x);

/// Calls f with the gradient of x as soon as backward() or a pullback has recorded the last term of it,
/// before it goes on, or is added to x.grad(); what f returns takes its place unless it is undefined. Hooks
/// of marked values are called in backward order, among those of values computed from them. Error unless x
/// requires a gradient.
void register_hook(const Tensor& x, std::function<Tensor(const Tensor& gradient)> f, Site = Site::current());

/// Calls f with x as soon as backward() has added to x.grad(), while it has yet to go through what was
/// recorded earlier: a place to begin sending the gradient, or to update x and give the gradient back.
///
///   register_post_accumulate_grad_hook(w, [&](Tensor) {
///     w -= 0.1 * w.grad();
///     w.zero_grad();
///   });
///
/// It runs once a pass, in a no_grad unless backward() has `create_graph`, also where the gradient is zeros
/// because no term came to x; not for what takes gradients of functions (grad, vjp). An exception of f ends
/// the pass: gradients that a hook was told of stay, others are as they were before. Error unless x is marked
/// itself.
void register_post_accumulate_grad_hook(const Tensor& x, std::function<void(Tensor x)> f,
                                        Site = Site::current());

}  // namespace lazy
