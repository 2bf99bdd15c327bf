// Prices European options after Black and Scholes (1973), from a table of quotes.
#include <cmath>
#include <cstdio>

#include "csv.hpp"
#include "demo.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(black_scholes [QUOTES.csv]
Prices a call and a put for each line "spot,strike,years,volatility,rate" and checks put-call parity.
Default: demos/data/quotes.csv.
)";

/// Returns the cumulative distribution function of the standard normal.
Tensor normal_cdf(const Tensor& x) { return (erf(x * (1 / std::sqrt(2.0))) + 1) * 0.5; }

void price(const demo::Arguments& arguments) {
  const auto columns = demo::read_csv(demo::argument(arguments, 0, demo::data_file("quotes.csv")), 5);
  const size_t n = columns[0].size();
  for (size_t i = 0; i < n; ++i) {
    if (columns[0][i] <= 0 || columns[1][i] <= 0 || columns[2][i] <= 0 || columns[3][i] <= 0) {
      throw demo::Failure("line " + std::to_string(i + 2) +
                          ": spot, strike, years and volatility must be above 0");
    }
  }
  const Tensor spot = from_span<float>(columns[0]), strike = from_span<float>(columns[1]),
               years = from_span<float>(columns[2]);
  const Tensor volatility = from_span<float>(columns[3]), rate = from_span<float>(columns[4]);

  const Tensor spread = volatility * sqrt(years);
  const Tensor d1 = (log(spot / strike) + (rate + volatility * volatility * 0.5) * years) / spread;
  const Tensor d2 = d1 - spread;
  const Tensor discounted = strike * exp(-rate * years);
  const Tensor call = spot * normal_cdf(d1) - discounted * normal_cdf(d2);
  const Tensor put = discounted * normal_cdf(-d2) - spot * normal_cdf(-d1);
  const Tensor parity = max(abs(call - put - (spot - discounted)) / spot);
  eval(call, put, parity);  // one flush for all three

  const auto calls = call.to_vector<float>(), puts = put.to_vector<float>();
  std::printf("%10s %10s %8s %10s %8s %10s %10s\n", "spot", "strike", "years", "volatility", "rate", "call",
              "put");
  for (size_t i = 0; i < n; ++i) {
    std::printf("%10.2f %10.2f %8.3f %10.3f %8.3f %10.4f %10.4f\n", columns[0][i], columns[1][i],
                columns[2][i], columns[3][i], columns[4][i], calls[i], puts[i]);
  }
  const float worst = parity.item<float>();
  std::printf("put-call parity holds to %.1e of the spot price: %s\n", worst,
              worst < 1e-5f ? "ok" : "BROKEN");
  demo::report("pricing");
  if (!(worst < 1e-5f)) throw demo::Failure("put-call parity does not hold");
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 1, price); }
