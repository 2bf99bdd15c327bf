// Made by tools/coefficients_trig.sollya: change that, not this.
// clang-format off
#pragma once

namespace lazy::vecmath::coefficients {

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
// atan x - x on [0, 1.01]: 2^-28.3125
inline constexpr double kAtan32[] = {-0x1.55553cp-2, 0x1.999146p-3, -0x1.2418b6p-3, 0x1.c02f68p-4, -0x1.56dcb4p-4, 0x1.d5caccp-5, -0x1.f41f78p-6, 0x1.596b5ep-7, -0x1.bf0b42p-10};
// atan x - x on [0, 1]: 2^-55.265625
inline constexpr double kAtan64[] = {-0x1.0af13c3e2d645p-2, 0x1.cc1ab9610990cp-4, -0x1.cafbbe407b96ap-5, 0x1.ec23ff1d1372cp-6, -0x1.13953781a24abp-6, 0x1.3dccb60be63c8p-7, -0x1.764b429fde685p-8, 0x1.bfeaf461771p-9, -0x1.0f61c46d786ccp-9, 0x1.4c2cc789f643cp-10, -0x1.99fd7ea1b1768p-11, 0x1.fd7c6c79ead1ap-12, -0x1.3e0d3e7dcc04fp-12, 0x1.90423456e8796p-13, -0x1.01504a65ad9b1p-13, 0x1.410239c2332d7p-14, -0x1.56b7f5fcea3c2p-15, 0x1.e0ccfa4dd62a2p-16, -0x1.16e0419c6269ep-15, 0x1.3d7a9d21d133bp-16};
// atanh x - x on [0, 1/2]: 2^-29.421875
inline constexpr double kAtanh32[] = {0x1.55554p-2, 0x1.99a674p-3, 0x1.234ddp-3, 0x1.e3fbcep-4, 0x1.a6ddeap-5, 0x1.692dc6p-3};
// atanh x - x on [0, 1/2]: 2^-60.90625
inline constexpr double kAtanh64[] = {0x1.555555555554cp-2, 0x1.999999999b38ap-3, 0x1.24924923c7b51p-3, 0x1.c71c722b1623ep-4, 0x1.745d08a992d42p-4, 0x1.3b15123dc5a76p-4, 0x1.10fa69e01d5b5p-4, 0x1.e3eb6aca2b2ddp-5, 0x1.9e7b23bb89c64p-5, 0x1.e74764a9e3a3p-5, -0x1.4a26fa7b09df5p-8, 0x1.64dad21afcfd6p-3, -0x1.8fb4f8bc38b2cp-3, 0x1.eca6731437fdbp-3};
// asinh x - x on [0, 1.2]: 2^-29.5390625
inline constexpr double kAsinh32[] = {-0x1.555542p-3, 0x1.332dccp-4, -0x1.6d2e4cp-5, 0x1.eaf19cp-6, -0x1.5487ep-6, 0x1.b77a52p-7, -0x1.d417eep-8, 0x1.6ab788p-9, -0x1.5e4008p-11, 0x1.3661d2p-14};
// asinh x - x on [0, 1.2]: 2^-57.25
inline constexpr double kAsinh64[] = {-0x1.056e43891e5a6p-3, 0x1.359e7c385c1e3p-5, -0x1.caf5f5c962ff5p-7, 0x1.7ac5099610e4cp-8, -0x1.4d3b7b665efdap-9, 0x1.31f722084faf1p-10, -0x1.21af3da1d46a7p-11, 0x1.18b34aa7c97efp-12, -0x1.14fa18b3856p-13, 0x1.15543b863edf3p-14, -0x1.190c8b0159002p-15, 0x1.1fac20b425476p-16, -0x1.28e547ae9d47bp-17, 0x1.3574cc7c1031cp-18, -0x1.45e71ee4a237bp-19, 0x1.4e4a346ae3f44p-20, -0x1.4eb31dfb974f5p-21, 0x1.b3d1ba4ff9e0fp-22, -0x1.2265b5804993dp-22, 0x1.4b78a9fb6c3e9p-25, 0x1.b622136ff905p-26, 0x1.37c09efcc09eep-24, -0x1.e3e608163abcap-25};
// acosh(1 + x)^2 - 2 x on [0, 1]: 2^-29.984375
inline constexpr double kAcosh32[] = {-0x1.55554cp-2, 0x1.6c12cp-4, -0x1.d38974p-6, 0x1.47c65ap-7, -0x1.c697e4p-9, 0x1.00c23cp-10, -0x1.3e0f7ap-13};
// acosh(1 + x)^2 - 2 x on [0, 1]: 2^-61.34375
inline constexpr double kAcosh64[] = {-0x1.5555555555551p-2, 0x1.6c16c16c163e6p-4, -0x1.d41d41d3c6da8p-6, 0x1.4ce19ad80819p-7, -0x1.f85d92794d027p-9, 0x1.8f0ec70d3854bp-10, -0x1.45e39c782c49dp-11, 0x1.1092debc067d3p-12, -0x1.d006b537a0668p-14, 0x1.8e463c71f3acfp-15, -0x1.51af0cef7c1d1p-16, 0x1.0eded6ff31adep-17, -0x1.7e30327826a7dp-19, 0x1.aaf748dfd2c58p-21, -0x1.4366166005d89p-23, 0x1.e4707b500c605p-27};
// erf x - x on [0, 1]: 2^-29.328125
inline constexpr double kErf32[] = {0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2cf2p-4, -0x1.b7f88cp-6, 0x1.540172p-8, -0x1.a3d812p-11, 0x1.4917a4p-14};
// erf x - x on [0, 1]: 2^-56.328125
inline constexpr double kErf64[] = {0x1.06eba8214db69p-3, -0x1.812746b037a01p-2, 0x1.ce2f21a043a4bp-4, -0x1.b82ce312c3f19p-6, 0x1.565bcd1703c1bp-8, -0x1.c02db58fba349p-11, 0x1.f9a35700e6658p-14, -0x1.f4d650a9a51fbp-17, 0x1.ba20bf6ac4727p-20, -0x1.61c1f963fcd86p-23, 0x1.0e569f6d48977p-26, -0x1.e0f4558a5992cp-30, 0x1.21f7531873ff8p-32, -0x1.0a0fda1429ae7p-35};
// erf(x + 2.4375) on [1, 3.93] - 2.4375: 2^-27
inline constexpr double kErfBig32[] = {0x1.ffb5bep-1, 0x1.84b7ccp-9, -0x1.d9c44ep-8, 0x1.609432p-7, -0x1.5eab86p-7, 0x1.d7e604p-8, -0x1.89c72cp-9, 0x1.98da72p-12, 0x1.b6c9dp-12, -0x1.4b7b8ap-12, 0x1.2131c2p-14, 0x1.ee3dbap-16, -0x1.2127cep-16, -0x1.18b796p-22, 0x1.22bffp-20};
// erf x - x on [0, 0.47]: 2^-30.1171875
inline constexpr double kErfSmall32[] = {0x1.06eba8p-3, -0x1.81273ap-2, 0x1.ce281p-4, -0x1.b6c5bap-6, 0x1.38e818p-8};
// erf x - x on [0, 0.47]: 2^-56.328125
inline constexpr double kErfSmall64[] = {0x1.06eba8214db69p-3, -0x1.812746b037a31p-2, 0x1.ce2f21a049d01p-4, -0x1.b82ce31778f8p-6, 0x1.565bcef3e5b47p-8, -0x1.c02e942e38369p-11, 0x1.f9e40d2526a4fp-14, -0x1.005803bd373a6p-16, 0x1.873d69e00be4dp-19, -0x1.6bf1e55f9bb0dp-19, 0x1.284b39e7501bdp-19};
// -erf x / sqrt 2 on [0, 0.467]: 2^-25.0703125
inline constexpr double kGeluSmall32[] = {-0x1.988454p-1, 0x1.10588ep-2, -0x1.46e3d2p-4, 0x1.3899f4p-6, -0x1.e0af32p-9};
// erf x / sqrt 2 on [0, 0.467]: 2^-53.828125
inline constexpr double kGeluSmall64[] = {0x1.9884533d43651p-1, -0x1.1058377e2d00cp-2, 0x1.46d0429785ee4p-4, -0x1.37403f7ffb72ap-6, 0x1.e42b1d2319e39p-9, -0x1.3cecacfe00ccbp-11, 0x1.669f7488b7c7ep-14, -0x1.95796b725366bp-17, 0x1.c329ca74aa33ep-18, -0x1.7f3c42ec2e6bap-17, 0x1.4b102a3411624p-17};
// (x + 1.5) e^(x^2) erfc x: 2^-27.0078125
inline constexpr double kErfcx32[] = {0x1.e19aacp-1, 0x1.8038bap0, 0x1.7b80dcp-1, -0x1.3df35p0, -0x1.afcefep-1, 0x1.2bf61p1, -0x1.12a3c2p-4, -0x1.3dd924p2, 0x1.ee4bc8p1, 0x1.1b869ap3};
// (x + 3) e^(x^2) erfc x: 2^-57.609375
inline constexpr double kErfcx64[] = {0x1.f58d2863e4ba8p-1, 0x1.23773d1e80d3p2, 0x1.1b65c558c788cp4, 0x1.bf78e77947942p5, 0x1.0d86f3a71c621p7, 0x1.a1e9c570c0902p7, 0x1.75292430d31c9p5, -0x1.525f610750b2cp9, -0x1.413e15362d695p10, 0x1.592064cfd36d8p10, 0x1.e86e35066a39fp12, -0x1.157083439f854p10, -0x1.601ec47423877p15, -0x1.10bb450c9c2d1p13, 0x1.1628b0f925cfbp18, 0x1.33b99f18cad7bp15, -0x1.e19be38a1fa9fp20, 0x1.1d07486f17f4ap19, 0x1.9c385c98d23d5p23, -0x1.b86555b13dedap23, -0x1.f540d9914bf9bp25, 0x1.019d5cf8fd16fp27};
// x / 2 e^(x^2 / 2) erfc(x / sqrt 2): 2^-26.125
inline constexpr double kGeluTail32[] = {0x1.498e4p-2, 0x1.453cf6p-2, -0x1.0e0bd4p-1, 0x1.bdbc1cp-2, -0x1.1932ap-3, -0x1.b72294p-5, 0x1.458bfap-5, 0x1.080ef8p-6, -0x1.cde5fep-7};
// x / 2 e^(x^2 / 2) erfc(x / sqrt 2): 2^-59.3125
inline constexpr double kGeluTail64[] = {0x1.88caaa6b1b1d4p-2, 0x1.78f039992486dp-4, -0x1.00fdb0262919ap-2, 0x1.ca4793eaace63p-2, -0x1.37c29f5259fabp-1, 0x1.4e30efdcf545fp-1, -0x1.16440f8863769p-1, 0x1.4fff741648ca6p-2, -0x1.c812386a81533p-4, -0x1.19d955a2a78e6p-6, 0x1.57b1f45260a03p-5, -0x1.c871c0c1759b2p-7, -0x1.1eca39fa082d5p-7, 0x1.fb68ae42c8a0fp-8, 0x1.5d831a71789f7p-10, -0x1.b172eb9c1a93dp-9, -0x1.72a6e8bf19d91p-14, 0x1.70ac12864a9aap-10, -0x1.c3f79821ae9ddp-16, -0x1.34adcc4175addp-11, 0x1.4df869a1b24fp-17, 0x1.754ef59027b0dp-13, -0x1.4fb95ad7ff2dp-18};

}  // namespace lazy::vecmath::coefficients
