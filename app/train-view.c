/* Prints the progress of a trainer: lines of epochs and a progress bar, or events. */
#include "app/train-view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_US (G_USEC_PER_SEC / 10)
#define SPARSE_US (5 * G_USEC_PER_SEC)
#define FLUSH_US  (G_USEC_PER_SEC / 20)
/* The width of the bar itself. */
#define MIN_BAR 10
#define MAX_BAR 30
/* The number of lines of a run with one step per epoch. */
#define STEP_LINES 20

static void
clear_bar (TrainView *view)
{
  if (view->bar_shown)
    fprintf (stderr, "\r\033[K");
  view->bar_shown = FALSE;
}

static int
terminal_width (void)
{
  struct winsize size;
  return ioctl (STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

/* Formats a number for people, without the meaningless sign of a NaN. */
static const char *
readable (double x, char *buffer)
{
  return isnan (x) ? "nan" : g_ascii_formatd (buffer, G_ASCII_DTOSTR_BUF_SIZE, "%.5g", x);
}

/* A table is not a number: it is printed separately, or not at all. */
static gboolean
is_table (LoomTrainer *trainer, guint metric)
{
  return ((const LoomMetricSpec *)loom_trainer_spec (trainer)->metrics->pdata[metric])->metric->is_matrix;
}

/* The texts after the bar, the most important first; those that do not fit into a small terminal are omitted. */
static GPtrArray *
bar_parts (TrainView *view, LoomTrainer *trainer, const LoomTrainerStep *s)
{
  GPtrArray *parts = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *left = command_duration (s->eta_seconds), *rate = command_count (s->items_per_second);
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  g_ptr_array_add (parts, g_strdup_printf ("loss %s", readable (s->recent_loss, number)));
  if (s->items_per_second > 0)
    g_ptr_array_add (parts, g_strdup_printf ("%s left", left));
  for (guint i = 0; i < s->n_metrics; i++)
    if (!is_table (trainer, i))
      g_ptr_array_add (parts, g_strdup_printf ("%s %s", s->metric_name[i], readable (s->metric[i], number)));
  if (s->items_per_second > 0)
    g_ptr_array_add (parts, g_strdup_printf ("%s %s/s", rate, view->by_step ? "steps" : "items"));
  return parts;
}

/* "epoch 2/3 ━━━━────── 45 % loss 0.31 0:12 left accuracy 0.89 18.2k items/s" in at most `width` columns; without a
 * terminal (width 0), the same without the bar in any length. */
static char *
bar_line (TrainView *view, LoomTrainer *trainer, const LoomTrainerStep *s, int width)
{
  g_autoptr (GPtrArray) parts = bar_parts (view, trainer, s);
  double share = s->total_steps > 0 ? (double)s->step / (double)s->total_steps : 0;
  g_autofree char *head
      = g_strdup_printf ("%s %" G_GINT64_FORMAT "/%" G_GINT64_FORMAT, view->by_step ? "step" : "epoch",
                         view->by_step ? s->step : s->epoch, view->epochs);
  g_autofree char *percent = g_strdup_printf ("%.0f %%", floor (share * 100));
  GString *line = g_string_new (head);
  int room = width - 1 - (int)(strlen (head) + strlen (percent) + 4), taken = 0, bar;
  guint n = 0;

  for (; n < parts->len; n++)
    {
      int more = (int)g_utf8_strlen (parts->pdata[n], -1) + 2;

      if (width > 0 && room - taken - more < MIN_BAR)
        break;
      taken += more;
    }
  bar = CLAMP (room - taken, 0, MAX_BAR);
  if (width > 0)
    g_string_append (line, "  ");
  for (int i = 0; i < bar; i++)
    g_string_append (line, i < (int)(share * bar) ? "━" : "─");
  g_string_append_printf (line, "  %s", percent);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (line, "  %s", (const char *)parts->pdata[i]);
  return g_string_free (line, FALSE);
}

static void
draw_bar (TrainView *view, LoomTrainer *trainer, const LoomTrainerStep *s)
{
  g_autofree char *line = bar_line (view, trainer, s, view->terminal ? terminal_width () : 0);

  fprintf (stderr, view->terminal ? "\r\033[K%s" : "%s\n", line);
  fflush (stderr);
  view->bar_shown = view->terminal;
}

/* If output cannot be written, for example to a full disk, the run is asked to end with a checkpoint. */
static void
flush (TrainView *view, LoomTrainer *trainer)
{
  if (command_flush () || view->lost)
    return;
  view->lost = TRUE;
  loom_trainer_post (trainer, LOOM_COMMAND_INTERRUPT, NULL, 0);
}

/* "last 12 steps" */
static char *
last_steps (gint64 n)
{
  return n == 1 ? g_strdup ("last step") : g_strdup_printf ("last %" G_GINT64_FORMAT " steps", n);
}

/* Prints an epoch's training figures; eval_cb() appends the evaluation to the line. */
static void
print_epoch (TrainView *view, LoomTrainer *trainer, const LoomTrainerStep *s)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  gint64 stride = (view->epochs + STEP_LINES - 1) / STEP_LINES;

  if (view->by_step && s->epoch % stride != 0 && s->epoch != view->epochs)
    return;
  clear_bar (view);
  printf ("%s %" G_GINT64_FORMAT "/%" G_GINT64_FORMAT "  %s %s", view->by_step ? "step" : "epoch", s->epoch,
          view->epochs, view->by_step ? "loss" : "train loss", readable (s->recent_loss, number));
  for (guint i = 0; i < s->n_metrics; i++)
    if (!is_table (trainer, i))
      printf ("  %s %s", s->metric_name[i], readable (s->metric[i], number));
  g_autofree char *recent = s->recent_steps >= s->steps_per_epoch ? NULL : last_steps (s->recent_steps);
  if (recent != NULL)
    printf ("  (%s)", recent);
  printf ("\n");
  flush (view, trainer);
}

static void
print_json_step (TrainView *view, LoomTrainer *trainer, const LoomTrainerStep *s, gint64 now)
{
  LoomJson *json = command_event_new ("step");

  loom_json_int (json, "step", s->step);
  loom_json_int (json, "epoch", s->epoch);
  loom_json_exact (json, "loss", s->loss);
  loom_json_fixed (json, "time", (double)(now - view->start) / G_USEC_PER_SEC, 6);
  loom_json_number (json, "items_per_second", s->items_per_second > 0 ? s->items_per_second : NAN);
  command_event_print (json);
  if (loom_rate_is_due (&view->flushes, now))
    flush (view, trainer);
}

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  TrainView *view = data;
  gint64 now = loom_monotonic ();

  train_board_step (view->board, s);
  view->recent_loss = s->recent_loss;
  view->recent_steps = s->recent_steps;
  if (view->json)
    print_json_step (view, trainer, s, now);
  else if (s->ends_epoch)
    {
      print_epoch (view, trainer, s);
      if (!view->terminal)
        view->bars.last = now;
    }
  if (!view->silent && loom_rate_is_due (&view->bars, now))
    draw_bar (view, trainer, s);
}

/* Rows are classes, columns predictions. */
static void
print_matrix (const char *name, const LoomTrainerMatrix *matrix)
{
  double most = 1;

  for (guint k = 0; k < matrix->n * matrix->n; k++)
    most = MAX (most, matrix->value[k]);
  int width = MAX (4, (int)log10 (most) + 1);
  if (matrix->n > 0)
    printf ("%s (a row for each class, a column for each prediction):\n", name);
  for (guint k = 0; k < matrix->n * matrix->n; k++)
    printf ("%s%*.0f%s", k % matrix->n == 0 ? "" : " ", width, matrix->value[k],
            k % matrix->n == matrix->n - 1 ? "\n" : "");
}

static void
early_stop_cb (LoomTrainer *trainer, const LoomTrainerWatch *watch, gpointer data)
{
  TrainView *view = data;
  const LoomTrainSpec *spec = loom_trainer_spec (trainer);
  const char *monitor = spec->monitor < 0 ? "loss" : ((LoomMetricSpec *)spec->metrics->pdata[spec->monitor])->name;
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  clear_bar (view);
  if (view->json)
    {
      LoomJson *json = command_event_new ("early_stop");
      loom_json_int (json, "step", loom_trainer_steps (trainer));
      loom_json_int (json, "epoch", watch->best_epoch + watch->epochs_since_best);
      loom_json_string (json, "monitor", monitor);
      loom_json_exact (json, "best", watch->best);
      loom_json_int (json, "best_epoch", watch->best_epoch);
      command_event_print (json);
    }
  else
    printf ("stopped early: %" G_GINT64_FORMAT " epoch%s without a better %s than %s of epoch %" G_GINT64_FORMAT "\n",
            watch->epochs_since_best, watch->epochs_since_best == 1 ? "" : "s", monitor, readable (watch->best, number),
            watch->best_epoch);
  flush (view, trainer);
}

static void
note_cb (LoomTrainer *trainer, const char *text, gpointer data)
{
  TrainView *view = data;

  clear_bar (view);
  command_warn (view->command, "%s", text);
}

/* ---- initial weights from a file -------------------------------------- */

static void
print_items (const char *what, const GPtrArray *items)
{
  for (guint i = 0; i < items->len; i++)
    {
      const LoomTransferItem *item = items->pdata[i];
      if (item->here != NULL && item->there != NULL && strcmp (item->here, item->there) != 0)
        {
          g_autofree char *text = loom_weight_mismatch (item->name, item->here, item->there);
          g_autofree char *shown = command_printable (text);
          fprintf (stderr, "  %s: %s\n", what, shown);
        }
      else
        {
          g_autofree char *name = command_printable (item->name);
          fprintf (stderr, "  %s: %s %s\n", what, name, item->here != NULL ? item->here : item->there);
        }
    }
}

/* Reports the weights that a run began with: as lines for people, as an event for programs. */
void
train_view_print_transfer (TrainView *view, LoomTrainer *trainer)
{
  const LoomTransfer *transfer = loom_trainer_transfer (trainer);

  if (transfer == NULL)
    return;
  if (view->json)
    {
      LoomJson *json = command_event_new ("weights");
      loom_transfer_add_json (transfer, json);
      command_event_print (json);
      return;
    }
  g_autofree char *file = command_printable (transfer->file);
  fprintf (stderr, "weights of %s: %u loaded, %u missing, %u unused, %u mismatched\n", file, transfer->loaded->len,
           transfer->missing->len, transfer->unused->len, transfer->mismatched->len);
  print_items ("loaded", transfer->loaded);
  print_items ("missing, initialised", transfer->missing);
  print_items ("unused", transfer->unused);
  print_items ("mismatched, initialised", transfer->mismatched);
}

static void
print_json_eval (const TrainView *view, const LoomTrainerEval *e, gint64 now)
{
  LoomJson *json = command_event_new ("eval");
  gint64 step = view->only_eval ? view->weights_step : e->step;

  loom_json_string (json, "split", e->split);
  if (step >= 0)
    loom_json_int (json, "step", step);
  else
    loom_json_null (json, "step");
  loom_json_exact (json, "loss", e->loss);
  loom_json_begin_object (json, "metrics");
  for (guint i = 0; i < e->n_metrics; i++)
    loom_trainer_eval_add_json (e, i, json);
  loom_json_end_object (json);
  loom_json_fixed (json, "time", (double)(now - view->start) / G_USEC_PER_SEC, 6);
  command_event_print (json);
}

static void
eval_cb (LoomTrainer *trainer, const LoomTrainerEval *e, gpointer data)
{
  TrainView *view = data;
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  gint64 now = loom_monotonic ();

  train_board_eval (view->board, e);
  if (view->json)
    {
      print_json_eval (view, e, now);
      flush (view, trainer);
      return;
    }
  clear_bar (view);
  if (view->epochs > 0)
    printf ("epoch %d/%d  ", (int)e->epoch, (int)view->epochs);
  printf ("%s%sloss %s", view->by_step ? "" : e->split, view->by_step ? "" : " ", readable (e->loss, number));
  for (guint i = 0; i < e->n_metrics; i++)
    if (!is_table (trainer, i))
      printf ("  %s %s", e->metric_name[i], readable (e->metric[i], number));
  if (view->epochs > 0)
    printf ("  (%.1f s)", (now - view->epoch_start) / 1e6);
  printf ("\n");
  /* During training tables are not printed, so that the epochs' lines stay together. */
  for (guint i = 0; view->epochs == 0 && i < e->n_metrics; i++)
    print_matrix (e->metric_name[i], &e->matrix[i]);
  flush (view, trainer);
  view->epoch_start = now;
}

/* ---- beginning and end ------------------------------------------------- */

void
train_view_begin (TrainView *view, const Command *command, LoomTrainer *trainer)
{
  LoomTrainerObserver observer = { .step = step_cb, .eval = eval_cb, .early_stop = early_stop_cb, .note = note_cb };

  view->command = command;
  view->epochs = loom_trainer_spec (trainer)->epochs;
  view->by_step = loom_trainer_spec (trainer)->dataset_node < 0;
  view->terminal = isatty (STDERR_FILENO);
  view->silent = view->json && (!view->terminal || isatty (STDOUT_FILENO));
  view->recent_loss = NAN;
  view->start = view->epoch_start = loom_monotonic ();
  view->bars = (LoomRate){ view->terminal ? REDRAW_US : SPARSE_US, view->start };
  view->flushes = (LoomRate){ FLUSH_US, view->start };
  loom_trainer_set_observer (trainer, &observer, view);
}

void
train_view_begin_eval (TrainView *view, const Command *command, LoomTrainer *trainer, gint64 weights_step)
{
  LoomTrainerObserver observer = { .eval = eval_cb, .note = note_cb };

  view->command = command;
  view->only_eval = TRUE;
  view->by_step = loom_trainer_spec (trainer)->dataset_node < 0;
  view->weights_step = weights_step;
  view->start = loom_monotonic ();
  loom_trainer_set_observer (trainer, &observer, view);
}

/* The end of a run by --steps. */
static void
print_steps (const TrainView *view, LoomTrainer *trainer, const char *folder)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  printf ("ended after step %" G_GINT64_FORMAT ", the limit of --steps", loom_trainer_steps (trainer));
  if (!isnan (view->recent_loss))
    {
      g_autofree char *recent = last_steps (view->recent_steps);

      printf (", train loss %s (%s)", readable (view->recent_loss, number), recent);
    }
  if (folder != NULL)
    {
      g_autofree char *words = loom_trainer_resume_words (trainer);

      printf ("; resume with: %s", words);
    }
  printf ("\n");
}

/* Prints the stalls of a step as a table of three lines. */
static void
print_waits (const LoomTrainerWaits *w)
{
  const struct
  {
    const char *what;
    double seconds;
  } row[] = { { "for data", w->data }, { "computing", w->compute }, { "rest", w->rest } };
  const double all = w->data + w->compute + w->rest;

  printf ("stalls of a step (mean of %" G_GINT64_FORMAT " steps, %.3g ms each)\n", w->steps, all * 1000);
  g_autofree char *by
      = w->threads == 0 ? g_strdup ("  (read when they are needed)")
                        : g_strdup_printf ("  (prepared ahead by %u thread%s)", w->threads, w->threads == 1 ? "" : "s");

  for (guint i = 0; i < G_N_ELEMENTS (row); i++)
    printf ("  %-10s %9.3f ms  %3.0f %%%s\n", row[i].what, row[i].seconds * 1000,
            all > 0 ? 100 * row[i].seconds / all : 0, i > 0 ? "" : by);
}

/* Prints the driver's figures of a device with its own memory, and explains each. */
static void
print_memory (const char *device, const LoomTrainerDeviceMemory *m)
{
  g_autofree char *total = loom_bytes_to_string ((double)m->total), *used = loom_bytes_to_string ((double)m->used);
  g_autofree char *before = loom_bytes_to_string ((double)m->before), *last = loom_bytes_to_string ((double)m->last);
  g_autofree char *first = m->first > 0 ? loom_bytes_to_string ((double)m->first) : NULL;

  fprintf (stderr, "memory of %s by its driver: %s of %s in use now, %s before the run", device, used, total, before);
  if (first != NULL)
    fprintf (stderr, "; peak in the first step %s, in all steps %s", first, last);
  fprintf (stderr, "\n");
}

static void
memory_event (const char *device, const LoomTrainerDeviceMemory *m)
{
  LoomJson *json = command_event_new ("memory");

  loom_json_string (json, "device", device);
  loom_json_int (json, "total", (gint64)m->total);
  loom_json_int (json, "used", (gint64)m->used);
  loom_json_int (json, "before", (gint64)m->before);
  if (m->first > 0)
    loom_json_int (json, "peak_first_step", (gint64)m->first);
  loom_json_int (json, "peak_last_step", (gint64)m->last);
  command_event_print (json);
}

static void
waits_event (const LoomTrainerWaits *w)
{
  LoomJson *json = command_event_new ("waits");

  loom_json_int (json, "steps", w->steps);
  loom_json_number (json, "data", w->data);
  loom_json_number (json, "compute", w->compute);
  loom_json_number (json, "rest", w->rest);
  loom_json_int (json, "threads", w->threads);
  command_event_print (json);
}

double
train_view_parameters (LoomTrainer *trainer)
{
  const LoomNet *net = loom_trainer_net (trainer);
  double n = 0;

  for (guint i = 0; i < loom_net_n_weights (net); i++)
    if (!loom_net_weight (net, i)->is_buffer)
      n += MAX (0, loom_dim_value (loom_shape_count (&loom_net_weight (net, i)->shape), NULL));
  return n;
}

/* Prints the statistics of a parameter server's updates. */
static void
print_staleness (const LoomStaleness *s)
{
  char mean[G_ASCII_DTOSTR_BUF_SIZE];

  printf ("%" G_GINT64_FORMAT " pushes; the staleness of gradients was %s updates on average, at most %" G_GINT64_FORMAT
          "\n",
          s->pushes, g_ascii_formatd (mean, sizeof mean, "%.2f", (double)s->sum / (double)s->pushes), s->most);
}

void
train_view_end (TrainView *view, LoomTrainer *trainer, LoomTrainerEnd end, const char *folder)
{
  const LoomStaleness staleness = loom_trainer_staleness (trainer);
  LoomTrainerDeviceMemory memory;

  clear_bar (view);
  if (loom_trainer_device_memory (trainer, &memory))
    (view->json ? memory_event : print_memory) (loom_trainer_device (trainer), &memory);
  if (!view->json && staleness.pushes > 0)
    print_staleness (&staleness);
  if (!view->json && end == LOOM_TRAINER_STOPPED)
    print_steps (view, trainer, folder);
  if (view->waits)
    {
      LoomTrainerWaits waits;

      loom_trainer_waits (trainer, &waits);
      if (waits.steps > 0 && view->json)
        waits_event (&waits);
      else if (waits.steps > 0)
        print_waits (&waits);
    }
  if (view->json && (end == LOOM_TRAINER_DONE || end == LOOM_TRAINER_STOPPED))
    {
      LoomJson *json = command_event_new ("done");
      loom_json_int (json, "step", loom_trainer_steps (trainer));
      loom_json_fixed (json, "parameters", train_view_parameters (trainer), 0);
      if (staleness.pushes > 0)
        {
          loom_json_int (json, "pushes", staleness.pushes);
          loom_json_number (json, "staleness_mean", (double)staleness.sum / (double)staleness.pushes);
          loom_json_int (json, "staleness_most", staleness.most);
        }
      loom_json_fixed (json, "time", (double)(loom_monotonic () - view->start) / G_USEC_PER_SEC, 6);
      command_event_print (json);
    }
  command_flush ();
}
