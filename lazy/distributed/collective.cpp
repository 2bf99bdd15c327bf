#include "lazy/distributed/collective.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "jit/backend/backend.hpp"
#include "jit/backend/buffer.hpp"
#include "jit/core/bytes.hpp"
#include "lazy/distributed/communicator.hpp"
#include "lazy/distributed/sums/combine.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/metrics.hpp"

namespace lazy::distributed::detail {
namespace {

using jit::CallRun;
using jit::Meta;

// Values of so many bytes go to all ranks whole, each of which combines them: one round in place of two.
constexpr int64_t kWhole = 16 << 10;

int64_t elements_of(std::span<const Meta> all) {
  int64_t n = 0;
  for (const Meta& m : all) n += numel(m.shape);
  return n;
}

int64_t work_elements(const CollectiveAttributes& a, int64_t n, int64_t width) {
  const int64_t ranks = a.ranks;
  switch (a.of()) {
    case Kind::all_reduce: return n * width <= kWhole ? n * (ranks + 2) : 2 * n + ranks;
    case Kind::reduce_scatter: return 2 * n + ranks;
    case Kind::all_gather: return n * ranks;
    case Kind::all_to_all:
    case Kind::shift: return 2 * n;
    default: return n;
  }
}
jit::Op op_of(ReduceOp r) {
  switch (r) {
    case ReduceOp::min: return jit::Op::minimum;
    case ReduceOp::max: return jit::Op::maximum;
    case ReduceOp::prod: return jit::Op::multiply;
    default: return jit::Op::add;
  }
}
int64_t filled(const CollectiveAttributes& a, int64_t n) {
  return a.flat && a.of() == Kind::reduce_scatter ? even_share(n, a.ranks) * a.ranks : n;
}

}  // namespace

CollectiveAttributes attributes_of(const jit::CallSpec& spec) {
  if (spec.attributes().size() == sizeof(ReceiveAttributes)) return spec.as<ReceiveAttributes>().all;
  return spec.as<CollectiveAttributes>();
}

Collective::Collective(const CollectiveAttributes& a, std::span<const Meta> operands, const Site& site,
                       Communicator& c, jit::Backend& memory)
    : attributes_(a),
      all_(c),
      memory_(memory),
      at_(c.place_of(memory)),
      members_(c.members(a.group)),
      ranks_(static_cast<int>(members_.size())) {
  if (attributes_.ranks != ranks_)
    throw CommunicationError("recorded in a group of " + std::to_string(attributes_.ranks) +
                             ", run in one of " + std::to_string(ranks_));
  const auto at = std::find(members_.begin(), members_.end(), c.rank());
  if (at == members_.end()) throw CommunicationError("this rank is not in the group");
  me_ = static_cast<int>(at - members_.begin());
  type_ = operands.empty() ? DType::uint8 : operands[0].dtype;
  width_ = static_cast<int64_t>(size_of(type_));
  given_ = elements_of(operands);
  count_ =
      at_.carrier && a.of() == Kind::all_reduce ? even_share(given_, ranks_) * ranks_ : filled(a, given_);
  own_.elements = static_cast<uint64_t>(given_);
  own_.kind = a.kind, own_.reduction = a.reduction, own_.root = a.root, own_.group = a.group;
  own_.dtype = static_cast<int32_t>(type_);
  carrier_adds_ = at_.carrier && a.how() == ReduceOp::sum && at_.carrier->adds(type_) &&
                  config::get().comm_sums == config::CommSums::any;
  if (at_.carrier) own_.place = at_.number + (carrier_adds_ ? Announcement::kAdds : 0);
  for (const Meta& m : operands) {
    sizes_.push_back(numel(m.shape));
    own_.shapes = mix(own_.shapes, static_cast<uint64_t>(m.shape.size()));
    for (int i = 0; i < m.shape.size(); ++i)
      own_.shapes = mix(own_.shapes, static_cast<uint64_t>(m.shape[i]));
  }
  for (const int r : members_) own_.members = mix(own_.members, static_cast<uint64_t>(r));
  const std::string line = lazy::to_string(site);
  std::memcpy(own_.line, line.data(), std::min(line.size(), sizeof own_.line - 1));
}

size_t Collective::work_bytes() const { return bytes(work_elements(attributes_, count_, width_)); }

void Collective::pack(const char* const* in, char* work) {
  work_ = work;
  // This rank's values lie in their place among those that are gathered.
  int64_t at = attributes_.of() == Kind::all_gather ? count_ * me_ : 0;
  for (size_t i = 0; i < sizes_.size(); ++i) {
    if (sizes_[i]) memory_.copy(this->work(at), in[i], bytes(sizes_[i]));
    at += sizes_[i];
  }
  if (count_ > given_ && attributes_.of() == Kind::reduce_scatter) {
    const std::string zeros(bytes(count_ - given_), '\0');
    memory_.write(this->work(given_), zeros.data(), zeros.size());
  }
  place(work);
}

void Collective::place(char* work) {
  work_ = work;
  if (at_.carrier) packed_ = at_.carrier->mark();
}

void Collective::unpack(std::span<const Meta> outputs, char* const* out) const {
  const char* from = work_;
  if (at_.carrier) at_.carrier->lead();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t n = bytes_of(outputs[i].shape, type_);
    if (out[i] && n) memory_.copy(out[i], from, n);
    from += n;
  }
}

void Collective::run() {
  const Communicator::Flight flight(all_, own_, members_);
  if (!at_.carrier) return go();
  at_.carrier->follow(packed_);
  std::vector<int> ranks = members_;
  if (is_pair(attributes_.of())) {
    const int own = world_rank(me_), other = world_rank(attributes_.root);
    ranks = {std::min(own, other), std::max(own, other)};
  }
  try {
    // Once all agree, devices do all of it.
    all_.ask(at_, own_, ranks, [&](jit::Carrier&, int connection) {
      connection_ = connection;
      go();
    });
  } catch (...) {
    // Work memory is given back: what comes there waits for what the carrier still does with it.
    try {
      at_.carrier->lead();
    } catch (const Error&) {}  // the device is lost
    throw;
  }
}

void Collective::go() {
  switch (attributes_.of()) {
    case Kind::all_reduce: return all_reduce();
    case Kind::all_gather: return gather();
    case Kind::reduce_scatter: return scatter();
    case Kind::broadcast: return broadcast();
    case Kind::all_to_all: return turn();
    case Kind::barrier: return exchange({}, {});
    case Kind::shift: return shift();
    case Kind::send: return send();
    case Kind::recv: return receive();
  }
}

// Each rank is asked by the same calls, in which what is sent and received may have no bytes: so all agree.
void Collective::exchange(std::vector<Outgoing> out, std::vector<Incoming> in) {
  for (int r = 0; r < ranks_; ++r) {
    if (r == me_) continue;
    if (std::none_of(out.begin(), out.end(), [&](const Outgoing& o) { return o.to == r; }))
      out.push_back({r, nullptr, 0});
    if (std::none_of(in.begin(), in.end(), [&](const Incoming& i) { return i.from == r; }))
      in.push_back({r, nullptr, 0});
  }
  // The next rank first: not all to the same one at once.
  const auto distance = [&](int r) { return (r - me_ + ranks_) % ranks_; };
  std::sort(out.begin(), out.end(),
            [&](const Outgoing& a, const Outgoing& b) { return distance(a.to) < distance(b.to); });
  if (at_.carrier) {
    std::vector<jit::Carrier::Message> sent, received;
    for (const Outgoing& o : out) sent.push_back({o.to, const_cast<void*>(o.data), o.bytes}), count(o.bytes);
    for (const Incoming& i : in) received.push_back({i.from, i.data, i.bytes});
    return at_.carrier->exchange(connection_, sent, received);
  }
  for (Outgoing& o : out) o.to = world_rank(o.to);
  for (Incoming& i : in) i.from = world_rank(i.from);
  all_.exchange(own_, out, in);
}

/// Counts what a carrier sends.
void Collective::count(size_t bytes) { metric::add(MetricCounter::collective_bytes, bytes); }

void Collective::copy(char* to, const char* from, int64_t elements) const {
  if (at_.carrier) at_.carrier->copy(to, from, bytes(elements));
  else std::memcpy(to, from, bytes(elements));
}

/// Gathers `length` elements of each rank, of which this rank's are at `own`, behind the packed operands,
/// and combines them into `to`.
void Collective::combine(const std::vector<Outgoing>& out, const char* own, int64_t length, char* to) {
  std::vector<Incoming> in;
  std::vector<const char*> parts(static_cast<size_t>(ranks_));
  int64_t at = count_;
  for (int r = 0; r < ranks_; ++r) {
    char* const part = work(at);
    parts[static_cast<size_t>(r)] = r == me_ ? own : part;
    at += length;
    if (r != me_) in.push_back({r, part, bytes(length)});
  }
  exchange(out, in);
  if (!at_.carrier) return combine_ranks(type_, attributes_.how(), parts, to, length);
  copy(work(count_ + length * me_), own, length);
  at_.carrier->combine(type_, op_of(attributes_.how()), work(count_), ranks_, length, to);
}

void Collective::all_reduce() {
  if (carrier_adds_) {
    count(bytes(count_));
    return at_.carrier->add(connection_, type_, work(0), count_);
  }
  std::vector<Outgoing> out;
  if (static_cast<int64_t>(bytes(count_)) <= kWhole) {
    for (int r = 0; r < ranks_; ++r)
      if (r != me_) out.push_back({r, work(0), bytes(count_)});
    // The sum is behind all parts: others may still read what was packed.
    char* const sum = work(count_ * (ranks_ + 1));
    combine(out, work(0), count_, sum);
    copy(work(0), sum, count_);
    return;
  }
  for (int r = 0; r < ranks_; ++r)
    if (r != me_) out.push_back({r, work(begin_of(r)), bytes(length_of(r))});
  char* const own = work(begin_of(me_));
  combine(out, own, length_of(me_), own);
  if (at_.carrier) {
    count(bytes(length_of(me_)));
    return at_.carrier->gather(connection_, own, work(0), bytes(length_of(me_)));
  }
  std::vector<Outgoing> mine;
  std::vector<Incoming> theirs;
  for (int r = 0; r < ranks_; ++r)
    if (r != me_) {
      mine.push_back({r, own, bytes(length_of(me_))});
      theirs.push_back({r, work(begin_of(r)), bytes(length_of(r))});
    }
  exchange(mine, theirs);
}

void Collective::scatter() {
  if (carrier_adds_) {
    char* const part = work(count_);
    count(bytes(count_));
    at_.carrier->add_parts(connection_, type_, work(0), part, length_of(me_));
    return copy(work(0), part, length_of(me_));
  }
  std::vector<Outgoing> out;
  for (int r = 0; r < ranks_; ++r)
    if (r != me_) out.push_back({r, work(begin_of(r)), bytes(length_of(r))});
  // Others may still read the parts that were packed, but no rank reads another's own.
  char* const own = work(begin_of(me_));
  combine(out, own, length_of(me_), own);
  if (me_) copy(work(0), own, length_of(me_));
}

void Collective::gather() {
  if (at_.carrier) {
    count(bytes(count_));
    return at_.carrier->gather(connection_, work(count_ * me_), work(0), bytes(count_));
  }
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int r = 0; r < ranks_; ++r) {
    if (r == me_) continue;
    out.push_back({r, work(count_ * me_), bytes(count_)});
    in.push_back({r, work(count_ * r), bytes(count_)});
  }
  exchange(std::move(out), std::move(in));
}

void Collective::broadcast() {
  if (at_.carrier) {
    if (me_ == attributes_.root) count(bytes(count_));
    return at_.carrier->broadcast(connection_, attributes_.root, work(0), bytes(count_));
  }
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int r = 0; me_ == attributes_.root && r < ranks_; ++r)
    if (r != me_) out.push_back({r, work(0), bytes(count_)});
  if (me_ != attributes_.root) in.push_back({attributes_.root, work(0), bytes(count_)});
  exchange(std::move(out), std::move(in));
}

void Collective::turn() {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  const int64_t part = count_ / ranks_;
  for (int r = 0; r < ranks_; ++r) {
    if (r == me_) continue;
    out.push_back({r, work(part * r), bytes(part)});
    in.push_back({r, work(count_ + part * r), bytes(part)});
  }
  exchange(std::move(out), std::move(in));
  copy(work(count_ + part * me_), work(part * me_), part);
  copy(work(0), work(count_), count_);
}

void Collective::shift() {
  const auto around = [&](int r) { return (r % ranks_ + ranks_) % ranks_; };
  const int to = around(me_ + attributes_.root), from = around(me_ - attributes_.root);
  if (to != me_) {
    exchange({{to, work(0), bytes(count_)}}, {{from, work(count_), bytes(count_)}});
    copy(work(0), work(count_), count_);
  }
}

// Two ranks alone take part: the receiver checks. Devices carry nothing before both have.
void Collective::send() {
  if (at_.carrier) return pass();
  all_.exchange(own_, std::vector<Outgoing>{{world_rank(attributes_.root), work(0), bytes(count_)}}, {});
}
void Collective::receive() {
  if (at_.carrier) return pass();
  all_.exchange(own_, {}, std::vector<Incoming>{{world_rank(attributes_.root), work(0), bytes(count_)}});
}
void Collective::pass() {
  const jit::Carrier::Message message{world_rank(attributes_.root) > world_rank(me_), work(0), bytes(count_)};
  const std::span<const jit::Carrier::Message> one(&message, 1), none;
  const bool sends = attributes_.of() == Kind::send;
  if (sends) count(message.bytes);
  at_.carrier->exchange(connection_, sends ? one : none, sends ? none : one);
}

bool carries_device(const jit::CallSpec&, jit::Backend& device) {
  Communicator* const c = communicator();
  return c && c->place_of(device).carrier;
}

size_t collective_workspace(const jit::CallSpec& spec, std::span<const Meta> operands) {
  const CollectiveAttributes a = attributes_of(spec);
  if (a.when() != Phase::whole) return 0;
  if (a.of() == Kind::recv) {
    int64_t bytes = 0;
    for (const jit::CallOutput& o : jit::infer_outputs(spec, operands))
      bytes += static_cast<int64_t>(bytes_of(o.meta.shape, o.meta.dtype));
    return static_cast<size_t>(bytes);
  }
  const int64_t width = operands.empty() ? 1 : static_cast<int64_t>(size_of(operands[0].dtype));
  return static_cast<size_t>(width * work_elements(a, filled(a, elements_of(operands)), width));
}

void run_collective(const CallRun& r) {
  Communicator* const c = communicator();
  if (!c)
    throw CommunicationError(std::string(r.spec.name()) +
                             ": the thread that needs the value belongs to no world");
  const CollectiveAttributes a = attributes_of(r.spec);
  const std::span<const Meta> operands = a.of() == Kind::recv ? r.outputs : r.operands;
  if (a.when() == Phase::wait) {
    uint64_t ticket = c->ticket_at(r.in[0]);
    if (!ticket) r.backend.read(&ticket, r.in[0], sizeof ticket);
    return c->wait(ticket, r.outputs, r.out);
  }
  if (a.when() == Phase::start) {
    const uint64_t ticket = c->start(std::make_unique<Collective>(a, operands, r.site, *c, r.backend), r.in);
    if (r.out[0]) r.backend.write(r.out[0], &ticket, sizeof ticket);
    if (c->place_of(r.backend).carrier) c->note_ticket(r.out[0], ticket);
    return;
  }
  Collective collective(a, operands, r.site, *c, r.backend);
  jit::BufferRef own;  // devices have no work memory of the call's
  char* work = r.workspace;
  if (jit::Backend* const device = collective.device()) {
    own = jit::BufferRef::allocate(*device, collective.work_bytes());
    work = static_cast<char*>(own->data());
  }
  if (a.of() == Kind::recv) collective.place(work);
  else collective.pack(r.in, work);
  c->run(collective);
  collective.unpack(r.outputs, r.out);
}

}  // namespace lazy::distributed::detail
