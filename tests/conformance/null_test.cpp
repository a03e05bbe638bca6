// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/suite.h"

GDR_CONFORMANCE_OF_EVENTS("null", .transport = "null")
