// Holds what an ONNX file says, as plain structs under the names of onnx.proto. Texts are views of the file's
// bytes and values of tensors are places in it: the structs are valid while the file is mapped.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lazy/io/wire/reader.hpp"

namespace lazy::onnx {

/// Names element types by the numbers of TensorProto.DataType.
enum class DataType : int32_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22
};

struct GraphProto;

/// Holds a tensor's type and place. Its values are read when a tensor is made of it (model/tensor.hpp).
struct TensorProto {
  std::string_view name;
  std::vector<int64_t> dims;
  DataType data_type = DataType::undefined;
  bool segmented = false;
  std::optional<wire::Range> raw_data;
  bool external = false;
  std::vector<std::pair<std::string_view, std::string_view>> external_data;
  wire::Range message;  // its own bytes, in which values in typed fields are found
  int depth = 0;
};

struct SparseTensorProto {
  TensorProto values, indices;
  std::vector<int64_t> dims;
};

/// Holds an extent: a number, a name, or (neither) one that is not known.
struct Dimension {
  std::optional<int64_t> value;
  std::string_view name;
};

enum class TypeKind : uint8_t { none, tensor, sequence, map, optional, sparse_tensor, opaque };

struct TypeProto {
  TypeKind kind = TypeKind::none;
  DataType elem_type = DataType::undefined;  // of a tensor
  bool has_shape = false;
  std::vector<Dimension> shape;
};

struct ValueInfoProto {
  std::string_view name;
  TypeProto type;
};

/// Names an attribute's type by the numbers of AttributeProto.AttributeType.
enum class AttributeType : uint8_t {
  undefined = 0,
  real = 1,
  integer = 2,
  string = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  strings = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14
};

struct AttributeProto {
  std::string_view name;
  std::string_view ref_attr_name;  // in a function: the caller's attribute of that name is meant
  AttributeType type = AttributeType::undefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::shared_ptr<const TensorProto> t;
  std::shared_ptr<const SparseTensorProto> sparse_tensor;
  std::shared_ptr<const GraphProto> g;
};

struct NodeProto {
  std::vector<std::string_view> input, output;
  std::string_view name, op_type, domain, overload;
  std::vector<AttributeProto> attribute;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> node;
  std::vector<TensorProto> initializer;
  std::vector<std::pair<std::string_view, SparseTensorProto>> sparse_initializer;
  std::vector<ValueInfoProto> input, output;
};

struct OperatorSetId {
  std::string_view domain;
  int64_t version = 0;
};

struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> input, output;
  std::vector<AttributeProto> attribute_proto;  // attributes with defaults
  std::vector<NodeProto> node;
  std::vector<OperatorSetId> opset_import;
};

struct ModelProto {
  int64_t ir_version = 0;
  std::string_view producer_name, producer_version;
  std::vector<OperatorSetId> opset_import;
  std::vector<FunctionProto> functions;
  bool training = false;                                                      // has training_info
  std::vector<std::pair<std::string_view, std::string_view>> metadata_props;  // keys and values
  std::optional<GraphProto> graph;
};

/// Reads a model. IoError, with the byte, for what is no such message.
ModelProto read_model(const detail::FileBytes&);
/// Reads a tensor that is a file of its own.
TensorProto read_tensor(const detail::FileBytes&);

}  // namespace lazy::onnx
