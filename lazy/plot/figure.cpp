#include "lazy/plot/figure.hpp"

#include <algorithm>
#include <cmath>

#include "lazy/core/build.hpp"
#include "lazy/io/file.hpp"
#include "lazy/io/image.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/plot/axis.hpp"
#include "lazy/plot/canvas.hpp"
#include "support/float_mode.hpp"
#include "support/text.hpp"

namespace lazy::plot {
namespace detail {

/// Names what is drawn at points.
enum class Mark : uint8_t { line, dot, bar };

struct Series {
  Mark mark;
  std::string name;
  std::vector<double> x, y;
  Colour colour;
  double width = 0;  // of bars, in values
};
struct Matrix {
  std::vector<double> values;
  std::vector<std::string> texts;  // of cells; none: none are written
  int64_t rows = 0, columns = 0;
  HeatMapOptions how;
};
struct Images {
  Tensor pictures;  // uint8 (n, height, width, 3)
  ImageOptions how;
};

/// Says where a figure is on a canvas.
struct Area {
  double x = 0, y = 0, width = 0, height = 0;
};

}  // namespace detail
namespace {

using namespace detail;
using lazy::detail::fail;
using text::formatted;

constexpr double kText = 12, kTitle = 14;  // pixels

std::vector<double> numbers_of(const char* function, const Tensor& t, const Site& s) {
  if (t.ndim(s) != 1) fail<ShapeError>(function, "takes (n) numbers, not " + to_string(t.shape(s)), s);
  return t.astype(float64, s).to_vector<double>(s);
}
void check_lengths(const char* function, size_t a, size_t b, const Site& s) {
  if (a != b) fail<ShapeError>(function, std::to_string(a) + " numbers beside " + std::to_string(b), s);
}

/// Is a picture of this size, which draw(canvas) draws.
template <class Draw>
struct Drawing {
  int width, height;
  Colour background;
  Draw draw;

  Tensor picture(const Site& s) const {
    PixelCanvas canvas(width, height, background);
    draw(canvas);
    return from_span(canvas.pixels(), ShapeArg(Shape{height, width, 3}), {}, s);
  }
  std::string svg() const {
    SvgCanvas canvas;
    draw(canvas);
    return canvas.file(width, height, background);
  }
};

template <class F>
void save_as(const F& f, const std::string& path, const Site& s) {
  if (path.ends_with(".png")) return lazy::write_png(path, TensorArg(f.picture(s), s));
  if (!path.ends_with(".svg")) fail<Error>("save", path + " ends neither in .svg nor in .png", s);
  lazy::detail::NewFile file("save", path, s);
  file.put(f.svg(s));
  file.finish();
}

}  // namespace

struct Figure::State {
  std::string title;
  FigureOptions options;
  std::vector<Series> series;
  std::vector<std::string> names;  // of bars
  Matrix matrix;
  Images pictures;

  const Theme& theme() const { return options.dark ? kDark : kLight; }
  Colour next_colour() const { return kSeries[series.size() % std::size(kSeries)]; }
  void draw(Canvas&, Area, const Site&) const;

 private:
  void draw_series(Canvas&, Area) const;
  void draw_legend(Canvas&, const Area& inside) const;
  void draw_matrix(Canvas&, Area) const;
  void draw_images(Canvas&, Area, const Site&) const;
};

Figure::Figure(std::string title, FigureOptions options, Site s)
    : state_(new State{std::move(title), std::move(options), {}, {}, {}, {}}) {
  constexpr int kLeast = 100, kMost = 8192;
  const FigureOptions& o = state_->options;
  if (o.width < kLeast || o.height < kLeast || o.width > kMost || o.height > kMost)
    fail<ShapeError>("Figure",
                     "a picture has 100 to 8192 pixels on a side, not " + std::to_string(o.width) + " x " +
                         std::to_string(o.height),
                     s);
}
Figure::Figure(const Figure& f) : state_(new State(*f.state_)) {}
Figure::Figure(Figure&&) noexcept = default;
Figure& Figure::operator=(Figure f) noexcept {
  state_ = std::move(f.state_);
  return *this;
}
Figure::~Figure() = default;

Figure& Figure::line(const Tensor& x, const Tensor& y, std::string name, Site s) {
  Series one{Mark::line, std::move(name), numbers_of("line", x, s), numbers_of("line", y, s),
             state_->next_colour()};
  check_lengths("line", one.x.size(), one.y.size(), s);
  state_->series.push_back(std::move(one));
  return *this;
}
Figure& Figure::line(const Tensor& y, std::string name, Site s) {
  if (y.ndim(s) != 1) fail<ShapeError>("line", "takes (n) numbers, not " + to_string(y.shape(s)), s);
  return line(arange(y.size(s)), y, std::move(name), s);
}
Figure& Figure::scatter(const Tensor& x, const Tensor& y, std::string name, Site s) {
  Series one{Mark::dot, std::move(name), numbers_of("scatter", x, s), numbers_of("scatter", y, s),
             state_->next_colour()};
  check_lengths("scatter", one.x.size(), one.y.size(), s);
  state_->series.push_back(std::move(one));
  return *this;
}
Figure& Figure::scatter_by_class(const Tensor& x, const Tensor& y, const Tensor& classes, Site s) {
  const auto a = numbers_of("scatter_by_class", x, s), b = numbers_of("scatter_by_class", y, s),
             c = numbers_of("scatter_by_class", classes, s);
  check_lengths("scatter_by_class", a.size(), b.size(), s);
  check_lengths("scatter_by_class", a.size(), c.size(), s);
  double most = 0;
  for (const double v : c) {
    if (!(v >= 0 && v < 1000))
      fail<Error>("scatter_by_class", "classes are 0 to 999, not " + formatted("%g", v), s);
    most = std::max(most, v);
  }
  for (int k = 0; k <= static_cast<int>(most); ++k) {
    Series one{Mark::dot, "", {}, {}, state_->next_colour()};
    for (size_t i = 0; i < a.size(); ++i)
      if (static_cast<int>(c[i]) == k) one.x.push_back(a[i]), one.y.push_back(b[i]);
    state_->series.push_back(std::move(one));
  }
  return *this;
}
Figure& Figure::histogram(const Tensor& values, HistogramOptions options, std::string name, Site s) {
  const auto v = numbers_of("histogram", values, s);
  if (options.bins < 1 || options.bins > 100'000)
    fail<Error>("histogram", std::to_string(options.bins) + " bins", s);
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double x : v)
    if (std::isfinite(x)) low = std::min(low, x), high = std::max(high, x);
  if (low > high) low = 0, high = 1;
  if (low == high) {
    const double room = std::max(0.5, std::abs(low) * 1e-6);
    low -= room, high += room;
  }
  const auto bins = static_cast<size_t>(options.bins);
  Series one{Mark::bar,
             std::move(name),
             {},
             std::vector<double>(bins, 0),
             state_->next_colour(),
             (high - low) / options.bins};
  for (size_t i = 0; i < bins; ++i) one.x.push_back(low + (static_cast<double>(i) + 0.5) * one.width);
  for (const double x : v)
    if (std::isfinite(x))
      ++one.y[std::min(bins - 1, static_cast<size_t>((x - low) / (high - low) * options.bins))];
  state_->series.push_back(std::move(one));
  return *this;
}
Figure& Figure::bars(const std::vector<std::string>& names, const Tensor& values, Site s) {
  Series one{Mark::bar, "", {}, numbers_of("bars", values, s), state_->next_colour(), 0.7};
  check_lengths("bars", names.size(), one.y.size(), s);
  for (size_t i = 0; i < names.size(); ++i) one.x.push_back(static_cast<double>(i));
  state_->series.push_back(std::move(one));
  state_->names = names;
  return *this;
}

Figure& Figure::heat_map(const Tensor& values, HeatMapOptions options, Site s) {
  const Shape shape = values.shape(s);
  if (shape.size() != 2 || numel(shape) == 0)
    fail<ShapeError>("heat_map", "takes a matrix with elements, not " + to_string(shape), s);
  Matrix m{values.astype(float64, s).to_vector<double>(s), {}, shape[0], shape[1], std::move(options)};
  if (!m.how.rows.empty()) check_lengths("heat_map", m.how.rows.size(), static_cast<size_t>(m.rows), s);
  if (!m.how.columns.empty())
    check_lengths("heat_map", m.how.columns.size(), static_cast<size_t>(m.columns), s);
  if (m.how.numbers)
    for (const double v : m.values) m.texts.push_back(formatted("%.3g", v));
  state_->matrix = std::move(m);
  return *this;
}

Figure& Figure::images(const Tensor& pictures, ImageOptions options, Site s) {
  const Shape shape = pictures.shape(s);
  const bool colours = shape.size() == 4 && shape[3] == 3;
  if ((shape.size() != 3 && !colours) || numel(shape) == 0)
    fail<ShapeError>("images", "takes (n, height, width) or (n, height, width, 3), not " + to_string(shape),
                     s);
  const auto n = static_cast<size_t>(shape[0]);
  if (!options.labels.empty()) check_lengths("images", options.labels.size(), n, s);
  std::vector<uint8_t> all;
  if (pictures.dtype(s) == uint8) {
    all = pictures.to_vector<uint8_t>(s);
  } else {
    for (const float v : pictures.astype(float32, s).to_vector<float>(s)) all.push_back(byte_of(v));
  }
  if (!colours) {
    std::vector<uint8_t> three;
    for (const uint8_t v : all) {
      const Colour c = colour_of(options.map, v / 255.0);
      three.insert(three.end(), {c.red, c.green, c.blue});
    }
    all = std::move(three);
  }
  state_->pictures = {from_span(all, ShapeArg(Shape{shape[0], shape[1], shape[2], 3}), {}, s),
                      std::move(options)};
  return *this;
}

void Figure::State::draw(Canvas& canvas, Area all, const Site& s) const {
  const FloatEnvironment environment;
  if (!title.empty()) canvas.text(all.x + 16, all.y + 18, Anchor::left, title, kTitle, theme().ink);
  const double top = title.empty() ? 12 : 36;
  const Area inside{all.x, all.y + top, all.width, all.height - top};
  if (pictures.pictures.defined()) return draw_images(canvas, inside, s);
  if (matrix.rows > 0) return draw_matrix(canvas, inside);
  draw_series(canvas, inside);
}

void Figure::State::draw_series(Canvas& canvas, Area all) const {
  const Theme& t = theme();
  Axis x, y;
  x.log = options.log_x, y.log = options.log_y;
  bool dots = false, bars = false;
  for (const Series& one : series) {
    for (size_t i = 0; i < one.x.size(); ++i) {
      if (!x.has(one.x[i]) || !y.has(one.y[i])) continue;
      y.include(one.y[i]);
      if (one.mark == Mark::bar) {
        x.include(one.x[i] - one.width / 2), x.include(one.x[i] + one.width / 2);
        if (!y.log) y.include(0);
      } else {
        x.include(one.x[i]);
      }
    }
    dots = dots || one.mark == Mark::dot, bars = bars || one.mark == Mark::bar;
  }
  x.settle(), y.settle();
  if (dots) x.widen(0.04);
  if (!bars) y.widen(0.04);
  double labels = 0;
  for (const auto& [text, at] : y.marks(6)) labels = std::max(labels, width_of(text, kText));
  Area inside{all.x + 16 + labels + 6 + (options.y_label.empty() ? 0 : 20), all.y, 0, 0};
  inside.width = all.x + all.width - 20 - inside.x;
  inside.height = all.height - 30 - (options.x_label.empty() ? 0 : 20);
  inside.width = std::max(inside.width, 10.0), inside.height = std::max(inside.height, 10.0);
  if (options.same_scale) {  // the axis that has room to spare shows more
    const double a = (x.high - x.low) / inside.width, b = (y.high - y.low) / inside.height;
    constexpr double kMost = 1e6;  // beyond that one of them would be a line
    if (a < b && b < kMost * a) x.widen((b / a - 1) / 2);
    else if (b < a && a < kMost * b) y.widen((a / b - 1) / 2);
  }
  const double left = inside.x, right = inside.x + inside.width, top = inside.y,
               bottom = inside.y + inside.height;
  x.place(left, right), y.place(bottom, top);
  if (names.empty()) {
    for (const auto& [text, at] : x.marks(std::clamp(static_cast<int>(inside.width / 80), 2, 10))) {
      canvas.path({{at, top}, {at, bottom}}, 1, t.grid);
      canvas.text(at, bottom + 13, Anchor::middle, text, kText, t.ink);
    }
  } else {
    // Names that would touch are left out but for some.
    double longest = 0;
    for (const std::string& n : names) longest = std::max(longest, width_of(n, kText) + 8);
    const double room = inside.width / static_cast<double>(names.size());
    const auto every = static_cast<size_t>(std::max(1.0, std::ceil(longest / room)));
    for (size_t i = 0; i < names.size(); i += every)
      canvas.text(x.at(static_cast<double>(i)), bottom + 13, Anchor::middle, names[i], kText, t.ink);
  }
  for (const auto& [text, at] : y.marks(std::clamp(static_cast<int>(inside.height / 50), 2, 8))) {
    canvas.path({{left, at}, {right, at}}, 1, t.grid);
    canvas.text(left - 6, at, Anchor::right, text, kText, t.ink);
  }
  for (const Series& one : series) {
    Points run;
    const auto end = [&] {
      if (!run.empty()) canvas.path(run, 1.8, one.colour);
      run.clear();
    };
    for (size_t i = 0; i < one.x.size(); ++i) {
      if (!x.has(one.x[i]) || !y.has(one.y[i])) {
        end();
        continue;
      }
      const double px = x.at(one.x[i]), py = y.at(one.y[i]);
      if (!std::isfinite(px + py)) continue;  // the range is beyond what numbers can say
      switch (one.mark) {
        case Mark::line: run.emplace_back(px, py); break;
        case Mark::dot: canvas.dot(px, py, 2.4, one.colour); break;
        case Mark::bar: {
          const double from = x.at(one.x[i] - one.width / 2), to = x.at(one.x[i] + one.width / 2),
                       base = y.log ? bottom : y.at(0);
          canvas.rectangle(from + 0.5, std::min(py, base), std::max(to - from - 1, 1.0), std::abs(base - py),
                           one.colour, series.size() > 1 ? 0.7 : 1);
          break;
        }
      }
    }
    end();
  }
  canvas.path({{left, top}, {left, bottom}, {right, bottom}}, 1.2, t.ink);
  if (!options.x_label.empty())
    canvas.text((left + right) / 2, bottom + 34, Anchor::middle, options.x_label, kText, t.ink);
  if (!options.y_label.empty())
    canvas.text(all.x + 16, (top + bottom) / 2, Anchor::middle, options.y_label, kText, t.ink, true);
  draw_legend(canvas, inside);
}

void Figure::State::draw_legend(Canvas& canvas, const Area& inside) const {
  double widest = 0, count = 0;
  for (const Series& one : series)
    if (!one.name.empty()) widest = std::max(widest, width_of(one.name, kText)), ++count;
  if (count == 0) return;
  const double right = inside.x + inside.width - 8;
  double at = inside.y + 14;
  canvas.rectangle(right - widest - 40, inside.y + 2, widest + 44, count * 17 + 6, theme().background, 0.8);
  for (const Series& one : series) {
    if (one.name.empty()) continue;
    if (one.mark == Mark::line) canvas.path({{right - 22, at}, {right - 4, at}}, 3, one.colour);
    else if (one.mark == Mark::dot) canvas.dot(right - 13, at, 3.5, one.colour);
    else canvas.rectangle(right - 20, at - 5, 14, 10, one.colour);
    canvas.text(right - 28, at, Anchor::right, one.name, kText, theme().ink);
    at += 17;
  }
}

void Figure::State::draw_matrix(Canvas& canvas, Area all) const {
  const Theme& t = theme();
  const HeatMapOptions& how = matrix.how;
  double names_wide = 0, columns_wide = 0;
  for (const std::string& n : how.rows) names_wide = std::max(names_wide, width_of(n, kText));
  for (const std::string& n : how.columns) columns_wide = std::max(columns_wide, width_of(n, kText));
  double low = how.low, high = how.high;
  for (const bool end : {false, true}) {
    double& bound = end ? high : low;
    if (!std::isnan(bound)) continue;
    bound = end ? -HUGE_VAL : HUGE_VAL;
    for (const double v : matrix.values)
      if (std::isfinite(v)) bound = end ? std::max(bound, v) : std::min(bound, v);
    if (!std::isfinite(bound)) bound = end ? 1 : 0;
  }
  if (!(high > low)) high = low + 1;
  Axis scale;
  scale.include(low), scale.include(high), scale.settle();
  double marks_wide = 0;
  for (const auto& [text, at] : scale.marks(5)) marks_wide = std::max(marks_wide, width_of(text, kText));
  const double left = all.x + 16 + (names_wide > 0 ? names_wide + 8 : 0) + (options.y_label.empty() ? 0 : 20),
               right = all.x + all.width - 46 - marks_wide;
  const double wide = std::max(right - left, 10.0) / static_cast<double>(matrix.columns);
  const bool turned = columns_wide + 6 > wide;
  const double below = (how.columns.empty() ? 4
                        : turned            ? columns_wide + 12
                                            : 24) +
                       (options.x_label.empty() ? 8 : 26);
  const double bottom = all.y + all.height - below;
  const double high_cell = std::max(bottom - all.y, 10.0) / static_cast<double>(matrix.rows);
  for (int64_t r = 0; r < matrix.rows; ++r)
    for (int64_t c = 0; c < matrix.columns; ++c) {
      const auto at = static_cast<size_t>(r * matrix.columns + c);
      const Colour colour = colour_of(how.map, (matrix.values[at] - low) / (high - low));
      const double x = std::round(left + wide * static_cast<double>(c)),
                   y = std::round(all.y + high_cell * static_cast<double>(r)),
                   x_end = std::round(left + wide * static_cast<double>(c + 1)),
                   y_end = std::round(all.y + high_cell * static_cast<double>(r + 1));
      canvas.rectangle(x, y, x_end - x, y_end - y, colour);
      if (matrix.texts.empty()) continue;
      const std::string& text = matrix.texts[at];
      const double size = std::min(
          {kText, high_cell * 0.7, wide / (0.62 * static_cast<double>(std::max<size_t>(text.size(), 1)))});
      if (size >= 5)
        canvas.text((x + x_end) / 2, (y + y_end) / 2, Anchor::middle, text, size, ink_on(colour));
    }
  for (size_t r = 0; r < how.rows.size(); ++r)
    canvas.text(left - 8, all.y + high_cell * (static_cast<double>(r) + 0.5), Anchor::right, how.rows[r],
                std::min(kText, high_cell), t.ink);
  for (size_t c = 0; c < how.columns.size(); ++c) {
    const double x = left + wide * (static_cast<double>(c) + 0.5);
    if (turned) canvas.text(x, bottom + 6, Anchor::right, how.columns[c], std::min(kText, wide), t.ink, true);
    else canvas.text(x, bottom + 13, Anchor::middle, how.columns[c], kText, t.ink);
  }
  if (!options.x_label.empty())
    canvas.text((left + right) / 2, all.y + all.height - 14, Anchor::middle, options.x_label, kText, t.ink);
  if (!options.y_label.empty())
    canvas.text(all.x + 16, (all.y + bottom) / 2, Anchor::middle, options.y_label, kText, t.ink, true);
  constexpr int kSteps = 64;
  for (int i = 0; i < kSteps; ++i) {
    const double y = all.y + (bottom - all.y) * i / kSteps;
    canvas.rectangle(right + 12, std::round(y), 14,
                     std::round(all.y + (bottom - all.y) * (i + 1) / kSteps) - std::round(y),
                     colour_of(how.map, 1 - (i + 0.5) / kSteps));
  }
  scale.place(bottom, all.y);
  for (const auto& [text, at] : scale.marks(5)) canvas.text(right + 32, at, Anchor::left, text, kText, t.ink);
}

void Figure::State::draw_images(Canvas& canvas, Area all, const Site& s) const {
  const Shape shape = pictures.pictures.shape(s);
  const int64_t n = shape[0], own = pictures.how.columns;
  const double gap = 6, label = pictures.how.labels.empty() ? 0 : 18;
  const double high = static_cast<double>(shape[1]), wide = static_cast<double>(shape[2]);
  // Pictures are as large as any number of columns leaves them.
  int64_t columns = std::min(own > 0 ? own : 1, n);
  const auto scale_of = [&](int64_t c) {
    const auto across = static_cast<double>(c), rows = static_cast<double>((n + c - 1) / c);
    return std::min((all.width - 2 * 16 + gap) / across - gap,
                    ((all.height - 10 + gap) / rows - gap - label) * wide / high) /
           wide;
  };
  if (own <= 0)
    for (int64_t c = 2; c <= n; ++c)
      if (scale_of(c) > scale_of(columns)) columns = c;
  const double scale = std::max(scale_of(columns), 1 / wide);
  for (int64_t i = 0; i < n; ++i) {
    const double x = all.x + 16 + static_cast<double>(i % columns) * (wide * scale + gap),
                 y = all.y + static_cast<double>(i / columns) * (high * scale + gap + label);
    canvas.picture(pictures.pictures(i), x, y, wide * scale, high * scale, s);
    if (label > 0) {
      const std::string& text = pictures.how.labels[static_cast<size_t>(i)];
      const double fits = wide * scale / (0.62 * static_cast<double>(std::max<size_t>(text.size(), 1)));
      canvas.text(x + wide * scale / 2, y + high * scale + 10, Anchor::middle, text, std::min(kText, fits),
                  theme().ink);
    }
  }
}

namespace {

/// Returns what draws a figure's state alone.
template <class State>
auto drawing_of(const State& state, const Site& s) {
  const FigureOptions& o = state.options;
  const Area all{0, 0, static_cast<double>(o.width), static_cast<double>(o.height)};
  const auto draw = [&state, all, &s](Canvas& c) { state.draw(c, all, s); };
  return Drawing<decltype(draw)>{o.width, o.height, state.theme().background, draw};
}

}  // namespace

void Figure::save(const std::string& path, Site s) const { save_as(*this, path, s); }
Tensor Figure::picture(Site s) const { return drawing_of(*state_, s).picture(s); }
std::string Figure::svg(Site s) const { return drawing_of(*state_, s).svg(); }

Figure confusion(const Tensor& counts, const std::vector<std::string>& names, std::string title,
                 FigureOptions options, Site s) {
  const Shape shape = counts.shape(s);
  if (shape.size() != 2 || shape[0] != shape[1] || shape[0] == 0)
    fail<ShapeError>("confusion", "takes counts (n, n), not " + to_string(shape), s);
  if (options.x_label.empty()) options.x_label = "taken for";
  if (options.y_label.empty()) options.y_label = "is";
  const auto all = counts.astype(float64, s).to_vector<double>(s);
  std::vector<double> shares;
  const auto n = static_cast<size_t>(shape[0]);
  for (size_t r = 0; r < n; ++r) {
    double sum = 0;
    for (size_t c = 0; c < n; ++c) sum += all[r * n + c];
    for (size_t c = 0; c < n; ++c) shares.push_back(sum > 0 ? all[r * n + c] / sum : 0);
  }
  Figure f(std::move(title), std::move(options), s);
  f.heat_map(from_span(std::span<const double>(shares), ShapeArg(shape), {}, s),
             {.rows = names, .columns = names, .map = ColourMap::blues, .low = 0, .high = 1}, s);
  for (const double v : all) f.state_->matrix.texts.push_back(formatted("%.6g", v));
  return f;
}

Panels::Panels(std::vector<Figure> figures, int columns, Site s)
    : figures_(std::move(figures)), columns_(columns) {
  if (figures_.empty() || columns < 1) fail<Error>("Panels", "there is nothing to draw", s);
}

namespace {

/// Says where figures are that stand in rows.
struct Places {
  std::vector<Area> areas;
  int width = 0, height = 0;

  template <class Each>
  Places(size_t count, size_t columns, Each&& options_of) {
    std::vector<int> wide(std::min(count, columns), 0), high((count + columns - 1) / columns, 0);
    for (size_t i = 0; i < count; ++i) {
      int &w = wide[i % columns], &h = high[i / columns];
      w = std::max(w, options_of(i).width), h = std::max(h, options_of(i).height);
    }
    for (const int w : wide) width += w;
    for (size_t i = 0; i < count; ++i) {
      int x = 0;
      for (size_t c = 0; c < i % columns; ++c) x += wide[c];
      if (i % columns == 0 && i) height += high[i / columns - 1];
      const FigureOptions& o = options_of(i);
      areas.push_back({double(x), double(height), double(o.width), double(o.height)});
    }
    height += high.back();
  }
};

/// Returns make(drawing) of what draws figures' states in their places.
template <class StateOf, class Make>
auto drawn(size_t count, int columns, const StateOf& state_of, const Site& s, Make&& make) {
  const Places places(count, static_cast<size_t>(columns),
                      [&](size_t i) -> const FigureOptions& { return state_of(i).options; });
  const auto draw = [&](Canvas& c) {
    for (size_t i = 0; i < count; ++i) {
      const Area& a = places.areas[i];
      c.rectangle(a.x, a.y, a.width, a.height, state_of(i).theme().background);
      state_of(i).draw(c, a, s);
    }
  };
  return make(Drawing<decltype(draw)>{places.width, places.height, state_of(0).theme().background, draw});
}

}  // namespace

Tensor Panels::picture(Site s) const {
  const auto state_of = [&](size_t i) -> const Figure::State& { return *figures_[i].state_; };
  return drawn(figures_.size(), columns_, state_of, s, [&](const auto& all) { return all.picture(s); });
}
std::string Panels::svg(Site s) const {
  const auto state_of = [&](size_t i) -> const Figure::State& { return *figures_[i].state_; };
  return drawn(figures_.size(), columns_, state_of, s, [](const auto& all) { return all.svg(); });
}
void Panels::save(const std::string& path, Site s) const { save_as(*this, path, s); }

}  // namespace lazy::plot
