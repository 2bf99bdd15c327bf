// Made by tools/coefficients_forms.py: change that, not this.
// Each list goes from the lowest power up; the figure beside it is the greatest error of the polynomial.
// clang-format off
#pragma once

namespace lazy::vecmath::forms {

// e^x, from x, |x| <= 0.3468: 2^-23.4
inline constexpr double kExp[] = {0x1.fffff6p-1, 0x1.fffdc4p-2, 0x1.555a7ep-3, 0x1.573aecp-5, 0x1.0fa114p-7};
// (e^x - 1 - x) / x^2; error relative to e^x - 1: 2^-26.1
inline constexpr double kExpm1[] = {0x1.fffffep-2, 0x1.5554b4p-3, 0x1.5556f2p-5, 0x1.122552p-7, 0x1.6b9c8cp-10};
// (log(1 + x) - x) / x^2, -1/4 <= x <= 1/2; error relative to log(1 + x): 2^-25.1
inline constexpr double kLog[] = {-0x1.000014p-1, 0x1.5555eep-2, -0x1.ffde28p-3, 0x1.991ff6p-3, -0x1.587c7cp-3, 0x1.32dfbp-3, -0x1.eed154p-4, 0x1.bcad68p-5};
// (log(1 + x) - x) / x^2, -1/4 <= x <= 1/2; error relative to log(1 + x): 2^-22.3
inline constexpr double kLogFast[] = {-0x1.000038p-1, 0x1.554e74p-2, -0x1.ff936p-3, 0x1.9b8d54p-3, -0x1.630fc2p-3, 0x1.21dd8ep-3, -0x1.134606p-4};
inline constexpr double kTwoLog2eHi = 0x1.715476p1;
inline constexpr double kTwoLog2eLo = 0x1.4ae0cp-25;
// (atanh(s) / s - 1) / s^2, from s^2, |s| <= 1/5; error relative to atanh s: 2^-35.1
inline constexpr double kLog2[] = {0x1.555554p-2, 0x1.999c0ep-3, 0x1.23dfacp-3, 0x1.eeb48p-4};
// (2^x - 1) / x, |x| <= 0.5002; error relative to 2^x: 2^-23.3
inline constexpr double kExp2[] = {0x1.62e42ap-1, 0x1.ebf9c2p-3, 0x1.c6b6dep-5, 0x1.3ce8ccp-7, 0x1.5bd7a8p-10};
// (1 - sin x / x) / x^2, from x^2, |x| <= pi/2; error relative to sin x / x: 2^-27.3
inline constexpr double kSine[] = {0x1.55554cp-3, -0x1.110edap-7, 0x1.9f70f2p-13, -0x1.5dc942p-19};
// tanh x = x P(x^2) / Q(x^2), |x| <= 8.6: 2^-25.4
inline constexpr double kTanhP[] = {1, 0x1.1292ap-3, 0x1.ce366ep-9, 0x1.625fb4p-16, 0x1.e3e23p-27};
inline constexpr double kTanhQ[] = {1, 0x1.de9e9ep-2, 0x1.a9e24ep-6, 0x1.5dd54cp-12, 0x1.b149fp-21};
// tanh x = x P(x^2) / Q(x^2), |x| <= 8.2: 2^-22.4
inline constexpr double kTanhFastP[] = {0x1.fffffap-1, 0x1.085b0ap-3, 0x1.804e92p-9, 0x1.789544p-17};
inline constexpr double kTanhFastQ[] = {1, 0x1.d9827ap-2, 0x1.84ebdcp-6, 0x1.eee49ap-13, 0x1.0102a8p-22};
// erf x = x P(x^2) / Q(x^2), |x| <= 3.7: 2^-24.1
inline constexpr double kErfP[] = {0x1.20dd74p0, 0x1.776c04p-3, 0x1.aa3684p-5, 0x1.cc83dep-9, 0x1.2ec418p-12, 0x1.2c7c4cp-19};
inline constexpr double kErfQ[] = {1, 0x1.fbaffp-2, 0x1.c82f06p-4, 0x1.da0496p-7, 0x1.252ff8p-10, 0x1.51659ep-15};
// erf x = x P(x^2) / Q(x^2), |x| <= 3.65: 2^-22.5
inline constexpr double kErfFastP[] = {0x1.20dd72p0, 0x1.0e073ap-2, 0x1.ebbba8p-5, 0x1.9fc91cp-8, 0x1.f39be6p-13};
inline constexpr double kErfFastQ[] = {1, 0x1.22515ap-1, 0x1.234764p-3, 0x1.49442ep-6, 0x1.a401eep-10, 0x1.ee9d4p-17};
inline constexpr double kNormalCentre = 0x1.b9p3;
// (F(x) - 1/2) / x, from x^2 - centre, |x| <= 5.25, F of the normal distribution; error of F: 2^-23.6
inline constexpr double kNormal[] = {0x1.13c84ap-3, -0x1.3f37a4p-8, 0x1.121658p-12, -0x1.fdd2fap-17, 0x1.dd3b9ap-21, -0x1.aff3aap-25, 0x1.6fb264p-29, -0x1.2d9c0cp-33, 0x1.ea63d6p-38, -0x1.41f41ep-42, 0x1.10f0f2p-47, -0x1.bf4f12p-52, 0x1.1e1e6p-55, -0x1.00a408p-60};
inline constexpr double kNormalFastCentre = 0x1.8028f6p3;
// (F(x) - 1/2) / x, from x^2 - centre, |x| <= 4.9, F of the normal distribution; error of F: 2^-20.7
inline constexpr double kNormalFast[] = {0x1.27627ap-3, -0x1.86ff12p-8, 0x1.7c22dp-12, -0x1.892d8ap-16, 0x1.8f93cp-20, -0x1.873a8ap-24, 0x1.6fb2fp-28, -0x1.254e12p-32, 0x1.65ef54p-37, -0x1.41dff8p-41, 0x1.8566bap-45, -0x1.892ca4p-50};
inline constexpr double kErfcCentre = 0x1.ea3adcp-3;
// e^(x^2) erfc(x) / q, from q - centre, q = 1 / (x + 2.5), 0 <= x <= 10.2: 2^-26.6
inline constexpr double kErfc[] = {0x1.3b3a9ep0, 0x1.414c9ep2, 0x1.c0b79p3, 0x1.7b417cp4, 0x1.5d9f06p3, -0x1.4fbae6p5, -0x1.b43192p5, 0x1.9d65p6, 0x1.275528p7, -0x1.1b4264p8};

}  // namespace lazy::vecmath::forms
