#include "lazy/optim/master.hpp"

#include <utility>

#include "jit/graph/node.hpp"

namespace lazy::optim {

Master::Master(const Master& o) noexcept : value(o.value), rounded_(o.rounded_) {
  if (rounded_) jit::add_reference(rounded_);
}

Master& Master::operator=(Master o) noexcept {
  std::swap(value, o.value);
  std::swap(rounded_, o.rounded_);
  return *this;
}

Master::~Master() {
  if (rounded_) jit::drop_reference(rounded_);
}

bool Master::is_of(const Tensor& p) const {
  return value.defined() && (!rounded_ || rounded_ == p.handle().get());
}

void Master::rounded_to(const Parameter& p) {
  jit::Node* const n = p.handle().get();
  jit::add_reference(n);
  if (rounded_) jit::drop_reference(rounded_);
  rounded_ = n;
}

void Master::load(Tensor v) {
  *this = Master();
  value = std::move(v);
}

}  // namespace lazy::optim
