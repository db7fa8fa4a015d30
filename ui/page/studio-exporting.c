#include "ui/page/studio-exporting.h"

#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <string.h>

#include "ui/export/studio-export-dialog.h"
#include "ui/layout/studio-layout.h"
#include "ui/pins/pin-picture.h"
#include "ui/scene/studio-partitions.h"
#include "ui/scene/studio-scene-part.h"
#include "ui/shell/studio-toasts.h"

static char *
dup_graph (gpointer owner, GError **error)
{
  const StudioExporting *self = owner;

  return studio_document_dup_text_for_process (self->document, error);
}

static const char *
get_folder (gpointer owner)
{
  const StudioExporting *self = owner;

  return loom_graph_get_folder (studio_document_get_graph (self->document));
}

static const char *
get_run (gpointer owner)
{
  const StudioExporting *self = owner;

  return studio_run_has_checkpoint (self->run) ? studio_run_get_folder (self->run) : NULL;
}

/* A card, and not only a wire. */
static gboolean
has_selection (gpointer owner)
{
  const StudioExporting *self = owner;
  const StudioScene *scene = studio_document_get_scene (self->document);

  for (guint i = 0; i < scene->n_items; i++)
    if (studio_document_is_selected (self->document, scene->item[i].serial))
      return TRUE;
  return FALSE;
}

static guint
count_pins (gpointer owner)
{
  const StudioExporting *self = owner;

  return pin_picture_count (self->pins);
}

static gboolean
is_selected (guint64 serial, gpointer data)
{
  return studio_document_is_selected (data, serial);
}

/* A scene of its own, because the canvas goes on while it is drawn. */
static StudioScene *
new_scene (gpointer owner, gboolean only_selected)
{
  const StudioExporting *self = owner;
  LoomGraph *graph = studio_document_get_graph (self->document);
  LoomNet *net = studio_document_get_net (self->document);
  StudioScene *scene = studio_scene_new (graph, studio_document_get_scope (self->document),
                                         studio_document_get_scope_path (self->document), net,
                                         studio_document_get_faults (self->document), NULL, NULL);

  if (net != NULL)
    studio_scene_add_shards (scene, graph, net);
  studio_layout_fill (scene);
  if (only_selected && has_selection (owner))
    studio_scene_keep (scene, is_selected, self->document);
  return scene;
}

static StudioRect
get_visible (gpointer owner)
{
  const StudioExporting *self = owner;
  GtkWidget *canvas = GTK_WIDGET (self->canvas);
  double x, y, zoom;

  studio_canvas_get_view (self->canvas, &x, &y, &zoom);
  return (StudioRect){ x, y, gtk_widget_get_width (canvas) / zoom, gtk_widget_get_height (canvas) / zoom };
}

static void
add_pins (gpointer owner, StudioScene *scene, StudioPictureOptions *options, GDestroyNotify *free_data)
{
  const StudioExporting *self = owner;

  pin_picture_add (self->pins, self->document, scene, options, free_data);
}

static void
saved (gpointer owner, const char *path)
{
  const StudioExporting *self = owner;
  g_autofree char *text = g_strdup_printf (_ ("Saved %s"), path);

  studio_toasts_say (self->toasts, text);
}

/* Next to the graph, else in the user's documents. */
static char *
stem_of (const StudioExporting *self)
{
  const char *path = studio_document_get_path (self->document);
  const char *documents = g_get_user_special_dir (G_USER_DIRECTORY_DOCUMENTS);
  g_autofree char *folder = path != NULL ? g_path_get_dirname (path) : NULL;
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : g_strdup (_ ("graph"));
  char *dot = strrchr (name, '.');

  if (dot != NULL && dot != name)
    *dot = '\0';
  if (folder == NULL || g_access (folder, W_OK) != 0)
    {
      g_free (folder);
      folder = g_strdup (documents != NULL ? documents : g_get_home_dir ());
    }
  return g_build_filename (folder, name, NULL);
}

void
studio_exporting_open (StudioExporting *self)
{
  const StudioExportSubject subject
      = { dup_graph, get_folder, get_run, has_selection, count_pins, new_scene, get_visible, add_pins, saved, self };
  g_autofree char *stem = stem_of (self);

  gtk_window_present (
      GTK_WINDOW (studio_export_dialog_new (GTK_WINDOW (gtk_widget_get_root (self->toasts)), &subject, stem)));
}
