// SPDX-License-Identifier: Apache-2.0
// Names of libibverbs' types, so that its header stays in .cpp files.
#pragma once

// NOLINTBEGIN(readability-identifier-naming)
struct ibv_async_event;
struct ibv_context;
struct ibv_cq;
struct ibv_device;
struct ibv_device_attr;
struct ibv_gid_entry;
struct ibv_mr;
struct ibv_pd;
struct ibv_port_attr;
struct ibv_qp;
struct ibv_qp_attr;
struct ibv_qp_init_attr;
struct ibv_wc;
// NOLINTEND(readability-identifier-naming)
