// Turns what models of text in pictures compute into boxes and letters.
#pragma once
#include <cstdint>
#include <lazy/lazy.hpp>
#include <string>
#include <vector>

namespace demo {

/// Holds a level box of a picture, in pixels: [left, right) x [top, bottom).
struct Box {
  int64_t left, top, right, bottom;
  int64_t width() const { return right - left; }
  int64_t height() const { return bottom - top; }
};

/// Finds where text is likely: probabilities [height, width]. Pixels above a threshold that touch are a box,
/// which grows by as much as a detector's boxes are smaller than the text. Boxes come line by line.
std::vector<Box> find_boxes(const lazy::Tensor& probabilities);

/// Reads rows of scores [n, steps, characters] as a recogniser was taught by CTC: the best character of each
/// step, where equal neighbours are one and character 0 is none.
std::vector<std::string> read_characters(const lazy::Tensor& scores,
                                         const std::vector<std::string>& alphabet);

/// Draws the outline of a box into a picture [height, width, 3].
void draw_box(lazy::Tensor& picture, const Box&);

}  // namespace demo
