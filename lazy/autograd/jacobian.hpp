// Matrices of first and second derivatives. Each row, or column, is recorded by itself: these are for
// functions of few elements; a gradient, vjp() or jvp() is what many need (gradient.hpp).
#pragma once
#include <functional>

#include "lazy/autograd/gradient.hpp"

namespace lazy {

/// Returns the derivatives of f(x) by x, of shape (f(x)'s axes..., x's axes...), by one pass backwards for
/// each element of f(x). Gradients go through it to what x and f depend on. DtypeError unless x and f(x) are
/// of floating point.
Tensor jacrev(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Site = Site::current());
inline Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                       Site s = Site::current()) {
  return jacrev(f, x, s);
}
/// Returns the same by one derivative along each element of x: for functions that give more than they take.
Tensor jacfwd(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Site = Site::current());
/// Returns the second derivatives of f(x), which has one element (ShapeError): (x's axes..., x's axes...).
Tensor hessian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Site = Site::current());

}  // namespace lazy
