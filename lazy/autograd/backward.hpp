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

/// Records gradients again in a scope within a no_grad.
class enable_grad {
 public:
  enable_grad() noexcept;
  enable_grad(const enable_grad&) = delete;
  ~enable_grad();

 private:
  int paused_;
};

/// True unless a no_grad is in force on this thread.
bool is_grad_enabled() noexcept;

/// Returns the value as one that does not depend on anything: no gradient goes through it.
Tensor stop_gradient(Arg x);

/// Calls f with the gradient of x whenever backward() or a pullback has added it up, before it goes on; what
/// f returns takes its place unless it is undefined. Error unless x requires a gradient.
void register_hook(const Tensor& x, std::function<Tensor(const Tensor& gradient)> f, Site = Site::current());

}  // namespace lazy
