// Numbers the connected parts of a picture: each pixel takes the largest number around it until none changes.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(connected_components) {
  const Tensor image = in("image");
  const auto inner = slice(1, -1), before = slice(-2), after = slice(2, none);
  Tensor label = where(image, arange(1, image.size() + 1).reshape(image.shape()), 0);
  while (true) {
    const Tensor p = pad(label, {{1, 1}});
    const Tensor rows = maximum(p(before, inner), p(after, inner)),
                 columns = maximum(p(inner, before), p(inner, after));
    const Tensor next = where(image, maximum(label, maximum(rows, columns)), 0);
    if (array_equal(next, label)) break;
    label = next;
  }
  const auto [names, firsts, numbered, sizes] = unique_all(label);
  return {{"numbered", numbered}, {"sizes", sizes}, {"largest", names(argmax(sizes(slice(1, none))) + 1)}};
}
