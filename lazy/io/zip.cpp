#include "lazy/io/zip.hpp"

#include <algorithm>
#include <unordered_set>

#include "lazy/io/zlib.hpp"

namespace lazy::detail {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr uint64_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kLocator64Bytes = 20,
                   kEnd64Bytes = 56;
constexpr uint32_t kIn64 = 0xffffffff;  // of a size: it is in the extra field
constexpr uint16_t kExtra64 = 1, kStoredMember = 0, kDeflatedMember = 8;
constexpr uint16_t kEncrypted = 1, kUtf8 = 0x800;
constexpr uint16_t kZipVersion = 20, kZipVersion64 = 45;
constexpr uint16_t kFirstOfJanuary1980 = 0x21;

struct Directory {
  uint64_t count, offset, bytes;
};

/// Finds the directory from the end of the file, behind which a comment may be.
Directory find_directory(const FileBytes& f) {
  constexpr uint64_t kMostComment = 0xffff;
  f.need(0, kEndBytes, "a ZIP file");
  const uint64_t last = f.bytes.size() - kEndBytes;
  const uint64_t first = last > kMostComment ? last - kMostComment : 0;
  f.need(first, f.bytes.size() - first, "the end of a ZIP file");
  uint64_t at = last + 1;
  while (at > first && f.little<uint32_t>(at - 1) != kEnd) --at;
  if (at == first) f.bad(last, "expected the end of a ZIP file's directory");
  --at;
  uint64_t end = at, here = f.little<uint16_t>(at + 8);  // where the directory ends; its entries on this disk
  Directory d{f.little<uint16_t>(at + 10), f.little<uint32_t>(at + 16), f.little<uint32_t>(at + 12)};
  const bool room = at >= kLocator64Bytes;
  if (room) f.need(at - kLocator64Bytes, kLocator64Bytes, "a ZIP64 locator");
  if (room && f.little<uint32_t>(at - kLocator64Bytes) == kLocator64) {
    end = f.little<uint64_t>(at - kLocator64Bytes + 8);
    f.need(end, kEnd64Bytes, "the ZIP64 end of the directory");
    if (f.little<uint32_t>(end) != kEnd64) f.bad(end, "expected the ZIP64 end of the directory");
    d = {f.little<uint64_t>(end + 32), f.little<uint64_t>(end + 48), f.little<uint64_t>(end + 40)};
    here = f.little<uint64_t>(end + 24);
  }
  f.need(d.offset, d.bytes, "the ZIP file's directory");
  if (d.offset + d.bytes != end)
    f.bad(end, "the directory should end here, but ends at byte " + std::to_string(d.offset + d.bytes));
  if (d.count != here)
    f.bad(end, "the directory has " + std::to_string(d.count) + " members in one place, " +
                   std::to_string(here) + " in another");
  if (d.count > d.bytes / kCentralBytes)
    f.bad(at, "a directory of " + std::to_string(d.bytes) + " bytes can't list " + std::to_string(d.count) +
                  " members");
  return d;
}

/// Takes the 64-bit sizes and the offset of a member from its extra field, for those that are not in the
/// entry.
void read_extra64(const FileBytes& f, uint64_t at, uint64_t bytes, ZipMember& m) {
  const uint64_t end = at + bytes;
  while (end - at >= 4) {
    const uint16_t id = f.little<uint16_t>(at), size = f.little<uint16_t>(at + 2);
    at += 4;
    if (size > end - at) f.bad(at, "an extra field is longer than its entry");
    if (id == kExtra64) {
      uint64_t left = size;
      for (uint64_t* const v : {&m.bytes, &m.packed, &m.header}) {
        if (*v != kIn64) continue;
        if (left < 8) f.bad(at, "a ZIP64 field is too short");
        *v = f.little<uint64_t>(at + size - left);
        left -= 8;
      }
      return;
    }
    at += size;
  }
}

/// Checks a member against the file and finds its bytes.
void locate(const FileBytes& f, ZipMember& m) {
  f.need(m.header, kLocalBytes, "a ZIP member's header");
  if (f.little<uint32_t>(m.header) != kLocal) f.bad(m.header, "expected the header of '" + m.name + "'");
  const uint64_t name = f.little<uint16_t>(m.header + 26);
  m.data = m.header + kLocalBytes + name + f.little<uint16_t>(m.header + 28);
  f.check_within(m.data, m.packed, "a ZIP member");
  f.need(m.header + kLocalBytes, name, "a ZIP member's name");
  if (const std::string_view own = f.bytes.substr(m.header + kLocalBytes, name); own != m.name)
    f.bad(m.header, "'" + m.name + "' of the directory is '" + std::string(own) + "' in its own header");
  if (m.deflated ? m.bytes / kMostInflation > m.packed : m.bytes != m.packed)
    f.bad(m.header,
          std::to_string(m.packed) + " bytes of '" + m.name + "' can't stand for " + std::to_string(m.bytes));
}

/// Throws if members share bytes: a small file could be made to expand without end.
void check_apart(const FileBytes& f, const std::vector<ZipMember>& members) {
  std::vector<const ZipMember*> in_order;
  for (const ZipMember& m : members) in_order.push_back(&m);
  std::sort(in_order.begin(), in_order.end(),
            [](const ZipMember* a, const ZipMember* b) { return a->header < b->header; });
  for (size_t i = 1; i < in_order.size(); ++i)
    if (in_order[i]->header < in_order[i - 1]->data + in_order[i - 1]->packed)
      f.bad(in_order[i]->header,
            "'" + in_order[i]->name + "' and '" + in_order[i - 1]->name + "' share bytes");
}

}  // namespace

std::vector<ZipMember> zip_members(const FileBytes& f) {
  const Directory d = find_directory(f);
  std::vector<ZipMember> members;
  std::unordered_set<std::string> names;
  const uint64_t end = d.offset + d.bytes;
  uint64_t at = d.offset;
  for (uint64_t i = 0; i < d.count; ++i) {
    if (end - at < kCentralBytes || f.little<uint32_t>(at) != kCentral)
      f.bad(at, "expected entry " + std::to_string(i) + " of the ZIP file's directory");
    const uint16_t flags = f.little<uint16_t>(at + 8), method = f.little<uint16_t>(at + 10);
    const uint64_t name = f.little<uint16_t>(at + 28), extra = f.little<uint16_t>(at + 30),
                   comment = f.little<uint16_t>(at + 32);
    if (name + extra + comment > end - at - kCentralBytes) f.bad(at, "an entry is longer than the directory");
    ZipMember m;
    m.name = f.bytes.substr(at + kCentralBytes, name);
    m.crc = f.little<uint32_t>(at + 16);
    m.packed = f.little<uint32_t>(at + 20);
    m.bytes = f.little<uint32_t>(at + 24);
    m.header = f.little<uint32_t>(at + 42);
    m.deflated = method == kDeflatedMember;
    if ((flags & kEncrypted) || (method != kStoredMember && method != kDeflatedMember))
      f.bad(at, "'" + m.name + "' is encrypted, or neither stored nor deflated");
    read_extra64(f, at + kCentralBytes + name, extra, m);
    locate(f, m);
    if (!names.insert(m.name).second) f.bad(at, "'" + m.name + "' is there twice");
    members.push_back(std::move(m));
    at += kCentralBytes + name + extra + comment;
  }
  if (at != end)
    f.bad(at, "the directory has more than the " + std::to_string(d.count) + " members that it counts");
  check_apart(f, members);
  return members;
}

FileBytes packed_member(const FileBytes& f, const ZipMember& m) {
  return f.part(m.data, m.packed, f.name + "[" + m.name + "]").in_memory();
}

FileBytes begin_of_member(const FileBytes& packed, const ZipMember& m, uint64_t most) {
  FileBytes begin = packed;
  const uint64_t count = std::min(most, m.bytes);
  if (!m.deflated) {
    begin.bytes = packed.bytes.substr(0, count);
    return begin;
  }
  const std::shared_ptr<char[]> own(new char[count + 1]);
  if (!inflate_begin(packed.op, packed.bytes, Wrapping::none, own.get(), count, packed.site))
    packed.bad(0, "the compressed bytes are damaged");
  begin.bytes = {own.get(), count};
  begin.owner = own;
  return begin;
}

FileBytes read_member(const FileBytes& packed, const ZipMember& m) {
  FileBytes all = packed;
  if (m.deflated) {
    const std::shared_ptr<char[]> own(new char[m.bytes + 1]);
    if (!inflate(packed.op, packed.bytes, Wrapping::none, own.get(), m.bytes, packed.site))
      packed.bad(0, "the compressed bytes are damaged");
    all.bytes = {own.get(), m.bytes};
    all.owner = own;
  }
  if (crc32(0, all.bytes) != m.crc) packed.bad(0, "the member does not have its checksum");
  return all;
}

namespace {

/// Returns a size as the 32-bit field of an entry has it.
uint32_t field(uint64_t v) { return static_cast<uint32_t>(std::min<uint64_t>(v, kIn64)); }

/// Appends what a local header and an entry of the directory have in common.
void put_common(std::string& out, const ZipMember& m, bool large, size_t extra) {
  put_little(out, large ? kZipVersion64 : kZipVersion);
  put_little(out, kUtf8);
  put_little(out, m.deflated ? kDeflatedMember : kStoredMember);
  put_little(out, uint16_t{0});  // no time, so that equal values make equal files
  put_little(out, kFirstOfJanuary1980);
  put_little(out, m.crc);
  put_little(out, large ? kIn64 : field(m.packed));
  put_little(out, large ? kIn64 : field(m.bytes));
  put_little(out, static_cast<uint16_t>(m.name.size()));
  put_little(out, static_cast<uint16_t>(extra));
}

/// Returns a ZIP64 field with these values.
std::string extra64(std::initializer_list<uint64_t> values) {
  std::string e;
  put_little(e, kExtra64);
  put_little(e, static_cast<uint16_t>(values.size() * 8));
  for (const uint64_t v : values) put_little(e, v);
  return e;
}

std::string local_header(const ZipMember& m, uint64_t limit) {
  const bool large = m.bytes >= limit || m.packed >= limit;
  const std::string extra = large ? extra64({m.bytes, m.packed}) : std::string();
  std::string h;
  put_little(h, kLocal);
  put_common(h, m, large, extra.size());
  return h + m.name + extra;
}

std::string central_entry(const ZipMember& m, uint64_t limit) {
  const bool large = m.bytes >= limit || m.packed >= limit || m.header >= limit;
  const std::string extra = large ? extra64({m.bytes, m.packed, m.header}) : std::string();
  std::string h;
  put_little(h, kCentral);
  put_little(h, large ? kZipVersion64 : kZipVersion);
  put_common(h, m, large, extra.size());
  put_little(h, uint16_t{0});  // comment
  put_little(h, uint16_t{0});  // disk
  put_little(h, uint16_t{0});  // attributes
  put_little(h, uint32_t{0});
  put_little(h, large ? kIn64 : field(m.header));
  return h + m.name + extra;
}

std::string end64(uint64_t at, uint64_t count, uint64_t bytes) {
  std::string e;
  put_little(e, kEnd64);
  put_little(e, kEnd64Bytes - 12);  // bytes that follow
  put_little(e, kZipVersion64);
  put_little(e, kZipVersion64);
  put_little(e, uint32_t{0});
  put_little(e, uint32_t{0});
  put_little(e, count);
  put_little(e, count);
  put_little(e, bytes);
  put_little(e, at);
  put_little(e, kLocator64);
  put_little(e, uint32_t{0});
  put_little(e, at + bytes);
  put_little(e, uint32_t{1});  // disks
  return e;
}

}  // namespace

void ZipWriter::add(const std::string& name, std::string_view head, std::string_view rest, bool compressed) {
  ZipMember m;
  m.name = name;
  m.header = out_.written();
  m.bytes = head.size() + rest.size();
  m.crc = crc32(crc32(0, head), rest);
  m.deflated = compressed;
  std::string packed;
  if (compressed) packed = deflate(op_, std::string(head).append(rest), Wrapping::none, site_);
  m.packed = compressed ? packed.size() : m.bytes;
  out_.put(local_header(m, large_));
  if (compressed) {
    out_.put(packed);
  } else {
    out_.put(head);
    out_.put(rest);
  }
  members_.push_back(std::move(m));
}

void ZipWriter::finish() {
  const uint64_t at = out_.written();
  for (const ZipMember& m : members_) out_.put(central_entry(m, large_));
  const uint64_t bytes = out_.written() - at, count = members_.size();
  const bool large = count >= 0xffff || at >= large_ || bytes >= large_;
  if (large) out_.put(end64(at, count, bytes));
  std::string e;
  put_little(e, kEnd);
  put_little(e, uint32_t{0});  // disks
  put_little(e, static_cast<uint16_t>(std::min<uint64_t>(count, 0xffff)));
  put_little(e, static_cast<uint16_t>(std::min<uint64_t>(count, 0xffff)));
  put_little(e, large ? kIn64 : field(bytes));
  put_little(e, large ? kIn64 : field(at));
  put_little(e, uint16_t{0});  // comment
  out_.put(e);
}

}  // namespace lazy::detail
