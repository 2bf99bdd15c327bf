// Bodies that pull each other, and what stays as it was: momentum and spin.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(n_bodies, .elementary = true) {
  Tensor place = in("place"), speed = in("speed");
  const Tensor mass = in("mass");
  const double dt = 0.01, soft = 0.05;
  for (int64_t step = 0; step < in.whole("steps"); ++step) {
    const Tensor gap = place(newaxis) - place(_, newaxis);
    const Tensor pull = gap / pow(sum(gap * gap, -1, keepdims) + soft, 1.5);
    speed += dt * sum(pull * mass(newaxis, _, newaxis), 1);
    place += dt * speed;
    eval(place, speed);
  }
  return {{"place", place},
          {"kinetic", 0.5 * sum(mass * sum(square(speed), 1))},
          {"centre", average(place, mass, 0)},
          {"spin", sum(mass(_, newaxis) * cross(place, speed), 0)}};
}
