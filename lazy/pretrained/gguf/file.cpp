#include <cstring>

#include "jit/backend/registry.hpp"
#include "jit/graph/record.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/unchanging.hpp"
#include "lazy/pretrained/gguf/state.hpp"
#include "support/fp16.hpp"
#include "support/text.hpp"

namespace lazy::gguf {
namespace {
using lazy::detail::FileBytes;

constexpr const char* kLoad = "gguf::load";

/// Returns the dtype of elements that are as tensors have them; none for blocks.
std::optional<DType> dtype_of(TensorType t) {
  switch (t) {
    case TensorType::f32: return DType::float32;
    case TensorType::f16: return DType::float16;
    case TensorType::bf16: return DType::bfloat16;
    case TensorType::f64: return DType::float64;
    case TensorType::i8: return DType::int8;
    case TensorType::i16: return DType::int16;
    case TensorType::i32: return DType::int32;
    case TensorType::i64: return DType::int64;
    default: return {};
  }
}

/// Makes a value by parts of `unit` bytes: write(to, i, n) writes n of them from the i-th on. Who asks may
/// ask for any bytes of the value.
template <class F>
Tensor made(DType dtype, const Shape& shape, uint64_t unit, const MaybeDevice& device, const Site& s,
            F&& write) {
  std::vector<char> one(unit);
  const auto piece = [&](char* to, uint64_t offset, uint64_t count) {
    while (count > 0) {
      const uint64_t i = offset / unit, skipped = offset % unit;
      if (skipped == 0 && count >= unit) {
        const uint64_t whole = count / unit;
        write(to, i, whole);
        to += whole * unit, offset += whole * unit, count -= whole * unit;
        continue;
      }
      write(one.data(), i, 1);
      const uint64_t n = std::min(count, unit - skipped);
      std::memcpy(to, one.data() + skipped, n);
      to += n, offset += n, count -= n;
    }
  };
  const Tensor t(
      jit::from_pieces(piece, dtype, shape, device.given ? device.value : jit::default_device(s), s));
  if (t.device(s) == Device{}) lazy::detail::mark_unchanging(t, s);
  return t;
}

/// Calls f(i, n) for n blocks from the i-th on, some MiB at a time, and gives the file's pages back that were
/// read.
template <class F>
void in_pieces(const FileBytes& file, const TensorInfo& t, const Block& block, uint64_t first, uint64_t count,
               F&& f) {
  constexpr uint64_t kPiece = uint64_t{4} << 20;  // bytes
  const uint64_t most = kPiece / block.bytes;
  for (uint64_t i = 0; i < count; i += most) {
    const uint64_t n = std::min(most, count - i);
    f(first + i, n);
    lazy::detail::forget_pages(file, t.offset + (first + i) * block.bytes, n * block.bytes);
  }
}

const TensorInfo& info_of(const State& state, std::string_view name, const Site& s) {
  const auto at = state.names.find(std::string(name));
  if (at == state.names.end())
    lazy::detail::fail<IndexError>("gguf", state.file.name + " has no tensor " + text::quoted(name), s);
  return state.tensors[at->second];
}

Tensor dequantized(const State& state, const TensorInfo& t, const MaybeDevice& device, const Site& s) {
  const Block& block = *block_of(t.type);
  const uint64_t unit = block.elements * sizeof(float);
  return made(DType::float32, t.shape, unit, device, s, [&](char* to, uint64_t first, uint64_t count) {
    in_pieces(state.file, t, block, first, count, [&](uint64_t i, uint64_t n) {
      dequantize(t.type, state.file.bytes.data() + t.offset + i * block.bytes, n,
                 reinterpret_cast<float*>(to + (i - first) * unit));
    });
  });
}

}  // namespace

const std::vector<std::pair<std::string, Value>>& File::metadata() const { return state_->metadata; }
bool File::contains(std::string_view key) const { return state_->keys.contains(std::string(key)); }
const Value& File::at(std::string_view key, Site s) const {
  const auto at = state_->keys.find(std::string(key));
  if (at == state_->keys.end())
    lazy::detail::fail<IndexError>("gguf", state_->file.name + " has no key " + text::quoted(key), s);
  return state_->metadata[at->second].second;
}

std::span<const TensorInfo> File::tensors() const { return state_->tensors; }
const TensorInfo* File::find(std::string_view name) const {
  const auto at = state_->names.find(std::string(name));
  return at == state_->names.end() ? nullptr : &state_->tensors[at->second];
}
const std::string& File::path() const { return state_->file.name; }

Tensor File::tensor(std::string_view name, MaybeDevice device, Site s) const {
  const TensorInfo& t = info_of(*state_, name, s);
  if (const std::optional<DType> dtype = dtype_of(t.type))
    return lazy::detail::shared_value(state_->file, t.offset, *dtype, t.shape, device);
  return dequantized(*state_, t, device, s);
}

Groups File::groups(std::string_view name, MaybeDevice device, Site s) const {
  const TensorInfo& t = info_of(*state_, name, s);
  const Block& block = *block_of(t.type);
  const GroupsOf& how = block.groups;
  if (how.bits == 0)
    lazy::detail::fail<DtypeError>(
        "gguf::groups", text::quoted(name) + " is " + name_of(t.type) + ", which are no integers with scales",
        s);
  if (t.shape.size() != 2)
    lazy::detail::fail<ShapeError>("gguf::groups", text::quoted(name) + " is " + to_string(t.shape), s);
  const bool four = how.bits == 4;
  const uint64_t integers = block.elements / (four ? 2 : 1),
                 scales = block.elements / static_cast<uint64_t>(how.length) * sizeof(float);
  struct Parts {
    uint8_t integers[256];
    float scales[16], zeros[16];
  };
  const auto all = [&](DType dtype, const Shape& shape, uint64_t bytes, auto Parts::*part) {
    return made(dtype, shape, bytes, device, s, [&](char* to, uint64_t first, uint64_t count) {
      Parts p;
      in_pieces(state_->file, t, block, first, count, [&](uint64_t i, uint64_t n) {
        for (uint64_t k = i; k < i + n; ++k) {
          read_groups(t.type, state_->file.bytes.data() + t.offset + k * block.bytes, p.integers, p.scales,
                      p.zeros);
          std::memcpy(to + (k - first) * bytes, &(p.*part), bytes);
        }
      });
    });
  };
  const Shape sets{t.shape[0], t.shape[1] / how.length};
  Groups g{.bits = how.bits, .length = how.length};
  g.integers = all(four ? DType::uint8 : DType::int8, {t.shape[0], four ? t.shape[1] / 2 : t.shape[1]},
                   integers, &Parts::integers);
  g.scales = all(DType::float32, sets, scales, &Parts::scales);
  if (how.has_zeros) g.zeros = all(DType::float32, sets, scales, &Parts::zeros);
  return g;
}

File load(const std::string& path, Site s) {
  File f;
  f.state_ = read_state(lazy::detail::open_file(kLoad, path, s, lazy::detail::Access::mapped));
  return f;
}

File load(std::span<const std::byte> bytes, Site s) {
  const auto own = std::make_shared<std::string>(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  File f;
  f.state_ = read_state({.op = kLoad, .name = "(memory)", .site = s, .bytes = *own, .owner = own});
  return f;
}

}  // namespace lazy::gguf
