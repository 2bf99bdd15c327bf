// Moves bodies under gravity, all pairs, leapfrog integration: total energy must stay where it was.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <lazy/plot/figure.hpp>
#include <random>

#include "demo.hpp"
#include "picture.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(nbody [BODIES [STEPS [OUT.png]]]
Simulates a rotating disc of bodies (default: 256 bodies, 400 steps), prints the drift of its energy and draws the disc
at the start and at the end, and the paths of a few bodies (default: out/nbody.png).
)";
constexpr double kSoftening2 = 1e-2;  // keeps close pairs finite

struct Bodies {
  Tensor position, velocity;  // [n, 3]
  Tensor mass;                // [n]
};

Bodies disc(int64_t n) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<float> p, v;
  for (int64_t i = 0; i < n; ++i) {
    const float r = std::sqrt(0.05f + 0.95f * uniform(random)), angle = 6.2831853f * uniform(random);
    p.insert(p.end(), {r * std::cos(angle), r * std::sin(angle), 0.1f * (uniform(random) - 0.5f)});
    const float speed = 0.8f * std::sqrt(r);
    v.insert(v.end(), {-speed * std::sin(angle), speed * std::cos(angle), 0.0f});
  }
  return {from_span<float>(p, {n, 3}), from_span<float>(v, {n, 3}),
          full({n}, 1.0 / static_cast<double>(n), float32)};
}

/// Returns [n, n, 3]: the position of body j relative to body i. Never stored: it is fused into the sums that
/// use it.
Tensor pairs(const Tensor& position) { return position(newaxis) - position(_, newaxis); }

Tensor acceleration(const Bodies& b) {
  const Tensor d = pairs(b.position), r2 = sum(d * d, {-1}) + kSoftening2;
  const Tensor pull = b.mass / (r2 * sqrt(r2));
  return sum(d * pull(_, _, newaxis), {1});
}

/// Returns kinetic and potential energy; each pair counts once, and no body is paired with itself.
float energy(const Bodies& b) {
  const Tensor d = pairs(b.position), r2 = sum(d * d, {-1}) + kSoftening2;
  const Tensor kinetic = 0.5 * sum(b.mass * sum(b.velocity * b.velocity, {-1}));
  const Tensor potential =
      0.5 * sum(b.mass * b.mass(_, newaxis) / sqrt(r2)) - 0.5 * sum(b.mass * b.mass) / std::sqrt(kSoftening2);
  return (kinetic - potential).item<float>();
}

plot::Figure seen_from_above(const Tensor& position, const std::string& title) {
  plot::Figure f(title, {.width = 460, .height = 460, .same_scale = true});
  f.scatter(position(_, 0), position(_, 1));
  return f;
}

void simulate(const demo::Arguments& arguments) {
  const long n = demo::number(arguments, 0, 256, 2, 4096),
             steps = demo::number(arguments, 1, 400, 1, 1000000);
  const double dt = 0.01;
  const std::string path = demo::argument(arguments, 2, "out/nbody.png");
  const long drawn = std::min(n, 6L), each = std::max(1L, steps / 400);  // paths; steps between their points
  Bodies b = disc(n);
  const plot::Figure first = seen_from_above(b.position, "start");
  std::vector<Tensor> places;
  const float start = energy(b);
  std::printf("%ld bodies, energy %.6f\n", n, start);
  demo::report("start");
  Tensor a = acceleration(b);
  float now = start;
  for (long step = 1; step <= steps; ++step) {
    b.velocity = b.velocity + a * (dt / 2);
    b.position = b.position + b.velocity * dt;
    a = acceleration(b);
    b.velocity = b.velocity + a * (dt / 2);
    eval(b.position, b.velocity, a);
    if (step % each == 0) places.push_back(b.position(slice(0, drawn)).eval());
    if (step % 100 == 0 || step == steps) {
      now = energy(b);
      std::printf("step %6ld: energy %.6f, drift %+.1e\n", step, now, (now - start) / std::abs(start));
    }
  }
  demo::report(std::to_string(steps) + " steps");
  plot::Figure paths("paths of " + std::to_string(drawn), {.width = 460, .height = 460, .same_scale = true});
  const Tensor all = stack(places, 0);  // [points, drawn, 3]
  for (long i = 0; i < drawn; ++i) paths.line(all(_, i, 0), all(_, i, 1));
  demo::make_folder_of(path);
  plot::Panels({first, seen_from_above(b.position, "after " + std::to_string(steps) + " steps"), paths}, 3)
      .save(path);
  std::printf("wrote %s\n", path.c_str());
  if (!(std::abs(now - start) < 0.02f * std::abs(start)))
    throw demo::Failure("the energy drifted by more than 2%");
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 3, simulate); }
