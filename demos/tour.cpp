// Blurs a picture, finds its edges and maps its tones: array code, compiled while it runs.
#include <cstdio>

#include "demo.hpp"
#include "picture.hpp"

using namespace lazy;
using demo::report;

namespace {

constexpr const char* kHelp = R"(tour [PICTURE.png [OUTDIR]]
Blurs a picture, finds its edges, maps its tones, and says what was recorded, compiled and found in the cache.
Writes blurred.png, edges.png, tones.png and small.png to OUTDIR (default: out). Default picture: demos/data/tour.png.
)";

/// Adds a border of `r` zeros around the first two axes.
Tensor padded(const Tensor& x, int64_t r) {
  const int64_t h = x.shape()[0], w = x.shape()[1];
  Tensor p = zeros({h + 2 * r, w + 2 * r, x.shape()[2]});
  p(slice(r, r + h), slice(r, r + w)) = x;
  return p;
}

/// Blurs with a Gaussian, one axis after the other. Dividing by the blurred border mask keeps the edges of
/// the picture bright.
Tensor blurred(const Tensor& x, double sigma) {
  const int64_t r = 6, h = x.shape()[0], w = x.shape()[1];
  const Tensor offset = arange(-r, r + 1, 1, float32);
  const Tensor weight = exp(offset * offset * (-0.5 / (sigma * sigma)));
  const auto both = [&](const Tensor& picture) {
    const Tensor p = padded(picture, r);
    Tensor rows = zeros({h, w + 2 * r, picture.shape()[2]}), all = zeros({h, w, picture.shape()[2]});
    for (int64_t k = 0; k <= 2 * r; ++k) rows = rows + p(slice(k, k + h)) * weight(k);
    for (int64_t k = 0; k <= 2 * r; ++k) all = all + rows(_, slice(k, k + w)) * weight(k);
    return all;
  };
  return both(x) / both(ones({h, w, 1}));
}

Tensor grey(const Tensor& x) { return sum(x * tensor({0.2126f, 0.7152f, 0.0722f}), {-1}); }

/// Returns the length of the gradient (Sobel), of the picture without its outermost pixels.
Tensor edges(const Tensor& g) {
  const auto at = [&](int64_t dy, int64_t dx) {
    return g(slice(1 + dy, g.shape()[0] - 1 + dy), slice(1 + dx, g.shape()[1] - 1 + dx));
  };
  const Tensor gx = at(-1, 1) + at(0, 1) * 2 + at(1, 1) - at(-1, -1) - at(0, -1) * 2 - at(1, -1);
  const Tensor gy = at(1, -1) + at(1, 0) * 2 + at(1, 1) - at(-1, -1) - at(-1, 0) * 2 - at(-1, 1);
  return sqrt(gx * gx + gy * gy);
}

/// Lifts the shadows by `exposure` and rolls the lights off smoothly, in linear light.
Tensor tones(const Tensor& x, double exposure) {
  const Tensor light = pow(x, 2.2) * exposure;
  const Tensor white = max(light);
  return pow(clip(light * (1 + light / (white * white)) / (1 + light), 0, 1), 1 / 2.2);
}

void tour(const demo::Arguments& arguments) {
  const std::string path = demo::argument(arguments, 0, demo::data_file("tour.png"));
  const std::string out = demo::argument(arguments, 1, "out") + "/";
  const Tensor picture = demo::read_picture(path);
  std::printf("%s: %s\n", path.c_str(), to_string(picture.shape()).c_str());
  report("reading");  // the picture is not read yet: its conversion is part of the first program that
                      // needs it

  demo::write_picture(out + "blurred.png", blurred(picture, 2.0));
  report("blur");
  const Tensor e = edges(grey(blurred(picture, 1.2)));
  // A few edges are much stronger than all others: these would be nearly black beside them.
  demo::write_picture(out + "edges.png", sqrt(e / quantile(e, 0.99)));
  report("edges");
  demo::write_picture(out + "tones.png", tones(picture, 3.0));
  report("tones");

  std::printf("Other exposures are other arguments of the same program:\n");
  for (const double exposure : {0.5, 1.0, 2.0, 4.0}) {
    std::printf("  exposure %.1f: mean %.4f\n", exposure, mean(tones(picture, exposure)).item<float>());
  }
  report("four exposures");
  const auto even = slice(none, -1, 2), odd = slice(1, none, 2);
  const Tensor small =
      (picture(even, even) + picture(even, odd) + picture(odd, even) + picture(odd, odd)) / 4;
  small.eval();
  report("half the size");
  std::printf("So are other sizes:\n");
  demo::write_picture(out + "small.png", tones(small, 3.0));
  report("tones of the small one");
  std::printf("Wrote %sblurred.png, edges.png, tones.png, small.png\n", out.c_str());
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 2, tour); }
