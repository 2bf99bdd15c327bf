#include "tools/run/chart.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "lazy/lazy.hpp"
#include "lazy/plot/canvas.hpp"
#include "support/text.hpp"
#include "tools/run/names.hpp"

namespace lazy::tool {
namespace {

constexpr int kLine = 34, kTop = 44, kMargin = 16, kWidth = 760, kBar = 12;  // pixels
constexpr int kRoom = kWidth - 2 * kMargin - 60;                             // of the longest bar
constexpr plot::Colour kInk{40, 40, 48}, kFill{58, 110, 180}, kPaper{255, 255, 255};

std::string label(const Bar& b) { return text::formatted("%.1f%%  ", 100 * b.second) + b.first; }

/// Returns the width of a bar: the longest has all the room.
int width_of(const Bar& b, const std::vector<Bar>& all) {
  double most = 1e-9;
  for (const Bar& one : all) most = std::max(most, one.second);
  return std::max(1, static_cast<int>(std::lround(kRoom * b.second / most)));
}

void draw(plot::detail::Canvas& c, const std::string& title, const std::vector<Bar>& bars) {
  constexpr auto kLeft = plot::detail::Anchor::left;
  c.text(kMargin, 20, kLeft, title, 14, kInk);
  for (size_t i = 0; i < bars.size(); ++i) {
    const int y = kTop + static_cast<int>(i) * kLine;
    c.text(kMargin, y + 6, kLeft, label(bars[i]), 12, kInk);
    c.rectangle(kMargin, y + 14, width_of(bars[i], bars), kBar, kFill);
  }
}

}  // namespace

void write_chart(const std::string& path, const std::string& title, const std::vector<Bar>& bars) {
  const int height = kTop + static_cast<int>(bars.size()) * kLine + kMargin;
  if (has_ending(path, ".png")) {
    plot::detail::PixelCanvas c(kWidth, height, kPaper);
    draw(c, title, bars);
    return write_png(path, from_span(c.pixels(), {height, kWidth, 3}));
  }
  plot::detail::SvgCanvas c;
  draw(c, title, bars);
  std::ofstream out(path);
  out << c.file(kWidth, height, kPaper);
  if (!out.flush()) throw Error("cannot write " + path);
}

}  // namespace lazy::tool
