// Reads and writes the files of lazy/io: what the readers see is a span of bytes with a name, so that they
// read memory (tests do) as they read files, and every error says function, file, place and what was
// expected. Internal to lazy/io.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "jit/backend/buffer.hpp"
#include "lazy/core/tensor.hpp"
#include "support/error.hpp"
#include "support/files.hpp"

namespace lazy::detail {

/// Holds the contents of a file. Copies share them.
struct FileBytes {
  const char* op = nullptr;           // the user's function, for errors
  std::string name;                   // path, for errors
  Site site;                          // the user's line
  std::string_view bytes;             // valid while `owner` lives
  std::shared_ptr<const void> owner;  // of the bytes; null: the caller sees to their life

  /// Throws E: "load: x.npy: at byte 10: expected ...".
  template <class E>
  [[noreturn]] void fail(uint64_t offset, const std::string& what) const {
    throw E(std::string(op) + ": " + name + ": at byte " + std::to_string(offset) + ": " + what, site);
  }
  [[noreturn]] void bad(uint64_t offset, const std::string& what) const;  // IoError

  /// Throws IoError unless `count` bytes lie at `offset`; `what` names them.
  void need(uint64_t offset, uint64_t count, const char* what) const {
    if (offset > bytes.size() || count > bytes.size() - offset) too_short(offset, count, what);
  }
  /// Reads a number in the file's order; need() has seen that it is there.
  template <class T>
  T little(uint64_t offset) const {
    T v;
    std::memcpy(&v, bytes.data() + offset, sizeof v);
    return v;
  }
  uint32_t big32(uint64_t offset) const { return __builtin_bswap32(little<uint32_t>(offset)); }
  /// Returns a part of it as a file of its own, of another name.
  FileBytes part(uint64_t offset, uint64_t count, std::string part_name) const {
    return {op, std::move(part_name), site, bytes.substr(offset, count), owner};
  }

 private:
  [[noreturn]] void too_short(uint64_t offset, uint64_t count, const char* what) const;
};

/// Opens a file: maps it into memory if it is a regular one, else reads it to its end. IoError if it can't be
/// read. A mapped file that somebody shortens meanwhile ends the program when a missing page is read.
FileBytes open_file(const char* op, const std::string& path, const Site&);

/// Returns the value of `shape` at `offset`, which shares the bytes: it keeps their owner. Copies values that
/// are not aligned for their dtype, and bools other than 0 and 1. `strides` as for from_blob.
/// Invariant: the caller has seen that the bytes are there.
Tensor shared_value(const FileBytes&, uint64_t offset, DType, const Shape&, const MaybeDevice&);
/// Returns a copy of the elements at `offset`, row-major, or column-major where `columns_first`; swaps the
/// bytes of each if `swapped`.
Tensor copied_value(const FileBytes&, uint64_t offset, DType, const Shape&, bool columns_first, bool swapped,
                    const MaybeDevice&);
/// Returns the number of bytes of a value whose shape comes from a file: ShapeError if that can't be
/// addressed or has too many dimensions (which the caller's list may have).
uint64_t checked_bytes(const FileBytes&, uint64_t offset, std::span<const int64_t> shape, DType);

/// Evaluates and returns the elements in row-major order on the host, valid while `keep` lives. Error if the
/// Tensor is default-constructed.
std::string_view host_bytes(const char* op, const Tensor&, const Site&, jit::BufferRef& keep);

/// Writes a file beside the place where it is to be, and moves it there when it is whole: readers of the old
/// one, and mappings of it, keep that. A place that is no regular file (a pipe, /dev/stdout) is written at
/// once. IoError for what fails.
class NewFile {
 public:
  NewFile(const char* op, const std::string& path, const Site&);
  NewFile(const NewFile&) = delete;
  ~NewFile();
  void put(std::string_view bytes);
  uint64_t written() const { return written_; }
  /// Moves the file to its place. A durable one has reached the disk, under its name, when this returns.
  void finish(bool durable = false);

 private:
  [[noreturn]] void fail(int error);
  void sync_folder();
  const char* op_;
  const std::string path_;
  Site site_;
  std::string place_;   // path_ without symbolic links
  std::string beside_;  // what is written; empty once it is in place, or if the place itself is written
  files::Output out_;
  uint64_t written_ = 0;
};

/// Appends an integer in little-endian order.
template <class T>
void put_little(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

}  // namespace lazy::detail
