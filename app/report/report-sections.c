/* The table of sections, and those that are texts and tables. */
#include "app/report/report-sections.h"

#include <glib/gi18n.h>
#include <math.h>

#include "app/shared/command.h"
#include "ui/drawing/studio-picture.h"
#include "ui/scene/studio-format.h"

static char *
count (double n)
{
  return studio_format_count (n);
}

static char *
bytes (double n)
{
  g_autofree char *text = loom_bytes_to_string (n);

  return studio_format_local (text);
}

/* ---- result ----------------------------------------------------------------------------- */

static const ReportSeries *
last_evaluation (const ReportData *data, const char *name)
{
  for (guint i = 0; i < data->evaluations->len; i++)
    {
      const ReportSeries *series = data->evaluations->pdata[i];

      if (g_str_equal (series->name, name))
        return series;
    }
  return NULL;
}

static void
add_last (ReportBlock *facts, const ReportSeries *series)
{
  double x, y;

  loom_series_get (series->points, loom_series_length (series->points) - 1, &x, &y);
  g_autofree char *value = studio_format_number (y), *step = count (x);
  g_autofree char *text = g_strdup_printf (_ ("%1$s at step %2$s"), value, step);
  g_autofree char *name = g_strdup_printf ("%s (%s)", series->name, series->split);

  report_block_add_fact (facts, name, text);
}

/* Warns of a run that did not end as planned. */
static void
add_end (ReportPage *page, const LoomRunLog *log)
{
  g_autofree char *step = count ((double)(log->nan_step > 0 ? log->nan_step : log->step));

  if (log->nan_step > 0)
    report_page_add_format (page, REPORT_WARNING, _ ("The run ended at step %1$s with NaN: %2$s"), step,
                            log->sentence != NULL ? log->sentence : "");
  else if (log->end == LOOM_RUN_END_FAILED)
    report_page_add_format (page, REPORT_WARNING, _ ("The run failed: %s"), log->sentence != NULL ? log->sentence : "");
  else if (log->was_killed)
    report_page_add_format (page, REPORT_WARNING, _ ("The process of the run was killed after step %s."), step);
}

static void
add_result (ReportPage *page, const ReportData *data)
{
  const LoomRunLog *log = &data->run->log;
  ReportBlock *facts;
  g_autofree char *step = count ((double)log->step), *loss = studio_format_number (log->loss);
  g_autofree char *epochs = data->run->epochs > 0
                                ? g_strdup_printf (_ ("%1$d of %2$d"), (int)log->epoch, (int)data->run->epochs)
                                : g_strdup_printf ("%d", (int)log->epoch);

  add_end (page, log);
  if (data->run->notes.note != NULL)
    report_page_add (page, REPORT_TEXT, data->run->notes.note);
  facts = report_page_add_table (page, REPORT_FACTS, 2, 2);
  report_block_add_fact (facts, _ ("Steps"), step);
  report_block_add_fact (facts, _ ("Epochs"), epochs);
  report_block_add_fact (facts, _ ("Loss of the last step"), isnan (log->loss) ? NULL : loss);
  for (guint i = 0; i < data->evaluations->len; i++)
    add_last (facts, data->evaluations->pdata[i]);
  if (last_evaluation (data, "loss") == NULL)
    report_block_add_fact (facts, _ ("Validation"), _ ("none"));
}

/* ---- graph ------------------------------------------------------------------------------ */

static const StudioPictureOptions plain = { .dark = FALSE };

static void
draw_graph (cairo_t *cr, PangoContext *context, double width, double height, gpointer data)
{
  const StudioRect bounds = studio_picture_bounds (data, &plain);
  const double scale = MIN (width / bounds.width, height / bounds.height);

  cairo_save (cr);
  cairo_scale (cr, scale, scale);
  studio_picture_draw (data, &plain, &bounds, cr);
  cairo_restore (cr);
}

#define MOST_HEIGHT 900.0

static void
add_picture (ReportPage *page, const LoomGraph *graph, const char *module)
{
  StudioScene *scene = studio_picture_scene (graph, module, NULL);
  StudioRect bounds;
  double scale;

  if (scene == NULL || scene->n_items == 0)
    {
      studio_scene_free (scene);
      return;
    }
  bounds = studio_picture_bounds (scene, &plain);
  scale = MIN (1, MIN (640 / bounds.width, MOST_HEIGHT / bounds.height));
  g_autofree char *words = module != NULL ? g_strdup_printf (_ ("The module %1$s: %2$u nodes"), module, scene->n_items)
                                          : g_strdup_printf (_ ("The graph: %u nodes"), scene->n_items);
  report_page_add (page, REPORT_NOTE, words);
  report_page_add_picture (page, words, ceil (bounds.width * scale), ceil (bounds.height * scale), draw_graph, scene,
                           (GDestroyNotify)studio_scene_free);
}

static void
add_graph (ReportPage *page, const ReportData *data)
{
  const LoomElement *root = loom_graph_root (data->graph);

  add_picture (page, data->graph, NULL);
  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      const LoomElement *e = loom_element_child (root, i);

      if (loom_element_tag (e) == LOOM_TAG_MODULE)
        add_picture (page, data->graph, loom_element_get (e, "name"));
    }
}

/* ---- settings and data ------------------------------------------------------------------ */

/* "type=cosine, warmup_steps=100". */
static char *
attributes_of (const LoomElement *e, const char *const *skipped)
{
  GString *s = g_string_new (NULL);

  for (guint i = 0; i < loom_element_n_attributes (e); i++)
    {
      const char *name, *value;
      loom_element_attribute (e, i, &name, &value);
      if (skipped == NULL || !g_strv_contains (skipped, name))
        g_string_append_printf (s, "%s%s=%s", s->len > 0 ? ", " : "", name, value);
    }
  return g_string_free (s, FALSE);
}

static void
add_settings (ReportPage *page, const ReportData *data)
{
  const LoomElement *train = loom_element_find (loom_graph_root (data->graph), LOOM_TAG_TRAIN);
  ReportBlock *facts = report_page_add_table (page, REPORT_FACTS, 2, 2);

  for (guint i = 0; train != NULL && i < loom_element_n_attributes (train); i++)
    {
      const char *name, *value;
      loom_element_attribute (train, i, &name, &value);
      report_block_add_fact (facts, name, value);
    }
  for (guint i = 0; train != NULL && i < loom_element_n_children (train); i++)
    {
      const LoomElement *e = loom_element_child (train, i);
      g_autofree char *text = attributes_of (e, NULL);
      const char *tag = loom_tag_name (loom_element_tag (e));

      if (*text != '\0' && tag != NULL)
        report_block_add_fact (facts, tag, text);
    }
}

static void
add_dataset (ReportPage *page, const ReportData *data, guint node)
{
  static const char *const skipped[] = { "id", "op", NULL };
  const LoomNetNode *n = loom_net_node (data->net, node);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDataset) dataset
      = loom_net_open_dataset (data->net, (int)node, loom_graph_get_folder (data->graph), &error);
  ReportBlock *facts = report_page_add_table (page, REPORT_FACTS, 2, 2);
  g_autofree char *options = attributes_of (n->element, skipped);

  report_block_add_fact (facts, n->path, options);
  for (guint i = 0; i < n->n_outputs; i++)
    {
      g_autofree char *name = g_strdup_printf ("%s.%s", n->path, n->output_spec[i].name);
      g_autofree char *shape = n->typed ? loom_shape_to_string (&n->output[i].shape) : NULL;
      g_autofree char *type
          = shape != NULL ? g_strdup_printf ("%s, %s", shape, loom_dtype_name (n->output[i].dtype)) : NULL;
      report_block_add_fact (facts, name, type);
    }
  if (dataset == NULL)
    {
      report_page_add_format (page, REPORT_NOTE, _ ("The data cannot be opened now: %s"), error->message);
      return;
    }
  for (int s = 0; s < LOOM_N_SPLITS; s++)
    {
      const gint64 samples = loom_dataset_info (dataset)->n[s];
      g_autofree char *number = samples > 0 ? count ((double)samples) : NULL;
      g_autofree char *name = g_strdup_printf (_ ("samples of “%s”"), loom_split_name ((LoomSplit)s));
      report_block_add_fact (facts, name, number);
    }
  if (loom_dataset_info (dataset)->n_classes > 0)
    {
      g_autofree char *classes = count ((double)loom_dataset_info (dataset)->n_classes);
      report_block_add_fact (facts, _ ("classes"), classes);
    }
}

static void
add_data (ReportPage *page, const ReportData *data)
{
  gboolean any = FALSE;

  for (guint i = 0; i < loom_net_n_nodes (data->net); i++)
    if (loom_net_is_dataset (data->net, i))
      {
        add_dataset (page, data, i);
        any = TRUE;
      }
  if (!any)
    report_page_add (page, REPORT_NOTE, _ ("The graph reads no data set."));
}

/* ---- changes, machine, repetition ------------------------------------------------------- */

static gboolean
has_changes (const ReportData *data)
{
  return data->changes->len > 0;
}

static void
add_changes (ReportPage *page, const ReportData *data)
{
  ReportBlock *table = report_page_add_table (page, REPORT_TABLE, 4, 1);

  report_block_add (table, g_strdup (_ ("Setting")));
  report_block_add (table, g_strdup (_ ("After step")));
  report_block_add (table, g_strdup (_ ("Before")));
  report_block_add (table, g_strdup (_ ("Then")));
  for (guint i = 0; i < data->changes->len; i++)
    {
      const ReportChange *change = data->changes->pdata[i];

      report_block_add (table, g_strdup (change->name));
      report_block_add (table, count ((double)change->step));
      report_block_add (table, isnan (change->before) ? g_strdup ("–") : studio_format_number (change->before));
      report_block_add (table, studio_format_number (change->value));
    }
}

static void
add_machine (ReportPage *page, const ReportData *data)
{
  const double seconds = loom_run_summary_seconds (data->run);
  ReportBlock *facts = report_page_add_table (page, REPORT_FACTS, 2, 2);
  g_autofree char *seed = data->spec != NULL ? g_strdup_printf ("%" G_GUINT64_FORMAT, data->spec->seed) : NULL;
  g_autofree char *threads = data->settings.threads > 0 ? g_strdup_printf ("%d", data->settings.threads) : NULL;
  g_autofree char *ranks = g_strdup_printf ("%d", MAX (data->settings.ranks, 1));
  g_autofree char *parameters = isnan (data->run->parameters) ? NULL : count (data->run->parameters);
  g_autofree char *needed = data->needed > 0 ? bytes ((double)data->needed) : NULL;
  g_autofree char *memory
      = needed != NULL ? g_strdup_printf (_ ("%1$s on %2$s, as planned"), needed, data->needed_on) : NULL;
  g_autofree char *duration = seconds > 0 ? command_duration (seconds) : NULL;
  g_autofree char *speed = seconds > 0 ? studio_format_number ((double)data->run->log.step / seconds) : NULL;
  g_autofree char *time
      = speed != NULL ? g_strdup_printf (_ ("%1$s, %2$s steps per second with pauses"), duration, speed) : NULL;

  report_block_add_fact (facts, _ ("Device"), data->settings.device);
  report_block_add_fact (facts, _ ("Threads"), threads);
  report_block_add_fact (facts, _ ("Ranks"), ranks);
  report_block_add_fact (facts, _ ("Version"), data->program);
  report_block_add_fact (facts, _ ("Seed"), seed);
  report_block_add_fact (facts, _ ("Parameters"), parameters);
  report_block_add_fact (facts, _ ("Memory"), memory);
  report_block_add_fact (facts, _ ("Time"), time);
}

static void
add_repetition (ReportPage *page, const ReportData *data)
{
  g_autofree char *folder = g_path_get_basename (data->folder), *again = g_strconcat (folder, "-again", NULL);
  g_autofree char *graph = g_build_filename (folder, LOOM_RUN_GRAPH, NULL);
  g_autofree char *from = loom_text_shell_word (folder), *to = loom_text_shell_word (again);
  g_autofree char *file = loom_text_shell_word (graph), *device = loom_text_shell_word (data->settings.device);

  report_page_add (page, REPORT_TEXT, _ ("In the folder that contains the run:"));
  if (data->settings.ranks > 1)
    {
      report_page_add_format (page, REPORT_CODE, "gradloom train %s --ranks %d --device %s --threads %d --out %s", file,
                              data->settings.ranks, device, data->settings.threads, to);
      if (has_changes (data))
        report_page_add (page, REPORT_NOTE, _ ("It does not repeat the changes that were made while the run trained."));
    }
  else
    report_page_add_format (page, REPORT_CODE, "gradloom train --replay %s --out %s", from, to);
  if (data->branch_of != NULL)
    {
      g_autofree char *step = count ((double)data->branch_step);
      report_page_add_format (page, REPORT_NOTE, _ ("The run continues %1$s after step %2$s."), data->branch_of, step);
    }
  report_page_add (page, REPORT_NOTE, _ ("The same data, version, device and number of threads give the same bits."));
}

/* ---- the table -------------------------------------------------------------------------- */

static const ReportSection sections[] = {
  { N_ ("Result"), NULL, add_result },
  { N_ ("Graph"), NULL, add_graph },
  { N_ ("Settings"), NULL, add_settings },
  { N_ ("Data"), NULL, add_data },
  { N_ ("Curves"), report_has_curves, report_add_curves },
  { N_ ("Predictions"), NULL, report_add_predictions },
  { N_ ("Attention"), report_has_attention, report_add_attention },
  { N_ ("Changes While Training"), has_changes, add_changes },
  { N_ ("Machine"), NULL, add_machine },
  { N_ ("To Repeat It"), NULL, add_repetition },
};

const ReportSection *
report_section (guint i)
{
  return i < G_N_ELEMENTS (sections) ? &sections[i] : NULL;
}
