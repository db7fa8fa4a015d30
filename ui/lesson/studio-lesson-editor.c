/* The editor of a lesson's pages; see the header. */
#include "ui/lesson/studio-lesson-editor.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-template.h"

enum
{
  LESSON_TITLE,
  PAGE_TITLE,
  GOAL,
  HINT,
  SPOTLIGHT,
  PALETTE,
  N_FIELDS
};
/* The attributes of <page>, or of <lesson>, that the entries show. */
static const struct
{
  const char *attribute;
  gboolean of_lesson;
} fields[N_FIELDS] = { { "title", TRUE }, { "title" }, { "goal" }, { "hint" }, { "spotlight" }, { "palette" } };

struct _StudioLessonEditor
{
  AdwBin parent_instance;
  StudioDocument *document;
  StudioLesson *lesson;
  GtkWidget *entry[N_FIELDS], *where, *text, *fault, *back, *next;
  gboolean filling;
};

G_DEFINE_FINAL_TYPE (StudioLessonEditor, studio_lesson_editor, ADW_TYPE_BIN)

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
  for (guint i = 0; i < N_FIELDS; i++)
    {
      LoomElement *element = fields[i].of_lesson ? lesson : page;

      fill_entry (self->entry[i], element != NULL ? loom_element_get (element, fields[i].attribute) : NULL);
      gtk_widget_set_sensitive (self->entry[i], element != NULL);
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
entry_cb (GtkWidget *entry, StudioLessonEditor *self)
{
  const char *text = gtk_editable_get_text (GTK_EDITABLE (entry));
  guint i = 0;

  while (self->entry[i] != entry)
    i++;
  LoomElement *element = fields[i].of_lesson ? lesson_element (self) : page_element (self);
  if (!self->filling && element != NULL)
    studio_document_set_element_attribute (self->document, element, fields[i].attribute, text[0] != '\0' ? text : NULL);
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
selection_cb (StudioLessonEditor *self)
{
  g_autoptr (GString) ids = g_string_new (NULL);

  for (guint i = 0; i < studio_document_n_selected (self->document); i++)
    {
      LoomElement *e = by_serial (self, studio_document_get_selected (self->document, i));
      const char *id = e != NULL && loom_element_tag (e) == LOOM_TAG_NODE ? loom_element_get (e, "id") : NULL;

      if (id != NULL)
        g_string_append_printf (ids, "%s%s", ids->len > 0 ? " " : "", id);
    }
  gtk_editable_set_text (GTK_EDITABLE (self->entry[SPOTLIGHT]), ids->str);
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

/* ---- class ------------------------------------------------------------------------- */

static void
studio_lesson_editor_dispose (GObject *object)
{
  StudioLessonEditor *self = STUDIO_LESSON_EDITOR (object);

  g_clear_object (&self->lesson);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_lesson_editor_parent_class)->dispose (object);
}

static void
studio_lesson_editor_class_init (StudioLessonEditorClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = studio_lesson_editor_dispose;
  STUDIO_TEMPLATE (klass, "studio-lesson-editor.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioLessonEditor, entry[LESSON_TITLE], entry[PAGE_TITLE], entry[GOAL], entry[HINT],
                            entry[SPOTLIGHT], entry[PALETTE], where, text, fault, back, next);
  STUDIO_TEMPLATE_CALLBACKS (klass, entry_cb, text_cb, selection_cb, add_page_cb, remove_page_cb, move_page_cb, back_cb,
                             next_cb, done_cb);
  gtk_widget_class_set_css_name (widget_class, "lessoneditor");
  done_signal = studio_signal_new ("done", STUDIO_TYPE_LESSON_EDITOR, 0);
}

static void
studio_lesson_editor_init (StudioLessonEditor *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

StudioLessonEditor *
studio_lesson_editor_new (StudioDocument *document, StudioLesson *lesson)
{
  StudioLessonEditor *self = g_object_new (STUDIO_TYPE_LESSON_EDITOR, NULL);

  self->document = g_object_ref (document);
  self->lesson = g_object_ref (lesson);
  g_signal_connect_object (lesson, "lessons-changed", G_CALLBACK (fill), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (lesson, "page-changed", G_CALLBACK (fill), self, G_CONNECT_SWAPPED);
  fill (self);
  return self;
}
