/* The struct of StudioRun and the functions between its files: studio-run.c (the model), studio-run-control.c (the
 * worker), studio-run-stall.c (stalled steps), studio-run-memory.c (memory and ranks), studio-run-folders.c (folders of
 * runs) and studio-run-messages.c (messages of the engine). */
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
  StudioRunWaits waits; /* all 0: unknown */
  GPtrArray *metric_names;
  GArray *metric_values; /* double */
  StudioRunCurves loss_curves;
  GArray *metric_curves; /* StudioRunCurves, in the order of metric_names */
  char *split;
  GPtrArray *marks;

  char *memory_device;
  GPtrArray *owners; /* interned names, NULL-terminated */
  GArray *owner_bytes;
  StudioDriverMemory driver; /* all 0: unknown */
  GBytes *rank_memory;       /* NULL: unknown */
  gboolean rank_memory_asked;
  guint rank_memory_wait; /* ticks until the next request */

  /* of the start, for resuming */
  char *graph_xml, *graph_folder, *folder, *name;
  StudioRunOptions options;
  char *device;
  gint64 checkpoint_step;
  char *problem_code; /* of the last fault of this run; NULL: none */

  guint numbers_timer;  /* until the next "numbers"; 0: nothing new to show */
  gint64 numbers_shown; /* monotonic */

  StudioWorker *worker;      /* NULL: not connected */
  GCancellable *cancellable; /* of the start in progress */
  double pace;               /* minimum duration of a run in seconds */
  int ranks;                 /* of the next run; 0 and 1: one */
  int live_ranks;            /* of this run */
  gboolean step_wanted, pause_wanted;
  gint64 pause_requested; /* monotonic; 0: not requested */
  double pause_ms;
  gint64 stop_requested;         /* monotonic; 0: not requested */
  gint64 step_at;                /* monotonic time of the last step; 0: not running */
  double usual_gap, longest_gap; /* seconds per step (a running mean), and the longest time between two reports */
  guint stall_timer;             /* set while running */
  gboolean stall_shown;
  gboolean start_sent; /* commands can be sent from here on */
};

void studio_run_set_state (StudioRun *self, StudioRunState state, const char *message);
/* Call studio_run_note_running() when training begins or pauses, and studio_run_note_step() before self->step is set.
 */
void studio_run_note_running (StudioRun *self, gboolean runs);
void studio_run_note_step (StudioRun *self, gint64 step);
/* TRUE if a second Stop ends the run by force. */
gboolean studio_run_may_force (StudioRun *self);
/* Called every second while the run trains, and once when it ends. */
void studio_run_tick_rank_memory (StudioRun *self);
void studio_run_close_memory (StudioRun *self);
void studio_run_notify_numbers (StudioRun *self);
/* Rewrites a message of the engine for Studio: removes commands and names fields instead of options. (transfer full) */
char *studio_run_rewrite_message (const char *sentence);
void studio_run_forget_note (StudioRun *self);
/* Moves the note from another folder to this run's. */
void studio_run_move_note (StudioRun *self, const char *from);
/* wanted: the user ended the run, so the next Studio offers to resume it without reporting a failure. */
void studio_run_note_end (StudioRun *self, gboolean wanted);
void studio_run_forget_previous (StudioRun *self);
void studio_run_add_mark (StudioRun *self, double step, const char *label);

G_END_DECLS
