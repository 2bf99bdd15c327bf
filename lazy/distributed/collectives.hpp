// Computes with the values of all ranks. Recorded like any op: nothing is exchanged until a value is needed,
// then in the order in which the calls were recorded. None is left out, and none runs twice. In a world, or
// group, of one nothing is recorded.
//
//   const Tensor all = distributed::all_reduce(mine);                       // the sum, on every rank
//   const Tensor rows = distributed::all_gather(x);                         // (n, ...) -> (ranks n, ...)
//   const Tensor some = distributed::all_reduce(x, ReduceOp::max, group);   // of some ranks: group.hpp
//
// Ranks must give values of the same shapes and dtypes, and call from the same lines where values are
// combined; CommunicationError, on each, names the first two lines that differ. Complex values are exchanged
// by plane: they have sums and means, no products, nor max and min. 16-bit floats are added up in float32.
// Gradients are those of the sum of all ranks' losses: of a sum the sum of the gradients, of a gather the
// scatter of their sums, and the other way round (as torch.distributed.nn has them); max, min and products
// have none, nor have send and recv.
#pragma once
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/distributed/collective_kinds.hpp"
#include "lazy/distributed/group.hpp"
#include "lazy/distributed/world.hpp"

namespace lazy::distributed {

/// Returns x combined over all ranks, element by element. DtypeError for the mean of integers, and for bool.
Tensor all_reduce(const Tensor& x, ReduceOp = ReduceOp::sum, const Group& = {}, Site = Site::current());
/// Does so for values of one dtype with one exchange.
std::vector<Tensor> all_reduce(const std::vector<Tensor>& values, ReduceOp = ReduceOp::sum, const Group& = {},
                               Site = Site::current());
/// Returns the values of all ranks, one behind the other along the first axis.
Tensor all_gather(const Tensor& x, const Group& = {}, Site = Site::current());
/// Returns this rank's part, along the first axis, of the combined values. ShapeError unless the ranks divide
/// the axis.
Tensor reduce_scatter(const Tensor& x, ReduceOp = ReduceOp::sum, const Group& = {}, Site = Site::current());
/// Returns the value of one rank, by its number in the group. The gradient goes to that rank.
Tensor broadcast(const Tensor& x, IntegerArg root = 0, const Group& = {}, Site = Site::current());
std::vector<Tensor> broadcast(const std::vector<Tensor>& values, IntegerArg root = 0, const Group& = {},
                              Site = Site::current());
/// Returns what each rank has for this one: part r of rank s's value, along the first axis, becomes part s of
/// rank r's. ShapeError unless the ranks divide the axis.
Tensor all_to_all(const Tensor& x, const Group& = {}, Site = Site::current());
/// Returns the value of the rank `by` places before this one in the group, around its end: a ring.
Tensor shift(const Tensor& x, IntegerArg by = 1, const Group& = {}, Site = Site::current());
/// Waits until all ranks are here. Computes what is pending of this thread's effects.
void barrier(const Group& = {}, Site = Site::current());

/// Sends x to one rank of the group, which calls recv(). Recorded: the next flush, or barrier, sends.
/// IndexError for a rank that there isn't, or this one.
void send(const Tensor& x, IntegerArg to, const Group& = {}, Site = Site::current());
/// Returns what another rank of the group sends, which must be of this shape and dtype.
Tensor recv(const Shape& shape, DType dtype, IntegerArg from, const Group& = {}, Site = Site::current());

/// Holds a collective that goes on while the program does: its exchange begins as soon as its operands are
/// there, in the order of all collectives, and what wait() returns is there when it has ended.
class Work {
 public:
  Work(Work&&) noexcept;
  Work& operator=(Work&&) noexcept;
  Work(const Work&) = delete;
  /// Drops the results, unless they have been waited for.
  ~Work();
  /// Returns the results. Error if it is called twice.
  std::vector<Tensor> wait(Site = Site::current());

 private:
  friend struct WorkMaker;
  struct State;
  explicit Work(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

/// Starts all_reduce() of values of one dtype. Not differentiated.
Work start_all_reduce(const std::vector<Tensor>& values, ReduceOp = ReduceOp::sum, const Group& = {},
                      Site = Site::current());
/// Starts all_gather().
Work start_all_gather(const Tensor& x, const Group& = {}, Site = Site::current());
/// Starts reduce_scatter().
Work start_reduce_scatter(const Tensor& x, ReduceOp = ReduceOp::sum, const Group& = {},
                          Site = Site::current());

}  // namespace lazy::distributed
