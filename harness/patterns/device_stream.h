// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/patterns/pattern.h"

namespace gdrbench {

/// The stream pattern over a lane whose device takes the times: all batches of a block are enqueued
/// one behind the other (there is no window: the device's own order takes its place), and the
/// closing message behind them. Both ways at once, each batch goes out with one that comes in.
Result<Ticks> initiateStreamOnDevice(const Stage& stage, StreamDrive& device, const Block& block);
Status respondToStreamOnDevice(const Stage& stage, StreamDrive& device, const Block& block);

}  // namespace gdrbench
