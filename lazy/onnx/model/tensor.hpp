// Makes tensors of what a file says of them: values share the mapped file where they are aligned for their
// dtype, and are copied once where they are not. Values in files beside the model are found through
// ExternalFiles.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "lazy/onnx/model/protos.hpp"

namespace lazy::onnx {

/// Returns the dtype that tensors of an element type have here; none for types that there are no tensors of.
std::optional<DType> dtype_of(DataType);
/// Returns the number of an element type for a dtype.
DataType data_type_of(DType);
/// Returns the name that onnx.proto gives an element type, such as FLOAT8E4M3FN; its number if it is unknown.
std::string name_of(DataType);

/// Opens files that hold values of tensors outside of the model's file. Each is mapped once.
class ExternalFiles {
 public:
  /// Takes the folder that they lie in; `anywhere` allows other places. Without a folder there are none.
  ExternalFiles(std::optional<std::filesystem::path> folder, bool anywhere)
      : folder_(std::move(folder)), anywhere_(anywhere) {}
  /// Returns the file of a tensor, and the place of its values in it. IoError for a place outside of the
  /// folder or of the file.
  std::pair<detail::FileBytes, wire::Range> find(const detail::FileBytes& model, const TensorProto&,
                                                 uint64_t bytes);

 private:
  std::optional<std::filesystem::path> folder_;
  bool anywhere_;
  std::map<std::string, detail::FileBytes> open_;
};

/// Returns the tensor. IoError, with the byte of the file, for values that don't fit shape and type;
/// ShapeError for more than 8 dimensions. Invariant: dtype_of() knows its type.
Tensor make_tensor(const detail::FileBytes&, const TensorProto&, ExternalFiles&, const MaybeDevice&);
/// Returns a sparse tensor with zeros where it has no value.
Tensor make_tensor(const detail::FileBytes&, const SparseTensorProto&, ExternalFiles&, const MaybeDevice&);

}  // namespace lazy::onnx
