/* The line that a worker writes before its first D-Bus byte. Whatever a library printed to standard output before the
 * worker took that descriptor for itself stands before it, and is skipped (64 KiB at most). */
#pragma once

#define LOOM_WORKER_MAGIC_NAME "GRADLOOM-WORKER "
#define LOOM_WORKER_MAGIC      LOOM_WORKER_MAGIC_NAME "1\n"
/* What it writes instead to a client that attaches while another is attached. */
#define LOOM_WORKER_BUSY      LOOM_WORKER_MAGIC_NAME "busy\n"
#define LOOM_WORKER_MAX_NOISE (64 * 1024)
/* Where the object org.gradloom.Worker1 stands on the connection. */
#define LOOM_WORKER_OBJECT "/org/gradloom/Worker"
