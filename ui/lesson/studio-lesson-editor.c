/* The editor of a lesson's pages; see the header. */
#include "ui/lesson/studio-lesson-editor.h"

#include <glib/gi18n.h>
#include <string.h>

typedef struct
{
  StudioLessonEditor *editor;
  const char *attribute; /* of <page>, or of <lesson> */
  gboolean of_lesson;
  GtkWidget *entry;
} Field;

struct _StudioLessonEditor
{
  GtkWidget parent_instance;
  StudioDocument *document;
  StudioLesson *lesson;
  GtkWidget *scroller, *box, *where, *text, *fault, *back, *next;
  GPtrArray *fields; /* Field */
  gboolean filling;
};

G_DEFINE_FINAL_TYPE (StudioLessonEditor, studio_lesson_editor, GTK_TYPE_WIDGET)

static guint done_signal;

/* ---- elements ----------------------------------------------------------------- */

static LoomElement *
by_serial (StudioLessonEditor *self, guint64 serial)
{
  return serial != 0 ? loom_graph_by_serial (studio_document_get_graph (self->document), serial) : NULL;
}

static LoomElement *
page_element (StudioLessonEditor *self)
{
  const LoomLessonPage *page = studio_lesson_page (self->lesson);

  return by_serial (self, page != NULL ? page->serial : 0);
}

static LoomElement *
lesson_element (StudioLessonEditor *self)
{
  const LoomLesson *lesson = studio_lesson_get (self->lesson);

  return by_serial (self, lesson != NULL ? lesson->serial : 0);
}

/* ---- from the document to the fields ------------------------------------------- */

static void
show_fault (StudioLessonEditor *self)
{
  const LoomLessonPage *page = studio_lesson_page (self->lesson);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGoal) goal = page != NULL && page->goal_text != NULL ? loom_goal_new (page->goal_text, &error) : NULL;

  gtk_label_set_text (GTK_LABEL (self->fault), error != NULL ? error->message : "");
  gtk_widget_set_visible (self->fault, error != NULL);
}

/* A field in which the user is typing is up to date. */
static void
fill_entry (GtkWidget *entry, const char *value)
{
  if (strcmp (gtk_editable_get_text (GTK_EDITABLE (entry)), value != NULL ? value : "") != 0)
    gtk_editable_set_text (GTK_EDITABLE (entry), value != NULL ? value : "");
}

static void
fill_text (StudioLessonEditor *self, const char *value)
{
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (GTK_TEXT_VIEW (self->text));
  GtkTextIter start, end;

  gtk_text_buffer_get_bounds (buffer, &start, &end);
  g_autofree char *now = gtk_text_buffer_get_text (buffer, &start, &end, FALSE);
  if (g_strcmp0 (now, value) != 0)
    gtk_text_buffer_set_text (buffer, value, -1);
}

static void
fill (StudioLessonEditor *self)
{
  LoomElement *page = page_element (self), *lesson = lesson_element (self);
  const guint n = studio_lesson_n_pages (self->lesson), at = studio_lesson_page_index (self->lesson);
  g_autofree char *where = g_strdup_printf (_ ("Page %u of %u"), n > 0 ? at + 1 : 0, n);

  self->filling = TRUE;
  for (guint i = 0; i < self->fields->len; i++)
    {
      Field *field = self->fields->pdata[i];
      LoomElement *element = field->of_lesson ? lesson : page;

      fill_entry (field->entry, element != NULL ? loom_element_get (element, field->attribute) : NULL);
      gtk_widget_set_sensitive (field->entry, element != NULL);
    }
  if (!gtk_widget_has_focus (self->text))
    fill_text (self, page != NULL && loom_element_text (page) != NULL ? loom_element_text (page) : "");
  gtk_widget_set_sensitive (self->text, page != NULL);
  gtk_label_set_text (GTK_LABEL (self->where), where);
  gtk_widget_set_sensitive (self->back, at > 0);
  gtk_widget_set_sensitive (self->next, at + 1 < n);
  show_fault (self);
  self->filling = FALSE;
}

/* ---- from the fields to the document ------------------------------------------- */

static void
entry_cb (GtkEditable *editable, Field *field)
{
  StudioLessonEditor *self = field->editor;
  LoomElement *element = field->of_lesson ? lesson_element (self) : page_element (self);
  const char *text = gtk_editable_get_text (editable);

  if (!self->filling && element != NULL)
    studio_document_set_element_attribute (self->document, element, field->attribute, text[0] != '\0' ? text : NULL);
}

static void
text_cb (GtkTextBuffer *buffer, StudioLessonEditor *self)
{
  LoomElement *page = page_element (self);
  GtkTextIter start, end;

  if (self->filling || page == NULL)
    return;
  gtk_text_buffer_get_bounds (buffer, &start, &end);
  g_autofree char *text = gtk_text_buffer_get_text (buffer, &start, &end, FALSE);
  g_autofree char *key = g_strdup_printf ("lesson text %" G_GUINT64_FORMAT, loom_element_serial (page));
  studio_document_begin (self->document, _ ("Write a page"));
  studio_document_merge (self->document, key);
  studio_document_edit (self->document, loom_edit_set_text (page, text));
  studio_document_end (self->document);
}

static void
selection_cb (Field *field)
{
  StudioLessonEditor *self = field->editor;
  g_autoptr (GString) ids = g_string_new (NULL);

  for (guint i = 0; i < studio_document_n_selected (self->document); i++)
    {
      LoomElement *e = by_serial (self, studio_document_get_selected (self->document, i));
      const char *id = e != NULL && loom_element_tag (e) == LOOM_TAG_NODE ? loom_element_get (e, "id") : NULL;

      if (id != NULL)
        g_string_append_printf (ids, "%s%s", ids->len > 0 ? " " : "", id);
    }
  gtk_editable_set_text (GTK_EDITABLE (field->entry), ids->str);
}

/* ---- pages ----------------------------------------------------------------------- */

static void
add_page_cb (StudioLessonEditor *self)
{
  LoomElement *lesson = lesson_element (self), *page = page_element (self);
  guint at = page != NULL ? loom_element_index (page) + 1 : 0;

  if (lesson == NULL)
    return;
  studio_document_begin (self->document, _ ("Add a page"));
  studio_document_edit (self->document,
                        loom_edit_insert (lesson, at, loom_element_new (LOOM_TAG_PAGE, "title", _ ("New page"), NULL)));
  studio_document_end (self->document);
  studio_lesson_show_page (self->lesson, page != NULL ? studio_lesson_page_index (self->lesson) + 1 : 0);
}

static void
remove_page_cb (StudioLessonEditor *self)
{
  LoomElement *page = page_element (self);

  if (page == NULL)
    return;
  studio_document_begin (self->document, _ ("Delete a page"));
  studio_document_edit (self->document, loom_edit_remove (page));
  studio_document_end (self->document);
}

/* Exchanges the page with the previous one. */
static void
move_page_cb (StudioLessonEditor *self)
{
  LoomElement *page = page_element (self), *lesson = lesson_element (self);
  guint index = page != NULL ? loom_element_index (page) : 0, at = studio_lesson_page_index (self->lesson);

  if (page == NULL || at == 0)
    return;
  LoomElement *copy = loom_element_copy (page);
  studio_document_begin (self->document, _ ("Move a page"));
  studio_document_edit (self->document, loom_edit_remove (page));
  studio_document_edit (self->document, loom_edit_insert (lesson, index - 1, copy));
  studio_document_end (self->document);
  studio_lesson_show_page (self->lesson, at - 1);
}

static void
back_cb (StudioLessonEditor *self)
{
  studio_lesson_show_page (self->lesson, studio_lesson_page_index (self->lesson) - 1);
}

static void
next_cb (StudioLessonEditor *self)
{
  studio_lesson_show_page (self->lesson, studio_lesson_page_index (self->lesson) + 1);
}

static void
done_cb (StudioLessonEditor *self)
{
  g_signal_emit (self, done_signal, 0);
}

/* ---- parts ------------------------------------------------------------------------- */

static GtkWidget *
append_label (StudioLessonEditor *self, const char *words)
{
  GtkWidget *label = gtk_label_new (words);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_widget_add_css_class (label, "caption-heading");
  gtk_box_append (GTK_BOX (self->box), label);
  return label;
}

static Field *
append_field (StudioLessonEditor *self, const char *words, const char *attribute, gboolean of_lesson,
              const char *placeholder)
{
  Field *field = g_new0 (Field, 1);
  GtkWidget *label = append_label (self, words);

  *field = (Field){ .editor = self, .attribute = attribute, .of_lesson = of_lesson, .entry = gtk_entry_new () };
  gtk_entry_set_placeholder_text (GTK_ENTRY (field->entry), placeholder);
  gtk_accessible_update_relation (GTK_ACCESSIBLE (field->entry), GTK_ACCESSIBLE_RELATION_LABELLED_BY, label, NULL, -1);
  g_signal_connect (field->entry, "changed", G_CALLBACK (entry_cb), field);
  gtk_box_append (GTK_BOX (self->box), field->entry);
  g_ptr_array_add (self->fields, field);
  return field;
}

static void
append_text (StudioLessonEditor *self)
{
  GtkWidget *label = append_label (self, _ ("Text (Markdown)")), *frame = gtk_scrolled_window_new ();

  self->text = gtk_text_view_new ();
  gtk_text_view_set_wrap_mode (GTK_TEXT_VIEW (self->text), GTK_WRAP_WORD_CHAR);
  gtk_text_view_set_accepts_tab (GTK_TEXT_VIEW (self->text), FALSE);
  gtk_text_view_set_left_margin (GTK_TEXT_VIEW (self->text), 6);
  gtk_text_view_set_right_margin (GTK_TEXT_VIEW (self->text), 6);
  gtk_text_view_set_top_margin (GTK_TEXT_VIEW (self->text), 6);
  gtk_text_view_set_bottom_margin (GTK_TEXT_VIEW (self->text), 6);
  gtk_accessible_update_relation (GTK_ACCESSIBLE (self->text), GTK_ACCESSIBLE_RELATION_LABELLED_BY, label, NULL, -1);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (frame), self->text);
  gtk_scrolled_window_set_min_content_height (GTK_SCROLLED_WINDOW (frame), 140);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (frame), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_widget_add_css_class (frame, "card");
  gtk_box_append (GTK_BOX (self->box), frame);
  g_signal_connect (gtk_text_view_get_buffer (GTK_TEXT_VIEW (self->text)), "changed", G_CALLBACK (text_cb), self);
}

static GtkWidget *
button_new (const char *icon_or_label, const char *name, GCallback callback, gpointer data)
{
  GtkWidget *button
      = name != NULL ? gtk_button_new_from_icon_name (icon_or_label) : gtk_button_new_with_mnemonic (icon_or_label);

  if (name != NULL)
    {
      gtk_widget_set_tooltip_text (button, name);
      gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
    }
  g_signal_connect_swapped (button, "clicked", callback, data);
  return button;
}

static void
append_bar (StudioLessonEditor *self)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);

  self->back = button_new ("go-previous-symbolic", _ ("Previous page"), G_CALLBACK (back_cb), self);
  self->next = button_new ("go-next-symbolic", _ ("Next page"), G_CALLBACK (next_cb), self);
  self->where = gtk_label_new (NULL);
  gtk_widget_set_hexpand (self->where, TRUE);
  gtk_box_append (GTK_BOX (bar), self->back);
  gtk_box_append (GTK_BOX (bar), self->where);
  gtk_box_append (GTK_BOX (bar), self->next);
  gtk_box_append (GTK_BOX (bar), button_new ("list-add-symbolic", _ ("Add a page"), G_CALLBACK (add_page_cb), self));
  gtk_box_append (GTK_BOX (bar),
                  button_new ("go-up-symbolic", _ ("Move the page forward"), G_CALLBACK (move_page_cb), self));
  gtk_box_append (GTK_BOX (bar),
                  button_new ("edit-delete-symbolic", _ ("Delete the page"), G_CALLBACK (remove_page_cb), self));
  gtk_box_append (GTK_BOX (self->box), bar);
}

/* ---- class ------------------------------------------------------------------------- */

static void
studio_lesson_editor_dispose (GObject *object)
{
  StudioLessonEditor *self = STUDIO_LESSON_EDITOR (object);

  if (self->lesson != NULL)
    g_signal_handlers_disconnect_by_data (self->lesson, self);
  g_clear_pointer (&self->scroller, gtk_widget_unparent);
  g_clear_object (&self->lesson);
  g_clear_object (&self->document);
  g_clear_pointer (&self->fields, g_ptr_array_unref);
  G_OBJECT_CLASS (studio_lesson_editor_parent_class)->dispose (object);
}

static void
studio_lesson_editor_class_init (StudioLessonEditorClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = studio_lesson_editor_dispose;
  gtk_widget_class_set_layout_manager_type (widget_class, GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_css_name (widget_class, "lessoneditor");
  done_signal
      = g_signal_new ("done", STUDIO_TYPE_LESSON_EDITOR, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
studio_lesson_editor_init (StudioLessonEditor *self)
{
  self->fields = g_ptr_array_new_with_free_func (g_free);
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  self->scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (self->scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), self->box);
  gtk_widget_set_parent (self->scroller, GTK_WIDGET (self));

  append_field (self, _ ("Lesson"), "title", TRUE, _ ("Title of the lesson"));
  append_bar (self);
  append_field (self, _ ("Page"), "title", FALSE, _ ("Title of the page"));
  append_text (self);
  append_field (self, _ ("Done when"), "goal", FALSE, "val_loss below 0.2, chain linear relu");
  self->fault = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->fault), TRUE);
  gtk_label_set_xalign (GTK_LABEL (self->fault), 0);
  gtk_widget_add_css_class (self->fault, "error");
  gtk_box_append (GTK_BOX (self->box), self->fault);
  append_field (self, _ ("Hint"), "hint", FALSE, _ ("Shown on request"));
  Field *spotlight = append_field (self, _ ("Nodes in the spotlight"), "spotlight", FALSE, _ ("All of them"));
  gtk_box_append (GTK_BOX (self->box),
                  button_new (_ ("_Use the selection"), NULL, G_CALLBACK (selection_cb), spotlight));
  append_field (self, _ ("Operators in the palette"), "palette", FALSE, _ ("All of them"));
  GtkWidget *done = button_new (_ ("_Done"), NULL, G_CALLBACK (done_cb), self);
  gtk_widget_add_css_class (done, "suggested-action");
  gtk_box_append (GTK_BOX (self->box), done);
}

StudioLessonEditor *
studio_lesson_editor_new (StudioDocument *document, StudioLesson *lesson)
{
  StudioLessonEditor *self = g_object_new (STUDIO_TYPE_LESSON_EDITOR, NULL);

  self->document = g_object_ref (document);
  self->lesson = g_object_ref (lesson);
  g_signal_connect_swapped (lesson, "lessons-changed", G_CALLBACK (fill), self);
  g_signal_connect_swapped (lesson, "page-changed", G_CALLBACK (fill), self);
  fill (self);
  return self;
}
