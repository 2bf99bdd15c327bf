// Defines a pack: one file of records, each a key, a label and a value under a checksum.
//
//   header   16 bytes: magic, version
//   records  RecordHeader, key, value, padded to 8 bytes
//   index    once the file is complete ("sealed"): IndexEntry of each record, sorted by hash; then a Trailer
//
// Records are only ever appended, by the one process that holds the file's lock, and count when their
// checksum holds: a writer that dies leaves at most a last record that doesn't. Files are read with pread
// into memory of our own, so that one that is cut short or changed meanwhile can't hurt a check that has been
// made.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/fd.hpp"
#include "support/hash.hpp"

namespace lazy::cache {

struct PackHeader {
  static constexpr char kMagic[] = "lazypack";
  static constexpr uint32_t kVersion = 1;
  char magic[8];
  uint32_t version, unused;
};

struct RecordHeader {
  static constexpr uint32_t kMagic = 0x3152'5a4c;          // "LZR1"
  static constexpr uint64_t kLongest = uint64_t{1} << 30;  // bytes of key and value
  uint64_t stamp;     // when it was last used, ns since 1970; not under the checksum
  uint64_t checksum;  // of all that follows
  uint32_t magic;
  uint32_t key_size;
  uint64_t value_size;
  Hash128 hash;    // hash of the key
  uint64_t label;  // tells records of one key apart
  uint64_t bytes() const { return (sizeof(RecordHeader) + key_size + value_size + 7) / 8 * 8; }
};
static_assert(sizeof(RecordHeader) == 56);

struct IndexEntry {
  Hash128 hash;
  uint64_t label;
  uint64_t offset, bytes;  // of the record, from the file's beginning
};

/// Holds a record that was read: the views point into `memory`.
struct Record {
  std::unique_ptr<char[]> memory;
  uint64_t size = 0;
  RecordHeader header{};
  std::string_view bytes() const { return {memory.get(), size}; }
  std::string_view key() const { return bytes().substr(sizeof(RecordHeader), header.key_size); }
  std::string_view value() const {
    return bytes().substr(sizeof(RecordHeader) + header.key_size, header.value_size);
  }
};

/// Results of reading a record.
enum class Read : uint8_t { good, damaged, io_error };

/// Returns a record's bytes, ready to be appended.
std::string make_record(const Hash128& hash, std::string_view key, uint64_t label, std::string_view value,
                        uint64_t stamp);
/// True if `bytes` are exactly one complete record, the one that `e` describes.
bool holds(std::string_view bytes, const IndexEntry& e);

class Pack {
 public:
  /// Values of `why` for a file shorter than a header, and for one with another header.
  static constexpr const char* kCutShort = "is empty or cut short";
  static constexpr const char* kOtherVersion = "is not a pack of this version";
  /// Reads the index of a file, or else record after record. Returns null with a reason if it isn't a pack
  /// that may be trusted. `private_only`: the file must be ours, and no one else may write to it.
  static std::unique_ptr<Pack> open(Fd, std::string name, bool private_only, std::string& why);
  /// Makes an empty pack in a new file that the caller has locked; null if its header could not be written.
  static std::unique_ptr<Pack> create(Fd, std::string name);

  const std::string& name() const { return name_; }
  int fd() const { return fd_.get(); }
  bool sealed() const { return sealed_; }
  uint64_t bytes() const { return end_; }  // bytes of header and records
  /// Returns the entries, sorted by hash.
  const std::vector<IndexEntry>& entries() const { return entries_; }
  /// Returns the entries of a hash.
  std::pair<const IndexEntry*, const IndexEntry*> with_hash(const Hash128&) const;

  /// Reads and checks a record. Any thread may call it at any time.
  Read read(const IndexEntry&, Record&) const;
  /// Notes that a record was used. Errors don't matter.
  void stamp(const IndexEntry&, uint64_t now) const;

  /// Reads the records that another process has appended since.
  void scan();
  /// Appends a record. On an error the file is cut back to what it was, or never written again: false, with
  /// errno.
  bool append(std::string_view record, const IndexEntry& e);  // e.offset is set here
  /// Writes the index. Nothing can be appended after that.
  bool seal();

 private:
  Pack(Fd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  bool read_index(uint64_t size);
  void insert(const IndexEntry&);

  Fd fd_;
  std::string name_;
  std::vector<IndexEntry> entries_;
  uint64_t end_ = sizeof(PackHeader);
  bool sealed_ = false;
};

}  // namespace lazy::cache
