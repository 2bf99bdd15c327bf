// Reads the text of a picture by three models in the ONNX format: one finds lines, one says which stand on
// their head, one reads them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <lazy/onnx/onnx.hpp>
#include <span>
#include <sstream>

#include "demo.hpp"
#include "picture.hpp"
#include "text_boxes.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(read_text [FOLDER [PICTURE.png]]
Prints the lines of text of a picture (default: demos/data/page.png) and writes out/read_text.png, where an outline is around
each, at any angle, by the models of a folder: *_det_*.onnx, *_cls_*.onnx and *_rec_*.onnx of PaddleOCR. A package has them, 15 MB:

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

std::vector<demo::Region> find_lines(const onnx::Model& detector, const Tensor& picture) {
  const int64_t height = picture.size(0), width = picture.size(1);
  const double scale =
      std::max(1.0, static_cast<double>(kShortest) / static_cast<double>(std::min(height, width)));
  const auto whole = [&](int64_t n) {
    return std::max<int64_t>(32 * std::lround(static_cast<double>(n) * scale / 32), 32);
  };
  const int64_t h = whole(height), w = whole(width);
  std::vector<demo::Region> regions = demo::find_regions(detector(prepared(picture, h, w))(0, 0));
  for (demo::Region& r : regions)
    r = r.scaled(static_cast<double>(width) / static_cast<double>(w),
                 static_cast<double>(height) / static_cast<double>(h))
            .rounded();
  return regions;
}

/// Turns lines that stand on their head. Where most do, the picture does, and so they come in the other
/// order.
void set_upright(const onnx::Model& classifier, std::vector<Tensor>& lines) {
  size_t turned = 0;
  for (size_t first = 0; first < lines.size(); first += kRows) {
    const size_t count = std::min(kRows, lines.size() - first);
    std::vector<Tensor> rows;
    for (size_t i = 0; i < count; ++i) rows.push_back(prepared_line(lines[first + i], kTurnedWidth));
    const auto on_head = (classifier(concatenate(rows, 0))(_, 1) > 0.9).to_vector<bool>();
    for (size_t i = 0; i < count; ++i) {
      if (!on_head[i]) continue;
      lines[first + i] = flip(lines[first + i], {0, 1});
      ++turned;
    }
  }
  if (2 * turned > lines.size()) std::reverse(lines.begin(), lines.end());
}

std::vector<std::string> read_lines(const onnx::Model& recogniser, const std::vector<Tensor>& lines) {
  const std::vector<std::string> alphabet = alphabet_of(recogniser);
  std::vector<std::string> texts;
  for (size_t first = 0; first < lines.size(); first += kRows) {
    const std::span<const Tensor> some(lines.begin() + static_cast<std::ptrdiff_t>(first),
                                       std::min(kRows, lines.size() - first));
    double widest = 320.0 / kLineHeight;
    for (const Tensor& line : some)
      widest = std::max(widest, static_cast<double>(line.size(1)) / static_cast<double>(line.size(0)));
    std::vector<Tensor> rows;
    for (const Tensor& line : some)
      rows.push_back(prepared_line(line, static_cast<int64_t>(std::ceil(kLineHeight * widest))));
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
  const Tensor picture = demo::read_picture(demo::argument(arguments, 1, demo::data_file("page.png")));
  const no_grad scope;
  const std::vector<demo::Region> regions = find_lines(load_part(folder, "_det_"), picture);
  std::vector<Tensor> lines;
  for (const demo::Region& r : regions) lines.push_back(demo::cut_out(picture, r));
  set_upright(load_part(folder, "_cls_"), lines);
  for (const std::string& text : read_lines(load_part(folder, "_rec_"), lines))
    std::printf("%s\n", text.c_str());
  demo::write_picture("out/read_text.png", demo::with_outlines(picture, regions));
  std::printf("%zu lines; wrote out/read_text.png\n", regions.size());
  demo::report("reading");
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 2, read); }
