/* Reads the lessons of a graph file; see the header. */
#include "engine/lesson/lesson-private.h"
#include "engine/lesson/loom-lesson.h"

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

static LoomLessonPage *
page_new (const LoomElement *element, LoomFaults *faults)
{
  const char *goal = loom_element_get (element, "goal"), *title = loom_element_get (element, "title");
  LoomLessonPage *page = g_new0 (LoomLessonPage, 1);
  g_autoptr (GError) error = NULL;

  page->serial = loom_element_serial (element);
  page->title = g_strdup (title != NULL ? title : "");
  page->text = lesson_markdown (loom_element_text (element));
  page->hint = g_strdup (loom_element_get (element, "hint"));
  page->spotlight = lesson_words (loom_element_get (element, "spotlight"));
  page->palette = lesson_words (loom_element_get (element, "palette"));
  page->goal_text = g_strdup (goal);
  if (goal != NULL)
    page->goal = loom_goal_new (goal, &error);
  if (error != NULL)
    loom_faults_add (faults, LOOM_ERROR_SCHEMA, loom_element_line (element), NULL, "goal",
                     "The goal of the page “%s”: %s.", page->title, error->message);
  for (guint i = 0; page->palette != NULL && page->palette[i] != NULL; i++)
    if (loom_op (page->palette[i]) == NULL)
      loom_faults_add (faults, LOOM_ERROR_SCHEMA, loom_element_line (element), NULL, "palette",
                       "The palette of the page “%s” names “%s”, but there is no such operator.", page->title,
                       page->palette[i]);
  return page;
}

static gboolean
same_page (const LoomLessonPage *a, const LoomLessonPage *b)
{
  return a->serial == b->serial && g_str_equal (a->title, b->title) && g_str_equal (a->text, b->text)
         && g_strcmp0 (a->hint, b->hint) == 0 && g_strcmp0 (a->goal_text, b->goal_text) == 0
         && lesson_same_words (a->spotlight, b->spotlight) && lesson_same_words (a->palette, b->palette);
}

gboolean
loom_lesson_equal (const LoomLesson *a, const LoomLesson *b)
{
  if (a->serial != b->serial || !g_str_equal (a->title, b->title) || a->pages->len != b->pages->len
      || a->has_hand_in != b->has_hand_in)
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

      if (loom_element_tag (element) != LOOM_TAG_LESSON)
        continue;
      LoomLesson *lesson = g_new0 (LoomLesson, 1);
      const char *title = loom_element_get (element, "title");
      lesson->serial = loom_element_serial (element);
      lesson->title = g_strdup (title != NULL ? title : "Lesson");
      lesson->has_hand_in = g_strcmp0 (loom_element_get (element, "hand_in"), "true") == 0;
      lesson->pages = g_ptr_array_new_with_free_func (page_free);
      for (guint k = 0; k < loom_element_n_children (element); k++)
        if (loom_element_tag (loom_element_child (element, k)) == LOOM_TAG_PAGE)
          g_ptr_array_add (lesson->pages, page_new (loom_element_child (element, k), faults));
      g_ptr_array_add (lessons, lesson);
    }
  return lessons;
}
