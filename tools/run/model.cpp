#include "tools/run/model.hpp"

#include "tools/run/names.hpp"

namespace lazy::tool {

std::unique_ptr<ModelFile> open_model(const std::filesystem::path& path) {
  std::error_code none;
  const bool pretrained = std::filesystem::is_directory(path, none) || has_ending(path.string(), ".gguf");
  return pretrained ? open_pretrained(path) : open_onnx(path);
}

}  // namespace lazy::tool
