/* Previews the changes that a typed or dragged value would make. Only the newest is computed: another value, the end of
 * typing or another selection cancels the previous one. */
#include "ui/document/studio-preview.h"
#include "ui/inspector/studio-inspector-private.h"

typedef struct
{
  StudioInspector *inspector; /* a reference */
  char *shown;                /* the result of a formula; NULL: no formula */
} Looking;

static void
show_preview (StudioInspector *self, const char *text)
{
  if (self->preview == NULL)
    return;
  gtk_label_set_text (GTK_LABEL (self->preview), text != NULL ? text : "");
  gtk_widget_set_visible (self->preview, text != NULL);
}

static void
looked_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Looking *looking = data;
  g_autofree char *change = NULL, *all = NULL;

  if (studio_preview_finish (result, &change))
    {
      all = looking->shown != NULL && change != NULL ? g_strdup_printf ("%s\n%s", looking->shown, change)
                                                     : g_strdup (looking->shown != NULL ? looking->shown : change);
      show_preview (looking->inspector, all);
    }
  g_object_unref (looking->inspector);
  g_free (looking->shown);
  g_free (looking);
}

static void
stop_looking (StudioInspector *self)
{
  g_cancellable_cancel (self->looking);
  g_clear_object (&self->looking);
}

void
inspector_end_preview (StudioInspector *self)
{
  stop_looking (self);
  show_preview (self, NULL);
}

void
inspector_preview (InspectorRow *row, const char *value, const char *shown)
{
  StudioInspector *self = row->inspector;
  Looking *looking = g_new (Looking, 1);

  stop_looking (self);
  self->looking = g_cancellable_new ();
  *looking = (Looking){ g_object_ref (self), g_strdup (shown) };
  studio_preview_async (self->document, self->serial, row->spec.name, value, self->looking, looked_cb, looking);
}
