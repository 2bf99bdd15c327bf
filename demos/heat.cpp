// Simulates heat spreading on a plate: explicit finite differences, written as one assignment to a slice.
#include <cstdio>
#include <lazy/plot/figure.hpp>

#include "demo.hpp"
#include "picture.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(heat [OUT.png [STEPS]]
Solves the heat equation on a 256 x 256 plate with a hot left edge and a hot disc (default: out/heat.png, 1000 steps).
Draws the plate at the start and at the end, with a scale (.png or .svg).
)";

Tensor initial(int64_t n) {
  const Tensor y = reshape(linspace(0, 1, n), {n, 1}), x = linspace(0, 1, n);
  const Tensor disc = (x - 0.6) * (x - 0.6) + (y - 0.4) * (y - 0.4) < 0.02;
  Tensor u = astype(disc, float32);
  u(_, 0) = 1;
  return u;
}

plot::Figure plate(const Tensor& u, const std::string& title) {
  plot::Figure f(title, {.width = 560, .height = 500});
  f.heat_map(u, {.map = plot::ColourMap::viridis, .low = 0, .high = 1});
  return f;
}

void simulate(const demo::Arguments& arguments) {
  const std::string path = demo::argument(arguments, 0, "out/heat.png");
  const long steps = demo::number(arguments, 1, 1000, 0, 1000000);
  const int64_t n = 256;
  const auto inner = slice(1, -1), before = slice(none, -2), after = slice(2, none);

  Tensor u = initial(n);
  const float start = sum(u).item<float>();
  const plot::Figure before_all = plate(u, "start");
  demo::report("start");
  for (long step = 0; step < steps; ++step) {
    // Stable for factors up to 1/4. The right side is read before the left side is written.
    u(inner, inner) = u(inner, inner) + 0.2 * (u(before, inner) + u(after, inner) + u(inner, before) +
                                               u(inner, after) - 4 * u(inner, inner));
    u.eval();
  }
  demo::report(std::to_string(steps) + " steps");
  const float low = min(u).item<float>(), high = max(u).item<float>();
  std::printf("sum of temperatures %.1f -> %.1f, all within [%.3f, %.3f]\n", start, sum(u).item<float>(), low,
              high);
  demo::make_folder_of(path);
  plot::Panels({before_all, plate(u, "after " + std::to_string(steps) + " steps")}).save(path);
  std::printf("wrote %s\n", path.c_str());
  demo::report("picture");
  if (low < 0 || high > 1) throw demo::Failure("temperatures left the range that they started in");
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 2, simulate); }
