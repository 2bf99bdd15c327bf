// Names some of the ranks of a world, which compute together.
//
//   const distributed::Group pair = distributed::new_group({0, 1});          // all ranks call this
//   if (pair.contains_this()) y = distributed::all_reduce(x, ReduceOp::sum, pair);
//
//   distributed::Mesh mesh({{"data", 2}, {"tensor", 4}});                    // of 8 ranks
//   y = distributed::all_reduce(x, ReduceOp::sum, mesh.group("data"));
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/site.hpp"

namespace lazy::distributed {

/// Holds some ranks of a world, in the order in which sums are made and gathered values lie. A default one is
/// the whole world.
class Group {
 public:
  Group() = default;
  int size() const;
  /// Returns this rank's place in it; -1 if it is not in it.
  int rank() const;
  bool contains_this() const { return rank() >= 0; }
  /// Returns the ranks' numbers in the world.
  std::vector<int> ranks() const;
  int id() const { return id_; }  // the same on all ranks; 0: the world

 private:
  friend Group new_group(std::vector<int> ranks, Site);
  friend class Mesh;
  Group(int id, std::vector<int> ranks) : id_(id), ranks_(std::move(ranks)) {}
  int id_ = 0;
  std::vector<int> ranks_;  // none of the world: as many as there are when it is asked
};

/// Makes a group of these ranks. All ranks of the world make the same groups in the same order, whether they
/// are in them or not. Error for a rank that there isn't, or that comes twice.
Group new_group(std::vector<int> ranks, Site = Site::current());

/// Lays the ranks of a world out on named axes, the last one fastest. Along each axis, ranks whose other
/// coordinates are the same are a group.
class Mesh {
 public:
  using Axis = std::pair<std::string, int>;  // name, and its extent in ranks; -1 of one axis: what is left
  /// Error unless the extents' product is the number of ranks, and names differ. All ranks make it together.
  explicit Mesh(std::vector<Axis> axes, Site = Site::current());
  const std::vector<Axis>& axes() const { return axes_; }
  /// Returns this rank's group along an axis. Error for a name that there isn't.
  const Group& group(const std::string& axis, Site = Site::current()) const;
  /// Returns this rank's coordinate on an axis.
  int coordinate(const std::string& axis, Site s = Site::current()) const { return group(axis, s).rank(); }

 private:
  std::vector<Axis> axes_;
  std::vector<Group> groups_;  // by axis
};

}  // namespace lazy::distributed
