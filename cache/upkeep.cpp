// Maintains the store: merging, bounding, clearing, export and import.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "cache/private_directory.hpp"
#include "cache/store.hpp"
#include "support/files.hpp"
#include "support/log.hpp"

namespace lazy::cache {
namespace {

constexpr size_t kManyPacks = 8;  // each costs every process that starts some microseconds

/// Remembers which keys and labels have been seen. Equality is of the bytes.
class Seen {
 public:
  bool add(const RecordHeader& h, std::string_view key) {
    const auto [first, last] = keys_.equal_range(h.hash.lo);
    for (auto i = first; i != last; ++i)
      if (i->second.first == h.label && i->second.second == key) return false;
    keys_.emplace(h.hash.lo, std::pair(h.label, std::string(key)));
    return true;
  }

 private:
  std::unordered_multimap<uint64_t, std::pair<uint64_t, std::string>> keys_;
};

std::string failed(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

}  // namespace

bool Store::lock_folder(Fd& lock, bool wait, std::string& why) const {
  lock = Fd(files::open_at(folder_.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (lock && flock(lock.get(), LOCK_EX | (wait ? 0 : LOCK_NB)) == 0) return true;
  why = failed("the cache folder could not be locked");
  return false;
}

std::vector<Store::PackRef> Store::without_owner() const {
  std::vector<PackRef> packs;
  for (const std::string& name : names_in(folder_.get())) {
    if (!is_pack(name)) continue;
    Fd file(files::open_at(folder_.get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK));
    if (!file || flock(file.get(), LOCK_EX | LOCK_NB) != 0) continue;
    std::string why;
    if (PackRef p = Pack::open(std::move(file), name, true, why)) packs.push_back(std::move(p));
    else if (why == Pack::kCutShort) unlinkat(folder_.get(), name.c_str(), 0);  // its owner died early
  }
  return packs;
}

void Store::remove_strays() {
  for (const std::string& name : names_in(folder_.get()))
    if (is_temporary(name)) unlinkat(folder_.get(), name.c_str(), 0);
  strays_ = false;
}

bool Store::publish(const std::function<bool(Pack&, std::string&)>& fill, Sync sync, std::string& why) {
  const std::string temporary = new_name("tmp-", ""), name = new_name("p-", ".pack");
  Fd file(files::open_at(folder_.get(), temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  if (!file) {
    why = failed("a file could not be made");
    return false;
  }
  PackRef pack = Pack::create(std::move(file), name);
  bool good = pack != nullptr;
  if (!good) why = failed("a file could not be written");
  if (good) good = fill(*pack, why);
  if (good && (!pack->seal() || (sync == Sync::disk && fsync(pack->fd()) != 0))) {
    why = failed("a file could not be written");
    good = false;
  }
  if (good && renameat(folder_.get(), temporary.c_str(), folder_.get(), name.c_str()) != 0) {
    why = failed("a file could not be renamed");
    good = false;
  }
  if (!good) {
    unlinkat(folder_.get(), temporary.c_str(), 0);
    return false;
  }
  if (sync == Sync::disk) fsync(folder_.get());
  packs_.push_back(std::move(pack));
  return true;
}

bool Store::merge(const std::vector<PackRef>& from, uint64_t max_bytes, Sync sync, std::string& why) {
  struct Kept {
    const Pack* pack;
    const IndexEntry* entry;
    uint64_t stamp;
  };
  std::vector<Kept> kept;
  const uint64_t today = now();
  for (const PackRef& p : from)
    for (const IndexEntry& e : p->entries()) {
      uint64_t stamp = 0;
      if (!files::read_at(p->fd(), &stamp, sizeof stamp, e.offset + offsetof(RecordHeader, stamp)) &&
          errno != ENODATA) {
        why = failed("a record could not be read");
        return false;
      }
      // A stamp in the future is from before the clock was set back: it counts as older than all used since.
      kept.push_back({p.get(), &e, stamp > today ? 0 : stamp});
    }
  std::stable_sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) { return a.stamp > b.stamp; });
  uint64_t bytes = 0;
  Seen seen;
  const auto copy = [&](Pack& to, std::string& reason) {
    Record r;
    for (const Kept& k : kept) {
      if (bytes + k.entry->bytes > max_bytes) continue;
      const Read read = k.pack->read(*k.entry, r);
      if (read == Read::io_error) {
        reason = failed("a record could not be read");
        return false;
      }
      if (read == Read::damaged || !seen.add(r.header, r.key())) continue;
      if (!to.append(r.bytes(), *k.entry)) {
        reason = failed("a record could not be written");
        return false;
      }
      bytes += k.entry->bytes;
    }
    return true;
  };
  if (!publish(copy, sync, why)) return false;
  for (const PackRef& p : from) unlinkat(folder_.get(), p->name().c_str(), 0);
  std::erase_if(packs_, [&](const PackRef& p) {
    return std::any_of(from.begin(), from.end(), [&](const PackRef& q) { return q->name() == p->name(); });
  });
  if (logging::enabled(logging::Channel::cache))
    logging::print(logging::Channel::cache, "%s: %zu packs merged into one of %zu bytes",
                   options_.directory.c_str(), from.size(), static_cast<size_t>(bytes));
  return true;
}

void Store::tend() {
  refresh();
  uint64_t total = 0;
  for (const PackRef& p : packs_) total += p->bytes();
  if (packs_.size() < kManyPacks && total <= options_.max_bytes && !strays_) return;
  Fd lock;
  std::string why;
  if (!lock_folder(lock, false, why)) return;  // another process is merging
  remove_strays();
  std::vector<PackRef> idle = without_owner();
  total = 0;
  for (const PackRef& p : idle) total += p->bytes();
  bool good = true;
  if (total > options_.max_bytes) {
    good = merge(idle, options_.max_bytes / 4 * 3, Sync::none, why);
  } else if (idle.size() >= kManyPacks) {
    // Small packs come first; a large one is only rewritten when the others have reached half its size.
    std::sort(idle.begin(), idle.end(),
              [](const PackRef& a, const PackRef& b) { return a->bytes() < b->bytes(); });
    size_t n = 0;
    for (uint64_t sum = 0; n < idle.size() && (n < kManyPacks / 2 || idle[n]->bytes() <= 2 * sum); ++n)
      sum += idle[n]->bytes();
    idle.resize(n);
    good = merge(idle, ~uint64_t{0}, Sync::none, why);
  }
  if (!good && logging::enabled(logging::Channel::cache))
    logging::print(logging::Channel::cache, "%s: %s", options_.directory.c_str(), why.c_str());
}

bool Store::prune(uint64_t bytes, std::string& why) {
  const std::lock_guard hold(mutex_);
  if (!ready()) return why = problem_, false;
  write_stamps();
  Fd lock;
  if (!lock_folder(lock, true, why)) return false;
  remove_strays();
  return merge(without_owner(), bytes, Sync::disk, why);
}

bool Store::clear(std::string& why) {
  const std::lock_guard hold(mutex_);
  if (!ready()) return why = problem_, false;
  Fd lock;
  if (!lock_folder(lock, true, why)) return false;
  remove_strays();
  bool good = true;
  for (const std::string& name : names_in(folder_.get()))
    // A folder of that name is not ours: it was never read.
    if (is_pack(name) && unlinkat(folder_.get(), name.c_str(), 0) != 0 && errno != ENOENT &&
        errno != EISDIR) {
      why = failed(name.c_str());
      good = false;
    }
  used_.clear();
  packs_.clear();
  own_ = nullptr;
  return good;
}

Store::Totals Store::for_each(const std::function<void(const Listed&)>& f) {
  std::vector<PackRef> packs;
  {
    const std::lock_guard hold(mutex_);
    if (!ready()) return {};
    refresh();
    packs = packs_;
  }
  Totals t;
  Seen seen;
  Record r;
  for (const PackRef& p : packs) {
    ++t.packs;
    for (const IndexEntry& e : p->entries()) {
      const Read read = p->read(e, r);
      t.damaged += read == Read::damaged;
      t.io_errors += read == Read::io_error;
      if (read != Read::good || !seen.add(r.header, r.key())) continue;
      ++t.records;
      t.bytes += e.bytes;
      f({r.key(), r.value(), e.label, r.header.stamp, e.bytes, p->name()});
    }
  }
  return t;
}

namespace {

/// Writes all that a file has to a place that is no regular file: a pipe, a device.
bool pour(int from, const std::string& place) {
  const Fd to(files::open(place.c_str(), O_WRONLY));
  struct stat s {};
  if (!to || fstat(from, &s) != 0) return false;
  std::vector<char> block(size_t{64} << 10);
  const auto size = static_cast<uint64_t>(s.st_size);
  for (uint64_t at = 0; at < size;) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(block.size(), size - at));
    if (!files::read_at(from, block.data(), n, at) || !files::write(to.get(), block.data(), n)) return false;
    at += n;
  }
  return true;
}

}  // namespace

bool Store::export_to(const std::string& file, uint64_t& records, std::string& why) {
  records = 0;
  // What is there and is no regular file is written to; all else is replaced once the new file is whole. A
  // pack is not written in order, so for a pipe it is made in memory first.
  struct stat there {};
  const bool poured = stat(file.c_str(), &there) == 0 && !S_ISREG(there.st_mode);
  const std::string place = files::followed(file), temporary = place + new_name(".tmp-", "");
  Fd fd(poured ? files::above_stdio(memfd_create("export", MFD_CLOEXEC))
               : files::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
  if (!fd) return why = failed(poured ? file.c_str() : temporary.c_str()), false;
  const auto pack = Pack::create(std::move(fd), file);
  bool good = pack != nullptr;
  if (good)
    for_each([&](const Listed& l) {
      const Hash128 hash = KeyView(l.key.data(), l.key.size()).hash();
      const std::string record = make_record(hash, l.key, l.label, l.value, l.stamp);
      if (good) good = pack->append(record, {hash, l.label, 0, record.size()});
      records += good;
    });
  good = good && pack->seal() &&
         (poured ? pour(pack->fd(), file)
                 : fsync(pack->fd()) == 0 && rename(temporary.c_str(), place.c_str()) == 0);
  if (good) return true;
  why = failed(file.c_str());
  if (!poured) unlink(temporary.c_str());
  return false;
}

bool Store::import_from(const std::string& file, const std::function<bool(const Listed&)>& accept,
                        uint64_t& records, std::string& why) {
  records = 0;
  Fd fd(files::open(file.c_str(), O_RDONLY));
  if (!fd) return why = failed(file.c_str()), false;
  const auto pack = Pack::open(std::move(fd), file, false, why);
  if (!pack) return why = file + " " + why, false;
  if (!pack->sealed()) return why = file + " is cut short or damaged: it has no index", false;
  const std::lock_guard hold(mutex_);
  if (!ready()) return why = problem_, false;
  Fd lock;
  if (!lock_folder(lock, true, why)) return false;
  refresh();
  std::vector<std::string> accepted;
  Record r;
  for (const IndexEntry& e : pack->entries()) {
    if (pack->read(e, r) != Read::good || KeyView(r.key().data(), r.key().size()).hash() != e.hash) {
      why = file + ": a record is damaged";
      return false;
    }
    if (has(r.key(), e) || !accept({r.key(), r.value(), e.label, r.header.stamp, e.bytes, file})) continue;
    accepted.push_back(make_record(e.hash, r.key(), e.label, r.value(), now()));
  }
  records = accepted.size();
  if (accepted.empty()) return true;
  const auto fill = [&](Pack& to, std::string& reason) {
    for (const std::string& record : accepted) {
      RecordHeader h;
      std::memcpy(&h, record.data(), sizeof h);
      if (!to.append(record, {h.hash, h.label, 0, record.size()})) {
        reason = failed("a record could not be written");
        return false;
      }
    }
    return true;
  };
  return publish(fill, Sync::disk, why);
}

}  // namespace lazy::cache
