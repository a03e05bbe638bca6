// SPDX-License-Identifier: Apache-2.0
// The parts of libfmt 9 that are no headers, compiled once and linked in: header-only they cost
// half of the time to build, and the shared library may be missing where the program is carried to.
#include <fmt/format-inl.h>

#include <locale>

namespace fmt::detail {
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;
template void buffer<char>::append(const char*, const char*);
template void vformat_to<char>(buffer<char>&, basic_string_view<char>,
                               basic_format_args<buffer_context<char>>, locale_ref);
template auto locale_ref::get<std::locale>() const -> std::locale;
template auto dragonbox::to_decimal<float>(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal<double>(double) noexcept -> dragonbox::decimal_fp<double>;
}  // namespace fmt::detail
