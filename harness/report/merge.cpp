// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "harness/report/report.h"

namespace gdrbench::report {
namespace {

/// Names of the documents; a name that occurs again is numbered.
std::vector<std::string> uniqueNames(std::span<const Document> documents) {
  std::unordered_set<std::string> taken;
  std::vector<std::string> names;
  for (const Document& document : documents) {
    std::string name = document.name;
    for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}#{}", document.name, n);
    names.push_back(std::move(name));
  }
  return names;
}

/// What all say stands once; what differs stands once for each that says it.
Facts commonFacts(std::span<const Document> documents, std::span<const std::string> names) {
  Facts facts;
  const auto sayTheSame = [&](const auto& fact) {
    return std::all_of(documents.begin(), documents.end(), [&](const Document& document) {
      const Facts& all = document.environment;
      return std::find(all.begin(), all.end(), fact) != all.end();
    });
  };
  for (std::size_t i = 0; i < documents.size(); ++i) {
    for (const auto& fact : documents[i].environment) {
      if (!sayTheSame(fact)) {
        facts.emplace_back(names[i] + ": " + fact.first, fact.second);
      } else if (i == 0) {
        facts.push_back(fact);
      }
    }
  }
  return facts;
}

double nullLatency(const Document& document) {
  const auto& null = document.overhead.nullPingPong;
  return null ? null->p50 : 0;
}

/// One price of the harness stands for all: the highest, so that no row looks better than it is.
Overhead highestOverhead(std::span<const Document> documents) {
  const Document& highest = *std::max_element(
      documents.begin(), documents.end(),
      [](const auto& a, const auto& b) { return nullLatency(a) < nullLatency(b); });
  Overhead overhead = highest.overhead;
  for (const Document& document : documents) {
    const Overhead& other = document.overhead;
    overhead.clockReadNs = std::max(overhead.clockReadNs, other.clockReadNs);
    overhead.clockGranularityNs = std::max(overhead.clockGranularityNs, other.clockGranularityNs);
    if (other.nullStreamNs) {
      overhead.nullStreamNs =
          std::max(overhead.nullStreamNs.value_or(*other.nullStreamNs), *other.nullStreamNs);
    }
  }
  return overhead;
}

void addRows(Document& all, const Document& document, const std::string& name) {
  for (Row row : document.rows) {
    row.label = fmt::format("{}: {}", name, row.label);
    row.id = fmt::format("{}: {}", name, row.id);
    row.headline.ratio.reset();  // it referred to the base of its own document
    all.rows.push_back(std::move(row));
  }
}

void addNotes(Document& all, const Document& document, const std::string& name) {
  all.notes.push_back(fmt::format("{}: gdrbench {}, started {}{}", name, document.version,
                                  document.started,
                                  document.status == "complete" ? "" : ", " + document.status));
  for (const std::string& note : document.notes)
    all.notes.push_back(fmt::format("{}: {}", name, note));
}

}  // namespace

Document merge(std::span<const Document> documents) {
  if (documents.empty()) return {};
  if (documents.size() == 1) return documents.front();
  const std::vector<std::string> names = uniqueNames(documents);
  Document all;
  all.version = documents.front().version;
  all.build = documents.front().build;
  all.started = documents.front().started;
  all.finished = documents.front().finished;
  all.base = fmt::format("{}: {}", names.front(), documents.front().base);
  all.environment = commonFacts(documents, names);
  all.overhead = highestOverhead(documents);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const Document& document = documents[i];
    all.name += (i == 0 ? "" : " | ") + names[i];
    if (document.status != "complete" && all.status == "complete") all.status = document.status;
    all.started = std::min(all.started, document.started);
    all.finished = std::max(all.finished, document.finished);
    addRows(all, document, names[i]);
    addNotes(all, document, names[i]);
  }
  return all;
}

}  // namespace gdrbench::report
