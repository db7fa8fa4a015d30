/* Facts about the graph around the canvas: title, totals and zoom. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/scene/studio-measure.h"
#include "ui/page/studio-page-private.h"

/* ---- title and totals ------------------------------------------------------------------------ */

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

/* The folder's name where the graph is a run's own, as it was when that began; else NULL. */
static char *
dup_run_name (StudioPage *self)
{
  const char *path = studio_document_get_path (self->document);
  g_autofree char *folder = path != NULL ? g_path_get_dirname (path) : NULL;
  g_autofree char *events = path != NULL ? g_build_filename (folder, "events.jsonl", NULL) : NULL;
  return events != NULL && g_file_test (events, G_FILE_TEST_EXISTS) ? g_path_get_basename (folder) : NULL;
}

void
studio_page_update_title (StudioPage *self)
{
  g_autofree char *name = studio_document_dup_title (self->document), *run = dup_run_name (self);
  g_autofree char *title = run != NULL ? g_strdup_printf (_ ("%s, trained version"), name) : g_strdup (name);
  g_autoptr (GString) under = g_string_new (NULL);
  g_autoptr (GString) totals = g_string_new (NULL);
  if (studio_document_is_edited (self->document) && !studio_document_is_empty (self->document))
    g_string_append (under, _ ("Edited"));
  if (run != NULL)
    g_string_append_printf (under, "%s%s", under->len ? " · " : "", run);
  LoomNet *net = studio_document_peek_net (self->document);
  if (net != NULL && loom_net_n_nodes (net) > 0)
    {
      double bytes;
      double parameters = count_parameters (net, &bytes);
      guint64 memory = 0;
      for (guint i = 0; i < studio_run_n_owners (self->run); i++)
        memory += studio_run_get_owner_bytes (self->run)[i];
      g_autofree char *count = studio_format_count (parameters);
      g_autofree char *size = loom_bytes_to_string (memory > 0 ? (double)memory : bytes);
      gulong n = (gulong)MIN (parameters, 1e9);
      g_autofree char *weights = g_strdup_printf (ngettext ("%s parameter", "%s parameters", n), count);
      g_string_append_printf (under, "%s%s", under->len ? " · " : "", weights);
      if (memory > 0 || bytes > 0)
        g_string_append_printf (under, " · %s", size);
      LoomCost costs = { 0 };
      for (guint i = 0; i < loom_net_n_nodes (net); i++)
        {
          costs.flops += loom_net_node (net, i)->cost.flops;
          costs.bytes += loom_net_node (net, i)->cost.bytes;
        }
      guint layers = loom_net_n_nodes (net);
      g_string_append_printf (totals, ngettext ("%u layer", "%u layers", layers), layers);
      g_string_append_printf (totals, " · %s", weights);
      if (costs.flops > 0)
        {
          g_autofree char *flops = studio_measure_text (STUDIO_MEASURE_OPERATIONS, costs.flops);
          g_string_append (totals, " · ");
          g_string_append_printf (totals, _ ("%s per sample"), flops);
        }
      if (costs.bytes > 0)
        {
          g_autofree char *activations = studio_measure_text (STUDIO_MEASURE_ACTIVATIONS, costs.bytes);
          g_string_append (totals, " · ");
          g_string_append_printf (totals, _ ("%s activations per sample"), activations);
        }
    }
  gtk_label_set_label (GTK_LABEL (self->totals_label), totals->str);
  if (g_strcmp0 (self->title, title) == 0 && g_strcmp0 (self->subtitle, under->str) == 0)
    return;
  g_free (self->title);
  g_free (self->subtitle);
  self->title = g_steal_pointer (&title);
  self->subtitle = g_strdup (under->str);
  studio_page_changed (self);
}

const char *
studio_page_get_title (StudioPage *self)
{
  return self->title;
}

const char *
studio_page_get_subtitle (StudioPage *self)
{
  return self->subtitle;
}

/* ---- zoom ------------------------------------------------------------------------------------ */

static gboolean
show_zoom_cb (gpointer data)
{
  g_autoptr (StudioPage) self = data;
  self->zoom_shown = FALSE;
  if (self->document == NULL)
    return G_SOURCE_REMOVE;
  /* A number alone has no direction: among words from right to left it would be "% 73". */
  gboolean mirrored = gtk_widget_get_direction (GTK_WIDGET (self)) == GTK_TEXT_DIR_RTL;
  g_autofree char *text
      = g_strdup_printf ("%s%.0f %%", mirrored ? "\u200e" : "", studio_canvas_get_zoom (self->canvas) * 100);
  if (g_strcmp0 (gtk_menu_button_get_label (GTK_MENU_BUTTON (self->zoom_button)), text) != 0)
    gtk_menu_button_set_label (GTK_MENU_BUTTON (self->zoom_button), text);
  return G_SOURCE_REMOVE;
}

/* The view may change while the canvas is being allocated, when no label may ask for another size. */
static void
zoom_cb (StudioCanvas *canvas, StudioPage *self)
{
  if (self->zoom_shown)
    return;
  self->zoom_shown = TRUE;
  g_idle_add (show_zoom_cb, g_object_ref (self));
}

void
studio_page_setup_status (StudioPage *self)
{
  g_signal_connect_swapped (self->document, "net-changed", G_CALLBACK (studio_page_update_title), self);
  g_signal_connect (self->canvas, "view-changed", G_CALLBACK (zoom_cb), self);
}
