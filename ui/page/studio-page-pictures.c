/* Pictures and tables of what is seen: the pinned map and the charts of a run, written beside the graph. */
#include <glib/gi18n.h>
#include <glib/gstdio.h>

#include "ui/page/studio-page-private.h"

/* Beside the graph, else among the user's pictures: no dialog, because a lecturer's hands are full. */
static char *
picture_path (StudioPage *self, const char *what, const char *suffix)
{
  const char *path = studio_document_get_path (self->document);
  g_autofree char *folder = NULL, *stem = NULL;
  if (path != NULL)
    {
      folder = g_path_get_dirname (path);
      stem = g_path_get_basename (path);
      char *dot = strrchr (stem, '.');
      if (dot != NULL)
        *dot = '\0';
    }
  if (folder == NULL || g_access (folder, W_OK) != 0)
    {
      const char *pictures = g_get_user_special_dir (G_USER_DIRECTORY_PICTURES);
      g_free (folder);
      folder = g_strdup (pictures != NULL ? pictures : g_get_home_dir ());
    }
  g_autofree char *name = g_strdup_printf ("%s-%s.%s", stem != NULL ? stem : "gradloom", what, suffix);
  return g_build_filename (folder, name, NULL);
}

static void
say_written (StudioPage *self, const char *path)
{
  g_autofree char *text = g_strdup_printf (_ ("Saved %s"), path);
  studio_page_toast (self, text);
}

void
studio_page_export_map (StudioPage *self)
{
  g_autofree char *node = studio_page_dup_selected_path (self);
  const char *tensor;
  StudioHeatMap *map = studio_pins_get_map (self->pins, node, &tensor);
  if (map == NULL)
    {
      studio_page_toast (self, _ ("No map is pinned. Select a layer and watch it (Ctrl+Shift+W)."));
      return;
    }
  g_autofree char *what = g_strdup_printf ("%s-step-%" G_GINT64_FORMAT, tensor, studio_heat_map_get_step (map));
  g_autofree char *path = picture_path (self, what, "svg");
  g_autoptr (GError) error = NULL;
  if (studio_heat_map_export (map, path, &error))
    say_written (self, path);
  else
    studio_page_toast (self, error->message);
}

/* what: "loss.svg", "metric.csv". */
void
studio_page_export_chart (StudioPage *self, const char *what)
{
  const char *dot = strrchr (what, '.');
  g_return_if_fail (dot != NULL);
  StudioChart *chart = studio_run_panel_get_chart (self->run_panel, g_str_has_prefix (what, "metric"));
  const StudioPlot *plot = studio_chart_get_plot (chart);
  g_autofree char *path = picture_path (self, plot->title, dot + 1);
  g_autoptr (GError) error = NULL;
  if (studio_plot_export (plot, path, &error))
    say_written (self, path);
  else
    studio_page_toast (self, error->message);
}

void
studio_page_export_task (StudioPage *self)
{
  g_autofree char *path = picture_path (self, "task", "svg");
  g_autoptr (GError) error = NULL;
  if (studio_task_picture_export (studio_task_get_picture (self->task), path, &error))
    say_written (self, path);
  else
    studio_page_toast (self, error->message);
}
