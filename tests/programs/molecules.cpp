// Moves atoms by the forces that the gradient of their potential gives (velocity Verlet), and checks that the
// sum of energies stays.
#include "tests/programs/program.hpp"

using namespace lazy;

PROGRAM(molecules, .tolerance = 1e-4, .elementary = true) {
  const auto potential = [](const Tensor& place) {
    const int64_t n = place.size(0);
    const Tensor square_ = sum(square(place(_, newaxis) - place), -1) + eye(n);
    const Tensor sixth = 1 / (square_ * square_ * square_);
    return 2 * sum(triu(sixth * sixth - sixth, 1)) * 2;
  };
  const auto energy_and_force = value_and_grad(potential);
  Tensor place = in("place"), speed = zeros_like(place);
  const double dt = 0.005;
  std::vector<Tensor> energies;
  Tensor pull = energy_and_force(place).second;
  for (int64_t step = 0; step < in.whole("steps"); ++step) {
    const Tensor half = speed - 0.5 * dt * pull;
    place += dt * half;
    const auto [energy, next] = energy_and_force(place);
    pull = next;
    speed = half - 0.5 * dt * pull;
    energies.push_back(energy + 0.5 * sum(square(speed)));
    eval(place, speed, pull, energies.back());
  }
  return {{"place", place}, {"energies", stack(energies)}};
}
