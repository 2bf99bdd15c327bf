// Runs Lloyd's k-means: each point joins its nearest centre, each centre moves to the mean of its points.
#include <cstdio>
#include <iostream>
#include <lazy/plot/figure.hpp>

#include "csv.hpp"
#include "demo.hpp"
#include "picture.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(kmeans [POINTS.csv [CLUSTERS [OUT.png]]]
Clusters points in the plane, lines "x,y" (default: demos/data/points.csv, 4 clusters), and draws them (out/kmeans.png).
)";

void cluster(const demo::Arguments& arguments) {
  const auto columns = demo::read_csv(demo::argument(arguments, 0, demo::data_file("points.csv")), 2);
  const int64_t n = static_cast<int64_t>(columns[0].size());
  const long k = demo::number(arguments, 1, 4, 1, 256);
  if (k > n) throw demo::Failure("more clusters than points");
  Tensor points = empty({n, 2});
  points(_, 0) = from_span<float>(columns[0]);
  points(_, 1) = from_span<float>(columns[1]);

  Tensor centres = empty({k, 2});  // start: each centre is the point that is farthest from those before it
  centres(0) = points(0);
  for (long c = 1; c < k; ++c) {
    const Tensor d = points(_, newaxis) - centres(slice(0, c));
    centres(c) = points(argmax(min(sum(d * d, {-1}), {-1})).item<int64_t>());
  }
  float before = -1, inertia = 0;
  int rounds = 0;
  for (; rounds < 100; ++rounds) {
    const Tensor d = points(_, newaxis) - centres;                             // [n, k, 2]
    const Tensor distance = sum(d * d, {-1}), nearest = argmin(distance, -1);  // [n, k], [n]
    const Tensor member = astype(nearest(_, newaxis) == arange(k), float32);   // [n, k], one 1 a row
    const Tensor count = sum(member, {0});
    const Tensor moved = matmul(permute_dims(member, {1, 0}), points) / maximum(count(_, newaxis), 1);
    centres = where(count(_, newaxis) > 0, moved, centres);  // an empty cluster stays
    const Tensor total = sum(min(distance, {-1}));
    eval(centres, total);
    inertia = total.item<float>();
    if (inertia == before) break;
    before = inertia;
  }
  std::printf("%ld points, %ld clusters: settled after %d rounds, inertia %.3f\n", static_cast<long>(n), k,
              rounds, inertia);
  std::cout << "centres\n" << centres << '\n';
  demo::report("clustering");
  const Tensor d = points(_, newaxis) - centres;
  plot::Figure figure("clusters and their centres", {.width = 640, .height = 560, .same_scale = true});
  figure.scatter_by_class(points(_, 0), points(_, 1), argmin(sum(d * d, {-1}), -1));
  figure.scatter(centres(_, 0), centres(_, 1), "centres");
  const std::string path = demo::argument(arguments, 2, "out/kmeans.png");
  demo::make_folder_of(path);
  figure.save(path);
  std::printf("wrote %s\n", path.c_str());
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 3, cluster); }
