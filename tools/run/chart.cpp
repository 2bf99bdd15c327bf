#include "tools/run/chart.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "lazy/lazy.hpp"
#include "lazy/plot/raster.hpp"
#include "support/text.hpp"
#include "tools/run/names.hpp"

namespace lazy::tool {
namespace {

using plot::detail::Raster;

constexpr int kLine = 34, kTop = 44, kMargin = 16, kWidth = 760, kBar = 12;  // pixels
constexpr int kRoom = kWidth - 2 * kMargin - 60;                             // of the longest bar
constexpr plot::Colour kInk{40, 40, 48}, kFill{58, 110, 180};

std::string label(const Bar& b) { return text::formatted("%.1f%%  ", 100 * b.second) + b.first; }

/// Returns the width of a bar: the longest has all the room.
int width_of(const Bar& b, const std::vector<Bar>& all) {
  double most = 1e-9;
  for (const Bar& one : all) most = std::max(most, one.second);
  return std::max(1, static_cast<int>(std::lround(kRoom * b.second / most)));
}

std::string escaped(const std::string& s) {
  std::string r;
  for (const char c : s) {
    if (c == '&') r += "&amp;";
    else if (c == '<') r += "&lt;";
    else if (c == '>') r += "&gt;";
    else if (c == '"') r += "&quot;";
    else r += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return r;
}

std::string svg(const std::string& title, const std::vector<Bar>& bars, int height) {
  std::string s = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(kWidth) +
                  "\" height=\"" + std::to_string(height) +
                  "\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#282830\">\n"
                  "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  const auto place = [](int x, int y) {
    return " x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\"";
  };
  s += "<text" + place(kMargin, 24) + " font-size=\"14\">" + escaped(title) + "</text>\n";
  for (size_t i = 0; i < bars.size(); ++i) {
    const int y = kTop + static_cast<int>(i) * kLine;
    s += "<text" + place(kMargin, y + 10) + ">" + escaped(label(bars[i])) + "</text>\n<rect" +
         place(kMargin, y + 14) + " width=\"" + std::to_string(width_of(bars[i], bars)) + "\" height=\"" +
         std::to_string(kBar) + "\" fill=\"#3a6eb4\"/>\n";
  }
  return s + "</svg>\n";
}

Tensor picture(const std::string& title, const std::vector<Bar>& bars, int height) {
  Raster r(kWidth, height);
  r.text(kMargin, 14, title, 1.3, kInk);
  for (size_t i = 0; i < bars.size(); ++i) {
    const int y = kTop + static_cast<int>(i) * kLine;
    r.text(kMargin, y + 2, label(bars[i]), 1.1, kInk);
    const double middle = y + 14 + kBar / 2.0;
    r.line(kMargin, middle, kMargin + width_of(bars[i], bars), middle, kBar, kFill);
  }
  return from_span(r.pixels(), {height, kWidth, 3});
}

}  // namespace

void write_chart(const std::string& path, const std::string& title, const std::vector<Bar>& bars) {
  const int height = kTop + static_cast<int>(bars.size()) * kLine + kMargin;
  if (has_ending(path, ".png")) return write_png(path, picture(title, bars, height));
  std::ofstream out(path);
  out << svg(title, bars, height);
  if (!out.flush()) throw Error("cannot write " + path);
}

}  // namespace lazy::tool
