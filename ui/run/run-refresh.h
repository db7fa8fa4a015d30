/* Decides when the numbers of a run are shown.
 *
 * Drawing a frame costs a few milliseconds, however little has changed (most machines render in software), and delays
 * training: on two processors both threads of a step wait for the interrupted one. So numbers are shown four times a
 * second, or less often, down to once, if this process would otherwise take more than half a percent of all
 * processors. */
#pragma once

#include <glib.h>

#define RUN_REFRESH_MS      250
#define RUN_REFRESH_MOST_MS 1000

typedef struct
{
  void (*show) (gpointer data);
  gpointer data;
  gboolean runs;
  guint timer;  /* until the next time; 0: nothing new to show */
  gint64 shown; /* the last time, monotonic */
  gint64 used;  /* processor time of this process then, in µs */
  gint64 pause; /* from then to the next time, at least, in ms */
} RunRefresh;

void run_refresh_init (RunRefresh *self, void (*show) (gpointer data), gpointer data);
void run_refresh_clear (RunRefresh *self);
/* There is something new to show: show() is called soon. */
void run_refresh_request (RunRefresh *self);
gboolean run_refresh_is_due (const RunRefresh *self);
/* Only while the run trains, showing it is limited. */
void run_refresh_note_running (RunRefresh *self, gboolean runs);
/* The pause in ms after a frame, for which a process with n processors took `used` µs of processor time. */
gint64 run_refresh_pause (gint64 used, guint n_processors);
