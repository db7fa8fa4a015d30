/* Implements studio-disk-bar.h. */
#include "ui/page/studio-disk-bar.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-template.h"

struct _StudioDiskBar
{
  AdwBin parent_instance;
  GtkWidget *revealer, *notice, *label, *reload, *save, *dismiss;
  StudioDocument *document;
  gboolean dismissed; /* the user knows that another Studio has the file open */
};

G_DEFINE_FINAL_TYPE (StudioDiskBar, studio_disk_bar, ADW_TYPE_BIN)

enum
{
  PROP_SHOWN = 1,
  N_PROPERTIES
};
static GParamSpec *properties[N_PROPERTIES];

static char *
dup_sentence (StudioDiskBar *self, const char *name)
{
  const char *holder = studio_document_get_holder (self->document);
  switch (studio_document_get_disk (self->document))
    {
    case STUDIO_DISK_CHANGED:
      return studio_document_is_edited (self->document)
                 ? g_strdup_printf (_ ("Another program has changed “%s”. It does not contain your changes."), name)
                 : g_strdup_printf (_ ("Another program has changed “%s”."), name);
    case STUDIO_DISK_GONE:
      return g_strdup_printf (_ ("“%s” was deleted or moved. This graph is no longer saved in a file."), name);
    case STUDIO_DISK_SAME:
      break;
    }
  if (holder == NULL || self->dismissed)
    return NULL;
  return g_strdup_printf (
      _ ("“%s” is also open in another Studio (%s). Saving in one overwrites the changes of the other."), name, holder);
}

static void
update (StudioDiskBar *self)
{
  const char *path = studio_document_get_path (self->document);
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : NULL;
  if (path == NULL || studio_document_get_holder (self->document) == NULL)
    self->dismissed = FALSE;
  g_autofree char *text = name != NULL ? dup_sentence (self, name) : NULL;
  StudioDiskState disk = studio_document_get_disk (self->document);
  gtk_revealer_set_reveal_child (GTK_REVEALER (self->revealer), text != NULL);
  if (text == NULL)
    return;
  gtk_label_set_label (GTK_LABEL (self->label), text);
  gtk_widget_set_visible (self->reload, disk == STUDIO_DISK_CHANGED);
  gtk_widget_set_visible (self->save, disk == STUDIO_DISK_GONE);
  gtk_widget_set_visible (self->dismiss, disk == STUDIO_DISK_SAME);
}

gboolean
studio_disk_bar_is_shown (StudioDiskBar *self)
{
  return gtk_revealer_get_reveal_child (GTK_REVEALER (self->revealer));
}

void
studio_disk_bar_set_narrow (StudioDiskBar *self, gboolean narrow)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->notice),
                                  narrow ? GTK_ORIENTATION_VERTICAL : GTK_ORIENTATION_HORIZONTAL);
}

void
studio_disk_bar_dismiss (StudioDiskBar *self)
{
  self->dismissed = TRUE;
  update (self);
}

/* A file monitor may miss changes (a network's folder), so the file is also checked when the bar or its window becomes
 * visible again. */
static void
active_cb (StudioDiskBar *self)
{
  const GtkStateFlags flags = gtk_widget_get_state_flags (GTK_WIDGET (self));
  if (self->document != NULL && gtk_widget_get_mapped (GTK_WIDGET (self)) && (flags & GTK_STATE_FLAG_BACKDROP) == 0)
    studio_document_check_disk (self->document);
}

static void
revealed_cb (StudioDiskBar *self)
{
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SHOWN]);
}

void
studio_disk_bar_set_document (StudioDiskBar *self, StudioDocument *document)
{
  g_return_if_fail (self->document == NULL);
  self->document = g_object_ref (document);
  g_signal_connect_object (document, "file-changed", G_CALLBACK (update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "changed", G_CALLBACK (update), self, G_CONNECT_SWAPPED);
  update (self);
}

static void
disk_bar_get_property (GObject *object, guint property, GValue *value, GParamSpec *spec)
{
  g_value_set_boolean (value, studio_disk_bar_is_shown (STUDIO_DISK_BAR (object)));
}

static void
disk_bar_dispose (GObject *object)
{
  StudioDiskBar *self = STUDIO_DISK_BAR (object);
  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_disk_bar_parent_class)->dispose (object);
}

static void
studio_disk_bar_class_init (StudioDiskBarClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = disk_bar_dispose;
  G_OBJECT_CLASS (klass)->get_property = disk_bar_get_property;
  properties[PROP_SHOWN] = g_param_spec_boolean ("shown", NULL, NULL, FALSE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (G_OBJECT_CLASS (klass), N_PROPERTIES, properties);
  STUDIO_TEMPLATE (klass, "studio-disk-bar.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioDiskBar, revealer, notice, label, reload, save, dismiss);
}

static void
studio_disk_bar_init (StudioDiskBar *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  g_signal_connect_swapped (self->revealer, "notify::reveal-child", G_CALLBACK (revealed_cb), self);
  g_signal_connect (self, "map", G_CALLBACK (active_cb), NULL);
  g_signal_connect (self, "state-flags-changed", G_CALLBACK (active_cb), NULL);
}
