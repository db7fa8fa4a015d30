/* Restores a run of an earlier Studio process: its curves, step and learning rate are read from its folder, and
 * studio_run_continue() resumes it. */
#include <glib/gi18n.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "engine/loom.h"
#include "ui/charts/studio-plot.h"
#include "ui/run/run-folder.h"
#include "ui/run/studio-run-private.h"

#define MAX_GRAPH  64000000
#define MAX_EVENTS 1000000000

static double
number_of (JsonObject *object, const char *name)
{
  return json_object_get_double_member_with_default (object, name, NAN);
}

static void
add_evaluation (StudioRun *self, JsonObject *event, gint64 step, gint64 epoch)
{
  JsonNode *node = json_object_get_member (event, "metrics");
  g_autoptr (GList) names = NULL;
  g_autoptr (GPtrArray) known = g_ptr_array_new ();
  g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (double));
  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    names = json_object_get_members (json_node_get_object (node));
  for (GList *l = names; l != NULL; l = l->next)
    {
      /* A confusion matrix is not a curve. */
      if (!JSON_NODE_HOLDS_VALUE (json_object_get_member (json_node_get_object (node), l->data)))
        continue;
      double value = number_of (json_node_get_object (node), l->data);
      g_ptr_array_add (known, l->data);
      g_array_append_val (values, value);
    }
  g_ptr_array_add (known, NULL);
  g_autoptr (GVariant) all = g_variant_ref_sink (
      g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, values->data, values->len, sizeof (double)));
  studio_run_take_evaluation (self, json_object_get_string_member_with_default (event, "split", "val"), step, epoch,
                              number_of (event, "loss"), (const char *const *)known->pdata, all);
}

static void
add_event (StudioRun *self, JsonObject *event, gint64 until)
{
  const char *kind = json_object_get_string_member_with_default (event, "event", "");
  gint64 step = json_object_get_int_member_with_default (event, "step", -1);
  gint64 epoch = json_object_get_int_member_with_default (event, "epoch", 0);
  /* Resuming computes the steps after the newest checkpoint again. */
  if (step < 0 || step > until)
    return;
  if (g_str_equal (kind, "step"))
    {
      self->progress.step = step;
      self->progress.epoch = epoch;
      self->progress.loss = number_of (event, "loss");
      self->progress.lr = number_of (event, "lr");
      studio_series_append (self->curves.loss.train, (double)step, self->progress.loss);
    }
  else if (g_str_equal (kind, "eval"))
    add_evaluation (self, event, step, epoch);
  else if (g_str_equal (kind, "hyper"))
    studio_run_add_change (self, (double)step, json_object_get_string_member_with_default (event, "name", "lr"),
                           number_of (event, "value"));
}

/* Restores curves, figures and marks up to the newest checkpoint. */
static void
read_events (StudioRun *self, gint64 until)
{
  gsize length;
  g_autofree char *text = run_folder_read (self->folder, LOOM_RUN_EVENTS, MAX_EVENTS, &length);
  if (text == NULL)
    return;
  g_autoptr (JsonParser) parser = json_parser_new ();
  for (char *line = text, *end; line < text + length && (end = strchr (line, '\n')) != NULL; line = end + 1)
    if (loom_json_is_within (line, (gsize)(end - line), LOOM_JSON_LEVELS)
        && json_parser_load_from_data (parser, line, end - line, NULL)
        && JSON_NODE_HOLDS_OBJECT (json_parser_get_root (parser)))
      add_event (self, json_node_get_object (json_parser_get_root (parser)), until);
}

gboolean
studio_run_is_elsewhere (const char *graph_hash)
{
  gboolean wanted = FALSE, live = FALSE;
  g_autofree char *found = run_folder_find (graph_hash, &wanted, &live);
  return live;
}

void
studio_run_set_elsewhere (StudioRun *self, gboolean elsewhere)
{
  if (self->state == STUDIO_RUN_IDLE)
    studio_run_set_state (self, STUDIO_RUN_IDLE,
                          elsewhere ? _ ("This graph is still training in another tab or window.") : NULL);
}

gboolean
studio_run_find_interrupted (StudioRun *self, const char *graph_hash, const char *graph_folder)
{
  gboolean wanted = FALSE, live = FALSE;
  g_autofree char *found = run_folder_find (graph_hash, &wanted, &live);
  /* Resuming an older run would train the graph twice at the same time. */
  if (live)
    return FALSE;
  g_autofree char *xml = found != NULL ? run_folder_read (found, "graph.xml", MAX_GRAPH, NULL) : NULL;
  if (xml == NULL)
    return FALSE;
  gint64 step = run_folder_newest_checkpoint (found);
  g_free (self->folder);
  self->folder = g_steal_pointer (&found);
  g_free (self->graph_xml);
  self->graph_xml = g_steal_pointer (&xml);
  g_free (self->graph_folder);
  self->graph_folder = g_strdup (graph_folder);
  self->options = (StudioRunOptions)STUDIO_RUN_OPTIONS_INIT;
  g_clear_pointer (&self->device, g_free);
  self->checkpoint_step = step;
  self->ranks.live = self->ranks.next; /* of which a later change is one */
  read_events (self, step);
  self->progress.step = step; /* events of long runs skip steps */
  double rate = run_folder_read_rate (self->folder, step);
  if (isfinite (rate))
    studio_run_take_hyper (self, "lr", rate);
  g_autofree char *count = studio_format_count ((double)step);
  g_autofree char *text
      = wanted ? g_strdup_printf (_ ("The last run of this graph was stopped at step %s and can continue from there."),
                                  count)
               : g_strdup_printf (_ ("The last run of this graph ended early; its newest checkpoint is of step %s."),
                                  count);
  studio_run_set_state (self, wanted ? STUDIO_RUN_STOPPED : STUDIO_RUN_LOST, text);
  return TRUE;
}

void
studio_run_remember (StudioRun *self, const char *graph_hash)
{
  run_folder_remember (self->folder, graph_hash);
}
