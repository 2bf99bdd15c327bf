// Declares how a device sends and receives what is in its memory: to and from devices of other processes,
// beside what it computes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>

#include "jit/core/dtype.hpp"
#include "jit/core/op.hpp"

namespace lazy::jit {

/// Is thrown by what a carrier was at when stop() was called, and by everything later.
class CarrierStopped : public std::exception {
 public:
  const char* what() const noexcept override { return "the carrier was stopped"; }
};

/// Holds a device's connections with devices of other processes. What it is given happens in the order of the
/// calls, and beside what the device is given meanwhile. Used by one thread at a time, but for mark(), lead()
/// and stop(). All memory is the device's.
class Carrier {
 public:
  struct Message {
    int peer;  // its number in the connection
    void* data;
    size_t bytes;
  };
  virtual ~Carrier() = default;
  virtual const char* name() const = 0;  // for people: "nccl"

  /// Returns a new mark behind all that the device has been given so far, for one follow().
  virtual uint64_t mark() = 0;
  /// Has what the carrier is given from now on come after a mark.
  virtual void follow(uint64_t mark) = 0;
  /// Has what the device is given from now on come after all that the carrier has been given so far.
  virtual void lead() = 0;

  /// Returns bytes by which processes find each other: one of them makes these, all connect with them.
  virtual std::string invitation() = 0;
  /// Connects as number `own` of so many processes, all of which call this, and returns the connection's
  /// number. Throws CommunicationError, with the reason, where that can't be done.
  virtual int connect(const std::string& invitation, int own, int count) = 0;
  // These return, up to copy(), when they are done. They throw CommunicationError where a peer or the way to
  // it fails.
  /// Sends and receives all these messages, at most one to and one from each peer.
  virtual void exchange(int connection, std::span<const Message> out, std::span<const Message> in) = 0;
  /// Gives each process the values of all, of so many bytes each, one behind the other; `own` may be its
  /// place among them.
  virtual void gather(int connection, const void* own, void* all, size_t bytes) = 0;
  /// Gives each process what `root` has.
  virtual void broadcast(int connection, int root, void* data, size_t bytes) = 0;
  /// True if it adds up values of this type itself, in an order of its own and with its own rounding.
  virtual bool adds(DType) const = 0;
  /// Adds up the n elements that each process has, in place: all get all sums.
  virtual void add(int connection, DType, void* values, int64_t n) = 0;
  /// Likewise for n elements of each process: number i gets the i-th n of the sums.
  virtual void add_parts(int connection, DType, const void* values, void* part, int64_t n) = 0;
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  /// Combines `count` values of n elements, which lie one behind the other, from the first to the last: by
  /// add (integers wrap, 16-bit floats in float32), multiply, minimum or maximum. `to` may be one of them.
  virtual void combine(DType, Op, const void* values, int count, int64_t n, void* to) = 0;
  /// Has what is under way, and all that comes, throw CarrierStopped soon. Any thread may call it.
  virtual void stop() noexcept = 0;
};

}  // namespace lazy::jit
