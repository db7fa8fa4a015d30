/* The list of views, whose rows can be dragged or moved by keys, and below it the fields of the current view. */
#include "ui/present/studio-slides-pane.h"

#include "ui/charts/studio-template.h"
#include "ui/present/studio-slide-fields.h"
#include "ui/present/studio-slide-show.h"

struct _StudioSlidesPane
{
  AdwBin parent_instance;
  StudioDocument *document;
  StudioCanvas *canvas; /* weak */
  StudioSlides *slides;
  GtkWidget *box, *list, *hint, *up, *down, *remove, *renew;
  StudioSlideFields *fields;
  gboolean filling;
};

G_DEFINE_FINAL_TYPE (StudioSlidesPane, studio_slides_pane, ADW_TYPE_BIN)

/* ---- commands ---------------------------------------------------------------------- */

void
studio_slides_pane_add_slide (StudioSlidesPane *self, const LoomSlide *slide)
{
  studio_slides_add (self->slides, slide);
  studio_slide_fields_focus_title (self->fields);
}

static void
add_cb (StudioSlidesPane *self)
{
  g_autoptr (LoomSlide) slide = studio_slide_capture (self->document, self->canvas);

  studio_slides_pane_add_slide (self, slide);
}

static void
renew_cb (StudioSlidesPane *self)
{
  const int i = studio_slides_get_current (self->slides);
  g_autoptr (LoomSlide) now = studio_slide_capture (self->document, self->canvas);

  if (i >= 0)
    studio_slides_set_part (self->slides, (guint)i, now);
}

static void
remove_cb (StudioSlidesPane *self)
{
  const int i = studio_slides_get_current (self->slides);

  if (i >= 0)
    studio_slides_remove (self->slides, (guint)i);
}

/* A focused row that moves keeps the focus. */
static void
focus_current (StudioSlidesPane *self)
{
  GtkListBoxRow *row = gtk_list_box_get_selected_row (GTK_LIST_BOX (self->list));

  if (row != NULL)
    gtk_widget_grab_focus (GTK_WIDGET (row));
}

static void
move_by (StudioSlidesPane *self, int by)
{
  const int i = studio_slides_get_current (self->slides), to = i + by;

  if (i < 0 || to < 0 || to >= (int)studio_slides_n (self->slides))
    return;
  studio_slides_move (self->slides, (guint)i, (guint)to);
  focus_current (self);
}

static void
up_cb (StudioSlidesPane *self)
{
  move_by (self, -1);
}

static void
down_cb (StudioSlidesPane *self)
{
  move_by (self, 1);
}

static void
row_activated_cb (GtkListBox *list, GtkListBoxRow *row, StudioSlidesPane *self)
{
  const int i = gtk_list_box_row_get_index (row);

  studio_slides_set_current (self->slides, i);
  if (self->canvas != NULL)
    studio_slide_show (self->document, self->canvas, studio_slides_get (self->slides, (guint)i), FALSE);
}

/* Moving to a row by keys shows its fields; Enter moves to the fields. */
static void
row_selected_cb (GtkListBox *list, GtkListBoxRow *row, StudioSlidesPane *self)
{
  if (!self->filling && row != NULL)
    studio_slides_set_current (self->slides, gtk_list_box_row_get_index (row));
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioSlidesPane *self)
{
  const GdkModifierType mods = state & gtk_accelerator_get_default_mod_mask ();

  if (mods == GDK_ALT_MASK && (key == GDK_KEY_Up || key == GDK_KEY_Down))
    move_by (self, key == GDK_KEY_Up ? -1 : 1);
  else if (mods == 0 && key == GDK_KEY_Delete)
    {
      remove_cb (self);
      focus_current (self);
    }
  else if (mods == 0 && key == GDK_KEY_F2)
    studio_slide_fields_focus_title (self->fields);
  else
    return GDK_EVENT_PROPAGATE;
  return GDK_EVENT_STOP;
}

/* ---- rows ------------------------------------------------------------------------------ */

static GdkContentProvider *
prepare_cb (GtkDragSource *source, double x, double y, GtkListBoxRow *row)
{
  return gdk_content_provider_new_typed (GTK_TYPE_LIST_BOX_ROW, row);
}

static void
drag_begin_cb (GtkDragSource *source, GdkDrag *drag, GtkWidget *row)
{
  g_autoptr (GdkPaintable) picture = gtk_widget_paintable_new (row);

  gtk_drag_source_set_icon (source, picture, 0, 0);
}

static gboolean
drop_cb (GtkDropTarget *target, const GValue *value, double x, double y, StudioSlidesPane *self)
{
  GtkWidget *row = gtk_event_controller_get_widget (GTK_EVENT_CONTROLLER (target));

  GtkWidget *dragged = g_value_get_object (value);

  /* A view dragged from another window belongs to another document. */
  if (dragged == NULL || gtk_widget_get_parent (dragged) != gtk_widget_get_parent (row))
    return FALSE;
  studio_slides_move (self->slides, (guint)gtk_list_box_row_get_index (GTK_LIST_BOX_ROW (dragged)),
                      (guint)gtk_list_box_row_get_index (GTK_LIST_BOX_ROW (row)));
  return TRUE;
}

static void
make_draggable (StudioSlidesPane *self, GtkWidget *row)
{
  GtkDragSource *source = gtk_drag_source_new ();
  GtkDropTarget *target = gtk_drop_target_new (GTK_TYPE_LIST_BOX_ROW, GDK_ACTION_MOVE);

  gtk_drag_source_set_actions (source, GDK_ACTION_MOVE);
  g_signal_connect (source, "prepare", G_CALLBACK (prepare_cb), row);
  g_signal_connect (source, "drag-begin", G_CALLBACK (drag_begin_cb), row);
  g_signal_connect (target, "drop", G_CALLBACK (drop_cb), self);
  gtk_widget_add_controller (row, GTK_EVENT_CONTROLLER (source));
  gtk_widget_add_controller (row, GTK_EVENT_CONTROLLER (target));
}

static GtkWidget *
row_new (StudioSlidesPane *self, guint i)
{
  GtkWidget *row = studio_template_new ("slide-row.ui");
  g_autofree char *title = studio_slides_dup_title (self->slides, i), *number = g_strdup_printf ("%u", i + 1);

  gtk_label_set_text (g_object_get_data (G_OBJECT (row), "title"), title);
  gtk_label_set_text (g_object_get_data (G_OBJECT (row), "number"), number);
  make_draggable (self, row);
  return row;
}

static void
show_current (StudioSlidesPane *self)
{
  const int i = studio_slides_get_current (self->slides), n = (int)studio_slides_n (self->slides);

  self->filling = TRUE;
  gtk_list_box_select_row (GTK_LIST_BOX (self->list), gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i));
  self->filling = FALSE;
  gtk_widget_set_sensitive (self->up, i > 0);
  gtk_widget_set_sensitive (self->down, i >= 0 && i + 1 < n);
  gtk_widget_set_sensitive (self->remove, i >= 0);
  gtk_widget_set_sensitive (self->renew, i >= 0);
}

static void
fill (StudioSlidesPane *self)
{
  const guint n = studio_slides_n (self->slides);
  GtkWidget *child;

  self->filling = TRUE;
  while ((child = gtk_widget_get_first_child (self->list)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->list), child);
  for (guint i = 0; i < n; i++)
    gtk_list_box_append (GTK_LIST_BOX (self->list), row_new (self, i));
  self->filling = FALSE;
  gtk_widget_set_visible (self->list, n > 0);
  gtk_widget_set_visible (self->hint, n == 0);
  show_current (self);
}

/* ---- class ------------------------------------------------------------------------------- */

static void
slides_pane_dispose (GObject *object)
{
  StudioSlidesPane *self = STUDIO_SLIDES_PANE (object);

  g_clear_object (&self->slides);
  g_clear_object (&self->document);
  g_clear_weak_pointer (&self->canvas);
  G_OBJECT_CLASS (studio_slides_pane_parent_class)->dispose (object);
}

static void
studio_slides_pane_class_init (StudioSlidesPaneClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = slides_pane_dispose;
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "slidespane");
  STUDIO_TEMPLATE (klass, "studio-slides-pane.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioSlidesPane, box, list, hint, up, down, remove, renew);
  STUDIO_TEMPLATE_CALLBACKS (klass, row_activated_cb, row_selected_cb, key_cb, add_cb, renew_cb, up_cb, down_cb,
                             remove_cb);
}

static void
studio_slides_pane_init (StudioSlidesPane *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

StudioSlidesPane *
studio_slides_pane_new (StudioDocument *document, StudioCanvas *canvas, StudioSlides *slides)
{
  StudioSlidesPane *self = g_object_new (STUDIO_TYPE_SLIDES_PANE, NULL);

  self->document = g_object_ref (document);
  g_set_weak_pointer (&self->canvas, canvas);
  self->slides = g_object_ref (slides);
  self->fields = studio_slide_fields_new (document, slides);
  gtk_box_append (GTK_BOX (self->box), GTK_WIDGET (self->fields));
  g_signal_connect_object (slides, "changed", G_CALLBACK (fill), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (slides, "current-changed", G_CALLBACK (show_current), self, G_CONNECT_SWAPPED);
  fill (self);
  return self;
}
