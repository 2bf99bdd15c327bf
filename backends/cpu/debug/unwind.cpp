#include "backends/cpu/debug/unwind.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "backends/cpu/debug/byte_writer.hpp"

namespace lazy::cpu_backend {
namespace {

using namespace std::string_view_literals;

// Code that Assembly::prologue() and epilogue() write. The frame's size, in between, differs by kernel.
constexpr std::string_view kPushes = "\x53\x55\x41\x54\x41\x55\x41\x56\x41\x57"sv;  // rbx rbp r12 r13 r14 r15
constexpr size_t kAfterPush[] = {1, 2, 4, 6, 8, 10};
constexpr int kPushed[] = {3, 6, 12, 13, 14, 15};  // DWARF's numbers of these registers
constexpr size_t kStackKept = 13;                  // offset after mov rcx, rsp
constexpr size_t kKeeping = 24;                    // offset of mov [rsp + slot], rcx
constexpr std::string_view kReturn =               // pops; vzeroupper; ret; before them mov rsp, [rsp + slot]
    "\x41\x5f\x41\x5e\x41\x5d\x41\x5c\x5d\x5b\xc5\xf8\x77\xc3"sv;
constexpr size_t kAfterPop[] = {2, 4, 6, 8, 9, 10};
constexpr int kRcx = 2, kRsp = 7, kReturnAddress = 16;
constexpr int kInFrame = 56;  // bytes of six registers and the return address

enum : unsigned {
  kAdvanceLoc4 = 0x04,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kOffset = 0x80,
  kRestore = 0xc0,
  kOpDeref = 0x06,
  kOpPlusUconst = 0x23,
  kOpBreg = 0x70,
};

/// Writes the rows of the table, each valid from an offset of the code on.
class Rows {
 public:
  ByteWriter& at(size_t offset) {
    if (offset != here_) out_.u8(kAdvanceLoc4).u32(offset - here_);
    here_ = offset;
    return out_;
  }
  const std::string& bytes() const { return out_.bytes(); }

 private:
  ByteWriter out_;
  size_t here_ = 0;
};

/// Describes mov [rsp + slot], rcx at kKeeping: the slot, and the instruction's length.
struct Keeping {
  int32_t slot = 0;
  size_t length = 0;  // 0: the code is something else
};
Keeping keeping_of(std::string_view code) {
  const std::string_view at = code.substr(std::min(kKeeping, code.size()));
  if (at.starts_with("\x48\x89\x0c\x24"sv)) return {0, 4};
  if (at.size() >= 5 && at.starts_with("\x48\x89\x4c\x24"sv)) return {static_cast<int8_t>(at[4]), 5};
  if (at.size() < 8 || !at.starts_with("\x48\x89\x8c\x24"sv)) return {};
  Keeping k{0, 8};
  std::memcpy(&k.slot, at.data() + 4, sizeof k.slot);
  return k;
}

/// Writes CFA = [rsp + slot] + 56.
void by_stack_slot(ByteWriter& out, int32_t slot) {
  ByteWriter expression;
  expression.u8(kOpBreg + kRsp).sleb(slot).u8(kOpDeref).u8(kOpPlusUconst).uleb(kInFrame);
  out.u8(kDefCfaExpression).uleb(expression.size()).raw(expression.bytes());
}

std::string rows(std::string_view code, const Keeping& keeping) {
  Rows r;
  int depth = 8;
  for (int i = 0; i < 6; ++i) {
    depth += 8;
    r.at(kAfterPush[i]).u8(kDefCfaOffset).uleb(static_cast<uint64_t>(depth));
    r.at(kAfterPush[i])
        .u8(kOffset + static_cast<unsigned>(kPushed[i]))
        .uleb(static_cast<uint64_t>(depth) / 8);
  }
  r.at(kStackKept).u8(kDefCfa).uleb(kRcx).uleb(kInFrame);
  by_stack_slot(r.at(kKeeping + keeping.length), keeping.slot);
  if (const size_t end = code.rfind(kReturn); end != code.npos) {
    r.at(end - keeping.length).u8(kRememberState);  // the instruction that reads the slot has the same length
    r.at(end).u8(kDefCfa).uleb(kRsp).uleb(kInFrame);
    for (int i = 0; i < 6; ++i) {
      r.at(end + kAfterPop[i]).u8(kDefCfaOffset).uleb(static_cast<uint64_t>(kInFrame - 8 * (i + 1)));
      r.at(end + kAfterPop[i]).u8(kRestore + static_cast<unsigned>(kPushed[5 - i]));
    }
    r.at(end + kReturn.size()).u8(kRestoreState);  // calls of helpers follow
  }
  return r.bytes();
}

}  // namespace

std::string eh_frame(const CodeInfo& info, size_t behind) {
  const std::string_view code(static_cast<const char*>(info.start), info.size);
  const Keeping keeping = keeping_of(code);
  if (!code.starts_with(kPushes) || keeping.length == 0) return {};
  constexpr unsigned kAbsolute = 0x00, kRelative = 0x1b;  // relative to the place of the address, 4 bytes
  ByteWriter out;
  const auto finish = [&](size_t start) {  // adds the length before, and padding of no-ops after
    out.align(8);
    out.patch32(start, out.size() - start - 4);
  };
  const size_t common = out.size();
  out.u32(0).u32(0).u8(1).text("zR").uleb(1).sleb(-8).uleb(kReturnAddress).uleb(1);
  out.u8(behind ? kRelative : kAbsolute);
  out.u8(kDefCfa).uleb(kRsp).uleb(8).u8(kOffset + kReturnAddress).uleb(1);
  finish(common);
  const size_t entry = out.size();
  out.u32(0).u32(entry + 4 - common);
  if (behind) out.u32(0 - (behind + out.size())).u32(info.size);
  else out.u64(reinterpret_cast<uint64_t>(info.start)).u64(info.size);
  out.uleb(0).raw(rows(code, keeping));
  finish(entry);
  out.u32(0);
  return out.bytes();
}

std::string eh_frame_header(size_t frame_bytes, size_t behind) {
  constexpr unsigned kRelative = 0x1b, kCount = 0x03, kTable = 0x3b;  // to its place; u32; to the header
  constexpr uint64_t kEntry = 24;                                     // where eh_frame()'s only entry begins
  ByteWriter out;
  out.u8(1).u8(kRelative).u8(kCount).u8(kTable);
  out.u32(0 - (frame_bytes + out.size()));
  out.u32(1).u32(0 - (behind + frame_bytes)).u32(0 - (frame_bytes - kEntry));
  return out.bytes();
}

}  // namespace lazy::cpu_backend
