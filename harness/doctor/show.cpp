// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "harness/doctor/examination.h"
#include "harness/report/display.h"

namespace gdrbench::doctor {
namespace {

constexpr std::size_t kLevelWidth = 8;
constexpr std::size_t kMostNameWidth = 36;

/// "gpu.dma-buf of gpu 0", as short as it can be.
std::string nameOf(const Check& check) {
  const std::size_t dot = check.id.find('.');
  const std::string what = dot == check.id.npos ? check.id : check.id.substr(dot + 1);
  return report::oneLine(check.subject.empty() ? what : check.subject + " " + what);
}

/// `head` in front, the text broken into lines that begin where its first one does.
std::string paragraph(const std::string& head, const std::string& text, std::size_t width) {
  const std::size_t indent = report::displayWidth(head);
  const std::size_t room = width > indent + 20 ? width - indent : 0;
  std::string lines = report::wrapped(report::oneLine(text), room, 0);
  for (std::size_t at = lines.find('\n'); at != lines.npos; at = lines.find('\n', at + 1)) {
    lines.insert(at + 1, indent, ' ');
  }
  return head + lines + '\n';
}

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t wide = report::displayWidth(text);
  return text + std::string(wide < width ? width - wide : 0, ' ');
}

std::string showCheck(const Check& check, std::size_t names, std::size_t width) {
  const std::string head = fmt::format("  {:<{}} {}  ", name(check.level), kLevelWidth - 1,
                                       padded(nameOf(check), names));
  std::string text = paragraph(head, check.finding, width);
  if (check.level == Level::kOk || check.level == Level::kNotApplicable) return text;
  const std::string indent(report::displayWidth(head), ' ');
  if (!check.remedy.empty()) text += paragraph(indent + "do: ", check.remedy, width);
  if (!check.documented.empty()) text += paragraph(indent + "see: ", check.documented, width);
  return text;
}

std::string showConclusion(const Conclusion& each, std::size_t width) {
  std::string text = report::oneLine(each.subject) + ": " + std::string(name(each.verdict));
  if (!each.why.empty()) text += ": " + each.why;
  if (!each.decidedBy.empty()) {
    text += fmt::format(" [{}]", fmt::join(each.decidedBy, ", "));
  }
  return paragraph("  ", text, width);
}

}  // namespace

std::string show(const Examination& examination, std::size_t width) {
  constexpr std::array kGroups = {kDriverGroup, kGpuGroup,     kRdmaGroup,
                                  kPathGroup,   kMachineGroup, kSoftwareGroup};
  std::size_t names = 0;
  for (const Check& each : examination.checks) {
    names = std::max(names, report::displayWidth(nameOf(each)));
  }
  names = std::min(names, kMostNameWidth);
  std::string text = fmt::format("{}\n", report::oneLine(examination.host));
  for (const char* group : kGroups) {
    std::string lines;
    for (const Check& each : examination.checks) {
      if (each.group == group) lines += showCheck(each, names, width);
    }
    if (!lines.empty()) text += fmt::format("\n{}\n{}", group, lines);
  }
  text += "\ndirect path\n";
  for (const Conclusion& each : examination.conclusions) text += showConclusion(each, width);
  return text;
}

std::string show(const std::vector<Difference>& differences, const Examination& peer,
                 std::size_t width) {
  std::string text = fmt::format("\nagainst {}\n", report::oneLine(peer.host));
  if (differences.empty()) text += "  no difference in what is compared\n";
  std::size_t names = 0;
  for (const Difference& each : differences) {
    names = std::max(names, report::displayWidth(report::oneLine(each.key)));
  }
  names = std::min(names, kMostNameWidth);
  for (const Difference& each : differences) {
    text += paragraph(fmt::format("  {}  ", padded(report::oneLine(each.key), names)),
                      fmt::format("{} | there: {}", each.here, each.there), width);
  }
  text += "\ndirect path there\n";
  for (const Conclusion& each : peer.conclusions) text += showConclusion(each, width);
  return text;
}

}  // namespace gdrbench::doctor
