// SPDX-License-Identifier: Apache-2.0
#include "harness/core/units.h"

#include <doctest/doctest.h>

#include <clocale>
#include <cstdint>
#include <limits>
#include <locale>
#include <random>
#include <string>

using namespace gdrbench;

namespace {

constexpr std::uint64_t kKi = 1024, kMi = kKi * kKi, kGi = kMi * kKi, kTi = kGi * kKi;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::uint64_t bytesIn(std::string_view text) {
  const auto value = parseSize(text);
  REQUIRE_MESSAGE(value.ok(), text);
  return *value;
}

std::int64_t nanosecondsIn(std::string_view text) {
  const auto value = parseDuration(text);
  REQUIRE_MESSAGE(value.ok(), text);
  return *value;
}

template <class T>
std::string refusal(const Result<T>& value) {
  REQUIRE_FALSE(value.ok());
  CHECK(value.error().code == ErrorCode::kUsage);
  return value.error().what();
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("sizes with every accepted suffix") {
  CHECK(bytesIn("0") == 0);
  CHECK(bytesIn("1") == 1);
  CHECK(bytesIn("64B") == 64);
  CHECK(bytesIn("3K") == 3 * kKi);
  CHECK(bytesIn("3KiB") == 3 * kKi);
  CHECK(bytesIn("3kB") == 3000);
  CHECK(bytesIn("1M") == kMi);
  CHECK(bytesIn("1MiB") == kMi);
  CHECK(bytesIn("1MB") == 1'000'000);
  CHECK(bytesIn("1G") == kGi);
  CHECK(bytesIn("1GiB") == kGi);
  CHECK(bytesIn("1GB") == 1'000'000'000);
  CHECK(bytesIn("1T") == kTi);
  CHECK(bytesIn("1TiB") == kTi);
  CHECK(bytesIn("1TB") == 1'000'000'000'000);
  CHECK(bytesIn("1 MiB") == kMi);
  CHECK(bytesIn("1 M") == kMi);
}

TEST_CASE("fractions of a size are taken when they come out whole") {
  CHECK(bytesIn("2.5M") == 5 * kMi / 2);
  CHECK(bytesIn("1.5 KiB") == 1536);
  CHECK(bytesIn("0.5K") == 512);
  CHECK(bytesIn("1.50K") == 1536);
  CHECK(bytesIn("4.35GB") == 4'350'000'000);
  CHECK(bytesIn("1.001TB") == 1'001'000'000'000);
  CHECK(bytesIn("2.0") == 2);
  CHECK(bytesIn("0.0009765625K") == 1);
  CHECK(bytesIn("0.00000000000090949470177292823791503906250T") == 1);
  for (const char* bad : {"1.1M", "0.5", "0.1K", "9007199254740993.5", "1.0000000000000000000001",
                          "0.0000000000004547473508864641189575195312T"}) {
    CAPTURE(bad);
    CHECK(contains(refusal(parseSize(bad)), "is not a whole number of bytes"));
  }
}

TEST_CASE("sizes stay exact up to the largest, and what is larger is refused") {
  CHECK(bytesIn("9007199254740993") == 9007199254740993u);
  CHECK(bytesIn("9223372036854775807") == static_cast<std::uint64_t>(kMost));
  CHECK(bytesIn("8388607T") == 8388607 * kTi);
  CHECK(bytesIn("9223372TB") == 9223372000000000000u);
  for (const char* bad : {"9223372036854775808", "8388608T", "9223373TB", "9007199254740992K",
                          "18446744073709551616", "99999999999999999999999999999999"}) {
    CAPTURE(bad);
    CHECK(contains(refusal(parseSize(bad)), "is not a size below 8 EiB"));
  }
}

TEST_CASE("a text that is no size is refused, quoted, with the accepted suffixes") {
  for (const char* bad :
       {"",     " ",     "-1",    "+1",   "-0",   "0x100",    "1,024", "1_024", "010",
        "00",   "1e3",   "1e",    ".5",   "5.",   "1..5",     "1.2.3", "K",     "KiB",
        " 1",   "1 ",    "1  M",  "1M ",  "1\tM", "100 gigs", "1Kb",   "1kb",   "1gb",
        "1mib", "1KIB",  "1 B B", "1:30", "nan",  "inf",      "0b1",   "1e400", "1PiB",
        "one",  "1.5.K", "1\n",   "1M1",  "auto"}) {
    CAPTURE(bad);
    const std::string text = refusal(parseSize(bad));
    CHECK(text.starts_with("'" + std::string(bad) + "' is not a size"));
    CHECK(contains(text, "B, K, M, G, T, KiB, MiB, GiB, TiB (powers of 1024)"));
    CHECK(contains(text, "kB, MB, GB, TB (powers of 1000)"));
  }
}

TEST_CASE("lower-case prefixes are ambiguous: both readings are offered") {
  CHECK(refusal(parseSize("64k"))
            .starts_with("'64k' is not a size; 'k' could mean 1000 or 1024: 64KiB or 64kB; write"));
  CHECK(contains(refusal(parseSize("1m")), "'m' could mean 1000 or 1024: 1MiB or 1MB; write"));
  CHECK(contains(refusal(parseSize("2.5 g")), "2.5GiB or 2.5GB"));
  CHECK(contains(refusal(parseSize("1t")), "1TiB or 1TB"));
}

TEST_CASE("whole numbers are decimal or refused") {
  CHECK(*parseInteger("0") == 0);
  CHECK(*parseInteger("-12") == -12);
  CHECK(*parseInteger("9223372036854775807") == kMost);
  CHECK(*parseInteger("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
  for (const char* bad : {"", "-", "+1", "010", "0777", "08", "-08", "00", "1_000", "0x10", "1e3",
                          "1.0", " 1", "1 ", "9223372036854775808", "1:30", "1,000", "ten"}) {
    CAPTURE(bad);
    CHECK(
        refusal(parseInteger(bad)).starts_with("'" + std::string(bad) + "' is not a whole number"));
  }
  CHECK(contains(refusal(parseInteger("010")), "leading zeros"));
}

TEST_CASE("numbers are finite decimals or refused") {
  CHECK(*parseNumber("2") == 2);
  CHECK(*parseNumber("0.5") == 0.5);
  CHECK(*parseNumber("-1.25") == -1.25);
  CHECK(*parseNumber("1e-3") == 1e-3);
  for (const char* bad : {"", "nan", "inf", "-inf", "infinity", "1e400", "0x1p3", "1,5", "1_0",
                          ".5", "5.", "010", "1 ", " 1", "+1", "--1", "1e", "1:30"}) {
    CAPTURE(bad);
    CHECK(contains(refusal(parseNumber(bad)), "is not a number"));
  }
}

TEST_CASE("durations need a unit, and come out as whole nanoseconds") {
  CHECK(nanosecondsIn("0") == 0);
  CHECK(nanosecondsIn("0s") == 0);
  CHECK(nanosecondsIn("1ns") == 1);
  CHECK(nanosecondsIn("500ms") == 500'000'000);
  CHECK(nanosecondsIn("0.001s") == 1'000'000);
  CHECK(nanosecondsIn("0.5 s") == 500'000'000);
  CHECK(nanosecondsIn("2.5us") == 2500);
  CHECK(nanosecondsIn("1min") == 60'000'000'000);
  CHECK(nanosecondsIn("1h") == 3'600'000'000'000);
  CHECK(nanosecondsIn("9223372036854775807ns") == kMost);
  CHECK(nanosecondsIn("9007199254740993ns") == 9007199254740993);
  for (const char* bad : {"", "1", "0.5", "-1s", "1m", "1:30", "1 hour", "1S", "1e3s", "010s", "s",
                          "1 s ", "inf", "1s1ms"}) {
    CAPTURE(bad);
    const std::string text = refusal(parseDuration(bad));
    CHECK(text.starts_with("'" + std::string(bad) + "' is not a duration"));
    CHECK(contains(text, "ns, us, ms, s, min or h"));
  }
  CHECK(contains(refusal(parseDuration("1m")),
                 "'m' could mean minutes or milliseconds: 1min or 1ms"));
  CHECK(contains(refusal(parseDuration("1.5ns")), "whole number of nanoseconds"));
  CHECK(contains(refusal(parseDuration("0.0000001us")), "whole number of nanoseconds"));
  CHECK(contains(refusal(parseDuration("9223372037s")), "below 292 years"));
  CHECK(contains(refusal(parseDuration("2562048h")), "below 292 years"));
}

TEST_CASE("percentages need their sign") {
  CHECK(*parsePercent("1%") == 0.01);
  CHECK(*parsePercent("0%") == 0);
  CHECK(*parsePercent("12.5%") == 0.125);
  CHECK(*parsePercent("100%") == 1);
  CHECK(*parsePercent("-5%") == -0.05);
  for (const char* bad :
       {"", "%", "1", "0.01", "1 %", "1%%", "-%", "--1%", "1e1%", "010%", "nan%", ".5%", "0x1%"}) {
    CAPTURE(bad);
    CHECK(contains(refusal(parsePercent(bad)), "is not a percentage"));
  }
}

TEST_CASE("sizes are shown in a unit that loses nothing") {
  CHECK(formatSize(0) == "0 B");
  CHECK(formatSize(64) == "64 B");
  CHECK(formatSize(1001) == "1001 B");
  CHECK(formatSize(1023) == "1023 B");
  CHECK(formatSize(kKi) == "1 KiB");
  CHECK(formatSize(1536) == "1.5 KiB");
  CHECK(formatSize(1025) == "1025 B");
  CHECK(formatSize(kMi + kMi / 4) == "1.25 MiB");
  CHECK(formatSize(kMi + kKi) == "1025 KiB");
  CHECK(formatSize(8 * kGi) == "8 GiB");
  CHECK(formatSize(1'000'000) == "1000000 B");
  CHECK(formatSize(2048 * kTi) == "2048 TiB");
  CHECK(formatSize(~std::uint64_t{0}) == "18446744073709551615 B");
  CHECK(sizeLiteral(64 * kKi) == "64KiB");
  CHECK(sizeLiteral(0) == "0B");
}

TEST_CASE("literals read back as the same value") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t bits = random();
    const auto whole = static_cast<std::int64_t>(bits >> (1 + i % 63));
    CHECK(bytesIn(sizeLiteral(static_cast<std::uint64_t>(whole))) ==
          static_cast<std::uint64_t>(whole));
    CHECK(nanosecondsIn(durationLiteral(whole)) == whole);
    const double fraction = std::uniform_real_distribution<double>(-1, 3)(random) / (1 + i % 5000);
    CHECK(*parsePercent(percentLiteral(fraction)) == fraction);
    CHECK(*parseNumber(formatNumber(fraction)) == fraction);
  }
  for (std::int64_t thousandths = 0; thousandths <= 200'000; ++thousandths) {
    const double fraction = static_cast<double>(thousandths) / 100'000;
    if (*parsePercent(percentLiteral(fraction)) != fraction) FAIL(fraction);
  }
}

TEST_CASE("literals are what a person would write") {
  CHECK(durationLiteral(0) == "0s");
  CHECK(durationLiteral(500'000'000) == "500ms");
  CHECK(durationLiteral(60'000'000'000) == "1min");
  CHECK(durationLiteral(90'000'000'000) == "90s");
  CHECK(durationLiteral(1) == "1ns");
  CHECK(percentLiteral(0) == "0%");
  CHECK(percentLiteral(0.01) == "1%");
  CHECK(percentLiteral(0.07) == "7%");
  CHECK(percentLiteral(0.29) == "29%");
  CHECK(percentLiteral(0.005) == "0.5%");
  CHECK(percentLiteral(0.0005) == "0.05%");
  CHECK(percentLiteral(0.125) == "12.5%");
  CHECK(percentLiteral(1) == "100%");
  CHECK(percentLiteral(25) == "2500%");
  CHECK(percentLiteral(-0.015) == "-1.5%");
  CHECK(formatNumber(0.1) == "0.1");
  CHECK(formatNumber(3) == "3");
  CHECK(formatNumber(std::numeric_limits<double>::quiet_NaN()) == "?");
  CHECK(formatNumber(std::numeric_limits<double>::infinity()) == "?");
  CHECK(percentLiteral(std::numeric_limits<double>::infinity()) == "?");
}

TEST_CASE("a GiB in a second is the same rate in every unit") {
  const double rate = static_cast<double>(kGi);
  CHECK(formatByteRate(rate) == "1.074 GB/s");
  CHECK(formatBitRate(rate) == "8.590 Gb/s");
  CHECK(formatByteRate(1.0737e9) == formatByteRate(rate));
  CHECK(formatBitRate(1e9) == "8.000 Gb/s");
}

TEST_CASE("rates and times have four significant digits") {
  CHECK(formatByteRate(12.34e9) == "12.34 GB/s");
  CHECK(formatByteRate(123.4e6) == "123.4 MB/s");
  CHECK(formatByteRate(1234e9) == "1234 GB/s");
  CHECK(formatByteRate(5) == "0.005 kB/s");
  CHECK(formatByteRate(0) == "0.000 kB/s");
  CHECK(formatBitRate(12.34e9) == "98.72 Gb/s");
  CHECK(formatMessageRate(1.234e6) == "1.234 M/s");
  CHECK(formatMessageRate(456.7e3) == "456.7 k/s");
  CHECK(formatMessageRate(12) == "12.00 /s");
  CHECK(formatDuration(1234) == "1.234 us");
  CHECK(formatDuration(12.3) == "12.30 ns");
  CHECK(formatDuration(0) == "0.000 ns");
  CHECK(formatDuration(1.5e6) == "1.500 ms");
  CHECK(formatDuration(75e9) == "75.00 s");
  CHECK(formatDuration(-1234) == "-1.234 us");
}

TEST_CASE("rounding does not make a fifth digit") {
  CHECK(formatByteRate(999.94e6) == "999.9 MB/s");
  CHECK(formatByteRate(999.96e6) == "1.000 GB/s");
  CHECK(formatByteRate(9.9996e9) == "10.00 GB/s");
  CHECK(formatByteRate(99.996e9) == "100.0 GB/s");
  CHECK(formatByteRate(999.97e9) == "1000 GB/s");
  CHECK(formatDuration(999.99) == "1.000 us");
}

TEST_CASE("what is not finite is never printed as a number") {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    CHECK(formatByteRate(value) == "?");
    CHECK(formatBitRate(value) == "?");
    CHECK(formatMessageRate(value) == "?");
    CHECK(formatDuration(value) == "?");
  }
}

TEST_CASE("a locale with a decimal comma changes nothing") {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale(), new Comma));
  // C's own locale follows where one like it is installed.
  std::setlocale(LC_NUMERIC, "de_DE.UTF-8");
  CHECK(*parseNumber("1.5") == 1.5);
  CHECK(bytesIn("1.5K") == 1536);
  CHECK(*parsePercent("1.5%") == 0.015);
  CHECK(formatNumber(1234.5) == "1234.5");
  CHECK(percentLiteral(0.015) == "1.5%");
  CHECK(formatByteRate(1.5e9) == "1.500 GB/s");
  CHECK(formatByteRate(1234e9) == "1234 GB/s");
  CHECK(formatSize(1536) == "1.5 KiB");
  CHECK(formatSize(1'000'000) == "1000000 B");
  std::locale::global(before);
  std::setlocale(LC_NUMERIC, "C");
}
