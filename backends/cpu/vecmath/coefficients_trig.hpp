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
// sinh x - x on [0, 0.71]: 2^-29.2265625
inline constexpr double kSinh32[] = {0x1.55555ep-3, 0x1.110a84p-7, 0x1.a5b776p-13};
// sinh x - x on [0, 0.71]: 2^-60.03125
inline constexpr double kSinh64[] = {0x1.5555555555552p-3, 0x1.111111111197fp-7, 0x1.a01a019e5d2fcp-13, 0x1.71de3cf189a21p-19, 0x1.ae60653e12b6dp-26, 0x1.640f83884931ap-33};
// cosh x - 1 on [0, 0.71]: 2^-34.453125
inline constexpr double kCosh32[] = {0x1p-1, 0x1.55555cp-5, 0x1.6c0f58p-10, 0x1.a54a3p-16};
// cosh x - 1 on [0, 0.71]: 2^-66.21875
inline constexpr double kCosh64[] = {0x1p-1, 0x1.5555555555552p-5, 0x1.6c16c16c176cep-10, 0x1.a01a019e78b4p-16, 0x1.27e4fd6e5192cp-22, 0x1.1eeb0d0e93e6p-29, 0x1.96d774f6c5a51p-37};
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
// acosh(1 + x)^2 - 2 x on [0, 1]: 2^-29.984375
inline constexpr double kAcosh32[] = {-0x1.55554cp-2, 0x1.6c12cp-4, -0x1.d38974p-6, 0x1.47c65ap-7, -0x1.c697e4p-9, 0x1.00c23cp-10, -0x1.3e0f7ap-13};
// acosh(1 + x)^2 - 2 x on [0, 1]: 2^-61.34375
inline constexpr double kAcosh64[] = {-0x1.5555555555551p-2, 0x1.6c16c16c163e6p-4, -0x1.d41d41d3c6da8p-6, 0x1.4ce19ad80819p-7, -0x1.f85d92794d027p-9, 0x1.8f0ec70d3854bp-10, -0x1.45e39c782c49dp-11, 0x1.1092debc067d3p-12, -0x1.d006b537a0668p-14, 0x1.8e463c71f3acfp-15, -0x1.51af0cef7c1d1p-16, 0x1.0eded6ff31adep-17, -0x1.7e30327826a7dp-19, 0x1.aaf748dfd2c58p-21, -0x1.4366166005d89p-23, 0x1.e4707b500c605p-27};
// erf x - x on [0, 1]: 2^-29.328125
inline constexpr double kErf32[] = {0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2cf2p-4, -0x1.b7f88cp-6, 0x1.540172p-8, -0x1.a3d812p-11, 0x1.4917a4p-14};
// erf x - x on [0, 1]: 2^-56.328125
inline constexpr double kErf64[] = {0x1.06eba8214db69p-3, -0x1.812746b037a01p-2, 0x1.ce2f21a043a4bp-4, -0x1.b82ce312c3f19p-6, 0x1.565bcd1703c1bp-8, -0x1.c02db58fba349p-11, 0x1.f9a35700e6658p-14, -0x1.f4d650a9a51fbp-17, 0x1.ba20bf6ac4727p-20, -0x1.61c1f963fcd86p-23, 0x1.0e569f6d48977p-26, -0x1.e0f4558a5992cp-30, 0x1.21f7531873ff8p-32, -0x1.0a0fda1429ae7p-35};
// erf(x + 2.5) on [-1.5, 1.45]: 2^-24.96875
inline constexpr double kErfBig32[] = {0x1.ffcaa8p-1, 0x1.1d80b2p-9, -0x1.64da28p-8, 0x1.11a848p-7, -0x1.1aa5ccp-7, 0x1.907a14p-8, -0x1.6dafe4p-9, 0x1.24413ep-11, 0x1.0579f4p-12, -0x1.193004p-12, 0x1.6ded04p-14, 0x1.197bep-16, -0x1.29ea3cp-16, 0x1.5c501ap-21, 0x1.3722p-20};
// erf x - x on [0, 0.47]: 2^-30.1171875
inline constexpr double kErfSmall32[] = {0x1.06eba8p-3, -0x1.81273ap-2, 0x1.ce281p-4, -0x1.b6c5bap-6, 0x1.38e818p-8};
// erf x - x on [0, 0.47]: 2^-56.328125
inline constexpr double kErfSmall64[] = {0x1.06eba8214db69p-3, -0x1.812746b037a31p-2, 0x1.ce2f21a049d01p-4, -0x1.b82ce31778f8p-6, 0x1.565bcef3e5b47p-8, -0x1.c02e942e38369p-11, 0x1.f9e40d2526a4fp-14, -0x1.005803bd373a6p-16, 0x1.873d69e00be4dp-19, -0x1.6bf1e55f9bb0dp-19, 0x1.284b39e7501bdp-19};
// erf(x / sqrt 2) on [0, 0.66]: 2^-25.0703125
inline constexpr double kGeluSmall32[] = {0x1.988454p-1, -0x1.10588ep-3, 0x1.46e3d8p-6, -0x1.389b48p-9, 0x1.e0d26ep-13};
// erf(x / sqrt 2) on [0, 0.66]: 2^-53.828125
inline constexpr double kGeluSmall64[] = {0x1.9884533d43651p-1, -0x1.1058377e2d00dp-3, 0x1.46d0429786171p-6, -0x1.37403f8021bc9p-9, 0x1.e42b1d47837f8p-13, -0x1.3cecb6f892087p-16, 0x1.66a2cb9e1aef3p-20, -0x1.962af56d7becfp-24, 0x1.c8bd6e53ea383p-26, -0x1.85726e75474b3p-26, 0x1.50f22fb71def2p-27};
// (x + 2) e^(x^2) erfc x: 2^-25.78125
inline constexpr double kErfcx32[] = {0x1.058672p0, 0x1.5fd388p1, 0x1.1e2da2p2, 0x1.2a85b6p1, -0x1.602b08p2, -0x1.a7b6dap2, 0x1.8a398p3, 0x1.9ff3c2p3, -0x1.fba452p4};
// (x + 4) e^(x^2) erfc x: 2^-54.078125
inline constexpr double kErfcx64[] = {0x1.18932bf08e154p0, 0x1.f3fe31ecb49bfp2, 0x1.8be202d26c74p5, 0x1.14eacb1ad035fp8, 0x1.52cac2370f2d8p10, 0x1.645fd8a4bae63p12, 0x1.38dbd2c913b17p14, 0x1.b00c052cb6abp15, 0x1.908f470f9589bp16, 0x1.269b51487eebp15, -0x1.dd28415457ecep18, -0x1.72cda1b824853p20, -0x1.e7e8d7bbfb38ap17, 0x1.3c6e83e373a69p23, 0x1.3aff3a94a5bf8p24, -0x1.7e4de10661806p25, -0x1.c51a6efc0d3ffp27, 0x1.45689f7da39e5p27, 0x1.02b050c6d3ad2p31, -0x1.46eefeb71ee8fp27, -0x1.ab68723836f05p33};
// x / 2 e^(x^2 / 2) erfc(x / sqrt 2): 2^-24.578125
inline constexpr double kGeluTail32[] = {0x1.7bc964p-2, -0x1.1f1ce4p-1, -0x1.1bdce4p2, -0x1.22b29ep4, -0x1.2e6468p5, 0x1.06999p1, 0x1.6997d6p7, 0x1.59926p6, -0x1.be4016p9};
// x / 2 e^(x^2 / 2) erfc(x / sqrt 2): 2^-53.78125
inline constexpr double kGeluTail64[] = {0x1.8cd48a13a914ep-2, -0x1.b0dc5429ce454p-2, -0x1.bd9b26e6a9d69p2, -0x1.2853d9ddb963p6, -0x1.2f113a8c8eb2ep9, -0x1.eeed900ac3d3cp11, -0x1.3ff35d25c8384p14, -0x1.363cb9752d8e2p16, -0x1.78406c158b33fp17, -0x1.8e2ff5cc13c3fp13, 0x1.ec72e93c5a119p20, 0x1.856facbb8594p22, -0x1.ee75cd93cc50bp22, -0x1.8696fa7b0c424p26, -0x1.2cf29cc5a42f2p26, 0x1.498f7ee5c0f21p30, 0x1.538ef53c971cbp31, -0x1.272b315d62b32p34, -0x1.9ed92bd46a9c7p35, 0x1.3335f5381d753p38, 0x1.2c8829efcb57dp39, -0x1.212f519caa95ep42, 0x1.e83586f351b96p41};

}  // namespace lazy::cpu::vecmath::coefficients
