/* The pane with the lesson; see the header. A page is rebuilt when it is shown, its check marks when they change. */
#include "ui/lesson/studio-lesson-pane.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-choice-name.h"
#include "ui/charts/studio-expander.h"
#include "ui/charts/studio-template.h"
#include "ui/lesson/studio-lesson-editor.h"
#include "ui/lesson/studio-markdown.h"

/* The hint appears after a minute, so that it helps a learner who is stuck and does not interrupt one who reads. */
#define HINT_SECONDS 60

struct _StudioLessonPane
{
  AdwBin parent_instance;
  StudioDocument *document;
  StudioLesson *lesson;
  GtkWidget *stack; /* the page in its frame, or the editor */
  GtkWidget *frame;
  GtkWidget *title, *choice, *steps, *scroller, *page, *foot, *back, *next;
  GtkWidget *hint;      /* of the shown page; NULL: none */
  GPtrArray *ticks;     /* GtkImage by clause */
  GtkWidget *done_line; /* "Done": shown after the page is done */
  guint hint_timer;
  gboolean filling; /* the list of lessons is being filled */
  char *shown_doc;
};

G_DEFINE_FINAL_TYPE (StudioLessonPane, studio_lesson_pane, ADW_TYPE_BIN)

static guint follow_signal, hand_in_signal;

/* ---- texts -------------------------------------------------------------------- */

/* Texts of the built-in lessons are in the catalogue; a file of someone else's is shown as it is. */
static const char *
translated (const char *text)
{
  return text[0] != '\0' ? gettext (text) : text;
}

static gboolean
is_node (const char *name, gpointer data)
{
  StudioLessonPane *self = data;
  LoomElement *root = loom_graph_root (studio_document_get_graph (self->document));

  return loom_id_is_valid (name) && loom_scope_find_node (root, name) != NULL;
}

static void
follow (const char *address, gpointer data)
{
  StudioLessonPane *self = data;

  if (g_str_has_prefix (address, "node:"))
    g_signal_emit (self, follow_signal, 0, address + strlen ("node:"));
  else if (g_str_has_prefix (address, "https://") || g_str_has_prefix (address, "http://"))
    gtk_show_uri (GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))), address, GDK_CURRENT_TIME);
}

static GtkWidget *
markdown (StudioLessonPane *self, const char *text)
{
  return studio_markdown_new (text, is_node, follow, self);
}

/* The text of the graph's <doc>, or NULL. */
static const char *
doc_text (StudioLessonPane *self)
{
  LoomElement *doc = loom_element_find (loom_graph_root (studio_document_get_graph (self->document)), LOOM_TAG_DOC);
  const char *text = doc != NULL ? loom_element_text (doc) : NULL;

  return text != NULL && text[strspn (text, " \t\r\n")] != '\0' ? text : NULL;
}

gboolean
studio_lesson_pane_has_text (StudioLessonPane *self)
{
  return studio_lesson_get (self->lesson) != NULL || doc_text (self) != NULL;
}

/* ---- the parts of a page ------------------------------------------------------ */

static void
append (StudioLessonPane *self, GtkWidget *child)
{
  gtk_box_append (GTK_BOX (self->page), child);
}

static GtkWidget *
wrapping_label (const char *text, const char *css_class)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_set_hexpand (label, TRUE);
  if (css_class != NULL)
    gtk_widget_add_css_class (label, css_class);
  return label;
}

/* Check marks, with text for screen readers. */
static void
show_tick (StudioLessonPane *self, guint i)
{
  GtkWidget *image = self->ticks->pdata[i];
  const gboolean holds = studio_lesson_clause_holds (self->lesson, i);

  gtk_image_set_from_icon_name (GTK_IMAGE (image), holds ? "object-select-symbolic" : "radio-symbolic");
  gtk_widget_set_css_classes (image, (const char *[]){ holds ? "success" : "dim-label", NULL });
  gtk_accessible_update_property (GTK_ACCESSIBLE (image), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  holds ? _ ("Done") : _ ("To do"), -1);
}

static void
add_goal (StudioLessonPane *self, const LoomLessonPage *page)
{
  GtkWidget *list = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);

  gtk_widget_add_css_class (list, "lesson-goal");
  for (guint i = 0; i < loom_goal_n_clauses (page->goal); i++)
    {
      GtkWidget *row = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *image = gtk_image_new ();
      const char *text = loom_goal_clause_text (page->goal, i);
      g_autofree char *sentence = g_strdup_printf ("%c%s", g_ascii_toupper (text[0]), text + 1);

      gtk_widget_set_valign (image, GTK_ALIGN_START);
      gtk_box_append (GTK_BOX (row), image);
      gtk_box_append (GTK_BOX (row), wrapping_label (sentence, NULL));
      gtk_box_append (GTK_BOX (list), row);
      g_ptr_array_add (self->ticks, image);
      show_tick (self, i);
    }
  append (self, list);
}

/* A wrong answer gets a reply when it is submitted, not while it is typed. */
static void
show_reply (GtkWidget *entry, const char *reply)
{
  GtkWidget *label = gtk_widget_get_next_sibling (entry);

  gtk_label_set_text (GTK_LABEL (label), reply);
  gtk_widget_set_visible (label, reply[0] != '\0');
  gtk_accessible_update_property (GTK_ACCESSIBLE (entry), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, reply, -1);
}

static void
answer_cb (GtkEditable *entry, StudioLessonPane *self)
{
  show_reply (GTK_WIDGET (entry), "");
  studio_lesson_answer (self->lesson, gtk_editable_get_text (entry));
}

/* A sentence that does not reveal the right answer; "" if there is none. (transfer full) */
static char *
reply_words (LoomGoalReply reply, const char *given)
{
  switch (reply)
    {
    case LOOM_GOAL_REPLY_NONE:
      break;
    case LOOM_GOAL_REPLY_TOO_SMALL:
      return g_strdup_printf (_ ("%s is too small."), given);
    case LOOM_GOAL_REPLY_TOO_LARGE:
      return g_strdup_printf (_ ("%s is too large."), given);
    case LOOM_GOAL_REPLY_WRONG_SIGN:
      return g_strdup_printf (_ ("%s has the wrong sign."), given);
    case LOOM_GOAL_REPLY_NO_NUMBER:
      return g_strdup_printf (_ ("The answer is a number, not “%s”."), given);
    case LOOM_GOAL_REPLY_NO_WORD:
      return g_strdup (_ ("The answer is a word, not a number."));
    case LOOM_GOAL_REPLY_WRONG:
      return g_strdup_printf (_ ("“%s” is not the answer."), given);
    }
  return g_strdup ("");
}

static void
given_cb (GtkEntry *entry, StudioLessonPane *self)
{
  const LoomLessonPage *page = studio_lesson_page (self->lesson);
  g_autofree char *given = g_strstrip (g_strdup (gtk_editable_get_text (GTK_EDITABLE (entry))));
  g_autofree char *reply
      = reply_words (page != NULL ? loom_goal_reply (page->goal, given) : LOOM_GOAL_REPLY_NONE, given);

  show_reply (GTK_WIDGET (entry), reply);
  studio_lesson_keep_answers (self->lesson);
}

static void
add_answer (StudioLessonPane *self)
{
  GtkWidget *entry = gtk_entry_new (), *reply = wrapping_label (NULL, "warning");
  const char *earlier = studio_lesson_get_answer (self->lesson, studio_lesson_page_index (self->lesson));

  gtk_entry_set_placeholder_text (GTK_ENTRY (entry), _ ("Your answer, then Enter"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (entry), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Your answer"), -1);
  gtk_editable_set_text (GTK_EDITABLE (entry), earlier != NULL ? earlier : "");
  g_signal_connect (entry, "changed", G_CALLBACK (answer_cb), self);
  g_signal_connect (entry, "activate", G_CALLBACK (given_cb), self);
  gtk_widget_set_visible (reply, FALSE);
  append (self, entry);
  append (self, reply);
}

static gboolean
hint_cb (gpointer data)
{
  StudioLessonPane *self = data;

  self->hint_timer = 0;
  if (self->hint != NULL && !studio_lesson_is_done (self->lesson, studio_lesson_page_index (self->lesson)))
    gtk_expander_set_expanded (GTK_EXPANDER (self->hint), TRUE);
  return G_SOURCE_REMOVE;
}

static void
add_hint (StudioLessonPane *self, const char *hint)
{
  self->hint = studio_expander_new (_ ("Hint"), markdown (self, hint));
  append (self, self->hint);
  self->hint_timer = g_timeout_add_seconds (HINT_SECONDS, hint_cb, self);
}

/* On the last page of a lesson that asks for it; every lesson has the same in its menu. */
static void
add_hand_in (StudioLessonPane *self)
{
  GtkWidget *button = gtk_button_new_with_mnemonic (_ ("_Hand In…"));

  gtk_widget_set_halign (button, GTK_ALIGN_START);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), "lesson.hand-in");
  append (self, button);
}

static void
show_doc (StudioLessonPane *self)
{
  const char *doc = doc_text (self);

  g_free (self->shown_doc);
  self->shown_doc = g_strdup (doc);
  if (doc == NULL)
    return;
  if (studio_lesson_get (self->lesson) == NULL)
    {
      append (self, markdown (self, doc));
      return;
    }
  append (self, studio_expander_new (_ ("About this graph"), markdown (self, doc)));
}

/* ---- visibility --------------------------------------------------------------- */

static void
step_cb (GtkButton *button, StudioLessonPane *self)
{
  studio_lesson_show_page (self->lesson, GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "page")));
}

/* A numbered button for each page; a page that is done has a check mark instead of the number. */
static void
show_steps (StudioLessonPane *self)
{
  const LoomLesson *lesson = studio_lesson_get (self->lesson);
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (self->steps)) != NULL)
    gtk_box_remove (GTK_BOX (self->steps), child);
  for (guint i = 0; lesson != NULL && i < lesson->pages->len; i++)
    {
      const LoomLessonPage *page = lesson->pages->pdata[i];
      const gboolean done = studio_lesson_is_done (self->lesson, i),
                     here = i == studio_lesson_page_index (self->lesson);
      g_autofree char *number = g_strdup_printf ("%u", i + 1);
      g_autofree char *title = page->title[0] != '\0'
                                   ? g_strdup_printf (_ ("Page %u: %s"), i + 1, translated (page->title))
                                   : g_strdup_printf (_ ("Page %u"), i + 1);
      g_autofree char *name = done ? g_strdup_printf (_ ("%s, done"), title) : g_strdup (title);
      GtkWidget *button = gtk_button_new ();

      if (done && !here)
        gtk_button_set_icon_name (GTK_BUTTON (button), "object-select-symbolic");
      else
        gtk_button_set_label (GTK_BUTTON (button), number);
      gtk_widget_add_css_class (button, "circular");
      gtk_widget_add_css_class (button, here ? "suggested-action" : done ? "success" : "flat");
      gtk_widget_set_tooltip_text (button, name);
      gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
      g_object_set_data (G_OBJECT (button), "page", GUINT_TO_POINTER (i));
      g_signal_connect (button, "clicked", G_CALLBACK (step_cb), self);
      gtk_box_append (GTK_BOX (self->steps), button);
    }
}

/* What a screen reader says of the page: its text, what is to do, and whether it is done. */
static void
describe_page (StudioLessonPane *self, gboolean done)
{
  const LoomLessonPage *page = studio_lesson_page (self->lesson);
  g_autoptr (GString) words = g_string_new (NULL);

  if (page == NULL)
    return;
  g_autofree char *markup = studio_markdown_to_markup (translated (page->text), NULL, NULL), *text = NULL;
  if (pango_parse_markup (markup, -1, 0, NULL, &text, NULL, NULL))
    g_string_append (words, text);
  for (guint i = 0; i < self->ticks->len; i++)
    g_string_append_printf (words, "\n%s: %s", studio_lesson_clause_holds (self->lesson, i) ? _ ("Done") : _ ("To do"),
                            loom_goal_clause_text (page->goal, i));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->page), GTK_ACCESSIBLE_PROPERTY_LABEL, translated (page->title),
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, words->str, -1);
  gtk_accessible_update_property (
      GTK_ACCESSIBLE (self->next), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
      done && self->done_line != NULL ? gtk_label_get_text (GTK_LABEL (self->done_line)) : "", -1);
}

static void
show_progress (StudioLessonPane *self)
{
  const guint page = studio_lesson_page_index (self->lesson), n = studio_lesson_n_pages (self->lesson);
  const gboolean done = studio_lesson_is_done (self->lesson, page);

  for (guint i = 0; i < self->ticks->len; i++)
    show_tick (self, i);
  if (self->done_line != NULL)
    gtk_widget_set_visible (self->done_line, done);
  gtk_widget_set_sensitive (self->back, page > 0);
  gtk_widget_set_sensitive (self->next, page + 1 < n);
  if (done)
    gtk_widget_add_css_class (self->next, "suggested-action");
  else
    gtk_widget_remove_css_class (self->next, "suggested-action");
  describe_page (self, done);
  show_steps (self);
}

static void
clear_page (StudioLessonPane *self)
{
  GtkWidget *child;

  g_clear_handle_id (&self->hint_timer, g_source_remove);
  g_ptr_array_set_size (self->ticks, 0);
  self->hint = self->done_line = NULL;
  while ((child = gtk_widget_get_first_child (self->page)) != NULL)
    gtk_box_remove (GTK_BOX (self->page), child);
}

static void
show_page (StudioLessonPane *self)
{
  const LoomLessonPage *page = studio_lesson_page (self->lesson);

  clear_page (self);
  if (page != NULL)
    {
      if (page->title[0] != '\0')
        append (self, wrapping_label (translated (page->title), "title-4"));
      append (self, markdown (self, translated (page->text)));
      if (page->goal != NULL)
        add_goal (self, page);
      if (loom_goal_needs_answer (page->goal))
        add_answer (self);
      if (page->goal != NULL)
        {
          const gboolean last = studio_lesson_page_index (self->lesson) + 1 == studio_lesson_n_pages (self->lesson);

          self->done_line = wrapping_label (
              last ? _ ("Well done: that was the last page.") : _ ("Done. Continue with Next."), "success");
          append (self, self->done_line);
        }
      if (page->hint != NULL)
        add_hint (self, translated (page->hint));
      if (studio_lesson_get (self->lesson)->has_hand_in
          && studio_lesson_page_index (self->lesson) + 1 == studio_lesson_n_pages (self->lesson))
        add_hand_in (self);
    }
  if (studio_lesson_page_index (self->lesson) == 0)
    show_doc (self);
  show_progress (self);
  gtk_adjustment_set_value (gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->scroller)), 0);
}

/* ---- several lessons ------------------------------------------------------------ */

static void
choice_cb (GtkDropDown *choice, GParamSpec *spec, StudioLessonPane *self)
{
  if (!self->filling)
    studio_lesson_choose (self->lesson, gtk_drop_down_get_selected (choice));
}

static void
fill_choice (StudioLessonPane *self)
{
  g_autoptr (GtkStringList) titles = gtk_string_list_new (NULL);
  const guint n = studio_lesson_n_lessons (self->lesson);

  self->filling = TRUE;
  for (guint i = 0; i < n; i++)
    gtk_string_list_append (titles, translated (studio_lesson_title (self->lesson, i)));
  gtk_drop_down_set_model (GTK_DROP_DOWN (self->choice), G_LIST_MODEL (titles));
  gtk_drop_down_set_selected (GTK_DROP_DOWN (self->choice), studio_lesson_which (self->lesson));
  gtk_widget_set_visible (self->choice, n > 1);
  self->filling = FALSE;
}

static void
show_lesson (StudioLessonPane *self)
{
  const LoomLesson *lesson = studio_lesson_get (self->lesson);

  fill_choice (self);
  gtk_label_set_text (GTK_LABEL (self->title), lesson != NULL ? translated (lesson->title) : _ ("About this graph"));
  gtk_widget_set_visible (self->steps, lesson != NULL);
  gtk_widget_set_visible (self->foot, lesson != NULL);
  show_page (self);
}

static void
changed_cb (StudioLessonPane *self)
{
  if (g_strcmp0 (self->shown_doc, doc_text (self)) != 0 && studio_lesson_page_index (self->lesson) == 0)
    show_page (self);
}

/* ---- buttons -------------------------------------------------------------------- */

/* The focus goes to the text, which is read aloud then. */
static void
turn (StudioLessonPane *self, guint page)
{
  studio_lesson_show_page (self->lesson, page);
  gtk_widget_grab_focus (self->page);
}

static void
back_cb (StudioLessonPane *self)
{
  turn (self, studio_lesson_page_index (self->lesson) - 1);
}

static void
next_cb (StudioLessonPane *self)
{
  turn (self, studio_lesson_page_index (self->lesson) + 1);
}

static void
start_again_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  studio_lesson_start_again (STUDIO_LESSON_PANE (widget)->lesson);
}

static void
done_cb (StudioLessonPane *self)
{
  gtk_stack_set_visible_child (GTK_STACK (self->stack), self->frame);
}

void
studio_lesson_pane_edit (StudioLessonPane *self)
{
  GtkWidget *editor = gtk_stack_get_child_by_name (GTK_STACK (self->stack), "editor");

  if (studio_lesson_get (self->lesson) == NULL)
    {
      LoomElement *root = loom_graph_root (studio_document_get_graph (self->document));
      LoomElement *lesson = loom_element_new (LOOM_TAG_LESSON, "title", _ ("New lesson"), NULL);

      loom_element_append_detached (lesson, loom_element_new (LOOM_TAG_PAGE, "title", _ ("First page"), NULL));
      studio_document_begin (self->document, _ ("Begin a lesson"));
      studio_document_edit (self->document,
                            loom_edit_insert (root, loom_element_place_for (root, LOOM_TAG_LESSON), lesson));
      studio_document_end (self->document);
    }
  if (editor == NULL)
    {
      editor = GTK_WIDGET (studio_lesson_editor_new (self->document, self->lesson));
      g_signal_connect_swapped (editor, "done", G_CALLBACK (done_cb), self);
      gtk_stack_add_named (GTK_STACK (self->stack), editor, "editor");
    }
  gtk_stack_set_visible_child (GTK_STACK (self->stack), editor);
}

static void
hand_in_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  studio_lesson_keep_answers (STUDIO_LESSON_PANE (widget)->lesson);
  g_signal_emit (widget, hand_in_signal, 0);
}

static void
edit_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  studio_lesson_pane_edit (STUDIO_LESSON_PANE (widget));
}

/* ---- class ------------------------------------------------------------------------ */

static void
studio_lesson_pane_dispose (GObject *object)
{
  StudioLessonPane *self = STUDIO_LESSON_PANE (object);

  g_clear_handle_id (&self->hint_timer, g_source_remove);
  g_clear_object (&self->lesson);
  g_clear_object (&self->document);
  g_clear_pointer (&self->ticks, g_ptr_array_unref);
  g_clear_pointer (&self->shown_doc, g_free);
  G_OBJECT_CLASS (studio_lesson_pane_parent_class)->dispose (object);
}

static void
studio_lesson_pane_class_init (StudioLessonPaneClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->dispose = studio_lesson_pane_dispose;
  STUDIO_TEMPLATE (klass, "studio-lesson-pane.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioLessonPane, stack, frame, title, choice, steps, scroller, page, foot, back,
                            next);
  STUDIO_TEMPLATE_CALLBACKS (klass, choice_cb, back_cb, next_cb);
  gtk_widget_class_set_css_name (widget_class, "lessonpane");
  gtk_widget_class_install_action (widget_class, "lesson.start-again", NULL, start_again_cb);
  gtk_widget_class_install_action (widget_class, "lesson.edit", NULL, edit_cb);
  gtk_widget_class_install_action (widget_class, "lesson.hand-in", NULL, hand_in_cb);
  hand_in_signal = studio_signal_new ("hand-in", STUDIO_TYPE_LESSON_PANE, 0);
  follow_signal = studio_signal_new ("follow", STUDIO_TYPE_LESSON_PANE, 1, G_TYPE_STRING);
}

static void
studio_lesson_pane_init (StudioLessonPane *self)
{
  self->ticks = g_ptr_array_new ();
  gtk_widget_init_template (GTK_WIDGET (self));
  studio_choice_set_name (GTK_DROP_DOWN (self->choice), _ ("Lesson"));
}

StudioLessonPane *
studio_lesson_pane_new (StudioDocument *document, StudioLesson *lesson)
{
  StudioLessonPane *self = g_object_new (STUDIO_TYPE_LESSON_PANE, NULL);

  self->document = g_object_ref (document);
  self->lesson = g_object_ref (lesson);
  g_signal_connect_object (lesson, "lessons-changed", G_CALLBACK (show_lesson), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (lesson, "page-changed", G_CALLBACK (show_page), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (lesson, "progress", G_CALLBACK (show_progress), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  show_lesson (self);
  return self;
}
