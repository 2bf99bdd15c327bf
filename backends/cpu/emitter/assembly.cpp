#include "backends/cpu/emitter/assembly.hpp"

#include <bit>
#include <cstdio>

#include <cstring>

#include "support/error.hpp"

// Defines AsmJit's stderr (cmake/asmjit.cmake) as the address of libc's object, so that nothing runs before
// main. It is here because everything that needs AsmJit needs this file.
extern "C" {
extern FILE _IO_2_1_stderr_;
[[gnu::visibility("hidden")]] extern FILE* lazy_asmjit_stderr;
FILE* lazy_asmjit_stderr = &_IO_2_1_stderr_;
}

namespace lazy::cpu_backend {
using vir::Type;
namespace {

constexpr int kSaved[] = {x86::Gp::kIdBx,  x86::Gp::kIdBp,  x86::Gp::kIdR12,
                          x86::Gp::kIdR13, x86::Gp::kIdR14, x86::Gp::kIdR15};

class Thrower : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error, const char* message, asmjit::BaseEmitter*) override {
    throw CompileError(std::string("assembler: ") + message);
  }
};
Thrower* thrower() {
  static Thrower* const one = new Thrower;
  return one;
}

int spill_class(int bytes) { return bytes <= 8 ? 0 : bytes <= 32 ? 1 : 2; }
constexpr int kSpillBytes[] = {8, 32, 64};

}  // namespace

Assembly::Assembly(const jit::loop::LoopKernel& k, Isa level, int n)
    : kernel(k), args(jit::loop::layout_of(k)), isa(level), lanes(n) {
  code.init(asmjit::Environment::host());
  code.setErrorHandler(thrower());
  code.attach(&a);
  a.addEncodingOptions(asmjit::EncodingOptions::kOptimizedAlign);  // padding before a row's loop is executed
  label4_ = a.newLabel();
  label8_ = a.newLabel();
}

int32_t Assembly::reserve(int bytes) {
  const int align = bytes >= 64 ? 64 : bytes >= 32 ? 32 : bytes >= 16 ? 16 : 8;
  frame_size_ = (frame_size_ + align - 1) & -align;
  const int32_t at = frame_size_;
  frame_size_ += std::max(bytes, 8);
  return at;
}

int32_t Assembly::reserve_spill(int bytes) {
  auto& list = free_spills_[spill_class(bytes)];
  if (list.empty()) {
    // Giving a slot back must not need memory: it may happen while an exception is under way.
    if (size_t& made = spills_made_[spill_class(bytes)]; ++made > list.capacity()) list.reserve(2 * made);
    return reserve(kSpillBytes[spill_class(bytes)]);
  }
  const int32_t at = list.back();
  list.pop_back();
  return at;
}

void Assembly::release_spill(int32_t at, int bytes) noexcept {
  free_spills_[spill_class(bytes)].push_back(at);
}

void Assembly::prologue() {
  for (int r : kSaved) a.push(x86::gpq(static_cast<uint32_t>(r)));
  a.mov(x86::rcx, x86::rsp);
  patch_at_ = a.offset();
  a.long_().sub(x86::rsp, 0);
  a.and_(x86::rsp, -64);
  saved_rsp_ = reserve(8);
  a.mov(frame(saved_rsp_), x86::rcx);
}

void Assembly::epilogue() {
  a.mov(x86::rsp, frame(saved_rsp_));
  for (int i = 5; i >= 0; --i) a.pop(x86::gpq(static_cast<uint32_t>(kSaved[i])));
  a.vzeroupper();
  a.ret();
  write_cold();
  const size_t end = a.offset();
  a.setOffset(patch_at_);
  a.long_().sub(x86::rsp, (frame_size_ + 63) & -64);
  a.setOffset(end);
  for (const Pooled& p : pooled_) {
    a.align(asmjit::AlignMode::kZero, static_cast<uint32_t>(p.align));
    a.bind(p.label);
    a.embed(p.bytes.data(), p.bytes.size());
  }
  a.align(asmjit::AlignMode::kZero, 8);
  a.bind(label8_);
  a.embed(pool8_.data(), pool8_.size() * 8);
  a.bind(label4_);
  a.embed(pool4_.data(), pool4_.size() * 4);
}

x86::Mem Assembly::constant(uint64_t bits, int width) {
  if (width == 8) {
    const auto [it, fresh] = words8_.try_emplace(bits, static_cast<uint32_t>(pool8_.size()));
    if (fresh) pool8_.push_back(bits);
    return x86::ptr(label8_, static_cast<int32_t>(it->second * 8));
  }
  const auto [it, fresh] = words4_.try_emplace(bits, static_cast<uint32_t>(pool4_.size()));
  if (fresh) pool4_.push_back(static_cast<uint32_t>(bits));
  return x86::ptr(label4_, static_cast<int32_t>(it->second * 4));
}

x86::Mem Assembly::pooled(std::vector<uint8_t> bytes, int align) {
  pooled_.push_back({a.newLabel(), std::move(bytes), align});
  return x86::ptr(pooled_.back().label);
}

x86::Mem Assembly::table(const std::vector<uint8_t>& bytes, int align) {
  for (const Pooled& p : pooled_)
    if (p.bytes == bytes && p.align >= align) return x86::ptr(p.label);
  return pooled(bytes, align);
}

x86::Mem Assembly::constant_vector(uint64_t bits, int width) {
  auto& known = width == 8 ? vectors8_ : vectors4_;
  if (auto it = known.find(bits); it != known.end())
    if (const Pooled& p = pooled_[it->second]; p.bytes.size() >= static_cast<size_t>(width * lanes))
      return x86::ptr(p.label);
  std::vector<uint8_t> bytes(static_cast<size_t>(width * lanes));
  for (int i = 0; i < lanes; ++i)
    std::memcpy(&bytes[static_cast<size_t>(i * width)], &bits, static_cast<size_t>(width));
  known[bits] = pooled_.size();
  return pooled(std::move(bytes), width * lanes);
}

x86::Mem Assembly::lane_numbers(int width, int64_t first) {
  std::vector<uint8_t> bytes(static_cast<size_t>(width * lanes));
  for (int i = 0; i < lanes; ++i) {
    const int64_t v = first + i;
    std::memcpy(&bytes[static_cast<size_t>(i * width)], &v, static_cast<size_t>(width));
  }
  return table(bytes, width * lanes);
}

bool Assembly::has_register_to_give() const {
  return std::popcount((avx512() ? ~0u : 0xffffu) & ~reserved_vec) > left_free;
}

void Assembly::give_register(uint16_t variable) {
  const int r = 31 - __builtin_clz((avx512() ? ~0u : 0xffffu) & ~reserved_vec);
  reserved_vec |= 1u << r;
  variables[variable].reg = static_cast<int8_t>(r);
}

uint16_t Assembly::new_variable(Type t) {
  variables.push_back({t});
  if (variables.size() > 0xffff) throw CompileError("a kernel with more than 65535 variables");
  return static_cast<uint16_t>(variables.size() - 1);
}

int32_t Assembly::staging() {
  if (staging_ < 0) {
    staging_ = reserve(64);
    frame_size_ += 64;
  }
  return staging_;
}

x86::Gp Assembly::pointer(int operand) {
  const auto k = static_cast<size_t>(operand);
  if (pointer_reg[k] >= 0) return x86::gpq(static_cast<uint32_t>(pointer_reg[k]));
  a.mov(x86::rsi, x86::ptr_64(x86::rsp, pointer_frame[k]));
  return x86::rsi;
}

// Writes the code of rare cases: the lanes go to memory, one shared stub saves every register and calls, the
// wanted lanes come back.
void Assembly::write_cold() {
  std::erase_if(cold, [this](const Cold& c) {
    if (c.helper != Cold::kDivide) return false;
    a.bind(c.entry);
    a.k(mask_register(c.mask)).vdivps(vec(c.dest, c.type), vec(c.x, c.type), vec(c.y, c.type));
    a.jmp(c.back);
    return true;
  });
  if (cold.empty()) return;
  const int vectors = avx512() ? 32 : 16, width = avx512() ? 64 : 32;
  const int32_t x = reserve(64), y = reserve(64), out = reserve(64), which = reserve(8);
  const int32_t save = reserve(64);
  frame_size_ = save + vectors * width;
  const int32_t save_k = reserve(64), save_g = reserve(64);
  frame_size_ = save_g + 9 * 8;
  const asmjit::Label stub = a.newLabel();
  for (const Cold& c : cold) {
    a.bind(c.entry);
    a.vmovups(frame(x), vec(c.x, c.operand));
    a.vmovups(frame(y), vec(c.y, c.operand));
    a.mov(x86::dword_ptr(x86::rsp, which), c.helper * 8);
    a.call(stub);
    const x86::Vec dest = vec(c.dest, c.type);
    if (avx512()) {
      a.k(mask_register(c.mask));
      if (vir::is64(c.type)) a.vmovupd(dest, frame(out));
      else a.vmovups(dest, frame(out));
    } else {
      a.emit(vir::is64(c.type) ? x86::Inst::kIdVblendvpd : x86::Inst::kIdVblendvps, dest, dest, frame(out),
             vec(c.mask, c.type));
    }
    a.jmp(c.back);
  }
  constexpr x86::Gp gprs[] = {x86::rax, x86::rcx, x86::rdx, x86::rsi, x86::rdi,
                              x86::r8,  x86::r9,  x86::r10, x86::r11};
  a.bind(stub);
  a.sub(x86::rsp, 8);
  constexpr int shift = 16;  // the return address and the alignment
  for (int i = 0; i < vectors; ++i) a.vmovups(frame(save, shift + i * width), vec(i, width));
  if (avx512())
    for (uint32_t i = 1; i < 8; ++i) a.kmovw(frame(save_k, shift + static_cast<int>(i) * 8), x86::k(i));
  for (int i = 0; i < 9; ++i) a.mov(frame(save_g, shift + i * 8), gprs[i]);
  a.mov(x86::eax, frame(which, shift));
  a.mov(x86::rcx, arg(args.kContext));
  a.mov(x86::rax, x86::ptr(x86::rax, x86::rcx));
  a.lea(x86::rdi, frame(x, shift));
  a.lea(x86::rsi, frame(y, shift));
  a.lea(x86::rdx, frame(out, shift));
  a.mov(x86::ecx, lanes);
  a.vzeroupper();
  a.call(x86::rax);
  for (int i = 0; i < 9; ++i) a.mov(gprs[i], frame(save_g, shift + i * 8));
  if (avx512())
    for (uint32_t i = 1; i < 8; ++i) a.kmovw(x86::k(i), frame(save_k, shift + static_cast<int>(i) * 8));
  for (int i = 0; i < vectors; ++i) a.vmovups(vec(i, width), frame(save, shift + i * width));
  a.add(x86::rsp, 8);
  a.ret();
}

}  // namespace lazy::cpu_backend
