#include "tools/run/samples.hpp"

#include "lazy/data/transforms.hpp"
#include "lazy/lazy.hpp"
#include "tools/run/names.hpp"

namespace lazy::tool {
namespace {

/// Returns the picture as float32 (1, C, H, W), 0 to 1, with so many channels (-1: colours without alpha).
Tensor planes(const Tensor& picture, int64_t channels, const std::string& path) {
  Tensor x = data::to_float(picture);
  if (x.ndim() == 2) x = x.unsqueeze(2);
  int64_t found = x.size(2);
  if (found == 2 || (found == 4 && channels != 4)) x = narrow(x, 2, 0, found -= 1);
  if (channels == 3 && found == 1) x = concat({x, x, x}, 2);
  // The weights of luma of ITU-R BT.601, which image libraries use.
  else if (channels == 1 && found == 3)
    x = sum(x * from_span(std::vector<float>{0.299f, 0.587f, 0.114f}), {2}, keepdims);
  else if (channels > 0 && found != channels)
    throw UsageError(path + " has " + std::to_string(found) + " channels, the input " +
                     std::to_string(channels));
  return permute(x, {2, 0, 1}).unsqueeze(0);
}

}  // namespace

bool is_picture(const std::string& path) {
  for (const char* const ending : {".png", ".jpg", ".jpeg", ".pgm", ".ppm"})
    if (has_ending(path, ending)) return true;
  return false;
}

Tensor read_picture(const std::string& path, const Value& info, const std::vector<int64_t>& extents,
                    const std::vector<double>& mean, const std::vector<double>& std) {
  if (extents.size() != 4)
    throw UsageError("input '" + info.name + "' is " + describe(info) +
                     ", and a picture has the shape (N, C, H, W)");
  if (extents[0] > 1)
    throw UsageError("input '" + info.name + "' takes " + std::to_string(extents[0]) + " pictures, " + path +
                     " is one");
  const auto can_be_channels = [](int64_t n) { return n == 1 || n == 3 || n == 4; };
  const bool last = can_be_channels(extents[3]) && !can_be_channels(extents[1]);
  const int64_t channels = extents[last ? 3 : 1];
  int64_t height = extents[last ? 1 : 2], width = extents[last ? 2 : 3];
  Tensor x = planes(imread(path), channels > 0 ? channels : 3, path);
  if (height < 0) height = x.size(2);
  if (width < 0) width = x.size(3);
  if (height != x.size(2) || width != x.size(3))
    x = interpolate(x, {.size = {height, width}, .mode = Interpolation::linear, .antialias = true});
  if (!is_float(info.dtype)) x = round(clip(x, 0.0f, 1.0f) * 255.0f).to(info.dtype);
  else if (!mean.empty() || !std.empty())
    x = data::normalize(x, mean.empty() ? std::vector<double>{0} : mean,
                        std.empty() ? std::vector<double>{1} : std);
  if (last) x = permute(x, {0, 2, 3, 1});
  return is_float(info.dtype) ? x.to(info.dtype) : x;
}

Tensor read_sound(const std::string& path, const Value& info, const std::vector<int64_t>& extents) {
  if (extents.empty() || extents.size() > 3 || (extents.size() > 1 && extents[0] > 1) ||
      (extents.size() > 2 && extents[1] > 1) || !is_float(info.dtype))
    throw UsageError(
        "input '" + info.name + "' is " + describe(info) +
        ", and sound has the shape (samples), (1, samples) or (1, 1, samples), of floating point");
  std::vector<float> samples = mean(read_wav(path).samples, {0}).to_vector<float>();
  if (extents.back() > 0) samples.resize(static_cast<size_t>(extents.back()));
  std::vector<int64_t> shape(extents.size(), 1);
  shape.back() = static_cast<int64_t>(samples.size());
  return from_span(samples, ShapeArg(shape)).to(info.dtype);
}

}  // namespace lazy::tool
