#include "cache/pack.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "cache/private_directory.hpp"
#include "support/files.hpp"

namespace lazy::cache {
namespace {

struct Trailer {
  static constexpr uint64_t kMagic = 0x5844'4e49'5a41'4c31;  // "1LAZINDX"
  uint64_t count, checksum, bytes, magic;                    // `bytes`: the offset at which the records end
};

constexpr size_t kChecked = offsetof(RecordHeader, magic);  // the checksum covers everything from here on

bool before(const IndexEntry& a, const IndexEntry& b) {
  if (a.hash.lo != b.hash.lo) return a.hash.lo < b.hash.lo;
  if (a.hash.hi != b.hash.hi) return a.hash.hi < b.hash.hi;
  return a.offset < b.offset;
}
bool plausible(const RecordHeader& h) {
  return h.magic == RecordHeader::kMagic && h.key_size < RecordHeader::kLongest &&
         h.value_size < RecordHeader::kLongest;
}

}  // namespace

std::string make_record(const Hash128& hash, std::string_view key, uint64_t label, std::string_view value,
                        uint64_t stamp) {
  RecordHeader h{stamp, 0,    RecordHeader::kMagic, static_cast<uint32_t>(key.size()), value.size(),
                 hash,  label};
  std::string r(h.bytes(), '\0');
  std::memcpy(r.data(), &h, sizeof h);
  std::memcpy(r.data() + sizeof h, key.data(), key.size());
  if (!value.empty()) std::memcpy(r.data() + sizeof h + key.size(), value.data(), value.size());
  h.checksum = checksum64(r.data() + kChecked, r.size() - kChecked);
  std::memcpy(r.data(), &h, sizeof h);
  return r;
}

bool holds(std::string_view bytes, const IndexEntry& e) {
  RecordHeader h;
  if (bytes.size() < sizeof h || bytes.size() != e.bytes) return false;
  std::memcpy(&h, bytes.data(), sizeof h);
  return plausible(h) && h.bytes() == e.bytes && h.hash == e.hash && h.label == e.label &&
         h.checksum == checksum64(bytes.data() + kChecked, bytes.size() - kChecked);
}

std::unique_ptr<Pack> Pack::open(Fd fd, std::string name, bool private_only, std::string& why) {
  if (private_only && !is_private_file(fd.get(), why)) return nullptr;
  struct stat s {};
  PackHeader h{};
  if (fstat(fd.get(), &s) != 0 || !files::read_at(fd.get(), &h, sizeof h, 0)) {
    why = errno == ENODATA ? kCutShort : std::strerror(errno);
    return nullptr;
  }
  if (std::memcmp(h.magic, PackHeader::kMagic, sizeof h.magic) != 0 || h.version != PackHeader::kVersion) {
    why = kOtherVersion;
    return nullptr;
  }
  std::unique_ptr<Pack> p(new Pack(std::move(fd), std::move(name)));
  if (!p->read_index(static_cast<uint64_t>(s.st_size))) p->scan();
  return p;
}

std::unique_ptr<Pack> Pack::create(Fd fd, std::string name) {
  PackHeader h{{}, PackHeader::kVersion, 0};
  std::memcpy(h.magic, PackHeader::kMagic, sizeof h.magic);
  if (!files::write_at(fd.get(), &h, sizeof h, 0)) return nullptr;
  return std::unique_ptr<Pack>(new Pack(std::move(fd), std::move(name)));
}

bool Pack::read_index(uint64_t size) {
  Trailer t{};
  if (size < sizeof(PackHeader) + sizeof t || !files::read_at(fd_.get(), &t, sizeof t, size - sizeof t) ||
      t.magic != Trailer::kMagic || t.count > size / sizeof(IndexEntry) || t.bytes < sizeof(PackHeader) ||
      t.bytes + t.count * sizeof(IndexEntry) + sizeof t != size)
    return false;
  std::vector<IndexEntry> entries(t.count);
  if (!files::read_at(fd_.get(), entries.data(), t.count * sizeof(IndexEntry), t.bytes) ||
      checksum64(entries.data(), t.count * sizeof(IndexEntry)) != t.checksum)
    return false;
  for (const IndexEntry& e : entries)
    if (e.offset < sizeof(PackHeader) || e.offset > t.bytes || e.bytes > t.bytes - e.offset ||
        e.bytes < sizeof(RecordHeader))
      return false;
  if (!std::is_sorted(entries.begin(), entries.end(), before)) return false;
  entries_ = std::move(entries);
  end_ = t.bytes;
  sealed_ = true;
  return true;
}

void Pack::scan() {
  if (sealed_) return;
  struct stat s {};
  if (fstat(fd_.get(), &s) != 0) return;
  const auto size = static_cast<uint64_t>(s.st_size);
  RecordHeader h;
  while (end_ + sizeof h <= size && files::read_at(fd_.get(), &h, sizeof h, end_) && plausible(h) &&
         h.bytes() <= size - end_) {
    insert({h.hash, h.label, end_, h.bytes()});
    end_ += h.bytes();
  }
}

void Pack::insert(const IndexEntry& e) {
  entries_.insert(std::upper_bound(entries_.begin(), entries_.end(), e, before), e);
}

std::pair<const IndexEntry*, const IndexEntry*> Pack::with_hash(const Hash128& hash) const {
  const auto first =
      std::lower_bound(entries_.data(), entries_.data() + entries_.size(), IndexEntry{hash, 0, 0, 0}, before);
  auto last = first;
  while (last != entries_.data() + entries_.size() && last->hash == hash) ++last;
  return {first, last};
}

Read Pack::read(const IndexEntry& e, Record& r) const {
  if (!r.memory || r.size != e.bytes) r.memory = std::make_unique_for_overwrite<char[]>(e.bytes);
  r.size = e.bytes;
  if (!files::read_at(fd_.get(), r.memory.get(), e.bytes, e.offset))
    return errno == ENODATA ? Read::damaged : Read::io_error;
  if (!holds(r.bytes(), e)) return Read::damaged;
  std::memcpy(&r.header, r.memory.get(), sizeof r.header);
  return Read::good;
}

void Pack::stamp(const IndexEntry& e, uint64_t now) const {
  files::write_at(fd_.get(), &now, sizeof now, e.offset + offsetof(RecordHeader, stamp));
}

bool Pack::append(std::string_view record, const IndexEntry& entry) {
  if (sealed_) return false;
  if (!files::write_at(fd_.get(), record.data(), record.size(), end_)) {
    const int e = errno;
    if (ftruncate(fd_.get(), static_cast<off_t>(end_)) != 0) sealed_ = true;
    errno = e;
    return false;
  }
  IndexEntry placed = entry;
  placed.offset = end_;
  insert(placed);
  end_ += record.size();
  return true;
}

bool Pack::seal() {
  if (sealed_) return true;
  const uint64_t bytes = entries_.size() * sizeof(IndexEntry);
  const Trailer t{entries_.size(), checksum64(entries_.data(), bytes), end_, Trailer::kMagic};
  std::string tail(reinterpret_cast<const char*>(entries_.data()), bytes);
  tail.append(reinterpret_cast<const char*>(&t), sizeof t);
  sealed_ = true;
  if (files::write_at(fd_.get(), tail.data(), tail.size(), end_)) return true;
  const int e = errno;
  if (ftruncate(fd_.get(), static_cast<off_t>(end_)) != 0)
    return false;  // the file is then scanned, up to the index
  errno = e;
  return false;
}

}  // namespace lazy::cache
