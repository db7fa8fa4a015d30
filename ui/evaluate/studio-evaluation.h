/* The model of the page Evaluate: requests evaluations from the worker and holds their parts.
 *
 * Nothing is requested unless a watched widget is mapped. While one is, a split is evaluated again after each
 * evaluation of the run, and when the run is paused or ends; each evaluation says how long it took. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

#define STUDIO_TYPE_EVALUATION (studio_evaluation_get_type ())
G_DECLARE_FINAL_TYPE (StudioEvaluation, studio_evaluation, STUDIO, EVALUATION, GObject)

/* A sample as org.gradloom.Worker.xml describes the rows of GetEvaluation. */
typedef struct
{
  gint64 index;
  double target, predicted, probability, loss;
} StudioEvaluatedSample;

/* Samples at the same place of the list: the mistakes, or those of a cell. */
typedef struct
{
  GArray *sample; /* StudioEvaluatedSample, of one page */
  gint64 total, page;
  guint serial; /* different for each content */
} StudioEvaluatedPage;

#define STUDIO_EVALUATED_PAGE_ROWS 100

/* The last evaluation; all 0 and NULL before the first. */
typedef struct
{
  gint64 step, epoch, n, n_split; /* n: 0: nothing is evaluated yet */
  double seconds, loss, accuracy, calibration_error;
  LoomSplit split;
  guint n_classes;          /* 0: values */
  char **names;             /* of the classes */
  GArray *bins;             /* double [15, 3]: samples, confidence, accuracy; NULL: none */
  GArray *points;           /* StudioEvaluatedSample, spread over the split */
  LoomConfusion *confusion; /* of the epoch that is shown; NULL: none */
  StudioEvaluatedPage mistakes, cell;
  guint target, predicted; /* of the cell */
  gboolean has_cell;       /* a cell is open; its page may still be requested */
  char *why;               /* why it has no samples, a sentence; NULL: it has, or they are requested */
} StudioEvaluated;

/* Signal "changed": the parts, the progress or the message have changed. */
StudioEvaluation *studio_evaluation_new (StudioDocument *document, StudioRun *run);
void studio_evaluation_watch (StudioEvaluation *self, GtkWidget *widget);
const StudioEvaluated *studio_evaluation_get (StudioEvaluation *self);
StudioRun *studio_evaluation_get_run (StudioEvaluation *self);
StudioDocument *studio_evaluation_get_document (StudioEvaluation *self);

/* Evaluates now, or stops the evaluation in progress. */
void studio_evaluation_start (StudioEvaluation *self);
void studio_evaluation_stop (StudioEvaluation *self);
/* Samples of *all that are done; FALSE: nothing is in progress. */
gboolean studio_evaluation_get_progress (StudioEvaluation *self, gint64 *done, gint64 *all);
/* A sentence: why there is nothing to show, or what failed; NULL: neither. */
const char *studio_evaluation_get_message (StudioEvaluation *self);
/* LOOM_N_SPLITS: test, else validation, else training. */
void studio_evaluation_set_split (StudioEvaluation *self, LoomSplit split);

/* Evaluations of the run by ascending step, LoomEvaluationRecord. */
GPtrArray *studio_evaluation_get_history (StudioEvaluation *self);
/* Shows the counts of a record of the history, and the samples of the open cell then; those of the last one belong to
 * the parts. */
void studio_evaluation_show_record (StudioEvaluation *self, guint record);
guint studio_evaluation_get_record (StudioEvaluation *self);
/* Requests a page of the mistakes, or of a cell. */
void studio_evaluation_turn_mistakes (StudioEvaluation *self, gint64 page);
void studio_evaluation_open_cell (StudioEvaluation *self, guint target, guint predicted, gint64 page);
/* The name of a class. (transfer full) */
char *studio_evaluation_class_name (StudioEvaluation *self, guint k);
