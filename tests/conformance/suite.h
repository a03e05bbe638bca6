// SPDX-License-Identifier: Apache-2.0
// What every transport must do, written once against the interface. A transport joins with
//
//   #include "tests/conformance/suite.h"
//   GDR_CONFORMANCE("tcp", .transport = "tcp", .noticesPeerLoss = true)
#pragma once

#include <doctest/doctest.h>

#include "tests/conformance/rig.h"

namespace gdrbench::conformance {

void everySizeArrives(const Subject& subject);
void fullWindowBothWays(const Subject& subject);
void backPressureLosesNothing(const Subject& subject);
void largeBothWays(const Subject& subject);
void syncBetweenData(const Subject& subject);
void emptySpans(const Subject& subject);
void twoThreads(const Subject& subject);
void openTwice(const Subject& subject);
void claimsAgree(const Subject& subject);
void peerLeaves(const Subject& subject);
void initiatorFindsNobody(const Subject& subject);
void responderFindsNobody(const Subject& subject);
void nothingIsLeft(const Subject& subject);

}  // namespace gdrbench::conformance

#define GDR_CONFORMANCE_CASE(NAME, FUNCTION, ...)   \
  TEST_CASE(NAME) {                                 \
    gdrbench::conformance::FUNCTION({__VA_ARGS__}); \
  }

/// For a transport that moves nothing: events and life, not bytes and peers.
#define GDR_CONFORMANCE_OF_EVENTS(NAME, ...)                                                       \
  GDR_CONFORMANCE_CASE(NAME ": a full window, both ways at once", fullWindowBothWays, __VA_ARGS__) \
  GDR_CONFORMANCE_CASE(NAME ": back-pressure loses nothing", backPressureLosesNothing,             \
                       __VA_ARGS__)                                                                \
  GDR_CONFORMANCE_CASE(NAME ": sync messages between data", syncBetweenData, __VA_ARGS__)          \
  GDR_CONFORMANCE_CASE(NAME ": empty spans are nothing", emptySpans, __VA_ARGS__)                  \
  GDR_CONFORMANCE_CASE(NAME ": opened twice in one process", openTwice, __VA_ARGS__)               \
  GDR_CONFORMANCE_CASE(NAME ": claims that must agree do", claimsAgree, __VA_ARGS__)               \
  GDR_CONFORMANCE_CASE(NAME ": leaves no name behind", nothingIsLeft, __VA_ARGS__)

#define GDR_CONFORMANCE(NAME, ...)                                                                 \
  GDR_CONFORMANCE_OF_EVENTS(NAME, __VA_ARGS__)                                                     \
  GDR_CONFORMANCE_CASE(NAME ": every size arrives in its slot and nowhere else", everySizeArrives, \
                       __VA_ARGS__)                                                                \
  GDR_CONFORMANCE_CASE(NAME ": large messages both ways at once", largeBothWays, __VA_ARGS__)      \
  GDR_CONFORMANCE_CASE(NAME ": a thread for each side", twoThreads, __VA_ARGS__)                   \
  GDR_CONFORMANCE_CASE(NAME ": the peer leaves", peerLeaves, __VA_ARGS__)                          \
  GDR_CONFORMANCE_CASE(NAME ": an initiator that finds nobody", initiatorFindsNobody, __VA_ARGS__) \
  GDR_CONFORMANCE_CASE(NAME ": a responder that finds nobody", responderFindsNobody, __VA_ARGS__)
