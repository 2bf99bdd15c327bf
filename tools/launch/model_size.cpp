#include "tools/launch/model_size.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "lazy/onnx/model/protos.hpp"
#include "lazy/onnx/model/tensor.hpp"
#include "lazy/pretrained/gguf/gguf.hpp"

namespace lazy::tool {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;
constexpr uint64_t kLargestHeader = 100'000'000;  // bytes, the format's own limit
constexpr const char* kEndings[] = {".safetensors", ".gguf", ".onnx"};

uint64_t little_endian(const unsigned char (&b)[8]) {
  uint64_t n = 0;
  for (int i = 7; i >= 0; --i) n = n << 8 | b[i];
  return n;
}

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

json header_of(const fs::path& file) {
  std::error_code error;
  const uint64_t size = fs::file_size(file, error);
  if (error) fail(file, error.message());
  std::ifstream in(file, std::ios::binary);
  unsigned char first[8] = {};
  if (!in.read(reinterpret_cast<char*>(first), 8))
    fail(file, "at byte 0: 8 bytes of a header's length were expected");
  const uint64_t n = little_endian(first);
  if (n > size - 8 || n > kLargestHeader)
    fail(file, "at byte 0: a header of " + std::to_string(n) + " bytes in a file of " + std::to_string(size));
  std::string text(n, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(n)))
    fail(file, "at byte 8: the header can't be read");
  json header = json::parse(text, nullptr, false);
  if (!header.is_object()) fail(file, "at byte 8: the header is no JSON object");
  return header;
}

/// Adds a tensor of a header: its shape and its place in the data.
void add(const fs::path& file, const std::string& name, const json& tensor, ModelSize& total) {
  const auto shape = tensor.is_object() ? tensor.find("shape") : tensor.end();
  if (!tensor.is_object() || shape == tensor.end() || !shape->is_array())
    fail(file, "tensor " + name + " has no shape");
  uint64_t elements = 1;
  for (const json& extent : *shape)
    if (!extent.is_number_unsigned() || __builtin_mul_overflow(elements, extent.get<uint64_t>(), &elements))
      fail(file, "tensor " + name + ": its shape is none, or has too many elements");
  const auto at = tensor.find("data_offsets");
  if (at == tensor.end() || !at->is_array() || at->size() != 2 || !(*at)[0].is_number_unsigned() ||
      !(*at)[1].is_number_unsigned() || (*at)[1].get<uint64_t>() < (*at)[0].get<uint64_t>())
    fail(file, "tensor " + name + ": two data_offsets, the first not above the second, were expected");
  const uint64_t bytes = (*at)[1].get<uint64_t>() - (*at)[0].get<uint64_t>();
  if (__builtin_add_overflow(total.parameters, elements, &total.parameters) ||
      __builtin_add_overflow(total.bytes, bytes, &total.bytes))
    fail(file, "tensor " + name + ": more bytes than 64 bits count");
  total.gradients = total.bytes;
  total.largest = std::max(total.largest, bytes);
}

void add(const fs::path& file, const std::string& name, uint64_t elements, uint64_t bytes, uint64_t gradients,
         ModelSize& total) {
  if (__builtin_add_overflow(total.parameters, elements, &total.parameters) ||
      __builtin_add_overflow(total.bytes, bytes, &total.bytes) ||
      __builtin_add_overflow(total.gradients, gradients, &total.gradients))
    fail(file, "tensor " + name + ": more bytes than 64 bits count");
  total.largest = std::max(total.largest, bytes);
}

void add_safetensors(const fs::path& file, ModelSize& total) {
  const json header = header_of(file);
  for (const auto& [name, tensor] : header.items())
    if (name != "__metadata__") add(file, name, tensor, total);
}

void add_gguf(const fs::path& file, ModelSize& total) {
  const gguf::File model = gguf::load(file.string());
  for (const gguf::TensorInfo& t : model.tensors()) {
    const auto elements = static_cast<uint64_t>(numel(t.shape));
    using T = gguf::TensorType;
    const bool blocks = t.type != T::f32 && t.type != T::f16 && t.type != T::bf16 && t.type != T::f64 &&
                        t.type != T::i8 && t.type != T::i16 && t.type != T::i32 && t.type != T::i64;
    total.blocks += blocks;
    add(file, t.name, elements, t.bytes, blocks ? 4 * elements : t.bytes, total);
  }
}

/// Takes the initializers of the model's graph: what nodes have as constants is not trained.
void add_onnx(const fs::path& file, ModelSize& total) {
  const lazy::detail::FileBytes bytes =
      lazy::detail::open_file("estimate-memory", file.string(), {}, lazy::detail::Access::mapped);
  const onnx::ModelProto model = onnx::read_model(bytes);
  if (!model.graph) fail(file, "has no graph");
  for (const onnx::TensorProto& t : model.graph->initializer) {
    const std::string name(t.name);
    const std::optional<DType> dtype = onnx::dtype_of(t.data_type);
    if (!dtype) fail(file, "tensor " + name + " has a type that is not counted");
    uint64_t elements = 1, size = 0;
    for (const int64_t extent : t.dims)
      if (extent < 0 || __builtin_mul_overflow(elements, static_cast<uint64_t>(extent), &elements))
        fail(file, "tensor " + name + ": its shape is none, or has too many elements");
    if (__builtin_mul_overflow(elements, size_of(*dtype), &size))
      fail(file, "tensor " + name + ": more bytes than 64 bits count");
    add(file, name, elements, size, size, total);
  }
}

/// Returns the files of the first of the kinds that a folder has.
std::vector<fs::path> files_of(const fs::path& path) {
  const auto is = [](const fs::path& file, const char* ending) { return file.extension() == ending; };
  if (!fs::is_directory(path)) {
    if (std::none_of(std::begin(kEndings), std::end(kEndings), [&](const char* e) { return is(path, e); }))
      fail(path, "a .safetensors, .gguf or .onnx file, or a folder of such, was expected");
    return {path};
  }
  std::vector<fs::path> files;
  for (const char* const ending : kEndings) {
    for (const auto& entry : fs::directory_iterator(path))
      if (is(entry.path(), ending)) files.push_back(entry.path());
    if (!files.empty()) break;
  }
  if (files.empty()) fail(path, "has no .safetensors, .gguf or .onnx file");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

ModelSize size_of_model(const std::string& path) {
  ModelSize total;
  for (const fs::path& file : files_of(path)) {
    if (file.extension() == ".gguf") add_gguf(file, total);
    else if (file.extension() == ".onnx") add_onnx(file, total);
    else add_safetensors(file, total);
  }
  return total;
}

}  // namespace lazy::tool
