/* Implements page-title.h. */
#include "ui/page/page-title.h"

#include <glib/gi18n.h>

#include "ui/document/studio-document-net.h"
#include "ui/scene/studio-format.h"
#include "ui/scene/studio-measure.h"

static double
count_parameters (LoomNet *net, double *bytes)
{
  double n = 0;
  *bytes = 0;
  static const LoomBinding nothing_bound;
  for (guint i = 0; i < loom_net_n_weights (net); i++)
    {
      const LoomNetWeight *w = loom_net_weight (net, i);
      LoomDim d = loom_shape_count (&w->shape);
      gint64 count = loom_dim_value (d, &nothing_bound);
      if (count <= 0 || w->is_buffer)
        continue;
      n += (double)count;
      *bytes += (double)count * (double)loom_dtype_size (w->dtype);
    }
  return n;
}

/* The name of the folder if the file is the graph that a run has written; else NULL. */
static char *
dup_run_name (StudioDocument *document)
{
  const char *path = studio_document_get_path (document);
  g_autofree char *folder = path != NULL ? g_path_get_dirname (path) : NULL;
  g_autofree char *events = path != NULL ? g_build_filename (folder, "events.jsonl", NULL) : NULL;
  return events != NULL && g_file_test (events, G_FILE_TEST_EXISTS) ? g_path_get_basename (folder) : NULL;
}

static guint64
run_bytes (StudioRun *run)
{
  const GArray *owners = studio_run_get_memory (run)->bytes;
  guint64 bytes = 0;
  for (guint i = 0; i < owners->len; i++)
    bytes += g_array_index (owners, guint64, i);
  return bytes;
}

static char *
dup_totals (LoomNet *net, const char *weights)
{
  g_autoptr (GString) text = g_string_new (NULL);
  LoomCost costs = { 0 };
  const guint layers = loom_net_n_nodes (net);
  for (guint i = 0; i < layers; i++)
    {
      costs.flops += loom_net_node (net, i)->cost.flops;
      costs.bytes += loom_net_node (net, i)->cost.bytes;
    }
  g_string_append_printf (text, ngettext ("%u layer", "%u layers", layers), layers);
  g_string_append_printf (text, " · %s", weights);
  if (costs.flops > 0)
    {
      g_autofree char *flops = studio_measure_text (STUDIO_MEASURE_OPERATIONS, costs.flops);
      g_string_append (text, " · ");
      g_string_append_printf (text, _ ("%s per sample"), flops);
    }
  if (costs.bytes > 0)
    {
      g_autofree char *activations = studio_measure_text (STUDIO_MEASURE_ACTIVATIONS, costs.bytes);
      g_string_append (text, " · ");
      g_string_append_printf (text, _ ("%s activations per sample"), activations);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static gboolean
replace (char **text, char *by)
{
  const gboolean changed = g_strcmp0 (*text, by) != 0;
  g_free (*text);
  *text = by;
  return changed;
}

gboolean
page_title_update (PageTitle *self, StudioDocument *document, StudioRun *run)
{
  g_autofree char *name = studio_document_dup_title (document), *run_name = dup_run_name (document);
  g_autoptr (GString) under = g_string_new (NULL);
  if (studio_document_is_edited (document) && !studio_document_is_empty (document))
    g_string_append (under, _ ("Edited"));
  if (run_name != NULL)
    g_string_append_printf (under, "%s%s", under->len > 0 ? " · " : "", run_name);
  LoomNet *net = studio_document_peek_net (document);
  const gboolean has_nodes = net != NULL && loom_net_n_nodes (net) > 0;
  const gboolean is_valid = studio_document_has_net (document);
  const gboolean counts = is_valid && (!has_nodes || self->counted != loom_net_number (net));
  g_autofree char *weights = NULL;
  /* After an edit, the new net follows. */
  if (counts && has_nodes)
    {
      self->parameters = count_parameters (net, &self->bytes);
      self->counted = loom_net_number (net);
    }
  if (has_nodes)
    {
      const guint64 memory = run_bytes (run);
      g_autofree char *count = studio_format_count (self->parameters);
      g_autofree char *size = loom_bytes_to_string (memory > 0 ? (double)memory : self->bytes);
      const gulong n = (gulong)MIN (self->parameters, 1e9);
      weights = g_strdup_printf (ngettext ("%s parameter", "%s parameters", n), count);
      g_string_append_printf (under, "%s%s", under->len > 0 ? " · " : "", weights);
      if (memory > 0 || self->bytes > 0)
        g_string_append_printf (under, " · %s", size);
    }
  if (counts || !has_nodes || self->totals == NULL)
    replace (&self->totals, counts && has_nodes ? dup_totals (net, weights) : g_strdup (""));
  const gboolean retitled
      = replace (&self->title, run_name != NULL ? g_strdup_printf (_ ("%s, trained version"), name) : g_strdup (name));
  return replace (&self->subtitle, g_string_free (g_steal_pointer (&under), FALSE)) || retitled;
}

void
page_title_clear (PageTitle *self)
{
  g_free (self->title);
  g_free (self->subtitle);
  g_free (self->totals);
  *self = (PageTitle){ 0 };
}
