// Made by tools/coefficients_trig.sollya: change that, not this.
#pragma once

namespace lazy::cpu::vecmath::coefficients {

// x - sin x on [0, pi/4]: 2^-27.8984375
inline constexpr double kSin32[] = {0x1.555546p-3, -0x1.11077ap-7, 0x1.9954e8p-13};
// x - sin x on [0, pi/4]: 2^-57.875
inline constexpr double kSin64[] = {0x1.5555555555548p-3, -0x1.111111110f76p-7, 0x1.a01a019bf2b81p-13, -0x1.71de355fa53bdp-19, 0x1.ae5e5500c1348p-26, -0x1.5d8e62828f245p-33};
// 1 - cos x on [0, pi/4]: 2^-33
inline constexpr double kCos32[] = {0x1p-1, -0x1.55554ap-5, 0x1.6c0c2ap-10, -0x1.99e914p-16};
// 1 - cos x on [0, pi/4]: 2^-63.796875
inline constexpr double kCos64[] = {0x1p-1, -0x1.555555555554ap-5, 0x1.6c16c16c14e4ap-10, -0x1.a01a019c68a06p-16, 0x1.27e4f7d905223p-22, -0x1.1ee9cccfa6cbdp-29, 0x1.8f9f705a7ddfbp-37};
// x - tan x on [0, pi/4]: 2^-29.5546875
inline constexpr double kTan32[] = {-0x1.55556p-2, -0x1.110dap-3, -0x1.bad94p-5, -0x1.5cc6eap-6, -0x1.62a8fap-7, -0x1.b2e314p-14, -0x1.1e6308p-8};
// x - tan x on [0, pi/4]: 2^-60
inline constexpr double kTan64[] = {-0x1.555555555555dp-2, -0x1.11111111106e2p-3, -0x1.ba1ba1bab1e0ap-5, -0x1.664f485fd9a82p-6, -0x1.226e3a2cf6f59p-7, -0x1.d6d2f51dfb9f3p-9, -0x1.7db0d37aafec1p-10, -0x1.34c3515a66d59p-11, -0x1.fec8a5af91b26p-13, -0x1.607ebdcbfe6a7p-14, -0x1.164ac09e3c178p-14, 0x1.9babe65e16101p-16, -0x1.9058e04ac20e4p-15, 0x1.8fb5538b9efdap-16, -0x1.45748b4721bfep-17};
// e^x - 1 - x on [-0.175, 0.522]: 2^-25.9375
inline constexpr double kExpm1Wide32[] = {0x1.000002p-1, 0x1.555638p-3, 0x1.5548fp-5, 0x1.0f803ap-7, 0x1.a3591ep-10};
// e^x - 1 - x on [-0.175, 0.522]: 2^-61.265625
inline constexpr double kExpm1Wide64[] = {0x1p-1, 0x1.555555555555bp-3, 0x1.5555555555514p-5, 0x1.111111110dd0ap-7, 0x1.6c16c16c8a20bp-10, 0x1.a01a01be7c2bbp-13, 0x1.a019fb12a3c04p-16, 0x1.71de36251e999p-19, 0x1.27fdbd0802bf1p-22, 0x1.a97d83b3b3bep-26, 0x1.50a0603f593dbp-29};
// e^-x - 1 + x on [-ln 2 / 2, ln 2 / 2]: 2^-26.0703125
inline constexpr double kExpm1Neg32[] = {0x1.fffffep-2, -0x1.5554aep-3, 0x1.555712p-5, -0x1.12292ep-7, 0x1.6b79b2p-10};
// e^-x - 1 + x on [-ln 2 / 2, ln 2 / 2]: 2^-55.515625
inline constexpr double kExpm1Neg64[] = {0x1.0000000000005p-1, -0x1.555555555553ap-3, 0x1.555555555209cp-5, -0x1.1111111118c61p-7, 0x1.6c16c17f5ac06p-10, -0x1.a01a01769f61cp-13, 0x1.a019a60013f43p-16, -0x1.71de838a54e71p-19, 0x1.28a34634fc6ffp-22, -0x1.ae747feb72659p-26};
// sinh x - x on [0, 0.522]: 2^-32.203125
inline constexpr double kSinh32[] = {0x1.555556p-3, 0x1.110f9ep-7, 0x1.a2d91p-13};
// sinh x - x on [0, 0.522]: 2^-63.859375
inline constexpr double kSinh64[] = {0x1.5555555555555p-3, 0x1.111111111121cp-7, 0x1.a01a019fcdb7dp-13, 0x1.71de3afebf252p-19, 0x1.ae62ccca25b6ap-26, 0x1.62f1f8803b495p-33};
// cosh x - 1 on [0, 0.522]: 2^-29.03125
inline constexpr double kCosh32[] = {0x1.000004p-1, 0x1.55506ep-5, 0x1.6faeb4p-10};
// cosh x - 1 on [0, 0.522]: 2^-61.625
inline constexpr double kCosh64[] = {0x1.fffffffffffffp-2, 0x1.5555555555748p-5, 0x1.6c16c16bc14bcp-10, 0x1.a01a027d87deap-16, 0x1.27e3d4ef2ab7ap-22, 0x1.20728880e0a5p-29};
// asin x - x on [0, 1/2]: 2^-27.6171875
inline constexpr double kAsin32[] = {0x1.5555c8p-3, 0x1.330206p-4, 0x1.747b72p-5, 0x1.8c415ap-6, 0x1.5959aap-5};
// asin x - x on [0, 1/2]: 2^-59.859375
inline constexpr double kAsin64[] = {0x1.5555555555577p-3, 0x1.333333332e133p-4, 0x1.6db6db721247bp-5, 0x1.f1c71a95002fbp-6, 0x1.6e8bdedebf9dfp-6, 0x1.1c49f077d5bc7p-6, 0x1.ca1f8af1f0a3ap-7, 0x1.75859dad05d78p-7, 0x1.613c1e6ed740ap-7, 0x1.e5fbe88dfb6c3p-9, 0x1.639a894e22b07p-6, -0x1.57fad0deac95ep-6, 0x1.0b45e9f72f00bp-5};
// atan x - x on [0, 1]: 2^-28.5
inline constexpr double kAtan32[] = {-0x1.55553ep-2, 0x1.9991ecp-3, -0x1.24211ap-3, 0x1.c0946cp-4, -0x1.5825f2p-4, 0x1.da9c2ep-5, -0x1.fe7d24p-6, 0x1.6551e2p-7, -0x1.d5a1aap-10};
// atan x - x on [0, 1]: 2^-57.578125
inline constexpr double kAtan64[] = {-0x1.5555555555526p-2, 0x1.99999999955b4p-3, -0x1.249249237f57dp-3, 0x1.c71c717fcf76dp-4, -0x1.745d11ae74c7ap-4, 0x1.3b13669a2a047p-4, -0x1.110e5126fd02cp-4, 0x1.e1bba66c1a492p-5, -0x1.ae5e72c0e683ep-5, 0x1.82dad79d16cd4p-5, -0x1.59a3ff2ac4fdbp-5, 0x1.2c2e5ccfd1722p-5, -0x1.e9fa0da657ff1p-6, 0x1.683cc98462bd3p-6, -0x1.c78fcd540b6eep-7, 0x1.d7b927bbafe3dp-8, -0x1.7a399ad4086c2p-9, 0x1.b3facbcd3ca8ap-11, -0x1.3f364d4b6215cp-13, 0x1.bbed9f7ab4237p-17};
// atanh x - x on [0, 1/2]: 2^-29.421875
inline constexpr double kAtanh32[] = {0x1.55554p-2, 0x1.99a674p-3, 0x1.234ddp-3, 0x1.e3fbcep-4, 0x1.a6ddeap-5, 0x1.692dc6p-3};
// atanh x - x on [0, 1/2]: 2^-60.90625
inline constexpr double kAtanh64[] = {0x1.555555555554cp-2, 0x1.999999999b38ap-3, 0x1.24924923c7b51p-3, 0x1.c71c722b1623ep-4, 0x1.745d08a992d42p-4, 0x1.3b15123dc5a76p-4, 0x1.10fa69e01d5b5p-4, 0x1.e3eb6aca2b2ddp-5, 0x1.9e7b23bb89c64p-5, 0x1.e74764a9e3a3p-5, -0x1.4a26fa7b09df5p-8, 0x1.64dad21afcfd6p-3, -0x1.8fb4f8bc38b2cp-3, 0x1.eca6731437fdbp-3};
// atanh x - x on [0, 0.1718]: 2^-30.1875
inline constexpr double kLog32[] = {0x1.55557ap-2, 0x1.995ecp-3, 0x1.31e472p-3};
// atanh x - x on [0, 0.1718]: 2^-59.46875
inline constexpr double kLog64[] = {0x1.5555555555593p-2, 0x1.999999997f957p-3, 0x1.2492494239a4p-3, 0x1.c71c51c70a8b6p-4, 0x1.74664de264f23p-4, 0x1.39a017b697356p-4, 0x1.2f171454024e4p-4};
// asinh x - x on [0, 1.2]: 2^-29.5390625
inline constexpr double kAsinh32[] = {-0x1.555542p-3, 0x1.332dccp-4, -0x1.6d2e4cp-5, 0x1.eaf19cp-6, -0x1.5487ep-6, 0x1.b77a52p-7, -0x1.d417eep-8, 0x1.6ab788p-9, -0x1.5e4008p-11, 0x1.3661d2p-14};
// asinh x - x on [0, 1.2]: 2^-59.75
inline constexpr double kAsinh64[] = {-0x1.5555555555542p-3, 0x1.33333333319bbp-4, -0x1.6db6db6cf95a4p-5, 0x1.f1c71c448aa1cp-6, -0x1.6e8b9fa20f96fp-6, 0x1.1c4e9c5a659fcp-6, -0x1.c996cf3b217fbp-7, 0x1.7a7548ffbc1fdp-7, -0x1.3f82da6a98b8dp-7, 0x1.1186e9418f5b7p-7, -0x1.d658b06487a31p-8, 0x1.8fabaf8471c85p-8, -0x1.479cb52c555a4p-8, 0x1.f67631906680ap-9, -0x1.5cb6554dd80dcp-9, 0x1.a80c18657ee88p-10, -0x1.b5fb3231f9ae8p-11, 0x1.74743e5e8d06cp-12, -0x1.f7b0dd99b4e0ap-14, 0x1.02f9f31103fd3p-15, -0x1.7af2aeef701d6p-18, 0x1.5e73048d72c48p-21, -0x1.334d62f705781p-25};
// acosh(1 + x) / sqrt(2 x) - 1 on [0, 1]: 2^-27.984375
inline constexpr double kAcosh32[] = {-0x1.555514p-4, 0x1.331e72p-6, -0x1.6b7c3cp-8, 0x1.d4ce7p-10, -0x1.09c7f6p-11, 0x1.5b6944p-14};
// acosh(1 + x) / sqrt(2 x) - 1 on [0, 1]: 2^-59.546875
inline constexpr double kAcosh64[] = {-0x1.5555555555539p-4, 0x1.3333333330454p-6, -0x1.6db6db6c035d8p-8, 0x1.f1c71bf15d2a2p-10, -0x1.6e8b979a7402ap-11, 0x1.1c4e1e54cc906p-12, -0x1.c98c5626994bcp-14, 0x1.7a268e716385cp-15, -0x1.3dd53f5ca7f05p-16, 0x1.0ac57937259f6p-17, -0x1.ade6ecb3d527fp-19, 0x1.358e49ff445f6p-20, -0x1.65ae258bc39efp-22, 0x1.1a9296aef128ap-24, -0x1.bb3d7b946add1p-28};
// erf x - x on [0, 1.25]: 2^-29.375
inline constexpr double kErf32[] = {0x1.06eba8p-3, -0x1.81274p-2, 0x1.ce2dcap-4, -0x1.b8125ep-6, 0x1.55558cp-8, -0x1.b4ed78p-11, 0x1.b2e1a2p-14, -0x1.f93f9ep-18};
// erf x - x on [0, 1]: 2^-56.328125
inline constexpr double kErf64[] = {0x1.06eba8214db69p-3, -0x1.812746b037a01p-2, 0x1.ce2f21a043a4bp-4, -0x1.b82ce312c3f19p-6, 0x1.565bcd1703c1bp-8, -0x1.c02db58fba349p-11, 0x1.f9a35700e6658p-14, -0x1.f4d650a9a51fbp-17, 0x1.ba20bf6ac4727p-20, -0x1.61c1f963fcd86p-23, 0x1.0e569f6d48977p-26, -0x1.e0f4558a5992cp-30, 0x1.21f7531873ff8p-32, -0x1.0a0fda1429ae7p-35};
// erf(x + 2.5) on [-1.25, 1.45]: 2^-24.9375
inline constexpr double kErfBig32[] = {0x1.ffcaaap-1, 0x1.1d83p-9, -0x1.64eeaep-8, 0x1.119e9cp-7, -0x1.1a68e8p-7, 0x1.90d5e8p-8, -0x1.702fc6p-9, 0x1.1e7362p-11, 0x1.20a54cp-12, -0x1.0dceap-12, 0x1.1e118ap-14, 0x1.87ba9ap-17, -0x1.62086ep-17, 0x1.a61818p-20, 0x1.d6117p-25};
// erf x - x on [0, 0.47]: 2^-30.1171875
inline constexpr double kErfSmall32[] = {0x1.06eba8p-3, -0x1.81273ap-2, 0x1.ce281p-4, -0x1.b6c5bap-6, 0x1.38e818p-8};
// erf x - x on [0, 0.47]: 2^-56.328125
inline constexpr double kErfSmall64[] = {0x1.06eba8214db69p-3, -0x1.812746b037a31p-2, 0x1.ce2f21a049d01p-4, -0x1.b82ce31778f8p-6, 0x1.565bcef3e5b47p-8, -0x1.c02e942e38369p-11, 0x1.f9e40d2526a4fp-14, -0x1.005803bd373a6p-16, 0x1.873d69e00be4dp-19, -0x1.6bf1e55f9bb0dp-19, 0x1.284b39e7501bdp-19};
// erf(x / sqrt 2) on [0, 0.66]: 2^-25.0703125
inline constexpr double kGeluSmall32[] = {0x1.988454p-1, -0x1.10588ep-3, 0x1.46e3d8p-6, -0x1.389b48p-9, 0x1.e0d26ep-13};
// erf(x / sqrt 2) on [0, 0.66]: 2^-53.828125
inline constexpr double kGeluSmall64[] = {0x1.9884533d43651p-1, -0x1.1058377e2d00dp-3, 0x1.46d0429786171p-6, -0x1.37403f8021bc9p-9, 0x1.e42b1d47837f8p-13, -0x1.3cecb6f892087p-16, 0x1.66a2cb9e1aef3p-20, -0x1.962af56d7becfp-24, 0x1.c8bd6e53ea383p-26, -0x1.85726e75474b3p-26, 0x1.50f22fb71def2p-27};
// (x + 2) e^(x^2) erfc x: 2^-26.6484375
inline constexpr double kErfcx32[] = {0x1.20d88p-1, 0x1.215edcp0, 0x1.ee3dbcp0, 0x1.af657cp1, -0x1.8648e6p0, 0x1.3f1b7ep4, -0x1.09aa18p6, 0x1.33f2cp6, -0x1.ffc34p4};
// x / 2 e^(x^2 / 2) erfc(x / sqrt 2): 2^-26.3984375
inline constexpr double kGeluTail32[] = {0x1.987feep-2, 0x1.70972ap-10, -0x1.cc026p-2, -0x1.633f74p0, -0x1.5f3a54p4, 0x1.0ec698p6, -0x1.06904p9, 0x1.2d5ddep10, -0x1.bfe626p9};
// (x + 4) e^(x^2) erfc x: 2^-58.609375
inline constexpr double kErfcx64[] = {0x1.20dd7503e200cp-1, 0x1.20dd75167709cp1, 0x1.17d6873009f8fp3, 0x1.05c8dad8bda6dp5, 0x1.d71502be497p6, 0x1.95cef2c0d3bffp8, 0x1.4ae4af603349bp10, 0x1.06a21801db8c3p12, 0x1.3157737679baep13, 0x1.d2e8ef6006c6ap15, -0x1.147316dd3337bp18, 0x1.b569fc74c7e2cp21, -0x1.a288a2d15b209p24, 0x1.5156635c4b851p27, -0x1.b2bffd9880d16p29, 0x1.b4815e56baa89p31, -0x1.503ccc009cd87p33, 0x1.78595185d0b48p34, -0x1.1abd680ef9854p35, 0x1.f9df4c7aeae1ap34, -0x1.96fce823c5a5bp33};
// x / 2 e^(x^2 / 2) erfc(x / sqrt 2): 2^-59.546875
inline constexpr double kGeluTail64[] = {0x1.9884533d60b59p-2, -0x1.47938cc1227d1p-29, -0x1.988438a373ea6p-2, -0x1.fea6be3313de2p1, -0x1.cb88eda8bca9ep4, -0x1.5f607c45ffe41p7, -0x1.d99ecc8fc3e9p9, -0x1.3022c5d379291p12, -0x1.e4266666bae1fp13, -0x1.68450c74d9001p17, 0x1.6b180513a469cp20, -0x1.79890e6838525p24, 0x1.00d7391d4d30dp28, -0x1.25d50cf8fe24ep31, 0x1.1014894cc1f29p34, -0x1.8f35186f6d1e4p36, 0x1.cabf315dda444p38, -0x1.8d1ea659fa466p40, 0x1.e9e34e6b893b9p41, -0x1.8ece5eee6003dp42, 0x1.71aa9e929ee9fp42, -0x1.cf8c772d79845p40, -0x1.8da405a34eaa4p39};

}  // namespace lazy::cpu::vecmath::coefficients
