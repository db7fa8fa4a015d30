/* Implements studio-evaluation.h.
 *
 * Evaluate returns at its end; its progress is polled meanwhile. Then the parts are pulled one after another: one
 * request is in flight at a time, and each part has one function that reads it. */
#include "ui/evaluate/studio-evaluation.h"

#include <glib/gi18n.h>
#include <math.h>

#include "engine/infer/loom-evaluation-history.h"
#include "ui/charts/studio-type.h"

#define POLL_MS 250
#define PAGE    G_MAXUINT /* after the part of a page nothing follows */

struct _StudioEvaluation
{
  GObject parent_instance;
  StudioDocument *document;
  StudioRun *run;
  guint n_mapped;
  LoomSplit split;
  StudioEvaluated is;
  LoomConfusion *newest;  /* the counts of `is`; NULL: none */
  StudioEvaluated coming; /* results whose parts are being pulled; they replace those of `is` together */
  LoomConfusion *coming_counts;
  GPtrArray *history;
  guint record;
  char *message;
  gboolean evaluating, is_due;
  gint64 done, all;
  double evaluated; /* the step of the run's newest evaluation at the last request; -1: none */
  guint poll;
  guint serial; /* of the newest request; results of older ones are ignored */
  guint pages;  /* the number of contents of pages so far */
  guint cells;  /* the number of cells that were opened or closed */
};

G_DEFINE_FINAL_TYPE (StudioEvaluation, studio_evaluation, G_TYPE_OBJECT)

static guint changed_signal;

static void
notify (StudioEvaluation *self)
{
  g_signal_emit (self, changed_signal, 0);
}

static void
set_message (StudioEvaluation *self, const char *message)
{
  char *copy = g_strdup (message);

  g_free (self->message);
  self->message = copy;
}

static void
page_clear (StudioEvaluation *self, StudioEvaluatedPage *page)
{
  g_clear_pointer (&page->sample, g_array_unref);
  *page = (StudioEvaluatedPage){ .serial = ++self->pages };
}

static void
close_cell (StudioEvaluation *self)
{
  self->cells++;
  self->is.has_cell = FALSE;
  page_clear (self, &self->is.cell);
}

/* All but the cell. */
static void
results_clear (StudioEvaluated *results)
{
  g_clear_pointer (&results->names, g_strfreev);
  g_clear_pointer (&results->bins, g_array_unref);
  g_clear_pointer (&results->points, g_array_unref);
  g_clear_pointer (&results->mistakes.sample, g_array_unref);
  g_clear_pointer (&results->why, g_free);
}

static void
forget_coming (StudioEvaluation *self)
{
  results_clear (&self->coming);
  g_clear_pointer (&self->coming_counts, loom_confusion_free);
  self->coming = (StudioEvaluated){ .split = self->split };
}

/* What has come replaces all but the cell that is open, which has a page of its own. */
static void
show_coming (StudioEvaluation *self)
{
  const StudioEvaluated before = self->is;

  results_clear (&self->is);
  g_clear_pointer (&self->newest, loom_confusion_free);
  self->is = self->coming;
  self->is.has_cell = before.has_cell;
  self->is.target = before.target;
  self->is.predicted = before.predicted;
  self->is.cell = before.cell;
  self->is.mistakes.serial = ++self->pages;
  self->newest = g_steal_pointer (&self->coming_counts);
  self->coming = (StudioEvaluated){ 0 };
}

static void
forget (StudioEvaluation *self)
{
  close_cell (self);
  forget_coming (self);
  show_coming (self);
}

/* ---- history --------------------------------------------------------------- */

/* The record that is shown; NULL: the last evaluation, which has no record or is the same. */
static const LoomEvaluationRecord *
earlier (StudioEvaluation *self)
{
  const LoomEvaluationRecord *record = self->record < self->history->len ? self->history->pdata[self->record] : NULL;

  return record != NULL && (self->is.n == 0 || record->step != self->is.step) ? record : NULL;
}

static void
show (StudioEvaluation *self)
{
  const LoomEvaluationRecord *record = earlier (self);

  self->is.confusion = record != NULL ? record->confusion : self->newest;
}

/* Of the split that is chosen, or evaluated, else of the first with records. */
static void
read_history (StudioEvaluation *self)
{
  static const LoomSplit order[] = { LOOM_SPLIT_TEST, LOOM_SPLIT_VAL, LOOM_SPLIT_TRAIN };
  const char *folder = studio_run_get_folder (self->run);
  const LoomSplit wanted = self->split == LOOM_N_SPLITS && self->is.n > 0 ? self->is.split : self->split;

  g_ptr_array_set_size (self->history, 0);
  for (guint i = 0; i < G_N_ELEMENTS (order) && folder != NULL && self->history->len == 0; i++)
    if (wanted == LOOM_N_SPLITS || wanted == order[i])
      {
        g_ptr_array_unref (self->history);
        self->history = loom_evaluation_history_read (folder, order[i]);
      }
  self->record = self->history->len > 0 ? self->history->len - 1 : 0;
  for (guint i = 0; i < self->history->len && self->is.n > 0; i++)
    if (((const LoomEvaluationRecord *)self->history->pdata[i])->step == self->is.step)
      self->record = i;
  show (self);
}

/* ---- parts ------------------------------------------------------------------ */

typedef struct
{
  const double *value;
  gsize rows, columns;
  const char *text; /* the same bytes as UTF-8 */
  gsize bytes;
  gint64 total;
} Part;

static void
take_summary (StudioEvaluation *self, const Part *part)
{
  if (part->rows < 1 || part->columns < 9)
    return;
  self->coming.split = (LoomSplit)CLAMP (part->value[0], 0, LOOM_N_SPLITS - 1);
  self->coming.n_split = (gint64)part->value[1];
  self->coming.n = (gint64)part->value[2];
  self->coming.n_classes = (guint)CLAMP (part->value[4], 0, G_MAXINT);
  self->coming.loss = part->value[5];
  self->coming.accuracy = part->value[6];
  self->coming.calibration_error = part->value[7];
}

static void
take_names (StudioEvaluation *self, const Part *part)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (gsize at = 0; at < part->bytes && memchr (part->text + at, 0, part->bytes - at) != NULL;
       at += strlen (part->text + at) + 1)
    g_ptr_array_add (names, g_utf8_make_valid (part->text + at, -1));
  g_ptr_array_add (names, NULL);
  g_strfreev (self->coming.names);
  self->coming.names = (char **)g_ptr_array_steal (names, NULL);
}

static void
take_confusion (StudioEvaluation *self, const Part *part)
{
  g_clear_pointer (&self->coming_counts, loom_confusion_free);
  if (part->rows < 1 || part->rows != part->columns || part->rows > LOOM_CONFUSION_MOST)
    return;
  self->coming_counts = loom_confusion_new ((guint)part->rows);
  for (gsize i = 0; i < part->rows * part->columns; i++)
    self->coming_counts->count[i] = (gint64)part->value[i];
}

static void
take_bins (StudioEvaluation *self, const Part *part)
{
  g_clear_pointer (&self->coming.bins, g_array_unref);
  if (part->rows != LOOM_CALIBRATION_BINS || part->columns != 3)
    return;
  self->coming.bins = g_array_new (FALSE, FALSE, sizeof (double));
  g_array_append_vals (self->coming.bins, part->value, (guint)(part->rows * part->columns));
}

static GArray *
samples_of (const Part *part)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (StudioEvaluatedSample));

  for (gsize i = 0; part->columns == 5 && i < part->rows; i++)
    {
      const double *v = part->value + 5 * i;
      const StudioEvaluatedSample s = { (gint64)v[0], v[1], v[2], v[3], v[4] };
      g_array_append_val (all, s);
    }
  return all;
}

static void
take_points (StudioEvaluation *self, const Part *part)
{
  g_clear_pointer (&self->coming.points, g_array_unref);
  self->coming.points = samples_of (part);
}

static void
take_page (StudioEvaluation *self, StudioEvaluatedPage *page, const Part *part)
{
  page->serial = ++self->pages;
  g_clear_pointer (&page->sample, g_array_unref);
  page->sample = samples_of (part);
  page->total = part->total;
}

static void
take_mistakes (StudioEvaluation *self, const Part *part)
{
  take_page (self, &self->coming.mistakes, part);
}

/* Another page of the results that are shown. */
static void
take_turned (StudioEvaluation *self, const Part *part)
{
  take_page (self, &self->is.mistakes, part);
}

static void
take_cell (StudioEvaluation *self, const Part *part)
{
  take_page (self, &self->is.cell, part);
}

typedef void (*TakePart) (StudioEvaluation *self, const Part *part);

/* In the order in which they are pulled. */
static const struct
{
  const char *name;
  TakePart take;
} parts[] = {
  { "summary", take_summary },  { "names", take_names },   { "confusion", take_confusion },
  { "calibration", take_bins }, { "points", take_points }, { "mistakes", take_mistakes },
};

/* Files of an earlier version, and of evaluations that are too large, are missing. */
static void
explain_cell (StudioEvaluation *self, GError *error)
{
  g_dbus_error_strip_remote_error (error);
  page_clear (self, &self->is.cell);
  g_free (self->is.why);
  self->is.why
      = earlier (self) != NULL
            ? g_strdup_printf (_ ("The samples of this evaluation are not there. A run keeps the newest 64 MB, of "
                                  "evaluations of at most 16 MB. (%s)"),
                               error->message)
            : g_strdup (error->message);
}

typedef struct
{
  GWeakRef model;
  TakePart take;
  guint serial, cells;
  guint next; /* of the parts, or PAGE */
} Pull;

static void pull (StudioEvaluation *self, guint next);

static void
pulled (StudioEvaluation *self, const Pull *request, GVariant *shape, GVariant *data, gint64 total)
{
  gsize rank, bytes;
  const gint64 *dim = g_variant_get_fixed_array (shape, &rank, sizeof (gint64));
  const char *raw = g_variant_get_fixed_array (data, &bytes, 1);
  g_autofree double *value = g_memdup2 (raw, bytes); /* aligned */
  Part part = { value, 0, 0, raw, bytes, total };

  if (rank == 2 && dim[0] >= 0 && dim[1] >= 0 && (gsize)dim[0] <= bytes && (gsize)dim[1] <= bytes
      && (gsize)(dim[0] * dim[1]) * sizeof (double) == bytes)
    {
      part.rows = (gsize)dim[0];
      part.columns = (gsize)dim[1];
    }
  request->take (self, &part);
}

static void
pulled_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Pull *request = data;
  g_autoptr (StudioEvaluation) self = g_weak_ref_get (&request->model);
  g_autoptr (GVariant) shape = NULL, bytes = NULL;
  g_autoptr (GError) error = NULL;
  gint64 step, total;
  /* A part that this net does not have is an error, and stays empty. */
  const gboolean ok = loom_bus_worker1_call_get_evaluation_finish (LOOM_BUS_WORKER1 (source), &step, &total, &shape,
                                                                   &bytes, result, &error);

  if (self != NULL && request->serial == self->serial)
    {
      const gboolean is_current = request->take != take_cell || request->cells == self->cells;

      if (ok && is_current)
        pulled (self, request, shape, bytes, total);
      else if (is_current && request->take == take_cell)
        explain_cell (self, error);
      if (request->next == PAGE)
        notify (self);
      else
        pull (self, request->next);
    }
  g_weak_ref_clear (&request->model);
  g_free (request);
}

static void
request_part (StudioEvaluation *self, const char *what, gint64 page, TakePart take, guint next)
{
  LoomBusWorker1 *proxy = studio_run_get_proxy (self->run);
  Pull *request;

  if (proxy == NULL)
    {
      self->evaluating = FALSE;
      if (take == take_cell)
        {
          page_clear (self, &self->is.cell);
          g_free (self->is.why);
          self->is.why = g_strdup (_ ("Samples are read from the worker of a run, which has ended. Train the graph, or "
                                      "continue the run."));
        }
      notify (self);
      return;
    }
  request = g_new0 (Pull, 1);
  g_weak_ref_init (&request->model, self);
  request->take = take;
  request->serial = self->serial;
  request->cells = self->cells;
  request->next = next;
  loom_bus_worker1_call_get_evaluation (proxy, what, page, NULL, pulled_cb, request);
}

/* page: of STUDIO_EVALUATED_PAGE_ROWS. The samples that are shown stay until it has come. */
static void
request_cell (StudioEvaluation *self, gint64 page)
{
  const LoomEvaluationRecord *record = earlier (self);
  const guint target = self->is.target, predicted = self->is.predicted;
  g_autofree char *what = record != NULL
                              ? g_strdup_printf ("%s/%" G_GINT64_FORMAT "/cell:%u:%u", loom_split_name (record->split),
                                                 record->step, target, predicted)
                              : g_strdup_printf ("cell:%u:%u", target, predicted);

  self->cells++;
  g_clear_pointer (&self->is.why, g_free);
  self->is.cell.page = page;
  request_part (self, what, page, take_cell, PAGE);
}

/* The cell that was open stays open, with the samples of the new evaluation. */
static void
refill_cell (StudioEvaluation *self)
{
  StudioEvaluated *is = &self->is;

  if (!is->has_cell)
    return;
  if (self->newest == NULL || MAX (is->target, is->predicted) >= self->newest->n_classes)
    {
      close_cell (self);
      return;
    }
  const gint64 n = loom_confusion_at (self->newest, is->target, is->predicted);
  request_cell (self, is->cell.page * STUDIO_EVALUATED_PAGE_ROWS < n ? is->cell.page : 0);
}

/* A drag along the curve shows many earlier steps; one of them is evaluated when the user asks for it. */
static gboolean
may_begin (StudioEvaluation *self)
{
  return self->n_mapped > 0 && studio_run_get_shown_step (self->run) < 0;
}

/* After the last part the evaluation is shown. */
static void
pull (StudioEvaluation *self, guint next)
{
  if (next < G_N_ELEMENTS (parts))
    {
      request_part (self, parts[next].name, 0, parts[next].take, next + 1);
      return;
    }
  if (self->evaluating)
    {
      self->evaluating = FALSE;
      show_coming (self);
      read_history (self);
      refill_cell (self);
    }
  notify (self);
  if (self->is_due && may_begin (self))
    studio_evaluation_start (self);
}

/* ---- evaluating --------------------------------------------------------------- */

static gboolean poll_cb (gpointer data);

static void
polled_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autofree GWeakRef *ref = data;
  g_autoptr (StudioEvaluation) self = g_weak_ref_get (ref);
  g_autoptr (GVariant) shape = NULL, bytes = NULL;
  gint64 step, total;
  gsize n = 0;

  g_weak_ref_clear (ref);
  if (!loom_bus_worker1_call_get_evaluation_finish (LOOM_BUS_WORKER1 (source), &step, &total, &shape, &bytes, result,
                                                    NULL)
      || self == NULL || !self->evaluating)
    return;
  const char *raw = g_variant_get_fixed_array (bytes, &n, 1);
  double value[2];
  if (n != sizeof value)
    return;
  memcpy (value, raw, sizeof value);
  self->done = (gint64)value[0];
  self->all = (gint64)value[1];
  if (self->poll == 0)
    self->poll = g_timeout_add (POLL_MS, poll_cb, self);
  notify (self);
}

static gboolean
poll_cb (gpointer data)
{
  StudioEvaluation *self = data;
  LoomBusWorker1 *proxy = studio_run_get_proxy (self->run);
  GWeakRef *ref;

  self->poll = 0;
  if (!self->evaluating || proxy == NULL)
    return G_SOURCE_REMOVE;
  ref = g_new0 (GWeakRef, 1);
  g_weak_ref_init (ref, self);
  loom_bus_worker1_call_get_evaluation (proxy, "progress", 0, NULL, polled_cb, ref);
  return G_SOURCE_REMOVE;
}

typedef struct
{
  GWeakRef model;
  guint serial;
} Start;

static void
evaluated_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Start *start = data;
  g_autoptr (StudioEvaluation) self = g_weak_ref_get (&start->model);
  const guint serial = start->serial;
  g_autoptr (GError) error = NULL;
  gint64 step, epoch, n;
  double seconds;
  const gboolean ok
      = loom_bus_worker1_call_evaluate_finish (LOOM_BUS_WORKER1 (source), &step, &epoch, &n, &seconds, result, &error);

  g_weak_ref_clear (&start->model);
  g_free (start);
  if (self == NULL || serial != self->serial)
    return;
  if (!ok)
    {
      self->evaluating = FALSE;
      g_dbus_error_strip_remote_error (error);
      set_message (self, error->message);
      notify (self);
      return;
    }
  g_clear_handle_id (&self->poll, g_source_remove);
  forget_coming (self);
  self->coming.step = step;
  self->coming.epoch = epoch;
  self->coming.seconds = seconds;
  set_message (self, NULL);
  pull (self, 0);
}

static double
newest_evaluation (StudioEvaluation *self)
{
  const LoomSeries *series = studio_run_get_validation (self->run, -1);
  double step = -1;

  if (loom_series_length (series) > 0)
    loom_series_get (series, loom_series_length (series) - 1, &step, NULL);
  return step;
}

static gboolean
can_evaluate (StudioEvaluation *self)
{
  const StudioRunState state = studio_run_get_state (self->run);

  return studio_run_get_proxy (self->run) != NULL && state != STUDIO_RUN_STARTING && state != STUDIO_RUN_IDLE;
}

void
studio_evaluation_start (StudioEvaluation *self)
{
  Start *start;

  self->is_due = FALSE;
  if (!can_evaluate (self))
    {
      set_message (self, self->history->len > 0 ? NULL : _ ("Nothing has been trained yet. Train the graph first."));
      notify (self);
      return;
    }
  start = g_new0 (Start, 1);
  g_weak_ref_init (&start->model, self);
  start->serial = ++self->serial;
  self->evaluating = TRUE;
  self->done = self->all = 0;
  self->evaluated = newest_evaluation (self);
  loom_bus_worker1_call_evaluate (studio_run_get_proxy (self->run),
                                  self->split == LOOM_N_SPLITS ? "" : loom_split_name (self->split), 0, NULL,
                                  evaluated_cb, start);
  if (self->poll == 0)
    self->poll = g_timeout_add (POLL_MS, poll_cb, self);
  notify (self);
}

void
studio_evaluation_stop (StudioEvaluation *self)
{
  LoomBusWorker1 *proxy = studio_run_get_proxy (self->run);

  if (self->evaluating && proxy != NULL)
    loom_bus_worker1_call_stop_evaluation (proxy, NULL, NULL, NULL);
}

/* Evaluates if a widget shows it, and when one does. */
static void
want (StudioEvaluation *self)
{
  self->is_due = TRUE;
  if (may_begin (self) && !self->evaluating)
    studio_evaluation_start (self);
}

static void
points_cb (StudioEvaluation *self)
{
  if (newest_evaluation (self) != self->evaluated)
    want (self);
}

static void
state_cb (StudioEvaluation *self)
{
  const StudioRunState state = studio_run_get_state (self->run);

  if (state == STUDIO_RUN_STARTING)
    {
      self->serial++;
      self->evaluating = FALSE;
      forget (self);
      read_history (self);
      notify (self);
    }
  else if (can_evaluate (self) && state != STUDIO_RUN_RUNNING && studio_run_get_shown_step (self->run) < 0
           && studio_run_get_step (self->run) != self->is.step)
    want (self);
}

static void
map_cb (StudioEvaluation *self)
{
  self->n_mapped++;
  if (self->is.n == 0)
    read_history (self);
  if (self->is_due || self->is.n == 0)
    want (self);
  notify (self);
}

static void
unmap_cb (StudioEvaluation *self)
{
  self->n_mapped--;
}

void
studio_evaluation_watch (StudioEvaluation *self, GtkWidget *widget)
{
  g_signal_connect_object (widget, "map", G_CALLBACK (map_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (widget, "unmap", G_CALLBACK (unmap_cb), self, G_CONNECT_SWAPPED);
}

/* ---- the rest ------------------------------------------------------------------- */

const StudioEvaluated *
studio_evaluation_get (StudioEvaluation *self)
{
  return &self->is;
}

StudioRun *
studio_evaluation_get_run (StudioEvaluation *self)
{
  return self->run;
}

StudioDocument *
studio_evaluation_get_document (StudioEvaluation *self)
{
  return self->document;
}

gboolean
studio_evaluation_get_progress (StudioEvaluation *self, gint64 *done, gint64 *all)
{
  *done = self->done;
  *all = self->all;
  return self->evaluating;
}

const char *
studio_evaluation_get_message (StudioEvaluation *self)
{
  return self->message;
}

void
studio_evaluation_set_split (StudioEvaluation *self, LoomSplit split)
{
  if (split == self->split)
    return;
  self->split = split;
  self->serial++;
  self->evaluating = FALSE;
  forget (self);
  read_history (self);
  want (self);
  notify (self);
}

GPtrArray *
studio_evaluation_get_history (StudioEvaluation *self)
{
  return self->history;
}

void
studio_evaluation_show_record (StudioEvaluation *self, guint record)
{
  if (record >= self->history->len || record == self->record)
    return;
  self->record = record;
  show (self);
  if (self->is.has_cell)
    studio_evaluation_open_cell (self, self->is.target, self->is.predicted, 0);
  notify (self);
}

guint
studio_evaluation_get_record (StudioEvaluation *self)
{
  return self->record;
}

void
studio_evaluation_turn_mistakes (StudioEvaluation *self, gint64 page)
{
  self->is.mistakes.page = page;
  request_part (self, "mistakes", page, take_turned, PAGE);
}

void
studio_evaluation_open_cell (StudioEvaluation *self, guint target, guint predicted, gint64 page)
{
  close_cell (self);
  self->is.has_cell = TRUE;
  self->is.target = target;
  self->is.predicted = predicted;
  request_cell (self, page);
}

char *
studio_evaluation_class_name (StudioEvaluation *self, guint k)
{
  return self->is.names != NULL && k < g_strv_length (self->is.names) ? g_strdup (self->is.names[k])
                                                                      : g_strdup_printf ("%u", k);
}

static void
evaluation_dispose (GObject *object)
{
  StudioEvaluation *self = STUDIO_EVALUATION (object);

  g_clear_handle_id (&self->poll, g_source_remove);
  if (self->run != NULL)
    g_signal_handlers_disconnect_by_data (self->run, self);
  g_clear_object (&self->run);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_evaluation_parent_class)->dispose (object);
}

static void
evaluation_finalize (GObject *object)
{
  StudioEvaluation *self = STUDIO_EVALUATION (object);

  forget (self);
  g_ptr_array_unref (self->history);
  g_free (self->message);
  G_OBJECT_CLASS (studio_evaluation_parent_class)->finalize (object);
}

static void
studio_evaluation_class_init (StudioEvaluationClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = evaluation_dispose;
  G_OBJECT_CLASS (klass)->finalize = evaluation_finalize;
  changed_signal = studio_signal_new ("changed", STUDIO_TYPE_EVALUATION, 0);
}

static void
studio_evaluation_init (StudioEvaluation *self)
{
  self->split = LOOM_N_SPLITS;
  self->evaluated = -1;
  self->history = g_ptr_array_new ();
}

StudioEvaluation *
studio_evaluation_new (StudioDocument *document, StudioRun *run)
{
  StudioEvaluation *self = g_object_new (STUDIO_TYPE_EVALUATION, NULL);

  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (state_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "points", G_CALLBACK (points_cb), self, G_CONNECT_SWAPPED);
  return self;
}
