// Draws numbers as pictures: lines, points, histograms, bars, heat maps, tables of mistakes and pictures side
// by side, as SVG and PNG, for light and for dark pages.
//
//   plot::Figure f("Losses", {.x_label = "step", .log_y = true});
//   f.line(steps, train, "train").line(steps, test, "test");
//   f.save("out/losses.svg");
//
//   plot::confusion(counts, {"cat", "dog"}).save("out/confusion.png");
//   plot::Panels({start, end}, 2).save("out/both.png");
#pragma once
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/plot/colour.hpp"

namespace lazy::plot {

struct FigureOptions {
  int width = 720, height = 420;  // pixels; 100 to 8192
  std::string x_label = {}, y_label = {};
  bool log_x = false, log_y = false;  // what is not above 0 is left out
  bool same_scale = false;            // a unit is as long on both axes
  bool dark = false;
};

struct HistogramOptions {
  int bins = 30;
};

struct HeatMapOptions {
  std::vector<std::string> rows = {}, columns = {};  // names; none: none are written
  bool numbers = false;                              // in each cell
  ColourMap map = ColourMap::viridis;
  double low = NAN, high = NAN;  // values of the map's ends; NaN: the least and the largest
};

struct ImageOptions {
  int columns = 0;                       // 0: about as many as rows
  std::vector<std::string> labels = {};  // under each
  ColourMap map = ColourMap::grey;       // of pictures without colours
};

/// Is drawn when it is saved. Tensors are read when they are added: the figure keeps their numbers.
class Figure {
 public:
  /// ShapeError for other sizes.
  explicit Figure(std::string title = "", FigureOptions options = {}, Site s = Site::current());
  Figure(const Figure&);
  Figure(Figure&&) noexcept;
  Figure& operator=(Figure) noexcept;
  ~Figure();

  // Add to the figure. x and y (n), of any real dtype; what is not finite leaves gaps. Names make a legend.
  // ShapeError where lengths differ.

  Figure& line(const Tensor& x, const Tensor& y, std::string name = "", Site s = Site::current());
  Figure& line(const Tensor& y, std::string name = "", Site s = Site::current());
  Figure& scatter(const Tensor& x, const Tensor& y, std::string name = "", Site s = Site::current());
  /// Colours points by their class, (n) from 0.
  Figure& scatter_by_class(const Tensor& x, const Tensor& y, const Tensor& classes, Site s = Site::current());
  Figure& histogram(const Tensor& values, HistogramOptions options = {}, std::string name = "",
                    Site s = Site::current());
  Figure& bars(const std::vector<std::string>& names, const Tensor& values, Site s = Site::current());

  // Fill the figure, alone in it.

  /// Draws a matrix (rows, columns) as coloured cells, with a scale beside.
  Figure& heat_map(const Tensor& values, HeatMapOptions options = {}, Site s = Site::current());
  /// Draws pictures (n, height, width) or (n, height, width, 3), of 0 to 1 or uint8, in rows.
  Figure& images(const Tensor& pictures, ImageOptions options = {}, Site s = Site::current());

  /// Writes a picture, by the ending .svg or .png of its path (Error for another). Replaces the file once it
  /// is whole; makes no folders. IoError.
  void save(const std::string& path, Site s = Site::current()) const;
  /// Returns it as uint8 (height, width, 3), and as the text of an SVG file.
  Tensor picture(Site s = Site::current()) const;
  std::string svg(Site s = Site::current()) const;

 private:
  friend class Panels;
  friend Figure confusion(const Tensor&, const std::vector<std::string>&, std::string, FigureOptions, Site);
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns a table of how often a class (row) was taken for another (column): counts (n, n), with the share
/// of each row in colours. Names, if any, are of the n classes.
Figure confusion(const Tensor& counts, const std::vector<std::string>& names = {}, std::string title = "",
                 FigureOptions options = {.width = 640, .height = 560}, Site s = Site::current());

/// Puts figures side by side, row by row; each keeps its size.
class Panels {
 public:
  explicit Panels(std::vector<Figure> figures, int columns = 2, Site s = Site::current());
  void save(const std::string& path, Site s = Site::current()) const;
  Tensor picture(Site s = Site::current()) const;
  std::string svg(Site s = Site::current()) const;

 private:
  std::vector<Figure> figures_;
  int columns_;
};

}  // namespace lazy::plot
