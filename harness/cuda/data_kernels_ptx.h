// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gdrbench::cuda {

/// The text of data_kernels.ptx; the build makes its definition from that file.
extern const char* const kDataKernelsPtx;

}  // namespace gdrbench::cuda
