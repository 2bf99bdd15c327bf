// Matrices of first and second derivatives. All rows, or columns, are one pass over batches of them
// (vmap.hpp).
#pragma once
#include <functional>

#include "lazy/autograd/gradient.hpp"

namespace lazy {

/// Returns the derivatives of f(x) by x, of shape (f(x)'s axes..., x's axes...), by one pass backwards
/// for all elements of f(x). Gradients go through it to what x and f depend on. DtypeError unless x is of
/// floating point and f(x) is, too, or complex.
Tensor jacrev(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Site = Site::current());
inline Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                       Site s = Site::current()) {
  const detail::Spelled as("jacrev", "jacobian");
  return jacrev(f, x, s);
}
/// Returns the same by derivatives along all elements of x, in one pass: for functions that give more than
/// they take.
Tensor jacfwd(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Site = Site::current());
/// Returns the second derivatives of f(x), which has one element (ShapeError): (x's axes..., x's axes...).
Tensor hessian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Site = Site::current());

}  // namespace lazy
