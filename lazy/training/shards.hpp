// Reads and writes the index of a checkpoint that ranks write together: a folder with a file of each rank,
// and index.json, which says where each value's rows are. Internal to lazy/training.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/io/safetensors_header.hpp"
#include "support/lock.hpp"

namespace lazy::training::detail {

/// Holds rows [begin, end) of a value, which a file has under the value's name. A value without axes has one.
struct Piece {
  std::string file;  // beside the index
  int64_t begin = 0, end = 0;
  uint64_t checksum = 0;  // of its bytes
};
struct ShardedValue {
  DType dtype{};
  Shape shape;                // of the whole
  std::vector<Piece> pieces;  // ascending, from the first row to the last; none if there is no row
};
struct ShardIndex {
  int64_t step = 0;
  uint64_t save = 0;  // drawn for each save: what belongs to it says so
  int ranks = 1;
  std::map<std::string, std::string> parts;  // as Checkpoint has them
  std::map<std::string, ShardedValue> values;
};

inline constexpr const char* kIndexFile = "index.json";

inline int64_t rows_of(const Shape& s) { return s.empty() ? 1 : s[0]; }
/// Returns the shape of so many rows.
Shape shape_of_rows(const Shape& whole, int64_t rows);

/// Returns the file's text, with a checksum. Error for names that are not UTF-8.
std::string to_json(const char* op, const ShardIndex&, const Site&);
/// Reads it. IoError for a text that is damaged, for values whose pieces do not make the whole, and for names
/// of files that lead out of the folder.
ShardIndex read_index(const lazy::detail::FileBytes&);

/// Holds what one rank has written of a save, or why it could not.
struct RankReport {
  uint64_t save = 0;
  std::string error;                    // empty: it could
  std::map<std::string, Piece> pieces;  // by value
};
std::string to_json(const char* op, const RankReport&, const Site&);
RankReport read_report(const lazy::detail::FileBytes&);

/// Reads the values of a folder. Any thread may call it.
class Shards {
 public:
  /// Reads the index, and finds the files. IoError.
  Shards(const char* op, const std::string& folder, const Site&);
  const ShardIndex& index() const { return index_; }
  bool contains(const std::string& name) const { return index_.values.contains(name); }
  std::vector<std::string> names() const;
  /// Returns the names of the files, ascending.
  std::vector<std::string> files() const;
  Shape shape(const std::string& name) const { return index_.values.at(name).shape; }
  /// Returns rows of a value that there is; all of them. IndexError, IoError.
  Tensor read(const char* op, const std::string& name, int64_t begin, int64_t end, const Site&) const;
  Tensor read(const char* op, const std::string& name, const Site&) const;
  /// Throws IoError unless all pieces of this file have their checksums.
  void verify(const char* op, const std::string& file, const Site&) const;

 private:
  struct File {
    lazy::detail::FileBytes bytes;
    std::map<std::string, uint64_t> offsets;  // by value, in the file
  };
  /// Opens a file, and checks that its header has the pieces that the index says.
  std::shared_ptr<const File> file(const char* op, const std::string& name, const Site&) const;
  /// Returns as many rows as the shape has, from `begin` on.
  Tensor assemble(const char* op, const std::string& name, int64_t begin, const Shape&, const Site&) const;

  std::string folder_;
  ShardIndex index_;
  mutable Mutex mutex_;  // guards `open_`
  mutable std::map<std::string, std::shared_ptr<const File>> open_;
};

}  // namespace lazy::training::detail
