// Keeps checkpoints that all ranks of a world write together, each its share, and that any number of ranks
// reads.
//
//   training::ShardedFolder folder("run/checkpoints", {.asynchronous = true});
//   if (const auto last = folder.newest()) last->restore("model", model).restore("optimizer", optimizer);
//   ...
//   folder.save(training::Checkpoint(step).add("model", model).add("optimizer", optimizer));
//
// A checkpoint is a folder, checkpoint-000000000012, with a safetensors file of each rank
// (00001-of-00004.safetensors) and index.json, which says where each value's rows are. Values that all ranks
// hold are divided among them by bytes; rows (Checkpoint::add_rows) are written by who holds them. The index
// is written last, once all files have reached the disk: a folder without it is no checkpoint, so one that is
// killed while it saves, at any moment, leaves the checkpoints before as they were. All hosts of a world see
// one file system.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lazy/training/checkpoint.hpp"

namespace lazy::training {

struct ShardedFolderOptions {
  int keep = 3;               // checkpoints that remain, the newest ones; at least 1
  bool asynchronous = false;  // save() returns once it has the values; a thread writes them
  double timeout = 0;         // seconds that a rank's files are waited for; 0: LAZY_COMM_TIMEOUT
};

class ShardedFolder {
 public:
  /// Makes the folder. IoError; Error for options that make no sense.
  explicit ShardedFolder(const std::string& folder, ShardedFolderOptions options = {},
                         Site s = Site::current());
  ShardedFolder(const ShardedFolder&) = delete;
  /// Waits for a save in flight, unless it ends by an exception: then a save that is not yet whole is left.
  /// Says on standard error if it could not be written.
  ~ShardedFolder();

  /// Has each rank write its share: all ranks call it, with values of the same names, dtypes and shapes.
  /// Returns the checkpoint's path. One of the same step is replaced, once the new one is whole. What is
  /// saved are the values of this moment, but for memory of the program's own (from_blob). Error on all ranks
  /// if one can't write; if saves are asynchronous, at the next call. At most one is in flight: another waits
  /// for it.
  std::string save(const Checkpoint&, Site s = Site::current());
  /// Waits until the save in flight is a checkpoint, and throws what it failed of.
  void wait(Site s = Site::current());
  /// Returns the newest checkpoint that is whole, the same one on all ranks, which call it together; none if
  /// there is none. Each rank reads a part of it to see that it is whole; values are read when they are asked
  /// for. Says on standard error which ones are not. IoError for one that is there and can't be read.
  std::optional<Checkpoint> newest(Site s = Site::current());
  /// Returns the steps of which there are checkpoints, ascending.
  std::vector<int64_t> steps(Site s = Site::current()) const;
  std::string path(int64_t step) const;

 private:
  struct Save;
  struct InFlight;
  std::string folder_;
  ShardedFolderOptions options_;
  std::unique_ptr<InFlight> in_flight_;
  int exceptions_;  // under way when this was made
};

}  // namespace lazy::training
