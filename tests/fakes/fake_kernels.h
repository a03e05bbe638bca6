// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gdrbench::cuda::fake {

/// The data kernels for the fake driver: their own source, compiled for the host and run thread by
/// thread. After install().
void installDataKernels();

}  // namespace gdrbench::cuda::fake
