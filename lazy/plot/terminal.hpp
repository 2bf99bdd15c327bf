// Shows pictures in a terminal.
//
//   plot::imshow(imread("cat.png"));                       // on standard output, as wide as the terminal
//   plot::imshow(scores, {.map = plot::ColourMap::viridis});
#pragma once
#include <string>

#include "lazy/core/tensor.hpp"
#include "lazy/plot/colour.hpp"

namespace lazy::plot {

/// Says how a terminal is told of pixels. blocks: two in each character, in 24-bit colours, which nearly all
/// terminals have. sixel: as they are, in 216 colours (DEC's graphics: xterm -ti vt340, foot, WezTerm,
/// iTerm2).
enum class Pixels : uint8_t { blocks, sixel };

struct TerminalOptions {
  int64_t columns = 0;  // characters that the picture takes at most; 0: as many as the terminal has, else 80
  Pixels pixels = Pixels::blocks;
  ColourMap map = ColourMap::grey;  // of pictures without colours
};

/// Returns what shows a picture: uint8, uint16, bool or of 0 to 1, (height, width) or (height, width,
/// channels) of 1 to 4 channels, of which alpha is left out. It is made smaller where it is wider than the
/// columns, which stand for 10 pixels each of sixels. ShapeError for other shapes, or without pixels.
/// Evaluates.
std::string terminal_text(const Tensor& picture, const TerminalOptions& = {}, Site = Site::current());
/// Writes it to standard output.
void imshow(const Tensor& picture, const TerminalOptions& = {}, Site = Site::current());

}  // namespace lazy::plot
