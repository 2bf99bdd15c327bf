// Defines calls: ops that are not loop nests, such as sorting, a factorisation or an exchange between
// processes.
// A CallDefinition defines what a call's name means; there is one for each name, static. With attributes
// (bytes that are part of the key) it makes a CallSpec. A node of op `call` has a spec and any number of
// operands; its outputs are nodes of op `part`, each with the call as operand and a number. The call node's
// own value is its token: no bytes, ready once the call has run.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "jit/core/dtype.hpp"
#include "jit/core/shape.hpp"
#include "jit/graph/handle.hpp"
#include "support/site.hpp"

namespace lazy::jit {

class Backend;
class CallSpec;
struct Preferences;
struct Node;

/// Holds dtype and shape of an operand or output: all that is known before there are values.
struct Meta {
  DType dtype{};
  Shape shape;
};

/// Describes an output, as infer() returns it. A dimension whose extent always equals an operand's is tied to
/// it: what is computed from both is fused as if they had one shape.
struct CallOutput {
  Meta meta;
  struct Tie {
    int16_t operand = -1;  // -1: tied to none
    int8_t dim = 0;
  };
  std::array<Tie, kMaxRank> tied{};

  /// Returns an output of an operand's shape.
  static CallOutput like(int operand, const Meta& of, DType dtype);
};

/// Holds the arguments of a call's run. All memory is row-major without gaps, of the backend that runs it.
struct CallRun {
  const CallSpec& spec;
  Backend& backend;
  std::span<const Meta> operands, outputs;
  const char* const* in;  // indexed by operand
  char* const* out;       // indexed by output; null if nobody reads it
  char* workspace;        // uninitialised; `workspace_bytes` is what CallKernel::workspace returned
  size_t workspace_bytes;
  const Site& site;      // the line that recorded the call, for errors
  const char* function;  // that the user called, for errors: what recorded the call, else its own name
};

/// Runs a call on a backend. Immutable; any thread may run it.
class CallKernel {
 public:
  virtual ~CallKernel() = default;
  /// Returns the bytes of work memory for a run.
  virtual size_t workspace(std::span<const Meta> /*operands*/, std::span<const Meta> /*outputs*/) const {
    return 0;
  }
  /// Fills the outputs that are not null. On the CPU it returns when its stores are visible to the caller;
  /// elsewhere it runs after all that was launched before, and before all that is launched later. May use
  /// Backend::for_each. Extents may be 0. The flush throws what it throws, and its nodes are pending again.
  virtual void run(const CallRun&) const = 0;
  /// Returns a line for people.
  virtual std::string schedule() const = 0;
};

/// Bits of CallDefinition::traits.
namespace call_trait {
/// The call has effects besides its outputs: never dropped, run once, after all effects of its stream that
/// the thread recorded before.
inline constexpr uint32_t kEffect = 1;
/// The outputs are never computed twice, and never dropped by a flush.
inline constexpr uint32_t kNoRecompute = 2;
/// Equal operands need not give equal outputs: not merged with another call, not compared by LAZY_VERIFY.
inline constexpr uint32_t kVaries = 4;
/// The call only throws if memory is short, a device fails or, of an exchange between processes, another one
/// is gone: inputs may be overwritten before it. If it throws, those that were are lost, and throw where they
/// are read.
inline constexpr uint32_t kNoThrow = 8;
/// The call runs on the host whatever the device; backends are not asked for a kernel.
inline constexpr uint32_t kHostOnly = 16;
/// Several answers are right, or right ones lie far apart, as eigenvectors and solutions of ill-conditioned
/// systems do: not compared by LAZY_VERIFY.
inline constexpr uint32_t kNotUnique = 32;
/// Of a call that runs once: outputs need not stand. Their memory may be given to others once their last
/// reader has run, as other calls' may. If the flush fails after that, what is computed from them throws.
inline constexpr uint32_t kMayPass = 64;
}  // namespace call_trait

/// Holds what a call is differentiated by. Valid during the call that receives it.
struct CallGradients {
  const CallSpec& spec;
  std::span<const Handle> operands, outputs;
  std::span<const Handle> gradients;  // of the outputs, zeros where nothing depends on one
  uint64_t wanted;                    // bit i: operand i depends on what is differentiated by
  bool again;                         // what is recorded now may be differentiated in turn
  const Site& site;                   // the user's line of the call

  bool wants(size_t operand) const { return operand < 64 && (wanted >> operand & 1) != 0; }
};
/// Records the gradients of a call's operands: one for each, of its shape or one that it broadcasts to; an
/// empty handle for one that has none or is not wanted.
using CallVjp = std::vector<Handle> (*)(const CallGradients&);

/// Holds what an intention is expanded from. Valid during the call that receives it.
struct Expanding {
  const CallSpec& spec;
  std::span<const Handle* const> operands;
  Backend& backend;            // that will run what is recorded
  const Preferences& prefers;  // of the backend
  const Site& site;            // the line that recorded the intention

  const Handle& operator[](size_t i) const { return *operands[i]; }
};

/// Holds what multiplies a value channel by channel, and what is added to it then.
struct ChannelMap {
  int axis = 0;          // of the value, along which its channels lie
  Handle factor, shift;  // (channels), of one floating-point dtype
};

/// Defines a kind of call, by its name. Static; functions that are null have the defaults described.
struct CallDefinition {
  const char* name;     // unique; made of letters, digits, '_' and '.'
  uint32_t traits = 0;  // bits of call_trait
  /// Returns the outputs, for operands of any extents. Throws ShapeError or DtypeError for operands that the
  /// call doesn't take: those of a key from disk may be anything.
  std::vector<CallOutput> (*infer)(const CallSpec&, std::span<const Meta> operands);
  /// Runs the call in plain C++, on host memory, and so defines its meaning. Must not be null where there is
  /// no expansion.
  void (*run)(const CallRun&) = nullptr;
  /// Returns the bytes of work memory of `run`. Null: 0.
  size_t (*workspace)(const CallSpec&, std::span<const Meta> operands) = nullptr;
  /// True if `run` takes a device's memory as it lies, though it is not the host's; asked at each run. It has
  /// no work memory then. Null: never, and operands are copied to the host.
  bool (*takes_device)(const CallSpec&, Backend& device) = nullptr;
  /// Returns the operand whose memory the output may take over, element by element, where nobody reads it
  /// later; -1: none. Null: none for all.
  int (*in_place)(const CallSpec&, int output) = nullptr;
  /// Returns the stream of an effect; effects of one stream on one device keep their order. For instance a
  /// communicator's number. Null: 0 for all.
  int (*stream)(const CallSpec&) = nullptr;
  /// Records ordinary ops that compute the outputs, of the shapes and dtypes that infer() gives; called by
  /// the flush, where the backend has no kernel for the call (expand.hpp). It goes by shapes, by how operands
  /// lie and by what the backend prefers, and evaluates nothing. Such a call is an intention: it says what is
  /// meant, and no more. Null: the call runs as it is.
  std::vector<Handle> (*expand)(const Expanding&) = nullptr;
  /// Records factor and shift of an intention that maps operand 0 channel by channel to its one output, of
  /// the same shape and dtype: they depend on the other operands alone. Null: it is none such.
  ChannelMap (*channels)(const Expanding&) = nullptr;
  /// Records the operands with which this intention gives its one output mapped channel by channel: operand 0
  /// is the same, the others are made of the other operands and the map alone (jit/flush/folds.hpp). Returns
  /// none if it can't, for its channels lie elsewhere. Null: it never can.
  std::vector<Handle> (*with_channels)(const Expanding&, const ChannelMap&) = nullptr;
  /// Null: an intention is differentiated by the ops of its expansion, another call has no derivative.
  CallVjp vjp = nullptr;
  /// Describes the attributes to people. Null: they are not shown.
  std::string (*describe)(std::string_view attributes) = nullptr;
  /// Infers as `infer` does, of operands and outputs that may be complex, where the call has each of these as
  /// two: its planes (jit/built_in/linalg/planes.hpp). Null: the call knows no complex numbers.
  std::vector<CallOutput> (*infer_complex)(const CallSpec&, std::span<const Meta> operands) = nullptr;

  bool has(uint32_t trait) const { return (traits & trait) != 0; }
  bool runs_once() const { return has(call_trait::kEffect | call_trait::kNoRecompute); }
};

/// Combines a definition with attributes. Interned: equal ones have one address, for as long as the process
/// lives.
class CallSpec {
 public:
  CallSpec(const CallDefinition& d, std::string identity)
      : definition_(&d), identity_(std::move(identity)), name_bytes_(std::strlen(d.name)) {}

  const CallDefinition& definition() const { return *definition_; }
  const char* name() const { return definition_->name; }
  std::string_view attributes() const { return std::string_view(identity_).substr(name_bytes_ + 1); }
  /// Returns name, a zero and the attributes, as they are in keys.
  const std::string& identity() const { return identity_; }
  /// Returns how many of a node's last operands are tokens.
  int tokens() const { return definition_->has(call_trait::kEffect) ? 1 : 0; }
  int stream() const { return definition_->stream ? definition_->stream(*this) : 0; }
  /// Returns the attributes as the struct that intern_call() was given; if they have another size, a default
  /// T.
  template <class T>
  T as() const {
    static_assert(std::is_trivially_copyable_v<T>);
    T v{};
    if (attributes().size() == sizeof v) std::memcpy(&v, attributes().data(), sizeof v);
    return v;
  }

 private:
  const CallDefinition* definition_;
  std::string identity_;
  size_t name_bytes_;
};
/// Returns text such as "sort(descending)".
std::string describe(const CallSpec&);

/// Returns the spec with these attributes. Throws Error for more attributes than a key takes.
const CallSpec& intern_call(const CallDefinition&, std::string_view attributes);
/// Returns likewise the spec for a struct of attributes without padding: its bytes are in the key.
template <class T>
const CallSpec& intern_call(const CallDefinition& d, const T& attributes) {
  static_assert(std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>);
  return intern_call(d, std::string_view(reinterpret_cast<const char*>(&attributes), sizeof attributes));
}

/// Returns the outputs of a call on these operands: infer().
std::vector<CallOutput> infer_outputs(const CallSpec&, std::span<const Meta> operands);

/// True for a call that no flush may drop or run again.
bool is_run_once(const Node& call);
/// True for one that runs once, of which only the token stands then, though the flush fails later.
bool may_pass(const Node& call);

/// True if the backend runs the call as one, where its values are.
bool runs_here(Backend&, const CallSpec&);
/// True if the call is not to be expanded: the backend runs it, or there is no expansion.
bool takes_whole(Backend&, const CallSpec&);

/// Returns a kernel that runs the call on a backend: the backend's own, else the definition's `run` where the
/// host's memory is, else a transfer to the host and back. Throws CompileError if there is none.
std::shared_ptr<const CallKernel> call_kernel_for(const CallSpec&, Backend&);

}  // namespace lazy::jit
