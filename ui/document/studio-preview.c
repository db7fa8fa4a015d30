/* The nets of both graphs are made on a thread, from a frozen copy: the document may change meanwhile, and a large
 * graph does not delay typing. */
#include "ui/document/studio-preview.h"

#include <glib/gi18n.h>

#include "ui/scene/studio-format.h"

typedef struct
{
  LoomGraph *graph; /* frozen */
  guint64 serial;
  char *attribute, *value;
} Preview;

static void
preview_free (gpointer data)
{
  Preview *preview = data;

  loom_graph_unref (preview->graph);
  g_free (preview->attribute);
  g_free (preview->value);
  g_free (preview);
}

#define MAX_SHAPES 3 /* that fit into a preview */

static double
count_parameters (const LoomNet *net)
{
  double n = 0;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    n += loom_net_node (net, i)->cost.parameters;
  return n;
}

static void
append_line (GString *s, const char *line)
{
  g_string_append_printf (s, "%s%s", s->len > 0 ? "\n" : "", line);
}

static void
compare_shapes (GString *s, const LoomNet *before, const LoomNet *after)
{
  guint listed = 0, more = 0;

  for (guint i = 0; i < loom_net_n_nodes (after); i++)
    {
      const LoomNetNode *b = loom_net_node (after, i);
      int found = loom_net_find (before, b->path);
      const LoomNetNode *a = found >= 0 ? loom_net_node (before, (guint)found) : NULL;
      g_autofree char *was = NULL, *now = NULL, *line = NULL;

      if (a == NULL || !a->typed || !b->typed || a->n_outputs == 0 || b->n_outputs == 0
          || loom_shape_equal (&a->output[0].shape, &b->output[0].shape))
        continue;
      if (++listed > MAX_SHAPES)
        {
          more++;
          continue;
        }
      was = loom_shape_to_string (&a->output[0].shape);
      now = loom_shape_to_string (&b->output[0].shape);
      line = g_strdup_printf ("%s: %s → %s", b->path, was, now);
      append_line (s, line);
    }
  if (more > 0)
    {
      g_autofree char *line = g_strdup_printf (ngettext ("and %u more shape", "and %u more shapes", more), more);

      append_line (s, line);
    }
}

/* NULL if nothing would change, or the request was cancelled. */
static char *
compute_preview (const Preview *preview, GCancellable *cancellable)
{
  g_autoptr (LoomGraph) trial = loom_graph_copy (preview->graph);
  g_autoptr (LoomFaults) had = loom_faults_new (), faults = loom_faults_new ();
  g_autoptr (LoomNet) before = NULL, after = NULL;
  g_autoptr (GString) s = g_string_new (NULL);
  LoomElement *e = loom_graph_by_serial (trial, preview->serial);
  double was, now;

  if (e == NULL || g_cancellable_is_cancelled (cancellable))
    return NULL;
  loom_edit_free (loom_graph_apply (trial, loom_edit_set (e, preview->attribute, preview->value)));
  before = loom_net_new (preview->graph, NULL, had);
  if (g_cancellable_is_cancelled (cancellable))
    return NULL;
  after = loom_net_new (trial, NULL, faults);
  was = count_parameters (before);
  now = count_parameters (after);
  if (was != now)
    {
      g_autofree char *from = studio_format_count (was), *to = studio_format_count (now);
      g_autofree char *line = g_strdup_printf (_ ("Parameters: %s → %s"), from, to);

      append_line (s, line);
    }
  compare_shapes (s, before, after);
  for (guint f = 0; f < loom_faults_length (faults) && loom_faults_count (faults) > loom_faults_count (had); f++)
    if (!loom_faults_get (faults, f)->is_warning)
      {
        append_line (s, loom_faults_get (faults, f)->message);
        break;
      }
  return s->len > 0 ? g_string_free (g_steal_pointer (&s), FALSE) : NULL;
}

static Preview *
preview_new (StudioDocument *document, guint64 serial, const char *attribute, const char *value)
{
  Preview *preview = g_new (Preview, 1);

  *preview = (Preview){ loom_graph_freeze (studio_document_get_graph (document)), serial, g_strdup (attribute),
                        g_strdup (value) };
  return preview;
}

static void
thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  g_task_return_pointer (task, compute_preview (data, cancellable), g_free);
}

void
studio_preview_async (StudioDocument *document, guint64 serial, const char *attribute, const char *value,
                      GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data)
{
  g_autoptr (GTask) task = g_task_new (document, cancellable, callback, data);

  g_task_set_task_data (task, preview_new (document, serial, attribute, value), preview_free);
  g_task_run_in_thread (task, thread);
}

gboolean
studio_preview_finish (GAsyncResult *result, char **text)
{
  g_autoptr (GError) error = NULL;

  *text = g_task_propagate_pointer (G_TASK (result), &error);
  return error == NULL;
}

char *
studio_document_dup_preview (StudioDocument *self, guint64 serial, const char *attribute, const char *value)
{
  Preview *preview = preview_new (self, serial, attribute, value);
  char *text = compute_preview (preview, NULL);

  preview_free (preview);
  return text;
}
