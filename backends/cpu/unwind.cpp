#include "backends/cpu/unwind.hpp"

#include <algorithm>
#include <string_view>

#include "backends/cpu/byte_writer.hpp"

namespace lazy::cpu {
namespace {

using namespace std::string_view_literals;

// What Assembly::prologue() and epilogue() write. The frame's size, in between, is the kernel's own.
constexpr std::string_view kPushes = "\x53\x55\x41\x54\x41\x55\x41\x56\x41\x57"sv;  // rbx rbp r12 r13 r14 r15
constexpr size_t kAfterPush[] = {1, 2, 4, 6, 8, 10};
constexpr int kPushed[] = {3, 6, 12, 13, 14, 15};   // in DWARF's numbering
constexpr size_t kStackKept = 13, kFrameMade = 28;  // after mov rcx, rsp; after mov [rsp], rcx
constexpr std::string_view kEpilogue =              // mov rsp, [rsp]; pops; vzeroupper; ret
    "\x48\x8b\x24\x24\x41\x5f\x41\x5e\x41\x5d\x41\x5c\x5d\x5b\xc5\xf8\x77\xc3"sv;
constexpr size_t kAfterPop[] = {6, 8, 10, 12, 13, 14};
constexpr int kRcx = 2, kRsp = 7, kReturn = 16;
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

/// Rows of the table: what holds from an offset of the code on.
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

/// CFA = [rsp] + 56.
void by_stack_slot(ByteWriter& out) {
  ByteWriter expression;
  expression.u8(kOpBreg + kRsp).sleb(0).u8(kOpDeref).u8(kOpPlusUconst).uleb(kInFrame);
  out.u8(kDefCfaExpression).uleb(expression.size()).raw(expression.bytes());
}

std::string rows(std::string_view code) {
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
  by_stack_slot(r.at(kFrameMade));
  if (const size_t end = code.rfind(kEpilogue); end != code.npos) {
    r.at(end).u8(kRememberState);
    r.at(end + 4).u8(kDefCfa).uleb(kRsp).uleb(kInFrame);
    for (int i = 0; i < 6; ++i) {
      r.at(end + kAfterPop[i]).u8(kDefCfaOffset).uleb(static_cast<uint64_t>(kInFrame - 8 * (i + 1)));
      r.at(end + kAfterPop[i]).u8(kRestore + static_cast<unsigned>(kPushed[5 - i]));
    }
    r.at(end + kEpilogue.size()).u8(kRestoreState);  // helpers' calls come after it
  }
  return r.bytes();
}

}  // namespace

std::string eh_frame(const CodeInfo& info) {
  const std::string_view code(static_cast<const char*>(info.start), info.size);
  if (code.size() < kFrameMade || !code.starts_with(kPushes)) return {};
  ByteWriter out;
  const auto finish = [&](size_t start) {  // a length before, padding of no-ops after
    out.align(8);
    out.patch32(start, out.size() - start - 4);
  };
  const size_t common = out.size();
  out.u32(0).u32(0).u8(1).text("zR").uleb(1).sleb(-8).uleb(kReturn).uleb(1).u8(0);  // addresses are absolute
  out.u8(kDefCfa).uleb(kRsp).uleb(8).u8(kOffset + kReturn).uleb(1);
  finish(common);
  const size_t entry = out.size();
  out.u32(0).u32(entry + 4 - common);
  out.u64(reinterpret_cast<uint64_t>(info.start)).u64(info.size).uleb(0).raw(rows(code));
  finish(entry);
  out.u32(0);
  return out.bytes();
}

}  // namespace lazy::cpu
