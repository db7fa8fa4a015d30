/* The struct of StudioRun, and the functions that only the files of its class call: studio-run.c (the model) and
 * studio-run-{control, host, restore, attach, travel}.c. Curves, memory, ranks, stall and refresh have headers of their
 * own. */
#pragma once

#include "engine/loom.h"
#include "ui/run/run-curves.h"
#include "ui/run/run-memory.h"
#include "ui/run/run-ranks.h"
#include "ui/run/run-refresh.h"
#include "ui/run/run-stall.h"
#include "ui/run/studio-run.h"

struct _StudioRun
{
  GObject parent_instance;
  StudioRunState state;
  char *message;

  StudioRunProgress progress;
  RunCurves curves;
  RunMemory memory;
  RunRanks ranks;
  RunStall stall;
  guint stall_timer; /* set while running */
  gboolean stall_shown;

  /* of the start, for resuming */
  char *graph_xml, *graph_folder, *folder, *name;
  StudioRunOptions options;
  char *device;
  gint64 checkpoint_step;
  gint64 resume_step; /* of the next start: the newest checkpoint at or before it; 0: the newest */
  char *problem_code; /* of the last fault of this run; NULL: none */

  RunRefresh refresh; /* when "numbers" comes */

  StudioWorker *worker;      /* NULL: not connected */
  GCancellable *cancellable; /* of the start in progress */
  double pace;               /* minimum duration of a run in seconds */
  gboolean step_wanted, pause_wanted;
  double pause_ms;
  gboolean start_sent; /* commands can be sent from here on */

  struct
  {
    gint64 shown;  /* the step that is shown; -1: the newest */
    gint64 wanted; /* the step to be shown next; -1: the newest */
    gboolean in_flight, is_connected;
    double seconds; /* the time that the last one took */
  } travel;
  struct
  {
    gint64 step, evaluation[2]; /* the last ones that were read from the folder; -1: none */
  } restored;
  gint64 evaluated[2]; /* the last steps of evaluations of "val" and of "test"; -1: none */
  char *attachable;    /* the folder of a run of this graph that goes on without a window; NULL: none */
  gboolean goes_on;    /* after studio_run_close() */
  struct
  {
    char *next;         /* the host of the next run; NULL: this machine */
    char *live;         /* that of the shown run */
    GSubprocess *begin; /* starts the run there; NULL: none */
    gboolean stop_wanted, resumes;
  } host;
  char *branch; /* the folder of the run that the next start continues after branch_step; NULL: none */
  gint64 branch_step;
};

#define STUDIO_RUN_TRAVEL_NONE (-2)
#define STUDIO_RUN_NEWEST      (-1)

/* Makes the run show this step, or STUDIO_RUN_NEWEST. */
void studio_run_show_step (StudioRun *self, gint64 step);

/* A command has made the worker show the newest step again: says so if another one was shown. */
void studio_run_come_back (StudioRun *self);
void studio_run_set_state (StudioRun *self, StudioRunState state, const char *message);
/* TRUE if a second Stop ends the run by force. */
gboolean studio_run_may_force (StudioRun *self);
/* Disconnects the worker, which finishes its step and saves. */
void studio_run_drop_worker (StudioRun *self);
/* Takes graph, curves and checkpoint from a run's folder, up to this step. FALSE: it has no graph. */
gboolean studio_run_restore (StudioRun *self, const char *folder, const char *graph_folder, gint64 until);
/* Receives the signals of the worker. */
void studio_run_connect_worker (StudioRun *self, StudioWorker *worker);
/* Adds the options of a start that are the same on every machine. */
void studio_run_add_options (StudioRun *self, GVariantBuilder *b);
/* Shows how the run has ended whose note is read. */
void studio_run_show_end (StudioRun *self, const LoomRunUnfinished *note);

/* Begins the run on its host, or resumes it there, and attaches to it. */
void studio_run_begin_on_host (StudioRun *self, gboolean resume);
/* Lets a start on a host that is under way stop the run as soon as it has begun. */
void studio_run_cancel_host (StudioRun *self);
/* The connection to the run's host has ended, or could not be made. FALSE: the run has no host. */
gboolean studio_run_take_host_end (StudioRun *self, const char *sentence);
/* The start in progress, of a run or of an attachment, is the newest. */
void studio_run_renew_start (StudioRun *self);
/* What was shown is from the folder; the worker's evaluations and points of these steps are no new ones. */
void studio_run_note_restored (StudioRun *self);
void studio_run_forget_restored (StudioRun *self);
void studio_run_forget_previous (StudioRun *self);
void studio_run_add_mark (StudioRun *self, double step, const char *label);
/* Marks that a hyper-parameter has this value from this step on. */
void studio_run_add_change (StudioRun *self, double step, const char *name, double value);
