// Reads and writes pictures by the kind of their files.
#include "lazy/io/image.hpp"

#include <cctype>

#include "lazy/core/build.hpp"
#include "lazy/io/image_bytes.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy {

Tensor imread(const std::string& path, MaybeDevice device, Site s) {
  using namespace detail;
  const FileBytes f = open_file("imread", path, s);
  if (f.bytes.starts_with("\x89PNG")) return detail::read_png(f, device);
  if (f.bytes.starts_with("\xff\xd8")) return detail::read_jpeg(f, device);
  if (f.bytes.size() > 1 && f.bytes[0] == 'P' && f.bytes[1] >= '1' && f.bytes[1] <= '6')
    return detail::read_pnm(f, device);
  f.bad(0, "expected a PNG, JPEG, PGM or PPM file");
}

void imwrite(const std::string& path, TensorArg x) {
  using namespace detail;
  constexpr const char* kName = "imwrite";
  const Recorder r{kName, x.site()};
  const Operand given(kName, x);
  Handle h = given;
  if (is_float(h->dtype)) {
    const Handle bounded = r.op(Op::minimum, r.op(Op::maximum, r.as(float32, h), 0), 1);
    h = r.as(uint8, r.op(Op::round, r.op(Op::multiply, bounded, 255)));
  }
  std::string ending = path.substr(std::min(path.rfind('.'), path.size()));
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const TensorArg picture(Tensor(h), x.site());
  if (ending == ".png") return write_png(path, picture);
  if (ending == ".jpg" || ending == ".jpeg") return write_jpeg(path, picture);
  if (ending == ".pgm" || ending == ".ppm") return write_pnm(path, picture);
  fail<Error>(kName, "'" + path + "' does not end with .png, .jpg, .jpeg, .pgm or .ppm", x.site());
}

}  // namespace lazy
