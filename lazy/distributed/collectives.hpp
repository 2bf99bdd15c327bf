// Computes with the values of all ranks. Recorded like any op: nothing is exchanged until a value is needed,
// then in the order in which the calls were recorded. None is left out, and none runs twice. In a world of
// one nothing is recorded.
//
//   const Tensor all = distributed::all_reduce(mine);                       // the sum, on every rank
//   const Tensor rows = distributed::all_gather(x);                         // (n, ...) -> (ranks n, ...)
//
// Ranks must give values of the same shapes and dtypes; CommunicationError, on each, names the first two
// lines that differ. 16-bit floats are added up in float32. Gradients are those of the sum of all ranks'
// losses: of a sum the sum of the gradients, of a gather the scatter of their sums, and the other way round
// (as torch.distributed.nn has them); max, min and products have none.
#pragma once
#include <vector>

#include "lazy/core/tensor.hpp"
#include "lazy/distributed/collective_kinds.hpp"
#include "lazy/distributed/communicator.hpp"

namespace lazy::distributed {

/// Returns x combined over all ranks, element by element. DtypeError for the mean of integers, and for bool.
Tensor all_reduce(const Tensor& x, ReduceOp = ReduceOp::sum, Site = Site::current());
/// Does so for values of one dtype with one exchange.
std::vector<Tensor> all_reduce(const std::vector<Tensor>& values, ReduceOp = ReduceOp::sum,
                               Site = Site::current());
/// Returns the values of all ranks, one behind the other along the first axis.
Tensor all_gather(const Tensor& x, Site = Site::current());
/// Returns this rank's part, along the first axis, of the combined values. ShapeError unless the ranks divide
/// the axis.
Tensor reduce_scatter(const Tensor& x, ReduceOp = ReduceOp::sum, Site = Site::current());
/// Returns the value of one rank. The gradient goes to that rank.
Tensor broadcast(const Tensor& x, IntegerArg root = 0, Site = Site::current());
std::vector<Tensor> broadcast(const std::vector<Tensor>& values, IntegerArg root = 0, Site = Site::current());
/// Returns what each rank has for this one: part r of rank s's value, along the first axis, becomes part s of
/// rank r's. ShapeError unless the ranks divide the axis.
Tensor all_to_all(const Tensor& x, Site = Site::current());
/// Waits until all ranks are here. Computes what is pending of this thread's effects.
void barrier(Site = Site::current());

}  // namespace lazy::distributed
