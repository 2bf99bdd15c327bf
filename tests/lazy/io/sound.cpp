// Tests .wav files.
#include <fstream>

#include "tests/lazy/io/files.hpp"

using namespace lazy;
using namespace io_test;
using check::equal;

namespace {

template <class T>
void put(std::string& to, T v) {
  to.append(reinterpret_cast<const char*>(&v), sizeof v);
}

/// Returns a file of that format with the data behind a chunk that nobody knows.
std::string wav(uint16_t form, uint16_t channels, uint16_t bits, const std::string& data,
                const std::string& extension = "") {
  std::string format;
  put(format, form);
  put(format, channels);
  put(format, uint32_t{16000});
  put(format, uint32_t{0});
  put(format, uint16_t{0});
  put(format, bits);
  format += extension;
  std::string all = "RIFF....WAVEfmt ";
  put(all, static_cast<uint32_t>(format.size()));
  all += format + "LIST";
  put(all, uint32_t{3});
  all += "abc";
  all += '\0';
  all += "data";
  put(all, static_cast<uint32_t>(data.size()));
  return all + data;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(io_sound)

BOOST_AUTO_TEST_CASE(formats) {
  const test::Folder folder;
  const std::string path = folder / "a.wav";
  const auto read = [&](const std::string& bytes) {
    write(path, bytes);
    return read_wav(path);
  };
  std::string sixteen;
  for (const int v : {0, 16384, -32768, 32767}) put(sixteen, static_cast<int16_t>(v));
  const Sound s = read(wav(1, 2, 16, sixteen));
  BOOST_TEST(s.rate == 16000);
  equal(s.samples, float32, {2, 2}, {0, -1, 0.5, 32767.0 / 32768});
  equal(read(wav(1, 1, 8, std::string("\x80\x00\xc0", 3))).samples, float32, {1, 3}, {0, -1, 0.5});
  equal(read(wav(1, 1, 24, std::string("\0\0\x40\0\0\x80\xff\xff\xff", 9))).samples, float32, {1, 3},
        {0.5, -1, -1.0 / 8388608});
  std::string wide, floats;
  for (const int64_t v : {int64_t{1} << 30, -(int64_t{1} << 31)}) put(wide, static_cast<int32_t>(v));
  for (const float v : {0.25f, -1.5f}) put(floats, v);
  equal(read(wav(1, 1, 32, wide)).samples, float32, {1, 2}, {0.5, -1});
  equal(read(wav(3, 1, 32, floats)).samples, float32, {1, 2}, {0.25, -1.5});
  std::string extension(8, '\0');
  put(extension, uint16_t{3});
  extension += std::string(14, '\0');
  equal(read(wav(0xfffe, 1, 32, floats, extension)).samples, float32, {1, 2}, {0.25, -1.5});
  equal(read(wav(1, 1, 16, "")).samples, float32, {1, 0}, {});
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read_again) {
  const test::Folder folder;
  const std::string path = folder / "a.wav";
  const Tensor x = tensor({{0.0f, 0.5f, -1.0f}, {2.0f, -3.0f, 0.25f}});
  write_wav(path, x, 44100);
  const Sound back = read_wav(path);
  BOOST_TEST(back.rate == 44100);
  equal(back.samples, float32, {2, 3}, {0, 0.5, -1, 32767.0 / 32768, -1, 0.25});
  write_wav(path, tensor<int16_t>({1, -2, 3}), 8000);
  equal(read_wav(path).samples, float32, {1, 3}, {1.0 / 32768, -2.0 / 32768, 3.0 / 32768});
  write_wav(path, zeros({0}), 8000);
  equal(read_wav(path).samples, float32, {1, 0}, {});
  fails<ShapeError>([&] { write_wav(path, zeros({2, 2, 2}), 8000); }, "write_wav", "[2, 2, 2]");
  fails<ShapeError>([&] { write_wav(path, zeros({0, 2}), 8000); }, "write_wav", "[0, 2]");
  fails<DtypeError>([&] { write_wav(path, zeros({2}, int32), 8000); }, "write_wav", "int32");
  fails<Error>([&] { write_wav(path, zeros({2}), 0); }, "write_wav", "a rate of 0");
}

BOOST_AUTO_TEST_CASE(files_that_are_wrong) {
  const test::Folder folder;
  const std::string path = folder / "a.wav", good = wav(1, 1, 16, std::string(8, '\1'));
  const auto bad = [&](const std::string& bytes, const std::string& part) {
    write(path, bytes);
    fails<IoError>([&] { (void)read_wav(path); }, "read_wav", part);
  };
  bad("", "expected a .wav file");
  bad("RIFF....WAVE", "expected samples");
  bad(wav(1, 0, 16, ""), "0 channels");
  bad(wav(1, 1, 12, ""), "12 bits");
  bad(wav(85, 1, 16, ""), "form 85");
  std::string early = good;
  early.replace(early.find("fmt "), 4, "abcd");
  bad(early, "expected the format before");
  bad(good.substr(0, 30), "the format of the samples");
  // A file that is cut off has the samples that it has.
  write(path, good.substr(0, good.size() - 3));
  BOOST_TEST((read_wav(path).samples.shape() == Shape{1, 2}));
}

BOOST_AUTO_TEST_SUITE_END()
