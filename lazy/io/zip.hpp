// Reads and writes ZIP files, as .npz files are: stored or deflated members, ZIP64 where sizes need it. No
// encryption, no parts. The format: APPNOTE.TXT of PKWARE. Internal to lazy/io.
#pragma once
#include <vector>

#include "lazy/io/file.hpp"

namespace lazy::detail {

struct ZipMember {
  std::string name;
  uint64_t header = 0;  // offset of its local header
  uint64_t data = 0;    // offset of its bytes
  uint64_t packed = 0;  // bytes in the file
  uint64_t bytes = 0;   // bytes once inflated
  uint32_t crc = 0;
  bool deflated = false;
};

/// Lists the members: names are distinct and those of the members' own headers, no two share bytes, each lies
/// in the file and says a size that it can have, and the directory ends with the last. IoError for all else.
std::vector<ZipMember> zip_members(const FileBytes&);
/// Returns a member's bytes as they are in the file, under its name, in memory.
FileBytes packed_member(const FileBytes&, const ZipMember&);
/// Returns the first bytes of the contents, at most so many.
FileBytes begin_of_member(const FileBytes& packed, const ZipMember&, uint64_t most);
/// Returns the contents, checked against their checksum.
FileBytes read_member(const FileBytes& packed, const ZipMember&);

/// Writes a ZIP file member by member.
class ZipWriter {
 public:
  /// Sizes and offsets of `large` and more are written as ZIP64 has them; tests need no files of 4 GiB.
  ZipWriter(NewFile& out, const char* op, const Site& s, uint64_t large = 0xffffffff)
      : out_(out), op_(op), site_(s), large_(large) {}
  /// Adds a member whose contents are `head`, then `rest`.
  void add(const std::string& name, std::string_view head, std::string_view rest, bool compressed);
  /// Writes the directory.
  void finish();

 private:
  NewFile& out_;
  const char* op_;
  Site site_;
  uint64_t large_;
  std::vector<ZipMember> members_;
};

}  // namespace lazy::detail
