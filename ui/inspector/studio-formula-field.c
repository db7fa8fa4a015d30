/* A formula is one line in a file; here each statement has its own line. "; " is shown as a line break of two
 * characters, so that positions in the file are positions in the field. */
#include "ui/inspector/studio-formula-field.h"

#include <string.h>

#include "ui/charts/studio-type.h"

struct _StudioFormulaField
{
  GtkWidget parent_instance;

  GtkWidget *view;
  gboolean statements, filling;
};

G_DEFINE_FINAL_TYPE (StudioFormulaField, studio_formula_field, GTK_TYPE_WIDGET)

enum
{
  CHANGED,
  DONE,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

static GtkTextBuffer *
buffer (StudioFormulaField *self)
{
  return gtk_text_view_get_buffer (GTK_TEXT_VIEW (self->view));
}

static char *
dup_shown (StudioFormulaField *self)
{
  GtkTextIter start, end;

  gtk_text_buffer_get_bounds (buffer (self), &start, &end);
  return gtk_text_buffer_get_text (buffer (self), &start, &end, FALSE);
}

char *
studio_formula_field_dup_text (StudioFormulaField *self)
{
  return g_strdelimit (dup_shown (self), "\n\r\t", ' ');
}

void
studio_formula_field_set_text (StudioFormulaField *self, const char *text)
{
  g_autofree char *shown = g_strdup (text), *now = dup_shown (self);

  for (char *c = shown; self->statements && *c != '\0'; c++)
    if (c[0] == ';' && c[1] == ' ')
      c[1] = '\n';
  if (strcmp (shown, now) == 0)
    return;
  self->filling = TRUE;
  gtk_text_buffer_set_text (buffer (self), shown, -1);
  self->filling = FALSE;
}

gboolean
studio_formula_field_has_focus (StudioFormulaField *self)
{
  return gtk_widget_has_focus (self->view);
}

void
studio_formula_field_focus (StudioFormulaField *self)
{
  gtk_widget_grab_focus (self->view);
}

/* To the end of the word, at least one character. */
void
studio_formula_field_mark (StudioFormulaField *self, int position)
{
  GtkTextIter start, end;

  gtk_text_buffer_get_bounds (buffer (self), &start, &end);
  gtk_text_buffer_remove_tag_by_name (buffer (self), "fault", &start, &end);
  if (position < 0)
    {
      gtk_widget_remove_css_class (GTK_WIDGET (self), "error");
      return;
    }
  gtk_widget_add_css_class (GTK_WIDGET (self), "error");
  gtk_text_buffer_get_iter_at_offset (buffer (self), &start, position);
  /* A fault after the end is marked at the last character. */
  if (gtk_text_iter_is_end (&start))
    gtk_text_iter_backward_char (&start);
  end = start;
  do
    gtk_text_iter_forward_char (&end);
  while (g_unichar_isalnum (gtk_text_iter_get_char (&end)) && gtk_text_iter_inside_word (&start));
  gtk_text_buffer_apply_tag_by_name (buffer (self), "fault", &start, &end);
}

int
studio_formula_fault_position (const char *message)
{
  const char *at = message != NULL ? strstr (message, " at position ") : NULL;
  guint64 position;
  g_autofree char *digits = NULL;

  if (at == NULL)
    return -1;
  at += strlen (" at position ");
  digits = g_strndup (at, strspn (at, "0123456789"));
  if (!g_ascii_string_to_unsigned (digits, 10, 1, G_MAXINT32, &position, NULL))
    return -1;
  return (int)position - 1;
}

static void
changed_cb (GtkTextBuffer *text, StudioFormulaField *self)
{
  gtk_widget_queue_resize (GTK_WIDGET (self));
  if (!self->filling)
    g_signal_emit (self, signals[CHANGED], 0);
}

/* A text view knows its height only for its previous width, so a formula that begins to wrap would be cut off. This
 * measures the height for a given width. */
static GtkSizeRequestMode
studio_formula_field_get_request_mode (GtkWidget *widget)
{
  return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

static void
studio_formula_field_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                              int *minimum_baseline, int *natural_baseline)
{
  StudioFormulaField *self = STUDIO_FORMULA_FIELD (widget);
  g_autofree char *shown = NULL;
  g_autoptr (PangoLayout) layout = NULL;
  int least;

  /* GTK requires a widget to be measured before it is allocated. */
  gtk_widget_measure (self->view, orientation, -1, &least, NULL, NULL, NULL);
  if (orientation == GTK_ORIENTATION_HORIZONTAL)
    {
      *minimum = *natural = MAX (least, 80);
      return;
    }
  shown = dup_shown (self);
  layout = gtk_widget_create_pango_layout (self->view, shown[0] != '\0' ? shown : " ");
  pango_layout_set_wrap (layout, PANGO_WRAP_WORD_CHAR);
  if (for_size > 0)
    pango_layout_set_width (layout, for_size * PANGO_SCALE);
  pango_layout_get_pixel_size (layout, NULL, natural);
  *minimum = *natural = MAX (*natural, least);
}

static void
studio_formula_field_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  gtk_widget_allocate (STUDIO_FORMULA_FIELD (widget)->view, width, height, -1, NULL);
}

/* Return ends a statement; if it is not complete yet (after an operator or a semicolon), it only breaks the line. */
static void
new_statement (StudioFormulaField *self)
{
  GtkTextIter at, start;
  g_autofree char *line = NULL;
  gsize n;

  gtk_text_buffer_delete_selection (buffer (self), TRUE, TRUE);
  gtk_text_buffer_get_iter_at_mark (buffer (self), &at, gtk_text_buffer_get_insert (buffer (self)));
  start = at;
  gtk_text_iter_set_line_offset (&start, 0);
  line = g_strstrip (gtk_text_iter_get_text (&start, &at));
  n = strlen (line);
  gtk_text_buffer_insert (buffer (self), &at, n > 0 && strchr (";+-*/,(=", line[n - 1]) == NULL ? ";\n" : "\n", -1);
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioFormulaField *self)
{
  gboolean control = (state & GDK_CONTROL_MASK) != 0;

  if (key != GDK_KEY_Return && key != GDK_KEY_KP_Enter)
    return FALSE;
  if (self->statements && !control)
    new_statement (self);
  else
    g_signal_emit (self, signals[DONE], 0);
  return TRUE;
}

static void
studio_formula_field_dispose (GObject *object)
{
  StudioFormulaField *self = STUDIO_FORMULA_FIELD (object);

  self->filling = TRUE;
  g_clear_pointer (&self->view, gtk_widget_unparent);
  G_OBJECT_CLASS (studio_formula_field_parent_class)->dispose (object);
}

static void
studio_formula_field_class_init (StudioFormulaFieldClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = studio_formula_field_dispose;
  signals[CHANGED] = studio_signal_new ("changed", G_TYPE_FROM_CLASS (klass), 0);
  signals[DONE] = studio_signal_new ("done", G_TYPE_FROM_CLASS (klass), 0);
  GTK_WIDGET_CLASS (klass)->get_request_mode = studio_formula_field_get_request_mode;
  GTK_WIDGET_CLASS (klass)->measure = studio_formula_field_measure;
  GTK_WIDGET_CLASS (klass)->size_allocate = studio_formula_field_size_allocate;
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "formulafield");
}

static void
studio_formula_field_init (StudioFormulaField *self)
{
  GtkEventController *key = gtk_event_controller_key_new ();

  self->view = gtk_text_view_new ();
  gtk_text_view_set_wrap_mode (GTK_TEXT_VIEW (self->view), GTK_WRAP_WORD_CHAR);
  gtk_text_view_set_accepts_tab (GTK_TEXT_VIEW (self->view), FALSE);
  gtk_text_view_set_monospace (GTK_TEXT_VIEW (self->view), TRUE);
  /* Ctrl+Z is the document's undo, which has more steps than the field's. */
  gtk_text_buffer_set_enable_undo (buffer (self), FALSE);
  gtk_text_buffer_create_tag (buffer (self), "fault", "underline", PANGO_UNDERLINE_ERROR, NULL);
  g_signal_connect (buffer (self), "changed", G_CALLBACK (changed_cb), self);
  g_signal_connect (key, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_event_controller_set_propagation_phase (key, GTK_PHASE_CAPTURE);
  gtk_widget_add_controller (self->view, key);
  gtk_widget_set_parent (self->view, GTK_WIDGET (self));
}

StudioFormulaField *
studio_formula_field_new (const char *title, gboolean statements)
{
  StudioFormulaField *self = g_object_new (STUDIO_TYPE_FORMULA_FIELD, NULL);

  self->statements = statements;
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->view), GTK_ACCESSIBLE_PROPERTY_LABEL, title,
                                  GTK_ACCESSIBLE_PROPERTY_MULTI_LINE, statements, -1);
  return self;
}
