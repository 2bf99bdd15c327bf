#include "lazy/data/collate.hpp"

namespace lazy::data {

Tensor collate(std::span<const Tensor> list, Site s) {
  std::vector<Array> all;
  for (const Tensor& x : list) all.emplace_back(x, s);
  return stack(all, s);
}

Batch collate(std::span<const Example> list, Site s) {
  return {detail::collate_member(
              list, [](const Example& e) -> const Array& { return e.x; }, s),
          detail::collate_member(
              list, [](const Example& e) -> const Array& { return e.y; }, s)};
}

}  // namespace lazy::data
