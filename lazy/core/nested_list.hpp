// Holds numbers in nested braces: what `Tensor t = {{1, 2}, {3, 4}}` is written with.
#pragma once
#include <initializer_list>
#include <vector>

#include "lazy/core/arg.hpp"

namespace lazy {

/// Holds nested lists whose elements may differ in type, of any depth: tensor({{1.5, 2}, {true, 3}}).
class NestedList {
 public:
  template <ScalarType T>
  NestedList(T v) : value_(v) {}
  NestedList(std::initializer_list<NestedList> v) : items_(v), is_list_(true) {}

 private:
  friend Tensor tensor(const NestedList&, MaybeDType, MaybeDevice, Site);
  ScalarNumber value_;
  std::vector<NestedList> items_;
  bool is_list_ = false;
};

}  // namespace lazy
