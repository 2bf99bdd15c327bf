// Reads and writes the files of lazy/io: what the readers see is a span of bytes with a name, so that they
// read memory (tests do) as they read files, and every error says function, file, place and what was
// expected. Internal to lazy/io, lazy/onnx and lazy/pretrained.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "jit/backend/buffer.hpp"
#include "lazy/core/tensor.hpp"
#include "support/error.hpp"
#include "support/files.hpp"

namespace lazy::detail {

/// What the system could not read, whatever the file's contents are.
class ReadError : public IoError {
  using IoError::IoError;
};

/// An open file of which parts are read when they are needed, into addresses that are reserved for all of it.
/// A part that nobody has asked for can't be accessed.
class UnreadFile {
 public:
  /// Takes the descriptor. Not usable, with errno, if there are no addresses.
  UnreadFile(int fd, size_t size);
  UnreadFile(const UnreadFile&) = delete;
  ~UnreadFile();
  bool usable() const { return begin_ != nullptr; }
  std::string_view bytes() const { return {begin_, size_}; }
  /// Reads what `part`, a part of bytes(), stands for. Returns false with errno; ENODATA: the file ends
  /// before.
  bool bring(std::string_view part) const;
  /// Reads the same, to another place.
  bool read(std::string_view part, char* to) const;

 private:
  int fd_;
  size_t size_;
  char* begin_;
};

/// Holds the contents of a file. Copies share them.
struct FileBytes {
  const char* op = nullptr;           // the user's function, for errors
  std::string name;                   // path, for errors
  Site site;                          // the user's line
  std::string_view bytes;             // valid while `owner` lives
  std::shared_ptr<const void> owner;  // of the bytes; null: the caller sees to their life
  // Null if all bytes are in memory. Else those are that need() was called for, and copy_to() reads others.
  std::shared_ptr<const UnreadFile> unread = nullptr;
  bool mapped = false;  // the bytes are pages of the file, which the system can drop and read again

  /// Throws E: "load: x.npy: at byte 10: expected ...".
  template <class E>
  [[noreturn]] void fail(uint64_t offset, const std::string& what) const {
    throw E(std::string(op) + ": " + name + ": at byte " + std::to_string(offset) + ": " + what, site);
  }
  [[noreturn]] void bad(uint64_t offset, const std::string& what) const;  // IoError

  /// Throws IoError unless the file has `count` bytes at `offset`; `what` names them.
  void check_within(uint64_t offset, uint64_t count, const char* what) const {
    if (offset > bytes.size() || count > bytes.size() - offset) too_short(offset, count, what);
  }
  /// The same, and sees to it that they are in memory. ReadError.
  void need(uint64_t offset, uint64_t count, const char* what) const {
    check_within(offset, count, what);
    if (unread) bring(offset, count);
  }
  /// Copies bytes that check_within() has seen. ReadError, and IoError if the file has become shorter.
  void copy_to(char* to, uint64_t offset, uint64_t count) const;
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
    return {op, std::move(part_name), site, bytes.substr(offset, count), owner, unread};
  }
  /// Returns the same with all bytes in memory.
  FileBytes in_memory() const;

 private:
  [[noreturn]] void too_short(uint64_t offset, uint64_t count, const char* what) const;
  [[noreturn]] void not_read(uint64_t offset) const;  // by errno
  void bring(uint64_t offset, uint64_t count) const;
};

/// How a file comes into memory. Files that may change while they are read are not mapped: reading a page of
/// a mapping that the file no longer has ends the program.
enum class Access {
  whole,   // read to its end
  parts,   // read part by part (FileBytes::unread), so that values are copied from the file once
  mapped,  // shared with the file, which nobody may shorten meanwhile
};
/// Opens a file; one that is not regular is read to its end in any case. IoError if it can't be read.
FileBytes open_file(const char* op, const std::string& path, const Site&, Access = Access::whole);
/// Opens a file likewise; nothing if there is none of that name.
std::optional<FileBytes> open_file_if_any(const char* op, const std::string& path, const Site&,
                                          Access = Access::whole);

/// Returns the value of `shape` at `offset`, which shares the bytes: it keeps their owner. Copies values that
/// are not aligned for their dtype, and bools other than 0 and 1. `strides` as for from_blob.
/// Invariant: the caller has seen that the bytes are there.
Tensor shared_value(const FileBytes&, uint64_t offset, DType, const Shape&, const MaybeDevice&);
/// Gives back the pages of a mapped file that nobody reads for now; they are read again if they are needed
/// again. Does nothing for a file that is not mapped.
void forget_pages(const FileBytes&, uint64_t offset, uint64_t count);
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

/// Returns what the names of files that this process has not finished have behind that of their place, and
/// before a number: other hosts that share the folder have other names.
std::string unfinished_suffix();

/// Writes a file without a name, or beside the place where it is to be, and moves it there when it is whole:
/// readers of the old one, and mappings of it, keep that. A program that is killed meanwhile leaves nothing,
/// unless the file system has no files without names. A place that is no regular file (a pipe, /dev/stdout)
/// is written at once. IoError for what fails.
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
  files::Output opened();
  void give_name();
  void sync_folder();
  const char* op_;
  const std::string path_;
  Site site_;
  std::string place_;   // path_ without symbolic links
  std::string beside_;  // what gets the place; empty once it has it, or if the place itself is written
  bool named_ = true;   // what is written has that name
  files::Output out_;
  uint64_t written_ = 0;
};

/// Appends an integer in little-endian order.
template <class T>
void put_little(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

}  // namespace lazy::detail
