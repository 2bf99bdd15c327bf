#include "text_boxes.hpp"

#include <algorithm>
#include <array>
#include <limits>

using namespace lazy;

namespace demo {
namespace {

constexpr double kThreshold = 0.3, kLeastMean = 0.5;  // of a pixel's probability, and of a region's mean
constexpr double kGrowth = 1.6;  // a region grows by this times its area over its circumference
constexpr double kLeastSide = 3;
constexpr double kTall = 1.5;  // times as high as wide: the text goes downwards

Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
double cross(Point a, Point b) { return a.x * b.y - a.y * b.x; }
double dot(Point a, Point b) { return a.x * b.x + a.y * b.y; }

/// Holds a mask whose pixels are taken once each.
struct Mask {
  std::vector<bool> on;
  int64_t width, height;
  bool take(int64_t x, int64_t y) {
    if (x < 0 || y < 0 || x >= width || y >= height) return false;
    const auto at = static_cast<size_t>(y * width + x);
    return on[at] && (on[at] = false, true);
  }
};

/// Takes all pixels that touch one, and returns their corners.
std::vector<Point> flood(Mask& mask, int64_t x, int64_t y) {
  std::vector<Point> corners;
  std::vector<std::pair<int64_t, int64_t>> open{{x, y}};
  while (!open.empty()) {
    std::tie(x, y) = open.back();
    open.pop_back();
    for (const int64_t right : {0, 1})
      for (const int64_t below : {0, 1})
        corners.push_back({static_cast<double>(x + right), static_cast<double>(y + below)});
    for (int64_t dy = -1; dy <= 1; ++dy)
      for (int64_t dx = -1; dx <= 1; ++dx)
        if (mask.take(x + dx, y + dy)) open.emplace_back(x + dx, y + dy);
  }
  return corners;
}

/// Returns the corners of the convex hull, in order (Andrew, 1979).
std::vector<Point> hull_of(std::vector<Point> points) {
  std::sort(points.begin(), points.end(),
            [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  std::vector<Point> hull;
  for (int turn = 0; turn < 2; ++turn) {
    const size_t from = hull.size();
    for (const Point p : points) {
      while (hull.size() >= from + 2 && cross(hull.back() - hull[hull.size() - 2], p - hull.back()) <= 0)
        hull.pop_back();
      hull.push_back(p);
    }
    hull.pop_back();
    std::reverse(points.begin(), points.end());
  }
  return hull;
}

/// Returns the smallest rectangle around points: one of its sides lies along one of their hull's. Its width
/// is the side that is nearer to level.
Region smallest_around(const std::vector<Point>& points) {
  const std::vector<Point> hull = hull_of(points);
  Region best{};
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < hull.size(); ++i) {
    Point along = hull[(i + 1) % hull.size()] - hull[i];
    const double length = std::hypot(along.x, along.y);
    along = {along.x / length, along.y / length};
    // A quarter turn brings the direction between -45 and 45 degrees, or a half turn.
    if (std::abs(along.y) > std::abs(along.x)) along = {-along.y, along.x};
    if (along.x < 0) along = {-along.x, -along.y};
    const Point below{-along.y, along.x};
    double left = 1e30, right = -1e30, top = 1e30, bottom = -1e30;
    for (const Point p : hull) {
      left = std::min(left, dot(p, along)), right = std::max(right, dot(p, along));
      top = std::min(top, dot(p, below)), bottom = std::max(bottom, dot(p, below));
    }
    const double width = right - left, height = bottom - top;
    if (width * height >= least * (1 - 1e-9)) continue;
    least = width * height;
    best = {{left * along.x + top * below.x, left * along.y + top * below.y},
            {width * along.x, width * along.y},
            {height * below.x, height * below.y}};
  }
  return best;
}

/// Returns the mean of the pixels whose middles are in a region.
double mean_in(const std::vector<float>& p, int64_t width, int64_t height, const Region& r) {
  double left = 1e30, right = -1e30, top = 1e30, bottom = -1e30;
  for (const double u : {0.0, 1.0})
    for (const double v : {0.0, 1.0}) {
      const Point c = r.at(u, v);
      left = std::min(left, c.x), right = std::max(right, c.x), top = std::min(top, c.y),
      bottom = std::max(bottom, c.y);
    }
  double sum = 0, count = 0;
  const double across = dot(r.across, r.across), down = dot(r.down, r.down);
  for (auto y = std::max<int64_t>(0, std::lround(std::floor(top)));
       y < std::min<int64_t>(height, std::lround(std::ceil(bottom))); ++y)
    for (auto x = std::max<int64_t>(0, std::lround(std::floor(left)));
         x < std::min<int64_t>(width, std::lround(std::ceil(right))); ++x) {
      const Point at = Point{static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5} - r.corner;
      const double u = dot(at, r.across) / across, v = dot(at, r.down) / down;
      if (u < 0 || u > 1 || v < 0 || v > 1) continue;
      sum += p[static_cast<size_t>(y * width + x)];
      count += 1;
    }
  return count > 0 ? sum / count : 0;
}

/// Returns a region that has grown on all sides; a level one stays in the picture.
Region grown(const Region& r, double width, double height) {
  const double w = r.width(), h = r.height(), by = std::floor(kGrowth * w * h / (2 * (w + h)));
  const Point corner = r.at(-by / w, -by / h);
  const double wide = (w + 2 * by) / w, high = (h + 2 * by) / h;
  Region g{corner, {r.across.x * wide, r.across.y * wide}, {r.down.x * high, r.down.y * high}};
  if (r.across.y != 0) return g;
  const Point end{std::min(g.corner.x + g.across.x, width), std::min(g.corner.y + g.down.y, height)};
  g.corner = {std::max(g.corner.x, 0.0), std::max(g.corner.y, 0.0)};
  return {g.corner, {end.x - g.corner.x, 0}, {0, end.y - g.corner.y}};
}

/// Sorts regions from top to bottom, and those whose middles are in one line from left to right.
void sort_by_lines(std::vector<Region>& regions) {
  if (regions.empty()) return;
  std::vector<std::pair<double, double>> angles;  // with how much text has them
  double all = 0, before = 0;
  for (const Region& r : regions) {
    // A tall region's text goes downwards, as cut_out() takes it.
    const bool tall = r.height() >= kTall * r.width();
    angles.emplace_back(tall ? std::atan2(r.down.y, r.down.x) : std::atan2(r.across.y, r.across.x),
                        std::max(r.width(), r.height()));
    all += angles.back().second;
  }
  std::sort(angles.begin(), angles.end());
  auto middle = angles.begin();
  while (before + middle->second < all / 2) before += (middle++)->second;
  const Point along{std::cos(middle->first), std::sin(middle->first)}, below{-along.y, along.x};
  struct Placed {
    Region region;
    double left, top, middle;
  };
  std::vector<Placed> placed;
  for (const Region& r : regions) {
    double left = 1e30, top = 1e30, bottom = -1e30;
    for (const double u : {0.0, 1.0})
      for (const double v : {0.0, 1.0}) {
        left = std::min(left, dot(r.at(u, v), along)), top = std::min(top, dot(r.at(u, v), below));
        bottom = std::max(bottom, dot(r.at(u, v), below));
      }
    placed.push_back({r, left, top, (top + bottom) / 2});
  }
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) { return a.top < b.top; });
  for (auto first = placed.begin(); first != placed.end();) {
    const double line = first->middle;
    const auto last = std::find_if(first, placed.end(), [&](const Placed& p) { return p.top > line; });
    std::sort(first, last, [](const Placed& a, const Placed& b) { return a.left < b.left; });
    first = last;
  }
  for (size_t i = 0; i < placed.size(); ++i) regions[i] = placed[i].region;
}

}  // namespace

std::vector<Region> find_regions(const Tensor& probabilities) {
  const auto p = probabilities.to_vector<float>();
  Mask mask{std::vector<bool>(p.size()), probabilities.size(1), probabilities.size(0)};
  for (size_t i = 0; i < p.size(); ++i) mask.on[i] = p[i] > kThreshold;
  std::vector<Region> regions;
  for (int64_t y = 0; y < mask.height; ++y)
    for (int64_t x = 0; x < mask.width; ++x) {
      if (!mask.take(x, y)) continue;
      const Region r = smallest_around(flood(mask, x, y));
      if (std::min(r.width(), r.height()) < kLeastSide) continue;
      if (mean_in(p, mask.width, mask.height, r) >= kLeastMean)
        regions.push_back(grown(r, static_cast<double>(mask.width), static_cast<double>(mask.height)));
    }
  sort_by_lines(regions);
  return regions;
}

Region Region::rounded() const {
  const auto whole = [](Point p) { return Point{std::round(p.x), std::round(p.y)}; };
  const Point c = whole(corner);
  return {c, whole(at(1, 0)) - c, whole(at(0, 1)) - c};
}

Tensor cut_out(const Tensor& picture, const Region& r) {
  const auto count = [](double length) { return std::max<int64_t>(1, std::lround(length)); };
  const int64_t width = count(r.width()), height = count(r.height());
  const auto places = [](int64_t n) { return (arange(n, float32) + 0.5) / static_cast<double>(n); };
  const Tensor right = places(width).reshape({1, width}), below = places(height).reshape({height, 1});
  // grid_sample's places go from -1 to 1 between the edges of a picture.
  const auto position = [&](double corner, double across, double down, int64_t extent) {
    return (corner + right * across + below * down) * (2 / static_cast<double>(extent)) - 1;
  };
  const Tensor grid = stack({position(r.corner.x, r.across.x, r.down.x, picture.size(1)),
                             position(r.corner.y, r.across.y, r.down.y, picture.size(0))},
                            -1);
  const Tensor cut = grid_sample(permute_dims(picture, {2, 0, 1})(newaxis), grid(newaxis),
                                 {.mode = Interpolation::cubic, .padding = GridPadding::border});
  const Tensor upright = permute_dims(cut(0), {1, 2, 0});
  return (r.height() >= kTall * r.width() ? flip(permute_dims(upright, {1, 0, 2}), {0}) : upright).copy();
}

std::vector<std::string> read_characters(const Tensor& scores, const std::vector<std::string>& alphabet) {
  const auto best = argmax(scores, -1).to_vector<int64_t>();
  const auto steps = static_cast<size_t>(scores.size(1));
  std::vector<std::string> rows(static_cast<size_t>(scores.size(0)));
  for (size_t i = 0; i < best.size(); ++i) {
    const bool repeated = i % steps > 0 && best[i] == best[i - 1];
    if (best[i] > 0 && !repeated) rows[i / steps] += alphabet.at(static_cast<size_t>(best[i]));
  }
  return rows;
}

Tensor with_outlines(const Tensor& picture, const std::vector<Region>& regions) {
  const int64_t height = picture.size(0), width = picture.size(1);
  auto all = picture.copy().to_vector<float>();
  const auto draw = [&](Point p) {
    // The last pixel is the one before the edge.
    const int64_t x = std::clamp<int64_t>(std::lround(std::floor(p.x)), 0, width - 1),
                  y = std::clamp<int64_t>(std::lround(std::floor(p.y)), 0, height - 1);
    const std::array<float, 3> red{0.9f, 0.1f, 0.1f};
    std::copy(red.begin(), red.end(), all.begin() + (y * width + x) * 3);
  };
  for (const Region& r : regions) {
    const double w = r.width(), h = r.height();
    for (double i = 0.5; i < w; ++i) draw(r.at(i / w, 0.5 / h)), draw(r.at(i / w, 1 - 0.5 / h));
    for (double i = 0.5; i < h; ++i) draw(r.at(0.5 / w, i / h)), draw(r.at(1 - 0.5 / w, i / h));
  }
  return Tensor(all, ShapeArg(picture.shape()));
}

}  // namespace demo
