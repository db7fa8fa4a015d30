/* The line that a worker writes before its first D-Bus byte. Whatever a library printed to standard output before the
 * worker took that descriptor for itself stands before it, and is skipped (64 KiB at most). */
#pragma once

#include <string.h>

#define LOOM_WORKER_MAGIC_NAME "GRADLOOM-WORKER "
#define LOOM_WORKER_MAGIC      LOOM_WORKER_MAGIC_NAME "1\n"
/* What it writes instead to a client that attaches while another is attached. */
#define LOOM_WORKER_BUSY      LOOM_WORKER_MAGIC_NAME "busy\n"
#define LOOM_WORKER_MAX_NOISE (64 * 1024)
/* What the text that a worker has sent so far decides; text ends with its newest byte. */
typedef enum
{
  LOOM_WORKER_SAYS_NOTHING, /* not yet */
  LOOM_WORKER_SAYS_READY,   /* the next byte is of D-Bus */
  LOOM_WORKER_SAYS_BUSY,
  LOOM_WORKER_SAYS_OTHER /* it is of another version */
} LoomWorkerSays;

static inline LoomWorkerSays
loom_worker_says (const char *text, size_t length)
{
  const char *line = text + length;

  if (length == 0 || text[length - 1] != '\n')
    return LOOM_WORKER_SAYS_NOTHING;
  while (line > text && !(line < text + length && line[-1] == '\n'))
    line--;
  /* A library may have printed to the same line. */
  line = strstr (line, LOOM_WORKER_MAGIC_NAME);
  return line == NULL                            ? LOOM_WORKER_SAYS_NOTHING
         : strcmp (line, LOOM_WORKER_MAGIC) == 0 ? LOOM_WORKER_SAYS_READY
         : strcmp (line, LOOM_WORKER_BUSY) == 0  ? LOOM_WORKER_SAYS_BUSY
                                                 : LOOM_WORKER_SAYS_OTHER;
}

/* Where the object org.gradloom.Worker1 stands on the connection. */
#define LOOM_WORKER_OBJECT "/org/gradloom/Worker"
