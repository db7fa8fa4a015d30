/* Lessons of a graph file; see the header. */
#include "engine/lesson/loom-lesson.h"

#include <string.h>

static void
page_free (gpointer data)
{
  LoomLessonPage *page = data;

  g_free (page->title);
  g_free (page->text);
  g_free (page->hint);
  g_free (page->goal_text);
  g_strfreev (page->spotlight);
  g_strfreev (page->palette);
  loom_goal_free (page->goal);
  g_free (page);
}

void
loom_lesson_free (LoomLesson *lesson)
{
  if (lesson == NULL)
    return;
  g_free (lesson->title);
  g_clear_pointer (&lesson->pages, g_ptr_array_unref);
  g_free (lesson);
}

/* The words of a list that blanks or commas part; NULL for none. (transfer full) */
static char **
words_of (const char *text)
{
  g_auto (GStrv) all = text != NULL ? g_strsplit_set (text, " ,\t\n", -1) : NULL;
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();
  guint n = 0;

  for (guint i = 0; all != NULL && all[i] != NULL; i++)
    if (all[i][0] != '\0')
      {
        g_strv_builder_add (words, all[i]);
        n++;
      }
  return n > 0 ? g_strv_builder_end (words) : NULL;
}

/* Text as XML files have it, without the indent that all its lines but the first share: Markdown would take four blanks
 * for a listing. (transfer full) */
static char *
without_indent (const char *text)
{
  g_auto (GStrv) line = g_strsplit (text != NULL ? text : "", "\n", -1);
  gsize indent = G_MAXSIZE;

  for (guint i = 1; line[0] != NULL && line[i] != NULL; i++)
    {
      gsize blanks = strspn (line[i], " ");

      if (line[i][blanks] != '\0')
        indent = MIN (indent, blanks);
    }
  for (guint i = 0; line[i] != NULL; i++)
    {
      gsize cut = i == 0 ? strspn (line[i], " ") : MIN (indent, strspn (line[i], " "));

      memmove (line[i], line[i] + cut, strlen (line[i] + cut) + 1);
    }
  return g_strstrip (g_strjoinv ("\n", line));
}

static LoomLessonPage *
page_new (const LoomElement *element, LoomFaults *faults)
{
  const char *goal = loom_element_get (element, "goal"), *title = loom_element_get (element, "title");
  LoomLessonPage *page = g_new0 (LoomLessonPage, 1);
  g_autoptr (GError) error = NULL;

  page->serial = loom_element_serial (element);
  page->title = g_strdup (title != NULL ? title : "");
  page->text = without_indent (loom_element_text (element));
  page->hint = g_strdup (loom_element_get (element, "hint"));
  page->spotlight = words_of (loom_element_get (element, "spotlight"));
  page->palette = words_of (loom_element_get (element, "palette"));
  page->goal_text = g_strdup (goal);
  if (goal != NULL)
    page->goal = loom_goal_new (goal, &error);
  if (error != NULL)
    loom_faults_add (faults, LOOM_ERROR_SCHEMA, loom_element_line (element), NULL, "goal",
                     "The goal of the page “%s”: %s.", page->title, error->message);
  for (guint i = 0; page->palette != NULL && page->palette[i] != NULL; i++)
    if (loom_op (page->palette[i]) == NULL)
      loom_faults_add (faults, LOOM_ERROR_SCHEMA, loom_element_line (element), NULL, "palette",
                       "The palette of the page “%s” names “%s”, and there is no such operator.", page->title,
                       page->palette[i]);
  return page;
}

static gboolean
same_words (char **a, char **b)
{
  return (a == NULL || b == NULL) ? a == b : g_strv_equal ((const char *const *)a, (const char *const *)b);
}

static gboolean
same_page (const LoomLessonPage *a, const LoomLessonPage *b)
{
  return a->serial == b->serial && g_str_equal (a->title, b->title) && g_str_equal (a->text, b->text)
         && g_strcmp0 (a->hint, b->hint) == 0 && g_strcmp0 (a->goal_text, b->goal_text) == 0
         && same_words (a->spotlight, b->spotlight) && same_words (a->palette, b->palette);
}

gboolean
loom_lesson_equal (const LoomLesson *a, const LoomLesson *b)
{
  if (a->serial != b->serial || !g_str_equal (a->title, b->title) || a->pages->len != b->pages->len)
    return FALSE;
  for (guint i = 0; i < a->pages->len; i++)
    if (!same_page (a->pages->pdata[i], b->pages->pdata[i]))
      return FALSE;
  return TRUE;
}

GPtrArray *
loom_lessons_new (const LoomGraph *graph, LoomFaults *faults)
{
  GPtrArray *lessons = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_lesson_free);
  const LoomElement *root = loom_graph_root (graph);

  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      const LoomElement *element = loom_element_child (root, i);
      const char *title = loom_element_get (element, "title");

      if (loom_element_tag (element) != LOOM_TAG_LESSON)
        continue;
      LoomLesson *lesson = g_new0 (LoomLesson, 1);
      lesson->serial = loom_element_serial (element);
      lesson->title = g_strdup (title != NULL ? title : "Lesson");
      lesson->pages = g_ptr_array_new_with_free_func (page_free);
      for (guint k = 0; k < loom_element_n_children (element); k++)
        if (loom_element_tag (loom_element_child (element, k)) == LOOM_TAG_PAGE)
          g_ptr_array_add (lesson->pages, page_new (loom_element_child (element, k), faults));
      g_ptr_array_add (lessons, lesson);
    }
  return lessons;
}
