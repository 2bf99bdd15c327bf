#include "lazy/distributed/group.hpp"

#include <algorithm>
#include <numeric>

#include "lazy/distributed/communicator.hpp"
#include "lazy/distributed/world.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace lazy::distributed {
namespace {

/// Returns the number of a new group, which this rank's communicator keeps; 0 in a world of one.
int added(const std::vector<int>& ranks) {
  detail::Communicator* const c = detail::communicator();
  return c ? c->add_group(ranks) : 0;
}

}  // namespace

int Group::size() const { return ranks_.empty() ? world_size() : static_cast<int>(ranks_.size()); }

int Group::rank() const {
  if (ranks_.empty()) return distributed::rank();
  const auto at = std::find(ranks_.begin(), ranks_.end(), distributed::rank());
  return at == ranks_.end() ? -1 : static_cast<int>(at - ranks_.begin());
}

std::vector<int> Group::ranks() const {
  if (!ranks_.empty()) return ranks_;
  std::vector<int> all(static_cast<size_t>(world_size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Group new_group(std::vector<int> ranks, Site s) {
  if (ranks.empty()) throw Error("new_group: no ranks", s);
  std::vector<int> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() < 0 || sorted.back() >= world_size())
    throw Error("new_group: rank " + std::to_string(sorted.front() < 0 ? sorted.front() : sorted.back()) +
                    " of " + std::to_string(world_size()),
                s);
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    throw Error("new_group: rank " + std::to_string(*twice) + " comes twice", s);
  const int id = added(ranks);
  return Group(id, std::move(ranks));
}

Mesh::Mesh(std::vector<Axis> axes, Site s) : axes_(std::move(axes)) {
  if (axes_.empty()) throw Error("Mesh: no axes", s);
  const int world = world_size();
  int64_t product = 1;
  Axis* open = nullptr;
  for (size_t i = 0; i < axes_.size(); ++i) {
    auto& [name, extent] = axes_[i];
    for (size_t k = 0; k < i; ++k)
      if (axes_[k].first == name) throw Error("Mesh: two axes are called " + name, s);
    if (extent == -1 && !open) open = &axes_[i];
    else if (extent < 1) throw Error("Mesh: axis " + name + " has " + std::to_string(extent) + " ranks", s);
    else product *= extent;
  }
  if (open && product <= world && world % product == 0) {
    open->second = static_cast<int>(world / product);
    product = world;
  }
  if (product != world)
    throw Error(
        "Mesh: the axes have " + std::to_string(product) + " ranks, the world " + std::to_string(world), s);
  // Rank r is at (r / step) % extent of an axis.
  int step = world;
  for (const auto& [name, extent] : axes_) {
    step /= extent;
    const int first = rank() - rank() / step % extent * step;
    std::vector<int> ranks;
    for (int i = 0; i < extent; ++i) ranks.push_back(first + i * step);
    const int id = added(ranks);
    groups_.push_back(Group(id, std::move(ranks)));
  }
}

const Group& Mesh::group(const std::string& axis, Site s) const {
  std::string all;
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].first == axis) return groups_[i];
    all += (i ? ", " : "") + axes_[i].first;
  }
  throw Error("Mesh: no axis is called " + axis + "; there are " + all, s);
}

}  // namespace lazy::distributed
