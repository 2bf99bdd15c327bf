#include "lazy/plot/canvas.hpp"

#include <cmath>
#include <cstdio>

#include "lazy/io/image_bytes.hpp"
#include "support/text.hpp"

namespace lazy::plot::detail {
namespace {

using text::formatted;

std::string colour(Colour c) {
  char text[32];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", c.red, c.green, c.blue);
  return text;
}
std::string attribute(const char* name, double v) {
  return std::string(" ") + name + "=\"" + formatted("%.2f", v) + "\"";
}

std::string base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string all;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t j = 0; j < 3; ++j)
      three = three << 8 | (i + j < bytes.size() ? static_cast<uint8_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j) all += i + j > bytes.size() ? '=' : kDigits[three >> (18 - 6 * j) & 63];
  }
  return all;
}

}  // namespace

void SvgCanvas::path(const Points& points, double width, Colour c) {
  body_ += "<polyline fill=\"none\" stroke=\"" + colour(c) + "\" stroke-width=\"" + formatted("%g", width) +
           "\" points=\"";
  for (const auto& [x, y] : points) body_ += formatted("%.2f,", x) + formatted("%.2f ", y);
  body_ += "\"/>\n";
}
void SvgCanvas::dot(double x, double y, double radius, Colour c) {
  body_ += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", radius) + " fill=\"" +
           colour(c) + "\"/>\n";
}
void SvgCanvas::rectangle(double x, double y, double width, double height, Colour c, double opacity) {
  body_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
           attribute("height", height) + " fill=\"" + colour(c) + "\"" +
           (opacity < 1 ? attribute("fill-opacity", opacity) : "") + "/>\n";
}
void SvgCanvas::text(double x, double y, Anchor anchor, const std::string& words, double size, Colour c,
                     bool upwards) {
  constexpr const char* kAnchors[] = {"start", "middle", "end"};
  const double down = 0.36 * size;  // half of a capital letter
  body_ += "<text" + attribute("x", upwards ? x + down : x) + attribute("y", upwards ? y : y + down) +
           " font-size=\"" + formatted("%g", size) + "\" fill=\"" + colour(c) + "\" text-anchor=\"" +
           kAnchors[static_cast<int>(anchor)] + "\"";
  if (upwards) body_ += " transform=\"rotate(-90" + formatted(" %.2f", x + down) + formatted(" %.2f)\"", y);
  body_ += ">";
  for (const char ch : words)
    body_ += ch == '<'                       ? "&lt;"
             : ch == '>'                     ? "&gt;"
             : ch == '&'                     ? "&amp;"
             : static_cast<uint8_t>(ch) < 32 ? " "
                                             : std::string(1, ch);
  body_ += "</text>\n";
}
void SvgCanvas::picture(const Tensor& pixels, double x, double y, double width, double height,
                        const Site& s) {
  body_ += "<image" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
           attribute("height", height) +
           " preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"data:image/png;base64," +
           base64(lazy::detail::png_bytes("plot", TensorArg(pixels, s))) + "\"/>\n";
}
std::string SvgCanvas::file(int width, int height, Colour background) const {
  const std::string size =
      "width=\"" + std::to_string(width) + "\" height=\"" + std::to_string(height) + "\"";
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size + " font-family=\"sans-serif\">\n<rect " + size +
         " fill=\"" + colour(background) + "\"/>\n" + body_ + "</svg>\n";
}

void PixelCanvas::path(const Points& points, double width, Colour c) {
  if (points.size() == 1) dot(points[0].first, points[0].second, 1.5, c);
  for (size_t i = 1; i < points.size(); ++i)
    raster_.line(points[i - 1].first, points[i - 1].second, points[i].first, points[i].second, width, c);
}
void PixelCanvas::dot(double x, double y, double radius, Colour c) {
  raster_.line(x, y, x, y, 2 * radius, c);
}
void PixelCanvas::rectangle(double x, double y, double width, double height, Colour c, double opacity) {
  raster_.rectangle(x, y, width, height, c, opacity);
}
void PixelCanvas::text(double x, double y, Anchor anchor, const std::string& words, double size, Colour c,
                       bool upwards) {
  const double scale = size / 10, width = static_cast<double>(words.size()) * Raster::kCharacterWidth * scale,
               before = anchor == Anchor::left    ? 0
                        : anchor == Anchor::right ? width
                                                  : width / 2,
               half = Raster::kCharacterHeight * scale / 2;
  if (upwards) return raster_.text(x - half, y + before, words, scale, c, true);
  raster_.text(x - before, y - half, words, scale, c);
}
void PixelCanvas::picture(const Tensor& pixels, double x, double y, double width, double height,
                          const Site& s) {
  const Shape& shape = pixels.shape(s);
  const auto all = pixels.to_vector<uint8_t>(s);
  const double wide = width / static_cast<double>(shape[1]), high = height / static_cast<double>(shape[0]);
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j) {
      const uint8_t* const at = &all[static_cast<size_t>((i * shape[1] + j) * 3)];
      // Whole pixels, so that no gaps show between them.
      const double left = std::round(x + wide * static_cast<double>(j)),
                   right = std::round(x + wide * static_cast<double>(j + 1)),
                   top = std::round(y + high * static_cast<double>(i)),
                   bottom = std::round(y + high * static_cast<double>(i + 1));
      raster_.rectangle(left, top, right - left, bottom - top, {at[0], at[1], at[2]});
    }
}

}  // namespace lazy::plot::detail
