// Implements the cache on disk: values by key, stored for later processes, shared by any number of them.
//
//   Store store({"/home/me/.cache/lazy"});
//   for (const Record& r : store.find(key)) use(r.value());        store.add(key, label, value);
//
// Each process that adds something appends to its own pack (cache/pack.hpp), on which it holds a lock while
// it lives. Packs without an owner are merged now and then into one, by write and rename, under the folder's
// lock; the records used last are retained, as many as `max_bytes` allows. The system releases the locks of a
// process however it ends, so nothing has to be cleaned up after one that was killed but a temporary file,
// which the next merge removes. A record that can't be read, or whose checksum or key is not right, is not
// there; an I/O error deletes nothing. Nothing here throws for I/O.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/key.hpp"
#include "cache/pack.hpp"
#include "support/lock.hpp"

namespace lazy::cache {

class Store {
 public:
  struct Options {
    std::string directory;
    bool writable = true;
    uint64_t max_bytes = uint64_t{256} << 20;
    bool asked_for = true;  // true if the user named the folder: failing to make it is then worth a warning
  };
  explicit Store(Options);
  ~Store();
  Store(const Store&) = delete;

  /// Returns every value under the key, one for each label. When there is none, it looks first for records
  /// that other processes have added since.
  std::vector<Record> find(const KeyView& key);
  /// Stores a value, unless one of this key and label is there. False if it could not be stored.
  bool add(const KeyView& key, uint64_t label, std::string_view value);

  /// Ends writing for good: writes the index of this process's pack and releases its lock.
  void close();

  // Operations for tools -------------------------------------------------------------------------------
  struct Listed {
    std::string_view key, value;
    uint64_t label, stamp, bytes;
    const std::string& pack;
  };
  struct Totals {
    uint64_t packs = 0, records = 0, bytes = 0;
    uint64_t damaged = 0;    // records whose checksum does not hold
    uint64_t io_errors = 0;  // records that could not be read
  };
  /// Calls f for each intact record (the latest one of each key and label), pack by pack.
  Totals for_each(const std::function<void(const Listed&)>& f);
  /// Drops the least recently used records until no more than so many bytes are left in packs that no process
  /// is writing. Returns false with a reason.
  bool prune(uint64_t bytes, std::string& why);
  /// Drops every record; processes that are writing go on into files that no one else will see.
  bool clear(std::string& why);
  /// Writes all intact records to one file, through a temporary one beside it, and counts them in `records`.
  /// What is no regular file (a pipe, a device) is written to and stays what it is.
  bool export_to(const std::string& file, uint64_t& records, std::string& why);
  /// Adds the records of such a file that are not here and that `accept` returns true for. A damaged record
  /// makes the import fail altogether.
  bool import_from(const std::string& file, const std::function<bool(const Listed&)>& accept,
                   uint64_t& records, std::string& why);

  const std::string& directory() const { return options_.directory; }
  /// Returns the reason why there is no folder to read from; empty if there is one.
  std::string problem();

 private:
  using PackRef = std::shared_ptr<Pack>;
  struct Place {
    PackRef pack;
    IndexEntry entry;
  };
  struct Use {
    Place place;
    uint64_t when;
  };

  bool ready();  // opens the folder at the first call
  bool open_directory();
  void list();     // opens new files, forgets those that are gone
  void refresh();  // list(), if the folder changed, then reads what other processes appended
  void places(const KeyView&, std::vector<Place>&) const;
  bool has(std::string_view key, const IndexEntry& wanted) const;  // `wanted`: hash and label
  bool own_pack();  // makes this process's pack if there is none
  void write_stamps();
  void cannot_write(const char* what, int error);
  void seal_own();

  // upkeep.cpp Says if written data must be on the disk before the rename. Only tools ask for
  // that: a user's program does not wait for a disk, and checksums find what a power cut
  // loses.
  enum class Sync : uint8_t { none, disk };
  bool lock_folder(Fd& lock, bool wait, std::string& why) const;
  /// Returns the packs that no process is writing; each stays locked as long as it is referenced here.
  std::vector<PackRef> without_owner() const;
  /// Replaces those packs by one. The least recently used records are dropped, so that `max_bytes` hold the
  /// rest.
  bool merge(const std::vector<PackRef>&, uint64_t max_bytes, Sync, std::string& why);
  /// Writes a sealed pack through a temporary file; `fill` appends its records.
  bool publish(const std::function<bool(Pack&, std::string& why)>& fill, Sync, std::string& why);
  void remove_strays();
  void tend();  // merges when there are many packs, or too much in them

  Mutex mutex_;
  Options options_;
  enum class State : uint8_t { unopened, open, absent } state_ = State::unopened;
  Fd folder_;
  std::string problem_;
  int64_t listed_at_[2] = {-1, -1};  // modification time of the folder when it was listed
  std::vector<PackRef> packs_;
  std::vector<std::string> ignored_;  // files that can't be trusted or are of another version
  PackRef own_;
  int owner_ = 0;  // process that made own_
  bool writing_ = true;
  bool warned_ = false;
  bool strays_ = false;    // a temporary file was seen
  std::vector<Use> used_;  // stamps to be written
};

/// Returns nanoseconds since 1970 by the system's clock, which may be set back: only the order of use depends
/// on it.
uint64_t now();
/// Returns a name that no file has yet, such as "w-0123456789abcdef.pack".
std::string new_name(const char* prefix, const char* suffix);
bool is_pack(std::string_view name);
bool is_temporary(std::string_view name);

}  // namespace lazy::cache
