// Places boxes of a graph in layers, so that arrows go down and cross little.
#pragma once
#include <cstddef>
#include <vector>

namespace report {

struct LayeredBox {
  double width = 0, height = 0;
  std::vector<size_t> from;  // boxes before it, all of lower numbers
  double x = 0, y = 0;       // of the upper left corner, once placed
};
/// Describes an arrow: where it leaves a box, the points it goes through between other boxes, where it ends.
struct LayeredArrow {
  size_t from = 0, to = 0;
  std::vector<std::pair<double, double>> points;
};
struct Layered {
  double width = 0, height = 0;
  std::vector<LayeredArrow> arrows;
};

/// Places the boxes: a layer further down than all before it, in an order within the layer that follows
/// neighbours' (the barycentre method of Sugiyama, Tagawa and Toda, 1981). An arrow over several layers has a
/// lane of its own in each.
Layered place_in_layers(std::vector<LayeredBox>&);

}  // namespace report
