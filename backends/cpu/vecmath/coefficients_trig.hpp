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
// e^-x - 1 + x on [-ln 2 / 2, ln 2 / 2]: 2^-61.53125
inline constexpr double kExpm1Neg64[] = {0x1p-1, -0x1.5555555555559p-3, 0x1.555555555554dp-5, -0x1.111111110f63p-7, 0x1.6c16c16c1ab0fp-10, -0x1.a01a01b01d05p-13, 0x1.a01a018e14008p-16, -0x1.71ddf7b89ca4ep-19, 0x1.27e51301ce56ep-22, -0x1.af5fe54d8f582p-26, 0x1.1f1aea5f5f3b1p-29};
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
// atan x - x on [0, 1]: 2^-55.234375
inline constexpr double kAtan64[] = {-0x1.09615e90afcd2p-2, 0x1.c5e5c41d92f1ap-4, -0x1.c10b0d776d705p-5, 0x1.dd5caa4cf21b3p-6, -0x1.08fa5f91abab9p-6, 0x1.2ee0b5fcf4eebp-7, -0x1.618d9a55ac48p-8, 0x1.a35282f6a5ed9p-9, -0x1.f79009c05a3bbp-10, 0x1.316a00e81463ap-10, -0x1.7591ff2413124p-11, 0x1.cc1cdfa4929fep-12, -0x1.1c93fb114c06dp-12, 0x1.61fae23906c72p-13, -0x1.c4779d98c47ecp-14, 0x1.1eb507cefbf69p-14, -0x1.26566afaeb9a1p-15, 0x1.5e98e4712768p-16, -0x1.db6e2d1084d3dp-16, 0x1.3ff78d8379419p-16};
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
// asinh x - x on [0, 1.2]: 2^-57.21875
inline constexpr double kAsinh64[] = {-0x1.04870d985b942p-3, 0x1.32f300e663a7p-5, -0x1.c45ee9c02d186p-7, 0x1.73103d48f4373p-8, -0x1.446a6eb74d4ecp-9, 0x1.27fafe236a773p-10, -0x1.166eddf435df5p-11, 0x1.0c0d9bbddfa68p-12, -0x1.06c6eb432360bp-13, 0x1.056443041621cp-14, -0x1.072977c66942cp-15, 0x1.0b9a1e602f878p-16, -0x1.125485d94944cp-17, 0x1.1be514f95618p-18, -0x1.299dc763e7b4bp-19, 0x1.30ce5a51003bdp-20, -0x1.2828e74d66f0fp-21, 0x1.77e41cd6ff7dp-22, -0x1.138a5e32552d6p-22, 0x1.8d85422a175ep-25, 0x1.4955ca36c3acfp-25, 0x1.f3840e0d276d9p-25, -0x1.db10b649496d8p-25};
// acosh(1 + x)^2 - 2 x on [0, 1]: 2^-29.984375
inline constexpr double kAcosh32[] = {-0x1.55554cp-2, 0x1.6c12cp-4, -0x1.d38974p-6, 0x1.47c65ap-7, -0x1.c697e4p-9, 0x1.00c23cp-10, -0x1.3e0f7ap-13};
// acosh(1 + x)^2 - 2 x on [0, 1]: 2^-61.34375
inline constexpr double kAcosh64[] = {-0x1.5555555555551p-2, 0x1.6c16c16c163e6p-4, -0x1.d41d41d3c6da8p-6, 0x1.4ce19ad80819p-7, -0x1.f85d92794d027p-9, 0x1.8f0ec70d3854bp-10, -0x1.45e39c782c49dp-11, 0x1.1092debc067d3p-12, -0x1.d006b537a0668p-14, 0x1.8e463c71f3acfp-15, -0x1.51af0cef7c1d1p-16, 0x1.0eded6ff31adep-17, -0x1.7e30327826a7dp-19, 0x1.aaf748dfd2c58p-21, -0x1.4366166005d89p-23, 0x1.e4707b500c605p-27};
// erf x - x on [0, 1]: 2^-29.328125
inline constexpr double kErf32[] = {0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2cf2p-4, -0x1.b7f88cp-6, 0x1.540172p-8, -0x1.a3d812p-11, 0x1.4917a4p-14};
// erf x - x on [0, 1]: 2^-56.328125
inline constexpr double kErf64[] = {0x1.06eba8214db69p-3, -0x1.812746b037a01p-2, 0x1.ce2f21a043a4bp-4, -0x1.b82ce312c3f19p-6, 0x1.565bcd1703c1bp-8, -0x1.c02db58fba349p-11, 0x1.f9a35700e6658p-14, -0x1.f4d650a9a51fbp-17, 0x1.ba20bf6ac4727p-20, -0x1.61c1f963fcd86p-23, 0x1.0e569f6d48977p-26, -0x1.e0f4558a5992cp-30, 0x1.21f7531873ff8p-32, -0x1.0a0fda1429ae7p-35};
// erf(x + 2.5) on [-1.5, 1.45]: 2^-24.5703125
inline constexpr double kErfBig32[] = {0x1.ffcaaap-1, 0x1.1d7bbp-9, -0x1.64f708p-8, 0x1.11b9a6p-7, -0x1.1a465ap-7, 0x1.8ff13cp-8, -0x1.71a2d8p-9, 0x1.2b70f4p-11, 0x1.2e4c84p-12, -0x1.24e24ep-12, 0x1.004e6ap-14, 0x1.625b16p-16, -0x1.2ddbdap-17};
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
// (x + 3) e^(x^2) erfc x: 2^-55.75
inline constexpr double kErfcx64[] = {0x1.c57239e943d1ap-1, 0x1.eb2c5e8ccc2b3p1, 0x1.ca7dc9a16125ap3, 0x1.66ea393501a39p5, 0x1.bf93f1656c0fap6, 0x1.88b2c7bd2029ep7, 0x1.0bfeb7903a622p7, -0x1.af4cc810a069fp8, -0x1.5b836e7911dep10, -0x1.29fb79f7558ebp8, 0x1.a1e7ee50e196ep12, 0x1.2b75aa8d44fb7p13, -0x1.dd53178271ef6p14, -0x1.4846cf9e4d063p16, 0x1.35c7b84e73fd5p17, 0x1.40d3a477e6ddcp19, -0x1.091f96e0d8d36p20, -0x1.39c8299692201p22, 0x1.5c316df0d6bep23, 0x1.dbc65aabcb22ep24, -0x1.072aa80bc0473p27, 0x1.18e13437898ap27};
// x / 2 e^(x^2 / 2) erfc(x / sqrt 2): 2^-25.140625
inline constexpr double kGeluTail32[] = {0x1.cd2836p-3, 0x1.46387p-1, -0x1.d22a3p-1, 0x1.246f36p-1, -0x1.70988ap-5, -0x1.a2aefp-4, -0x1.6dd956p-6, 0x1.197c7ep-4, -0x1.7d2bf6p-6};
// x / 2 e^(x^2 / 2) erfc(x / sqrt 2): 2^-56.828125
inline constexpr double kGeluTail64[] = {0x1.cd283539af939p-3, 0x1.f4346be9fdd41p-1, -0x1.54b16ce05a6c3p1, 0x1.27a766fb9ea67p2, -0x1.60722c93d1799p2, 0x1.1d4f709802bbfp2, -0x1.14dcf50b90b4fp1, 0x1.0457f0257a7aep-2, 0x1.79c3a015ed1f1p-2, -0x1.3f3e167b78839p-3, -0x1.0ad15fa10d187p-4, 0x1.7bb87f0a8265cp-5, 0x1.b70b37bb752f7p-7, -0x1.ad797b946e4cfp-11, -0x1.e48dd0acf63f6p-6, 0x1.54a9fe31cf367p-5, -0x1.932a18a75dabfp-5, 0x1.a758b46ea766ep-5, -0x1.3d6869a372c12p-5, 0x1.32ee3647d2b24p-6, -0x1.641a4f20235f1p-8, 0x1.abdca641f71bdp-11, -0x1.55685d3b66cd6p-15};

}  // namespace lazy::cpu::vecmath::coefficients
