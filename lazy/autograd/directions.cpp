#include "lazy/autograd/directions.hpp"

#include "lazy/autograd/planed.hpp"

namespace lazy::detail {

Tensor inner_product(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const Site& s) {
  Handle sum;
  for (size_t i = 0; i < a.size(); ++i) {
    const Planed x(a[i].handle()), y(b[i].handle());
    for (int k = 0; k < x.count; ++k) {
      const Handle product = binary("inner product", Op::multiply, x.of[k], y.of[k], s);
      Handle one = reduce("inner product", Op::sum, product, {}, dropdims, s);
      sum = sum ? binary("inner product", Op::add, sum, one, s) : std::move(one);
    }
  }
  return sum ? Tensor(sum) : Tensor();
}

void check_directions(const char* op, const std::vector<Tensor>& x, const std::vector<Tensor>& v,
                      const Site& s) {
  if (x.size() != v.size())
    fail<ShapeError>(op,
                     "a direction for each argument is needed: there are " + std::to_string(x.size()) +
                         " arguments and " + std::to_string(v.size()) + " directions",
                     s);
  for (size_t i = 0; i < x.size(); ++i) {
    const Arg at(x[i], s), along(v[i], s);
    const Operand argument(op, at), direction(op, along);
    if (direction->shape != argument->shape)
      fail<ShapeError>(op,
                       "a direction of shape " + to_string(direction->shape) + " for an argument of shape " +
                           to_string(argument->shape),
                       s);
    if (direction->dtype != argument->dtype)
      fail<DtypeError>(op,
                       std::string("a direction of ") + name_of(direction->dtype) + " for an argument of " +
                           name_of(argument->dtype),
                       s);
  }
}

}  // namespace lazy::detail
