// Made by tools/coefficients.sollya; edit that.
#pragma once

namespace lazy::vecmath::explog {

// e^x - 1 - x, from x^2, |x| <= 0.3468, float32
// error 2^-27.8
inline constexpr double kExp32[] = {0x1.fffffap-2, 0x1.55548ep-3, 0x1.55595ap-5, 0x1.123bf2p-7,
                                    0x1.6a39ap-10};
// the same, float64
// error 2^-57.9
inline constexpr double kExp64[] = {0x1.000000000000cp-1,  0x1.5555555555561p-3,  0x1.555555554fde9p-5,
                                    0x1.111111110d639p-7,  0x1.6c16c18610f9cp-10, 0x1.a01a01bae464bp-13,
                                    0x1.a019959956102p-16, 0x1.71dddfc3ff3b3p-19, 0x1.28b11a1292d95p-22,
                                    0x1.af8597f8c57cep-26};
// 2^x - 1, from x, |x| <= 0.5002, float32
// error 2^-28.2
inline constexpr double kExp2_32[] = {0x1.62e43p-1,  0x1.ebfbep-3,   0x1.c6af72p-5,
                                      0x1.3b2a44p-7, 0x1.5f0ddep-10, 0x1.442934p-13};
// the same, float64
// error 2^-57.6
inline constexpr double kExp2_64[] = {0x1.62e42fefa39efp-1,  0x1.ebfbdff82c5a5p-3,  0x1.c6b08d704a189p-5,
                                      0x1.3b2ab6fb9ff3ep-7,  0x1.5d87fe7887474p-10, 0x1.4309130f36a13p-13,
                                      0x1.ffcbfce318646p-17, 0x1.62bfc6b644fb2p-20, 0x1.b5241287dcf07p-24,
                                      0x1.e61cd59ae7432p-28, 0x1.eb165c50d83aep-32};
// (log(1 + x) - x) / x, from x, -1/4 <= x <= 1/2, float32; error relative to x
// error 2^-27.4
inline constexpr double kLog32[] = {-0x1.fffffep-2, 0x1.5555a4p-2,  -0x1.000116p-2,
                                    0x1.996bc8p-3,  -0x1.54c37ap-3, 0x1.281814p-3,
                                    -0x1.0eabf4p-3, 0x1.b5d288p-4,  -0x1.8132aep-5};
// r(w) / w where 2 atanh(s) = 2 s + s r(s^2), w = s^2 <= 0.0401, float64
// error 2^-54
inline constexpr double kLog64[] = {0x1.5555555555555p-1, 0x1.999999999ap-2,    0x1.24924923cdbe1p-2,
                                    0x1.c71c72f00d137p-3, 0x1.745ca8007b58ap-3, 0x1.3b2a64928ee7cp-3,
                                    0x1.0e821e3e46114p-3, 0x1.16e404dc086b1p-3};
inline constexpr double k2Log2e32_hi = 0x1.715476p1;  // 2 / ln 2 in two parts
inline constexpr double k2Log2e32_lo = 0x1.4ae0cp-25;
inline constexpr double k2Log2e64_hi = 0x1.71547652b82fep1;
inline constexpr double k2Log2e64_lo = 0x1.777d0ffda0d24p-55;
inline constexpr double kCube32_hi = 0x1.47fd4p-5;  // (ln 2 / 2)^2 / 3 in two parts
inline constexpr double kCube32_lo = -0x1.4df12ep-35;
inline constexpr double kCube64_hi = 0x1.47fd3ffac83b4p-5;
inline constexpr double kCube64_lo = 0x1.c1283c81276e9p-59;
// r(w), w = t^2 <= 0.3334, float32
// error 2^-35
inline constexpr double kPow32[] = {0x1.7a3342p-9, 0x1.039574p-12, 0x1.837f5ap-16, 0x1.45e568p-19};
// the same, w <= 0.0894, float64
// error 2^-62.3
inline constexpr double kPow64[] = {0x1.7a3341fac5e29p-9,  0x1.03950187a00ddp-12, 0x1.840225714a363p-16,
                                    0x1.310cf0d378ce6p-19, 0x1.f011051552914p-23, 0x1.9c636eedf682dp-26,
                                    0x1.79039e1b47fe5p-29};
inline constexpr double kLog2Of4Thirds_hi = 0x1.a8ff97181p-2;  // 40 bits: exact when added to an exponent
inline constexpr double kLog2Of4Thirds_lo = 0x1.4bc302ffa76fbp-43;
inline constexpr double kLog2e_32_hi = 0x1.715476p0;
inline constexpr double kLog2e_32_lo = 0x1.4ae0cp-26;
inline constexpr double kLog2e_64_hi = 0x1.71547652b82fep0;
inline constexpr double kLog2e_64_lo = 0x1.777d0ffda0d24p-56;
inline constexpr double kLog10e_32_hi = 0x1.bcb7bp-2;
inline constexpr double kLog10e_32_lo = 0x1.526e5p-26;
inline constexpr double kLog10e_64_hi = 0x1.bcb7b1526e50ep-2;
inline constexpr double kLog10e_64_lo = 0x1.95355baaafad3p-57;
inline constexpr double kLog10Of2_32_hi = 0x1.344p-2;  // n times it is exact for every exponent n
inline constexpr double kLog10Of2_32_lo = 0x1.3509f8p-18;
inline constexpr double kLog10Of2_64_hi = 0x1.34413509f78p-2;
inline constexpr double kLog10Of2_64_lo = 0x1.fef311f12b358p-46;
inline constexpr double kLn2_32_hi = 0x1.62e42ep-1;
inline constexpr double kLn2_32_lo = 0x1.efa39ep-25;
inline constexpr double kLn2_64_hi = 0x1.62e42fefa39efp-1;
inline constexpr double kLn2_64_lo = 0x1.abc9e3b39803fp-56;
inline constexpr double kLn2Near32_hi = 0x1.62e43p-1;
inline constexpr double kLn2Near32_lo = -0x1.05c61p-29;
inline constexpr double kLn2Near64_hi = 0x1.62e42fefa39efp-1;
inline constexpr double kLn2Near64_lo = 0x1.abc9e3b39803fp-56;

}  // namespace lazy::vecmath::explog
