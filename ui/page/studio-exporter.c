/* Implements studio-exporter.h. */
#include "ui/page/studio-exporter.h"

#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <string.h>

#include "ui/page/selected-node.h"
#include "ui/shell/studio-toasts.h"

/* In the folder of the graph, else of the user's pictures. No dialog asks, because lecturers export during a lecture.
 */
static char *
picture_path (const StudioExporter *self, const char *what, const char *suffix)
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
say_written (const StudioExporter *self, const char *path)
{
  g_autofree char *text = g_strdup_printf (_ ("Saved %s"), path);
  studio_toasts_say (self->toasts, text);
}

void
studio_exporter_write_pin (const StudioExporter *self, StudioPinView *view, const char *tensor, const char *suffix)
{
  const PinValue *value = studio_pin_view_get_value (view);
  g_autofree char *what = g_strdup_printf ("%s-step-%" G_GINT64_FORMAT, tensor, value != NULL ? value->step : 0);
  g_autofree char *path = picture_path (self, g_strdelimit (what, ":", '-'), suffix);
  g_autoptr (GError) error = NULL;
  if (studio_pin_view_export (view, path, &error))
    say_written (self, path);
  else
    studio_toasts_say (self->toasts, error->message);
}

void
studio_exporter_write_map (const StudioExporter *self)
{
  g_autofree char *node = selected_node_dup_path (self->document);
  const char *tensor;
  StudioPinView *view = studio_pins_get_picture (self->pins, node, &tensor);
  if (view != NULL)
    studio_exporter_write_pin (self, view, tensor, "svg");
  else
    studio_toasts_say (self->toasts, _ ("No map is pinned. Select a layer and watch it (Ctrl+Shift+W)."));
}

void
studio_exporter_write_chart (const StudioExporter *self, const char *what)
{
  const char *dot = strrchr (what, '.');
  g_return_if_fail (dot != NULL);
  StudioChart *chart = studio_run_panel_get_chart (self->panel, g_str_has_prefix (what, "metric"));
  const StudioPlot *plot = studio_chart_get_plot (chart);
  g_autofree char *path = picture_path (self, plot->title, dot + 1);
  g_autoptr (GError) error = NULL;
  if (studio_plot_export (plot, path, &error))
    say_written (self, path);
  else
    studio_toasts_say (self->toasts, error->message);
}

void
studio_exporter_write_task (const StudioExporter *self)
{
  g_autofree char *path = picture_path (self, "task", "svg");
  g_autoptr (GError) error = NULL;
  if (studio_task_picture_export (studio_task_get_picture (self->task), path, &error))
    say_written (self, path);
  else
    studio_toasts_say (self->toasts, error->message);
}

void
studio_exporter_write_memory (const StudioExporter *self, const StudioStepMemory *memory, const char *suffix)
{
  g_autofree char *path = picture_path (self, "memory", suffix);
  g_autoptr (GError) error = NULL;
  if (memory == NULL)
    studio_toasts_say (self->toasts, _ ("No step is planned. Open What Runs (Ctrl+Shift+X) and wait for its picture."));
  else if (studio_step_memory_export (memory, path, &error))
    say_written (self, path);
  else
    studio_toasts_say (self->toasts, error->message);
}
