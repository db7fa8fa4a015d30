/* Shared by studio-run.c (the model), studio-run-memory.c (its memory, and its ranks'), studio-run-control.c (the talk
 * with the worker), studio-run-delay.c (steps that do not come) and studio-run-history.c (runs of earlier Studios). */
#pragma once

#include "ui/run/studio-run.h"

G_BEGIN_DECLS

typedef struct
{
  StudioSeries *train, *validation, *previous;
} StudioRunCurves;

struct _StudioRun
{
  GObject parent_instance;
  StudioRunState state;
  char *message;

  gint64 step, total_steps, epoch, epochs, recent_steps;
  double loss, lr, base_lr, items_per_second, eta;
  StudioRunWaits waits; /* all 0: nothing is known */
  GPtrArray *metric_names;
  GArray *metric_values; /* double */
  StudioRunCurves loss_curves;
  GArray *metric_curves; /* StudioRunCurves, in order of metric_names */
  char *split;
  GPtrArray *marks;

  char *memory_device;
  GPtrArray *owners; /* interned names, NULL-terminated */
  GArray *owner_bytes;
  StudioDriverMemory driver; /* all 0: nothing is known */
  GBytes *rank_memory;       /* NULL: nothing is known */
  gboolean rank_memory_asked;
  guint rank_memory_wait; /* ticks until it is asked for again */

  /* what it was started with, for going on */
  char *graph_xml, *graph_folder, *folder, *name;
  StudioRunOptions options;
  char *device;
  gint64 checkpoint_step;
  char *problem_code; /* of the last fault of this run; NULL: none yet */

  guint numbers_timer;  /* until the next "numbers"; 0: all was shown */
  gint64 numbers_shown; /* monotonic */

  StudioWorker *worker;      /* NULL while none is connected */
  GCancellable *cancellable; /* of the start that is under way */
  double pace;               /* seconds a run takes at least */
  int ranks;                 /* of the next run; 0, 1: one */
  int live_ranks;            /* of this one */
  gboolean step_wanted, pause_wanted;
  gint64 pause_asked; /* monotonic; 0: not asked */
  double pause_ms;
  gint64 stop_asked;             /* likewise */
  gint64 step_at;                /* monotonic, when the last step came; 0: it does not run */
  double usual_gap, longest_gap; /* seconds between two steps, and between two times that some came */
  guint delay_timer;             /* while it runs */
  gboolean delay_shown;
  gboolean start_sent; /* commands reach the run from here on */
};

void studio_run_set_state (StudioRun *self, StudioRunState state, const char *message);
/* Call when it runs and when it does so no more, and when steps have come, before self->step is set. */
void studio_run_note_running (StudioRun *self, gboolean runs);
void studio_run_note_step (StudioRun *self, gint64 step);
/* Whether a second Stop ends it by force. */
gboolean studio_run_may_force (StudioRun *self);
/* Once a second while it runs, and once where it runs no more. */
void studio_run_tick_rank_memory (StudioRun *self);
void studio_run_close_memory (StudioRun *self);
void studio_run_tell_numbers (StudioRun *self);
/* A sentence of the engine as Studio says it: no command, and fields in the place of options. (transfer full) */
char *studio_run_words (const char *sentence);
void studio_run_forget_note (StudioRun *self);
/* The note of another folder becomes this run's. */
void studio_run_move_note (StudioRun *self, const char *from);
/* TRUE if its end is wanted: the next Studio then offers to go on without talking of a failure. */
void studio_run_note_end (StudioRun *self, gboolean wanted);
void studio_run_forget_previous (StudioRun *self);
void studio_run_add_mark (StudioRun *self, double step, const char *label);

G_END_DECLS
