#include "lazy/onnx/model/tensor.hpp"

#include <charconv>
#include <cstring>

#include "jit/backend/registry.hpp"
#include "jit/graph/record.hpp"
#include "lazy/core/scalar.hpp"
#include "lazy/core/unchanging.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy::onnx {
namespace {
using detail::FileBytes;
using wire::Message;
using wire::Range;

struct TypeRow {
  DataType type;
  const char* name;
  std::optional<DType> dtype;
};
const TypeRow kTypes[] = {{DataType::undefined, "UNDEFINED", {}},
                          {DataType::float32, "FLOAT", DType::float32},
                          {DataType::uint8, "UINT8", DType::uint8},
                          {DataType::int8, "INT8", DType::int8},
                          {DataType::uint16, "UINT16", DType::uint16},
                          {DataType::int16, "INT16", DType::int16},
                          {DataType::int32, "INT32", DType::int32},
                          {DataType::int64, "INT64", DType::int64},
                          {DataType::string, "STRING", {}},
                          {DataType::boolean, "BOOL", DType::bool_},
                          {DataType::float16, "FLOAT16", DType::float16},
                          {DataType::float64, "DOUBLE", DType::float64},
                          {DataType::uint32, "UINT32", DType::uint32},
                          {DataType::uint64, "UINT64", DType::uint64},
                          {DataType::complex64, "COMPLEX64", {}},
                          {DataType::complex128, "COMPLEX128", {}},
                          {DataType::bfloat16, "BFLOAT16", DType::bfloat16},
                          {DataType::float8e4m3fn, "FLOAT8E4M3FN", {}},
                          {DataType::float8e4m3fnuz, "FLOAT8E4M3FNUZ", {}},
                          {DataType::float8e5m2, "FLOAT8E5M2", {}},
                          {DataType::float8e5m2fnuz, "FLOAT8E5M2FNUZ", {}},
                          {DataType::uint4, "UINT4", {}},
                          {DataType::int4, "INT4", {}}};

const TypeRow* row_of(DataType t) {
  for (const TypeRow& row : kTypes)
    if (row.type == t) return &row;
  return nullptr;
}

/// Copies values of a mapping, of which no more than a piece is in memory beside the copy.
Tensor copied_in_pieces(const FileBytes& file, Range at, DType dtype, const Shape& shape,
                        const MaybeDevice& device) {
  constexpr uint64_t kPiece = uint64_t{4} << 20;
  const auto copy = [&](char* to, uint64_t offset, uint64_t count) {
    for (uint64_t done = 0; done < count; done += kPiece) {
      const std::string_view piece =
          file.bytes.substr(at.begin + offset + done, std::min(kPiece, count - done));
      std::memcpy(to + done, piece.data(), piece.size());
      detail::forget_pages(file, at.begin + offset + done, piece.size());
    }
  };
  return Tensor(jit::from_pieces(copy, dtype, shape,
                                 device.given ? device.value : jit::default_device(file.site), file.site));
}

/// Makes a tensor of values that lie in the file as they do in memory. Those that are aligned share it.
Tensor in_place(const FileBytes& file, Range at, DType dtype, const Shape& shape, const MaybeDevice& device) {
  if (numel(shape) == 0) return zeros(ShapeArg(shape), dtype, device, file.site);
  if (reinterpret_cast<uintptr_t>(file.bytes.data() + at.begin) % size_of(dtype) == 0)
    return detail::shared_value(file, at.begin, dtype, shape, device);
  const Tensor value = copied_in_pieces(file, at, dtype, shape, device);
  if (value.device(file.site) == Device{}) detail::mark_unchanging(value, file.site);
  return value;
}

/// Names the field that has the values of a type, and how they are written there.
struct TypedField {
  uint32_t number;
  const char* name;
  size_t packed;  // bytes of an element of floating point; 0: integers of varying length
};
TypedField field_of(DataType type) {
  switch (type) {
    case DataType::float32: return {4, "float_data", sizeof(float)};
    case DataType::float64: return {10, "double_data", sizeof(double)};
    case DataType::int64: return {7, "int64_data", 0};
    case DataType::uint32:
    case DataType::uint64: return {11, "uint64_data", 0};
    default: return {5, "int32_data", 0};
  }
}

/// Appends an element: of 16-bit floats integers are the bits.
void append(std::string& out, DType dtype, int64_t v) {
  if (is_half(dtype)) return detail::put_little(out, static_cast<uint16_t>(v));
  detail::with_type(dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_integral_v<T>) detail::put_little(out, detail::cast_value<T>(v));
  });
}

/// Makes a tensor of values in a field of their type.
Tensor from_typed_field(const FileBytes& file, const TensorProto& t, DType dtype, const Shape& shape,
                        const MaybeDevice& device) {
  const TypedField typed = field_of(t.data_type);
  const auto expected = static_cast<uint64_t>(numel(shape));
  std::string values;
  Message m(file, t.message, t.depth);
  while (const auto f = m.next()) {
    if (f->number != typed.number) continue;
    if (typed.packed) {
      m.check_packed(*f, typed.packed, typed.name);
      if (f->type != wire::Type::bytes && f->range.size() != typed.packed)
        file.bad(f->range.begin, std::string(typed.name) + " has elements of another type");
      if (values.empty() && f->range.size() == expected * typed.packed)
        return in_place(file, f->range, dtype, shape, device);
      values += file.bytes.substr(f->range.begin, f->range.size());
    } else {
      m.integers(*f, typed.name, [&](int64_t v) { append(values, dtype, v); });
    }
    if (values.size() > expected * size_of(dtype)) break;
  }
  if (values.size() != expected * size_of(dtype))
    file.bad(t.message.begin, "tensor '" + std::string(t.name) + "' is " + to_string(shape) + ", " +
                                  std::to_string(expected) + " elements, but " + typed.name + " has " +
                                  std::to_string(values.size() / size_of(dtype)));
  return detail::from_elements(file.op, values.data(), expected, shape, dtype, dtype, device, file.site);
}

uint64_t number_of(const FileBytes& model, const TensorProto& t, std::string_view key,
                   std::string_view text) {
  uint64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size())
    model.bad(t.message.begin, "tensor '" + std::string(t.name) + "' has external data of " +
                                   std::string(key) + " '" + std::string(text) + "', which is no number");
  return v;
}

/// True if a path stays in the folder it is relative to, as far as its text says.
bool stays_inside(const std::filesystem::path& location) {
  if (location.empty() || location.is_absolute() || location.has_root_name()) return false;
  for (const auto& part : location)
    if (part == "..") return false;
  return true;
}

/// True if a file lies in a folder once links are followed.
bool lies_in(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const auto inside = file.lexically_relative(folder);
  return !inside.empty() && *inside.begin() != "..";
}

}  // namespace

std::optional<DType> dtype_of(DataType t) {
  const TypeRow* const row = row_of(t);
  return row ? row->dtype : std::nullopt;
}

DataType data_type_of(DType t) {
  for (const TypeRow& row : kTypes)
    if (row.dtype == t) return row.type;
  return DataType::undefined;
}

std::string name_of(DataType t) {
  const TypeRow* const row = row_of(t);
  return row ? row->name : "number " + std::to_string(static_cast<int>(t));
}

std::pair<FileBytes, Range> ExternalFiles::find(const FileBytes& model, const TensorProto& t,
                                                uint64_t bytes) {
  const std::string who = "tensor '" + std::string(t.name) + "' ";
  std::string_view location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const auto& [key, text] : t.external_data) {
    if (key == "location") location = text;
    if (key == "offset") offset = number_of(model, t, key, text);
    if (key == "length") length = number_of(model, t, key, text);
  }
  if (!folder_)
    model.bad(t.message.begin, who + "has its values in file '" + std::string(location) +
                                   "', but the model was given as bytes, which have no folder");
  std::filesystem::path path(location);
  if (location.find('\0') != location.npos || (!anywhere_ && !stays_inside(path)))
    model.bad(t.message.begin,
              who + "has its values in '" + std::string(location) +
                  "', which is not in the model's folder (LoadOptions::external_data_anywhere)");
  path = *folder_ / path;
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  if (!error && !anywhere_ && !lies_in(real, std::filesystem::canonical(*folder_, error)))
    model.bad(t.message.begin,
              who + "has its values in '" + std::string(location) +
                  "', a link that leads out of the model's folder (LoadOptions::external_data_anywhere)");
  auto found = open_.find(path.string());
  if (found == open_.end())
    found = open_
                .emplace(path.string(),
                         detail::open_file(model.op, path.string(), model.site, detail::Access::mapped))
                .first;
  if (length && *length != bytes)
    model.bad(t.message.begin, who + "needs " + std::to_string(bytes) +
                                   " bytes, but its external data has length " + std::to_string(*length));
  found->second.check_within(offset, bytes, "the values of a tensor");
  return {found->second, {offset, offset + bytes}};
}

Tensor make_tensor(const FileBytes& file, const TensorProto& t, ExternalFiles& external,
                   const MaybeDevice& device) {
  const DType dtype = *dtype_of(t.data_type);
  const uint64_t bytes = detail::checked_bytes(file, t.message.begin, t.dims, dtype);
  const Shape shape{std::span<const int64_t>(t.dims)};
  if (t.segmented)
    file.bad(t.message.begin, "tensor '" + std::string(t.name) + "' is in segments, which are not supported");
  if (t.external) {
    const auto [values, at] = external.find(file, t, bytes);
    return in_place(values, at, dtype, shape, device);
  }
  if (!t.raw_data) return from_typed_field(file, t, dtype, shape, device);
  if (t.raw_data->size() != bytes)
    file.bad(t.raw_data->begin, "tensor '" + std::string(t.name) + "' is " + to_string(shape) + " " +
                                    name_of(dtype) + ", " + std::to_string(bytes) +
                                    " bytes, but raw_data has " + std::to_string(t.raw_data->size()));
  return in_place(file, *t.raw_data, dtype, shape, device);
}

Tensor make_tensor(const FileBytes& file, const SparseTensorProto& s, ExternalFiles& external,
                   const MaybeDevice& device) {
  const DType dtype = *dtype_of(s.values.data_type);
  const uint64_t bytes = detail::checked_bytes(file, s.values.message.begin, s.dims, dtype);
  const Shape shape{std::span<const int64_t>(s.dims)};
  const std::string who = "sparse tensor '" + std::string(s.values.name) + "' ";
  if (s.indices.data_type != DataType::int64)
    file.bad(s.indices.message.begin, who + "needs indices of INT64");
  const Tensor values = make_tensor(file, s.values, external, {});
  const Tensor indices = make_tensor(file, s.indices, external, {});
  const auto count = static_cast<size_t>(values.size(file.site));
  const auto at = indices.to_vector<int64_t>(file.site);
  const int rank = shape.size();
  const bool linear = indices.ndim(file.site) == 1;
  if (at.size() != count * (linear ? 1u : static_cast<size_t>(rank)))
    file.bad(s.indices.message.begin, who + "has another number of indices than of values");
  std::string all(bytes, '\0');
  jit::BufferRef keep;
  const std::string_view elements = detail::host_bytes(file.op, values, file.site, keep);
  const Dims strides = contiguous_strides(shape);
  for (size_t i = 0; i < count; ++i) {
    int64_t place = linear ? at[i] : 0;
    for (int axis = 0; !linear && axis < rank; ++axis) {
      const int64_t index = at[i * static_cast<size_t>(rank) + static_cast<size_t>(axis)];
      if (index < 0 || index >= shape[axis])
        file.bad(s.indices.message.begin, who + "has an index out of range");
      place += index * strides[axis];
    }
    if (place < 0 || place >= numel(shape))
      file.bad(s.indices.message.begin, who + "has an index out of range");
    std::memcpy(all.data() + static_cast<size_t>(place) * size_of(dtype),
                elements.data() + i * size_of(dtype), size_of(dtype));
  }
  return detail::from_elements(file.op, all.data(), static_cast<size_t>(numel(shape)), shape, dtype, dtype,
                               device, file.site);
}

}  // namespace lazy::onnx
