// Classifies points by a vote among the nearest of those whose class is known.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(k_nearest_neighbours) {
  const Tensor points = in("points"), label = in("label"), asked = in("asked");
  const Tensor difference = asked(_, newaxis) - points(newaxis);
  const Tensor distance = sqrt(sum(square(difference), -1));
  const Tensor nearest = argsort(distance, 1)(_, slice(in.whole("k")));
  const Tensor votes = sum(one_hot(label(nearest), 3), 1);
  return {{"nearest", nearest}, {"votes", votes}, {"answer", argmax(votes, 1)}, {"farthest", max(distance)}};
}
