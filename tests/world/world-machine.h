/* Memory, the device and the exchange between ranks, of which calls fail.
 *
 * Each is one interface that the program has already: the functions that return NULL without memory (the linker puts
 * those of this file before them, meson.build), LoomBackend, and LoomComm. */
#pragma once

#include "kernels/comm.h"
#include "tests/world/world-disk.h"

/* The exchange of a rank over another one, which it frees. A rank that stalls, stalls for ever: the others report it at
 * once, as they would after a time-out. has_server: messages have numbers, so that one may arrive twice. */
LoomComm *world_comm_new (LoomComm *inner, gboolean has_server);
/* This thread is that rank of all, which stalls in a call of files. */
void world_machine_be (LoomComm *comm);
/* FALSE: the thread is no rank of several, and nothing happens. */
gboolean world_machine_hang (void);
