// Draws the Mandelbrot set: a hundred iterations recorded, fused into one loop over the pixels that keeps z
// in registers.
#include <cstdio>

#include "demo.hpp"
#include "picture.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(mandelbrot [OUT.png [WIDTH]]
Draws the Mandelbrot set, WIDTH x WIDTH*3/4 pixels (default: out/mandelbrot.png, 960).
)";

void draw(const demo::Arguments& arguments) {
  const std::string path = demo::argument(arguments, 0, "out/mandelbrot.png");
  const long width = demo::number(arguments, 1, 960, 16, 8192), height = width * 3 / 4;
  const Tensor re = linspace(-2.2, 0.8, width);
  const Tensor im = reshape(linspace(-1.125, 1.125, height), {height, 1});

  // z <- z^2 + c while |z| <= 8; `count` gains a fraction at the last step, so that the colours are smooth.
  Tensor zr = zeros({height, width}), zi = zeros({height, width}), count = zeros({height, width});
  for (int k = 0; k < 100; ++k) {
    const Tensor r2 = zr * zr, i2 = zi * zi, inside = (r2 + i2) <= 64;
    const Tensor next_i = zr * zi * 2 + im, next_r = r2 - i2 + re;
    zr = where(inside, next_r, zr);
    zi = where(inside, next_i, zi);
    count = count + inside;
  }
  const Tensor smooth = count + 1 - log2(log2(maximum(zr * zr + zi * zi, 4)) * 0.5);
  const Tensor t = sqrt(clip(smooth / 100, 0, 1)), outside = astype(count < 100, float32);
  const Tensor phase = reshape(tensor({0.0f, 0.6f, 1.2f}), {1, 1, 3});
  const Tensor rgb = (0.5 - 0.5 * cos(t(_, _, newaxis) * 9 + phase)) * outside(_, _, newaxis);
  std::printf("%s: %ld x %ld, %.1f%% of the points did not escape\n", path.c_str(), width, height,
              100 * (1 - mean(outside).item<float>()));
  demo::write_picture(path, rgb);
  demo::report("drawing");
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 2, draw); }
