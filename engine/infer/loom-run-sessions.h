/* The sessions of a run: when a process began and ended to train it, after which step, and why.
 *
 * sessions.jsonl has a line for each session, of LOOM_RUN_SESSION_BYTES bytes with the spaces at its end. The line is
 * written when the session begins, and overwritten about once a second and at the end. So the reason of the end can be
 * written to a full disk, and a line without an end belongs to a process that trains or was killed. The times are not
 * in events.jsonl, because two equal runs have equal events. */
#pragma once

#include "engine/core/loom-folder.h"
#include "engine/infer/loom-run-unfinished.h"

#define LOOM_RUN_SESSIONS      "sessions.jsonl"
#define LOOM_RUN_SESSION_BYTES 1024

typedef struct
{
  double begun, ended; /* seconds since 1970; ended: the time of the last write */
  gint64 step, epoch;  /* of the last finished step; epoch from 1 */
  double loss;         /* of it; NaN: none */
  gint64 nan_step;     /* the step or evaluation that was not finite; 0: none */
  LoomRunEnd end;      /* NONE: not ended */
  char *sentence;      /* why it ended; NULL: none */
} LoomRunSession;

/* Appends a line and returns the descriptor for later writes, with the line's position in *at. -1 with an error: IO. */
int loom_run_session_begin (LoomFolder *run, const LoomRunSession *session, gint64 *at, GError **error);
/* Overwrites the line. */
void loom_run_session_write (int fd, gint64 at, const LoomRunSession *session);

/* All sessions, the oldest first: an array of LoomRunSession. Damaged lines are left out. A run of an earlier version
 * has none. (transfer full) */
GArray *loom_run_sessions_read (LoomFolder *run);
