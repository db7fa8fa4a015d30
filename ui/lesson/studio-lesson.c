/* The learner's progress; see the header. */
#include "ui/lesson/studio-lesson.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

struct _StudioLesson
{
  GObject parent_instance;
  StudioDocument *document;
  StudioRun *run;
  GPtrArray *lessons; /* LoomLesson */
  guint which, page;
  GArray *done;       /* gboolean by page of the current lesson */
  GArray *holding;    /* gboolean by clause of the current page */
  GPtrArray *answers; /* char* by page; NULL: none */
  char *start;        /* the graph's text when it was opened */
  gint64 seen;        /* the step of the run when the page was shown: figures of a goal are of later ones */
};

G_DEFINE_FINAL_TYPE (StudioLesson, studio_lesson, G_TYPE_OBJECT)

enum
{
  LESSONS_CHANGED,
  PAGE_CHANGED,
  PROGRESS,
  COMPLETED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

#define LEARNER "learner" /* a group of the file of progress, unlike those of lessons without a colon */

/* ---- stored progress -------------------------------------------------------- */

static char *
state_file (void)
{
  return g_build_filename (g_get_user_state_dir (), "gradloom", "lessons.ini", NULL);
}

/* The group of the current lesson in the file of progress. (transfer full) */
static char *
group_name (StudioLesson *self)
{
  g_autofree char *title = studio_document_dup_title (self->document);
  const LoomLesson *lesson = studio_lesson_get (self);
  g_autofree char *name = g_strdup_printf ("%s: %s", title, lesson->title);

  return g_strdelimit (g_steal_pointer (&name), "[]\n\r", '-');
}

/* (transfer full) */
static char *
answer_key (guint page)
{
  return g_strdup_printf ("answer-%u", page + 1);
}

static void
load_progress (StudioLesson *self)
{
  g_autoptr (GKeyFile) keys = g_key_file_new ();
  g_autofree char *path = state_file (), *group = NULL;
  g_autofree int *pages = NULL;
  gsize n = 0;

  g_array_set_size (self->done, 0);
  g_array_set_size (self->done, studio_lesson_n_pages (self));
  g_ptr_array_set_size (self->answers, 0);
  g_ptr_array_set_size (self->answers, (int)self->done->len);
  if (studio_lesson_get (self) == NULL || !g_key_file_load_from_file (keys, path, G_KEY_FILE_NONE, NULL))
    return;
  group = group_name (self);
  pages = g_key_file_get_integer_list (keys, group, "done", &n, NULL);
  for (gsize i = 0; i < n; i++)
    if (pages[i] >= 0 && (guint)pages[i] < self->done->len)
      g_array_index (self->done, gboolean, pages[i]) = TRUE;
  self->page = (guint)CLAMP (g_key_file_get_integer (keys, group, "page", NULL), 0, (int)MAX (self->done->len, 1) - 1);
  for (guint i = 0; i < self->answers->len; i++)
    {
      g_autofree char *key = answer_key (i);
      self->answers->pdata[i] = g_key_file_get_string (keys, group, key, NULL);
    }
}

/* If the state directory cannot be written, progress is only lost when the window closes. */
static void
save_progress (StudioLesson *self)
{
  g_autoptr (GKeyFile) keys = g_key_file_new ();
  g_autoptr (GArray) pages = g_array_new (FALSE, FALSE, sizeof (int));
  g_autofree char *path = state_file (), *folder = g_path_get_dirname (path), *group = NULL;

  if (studio_lesson_get (self) == NULL)
    return;
  g_key_file_load_from_file (keys, path, G_KEY_FILE_NONE, NULL);
  group = group_name (self);
  for (int i = 0; i < (int)self->done->len; i++)
    if (g_array_index (self->done, gboolean, i))
      g_array_append_val (pages, i);
  if (pages->len > 0)
    g_key_file_set_integer_list (keys, group, "done", (int *)(void *)pages->data, pages->len);
  else
    g_key_file_remove_key (keys, group, "done", NULL);
  g_key_file_set_integer (keys, group, "page", (int)self->page);
  for (guint i = 0; i < self->answers->len; i++)
    {
      g_autofree char *key = answer_key (i);

      if (self->answers->pdata[i] != NULL)
        g_key_file_set_string (keys, group, key, self->answers->pdata[i]);
      else
        g_key_file_remove_key (keys, group, key, NULL);
    }
  g_mkdir_with_parents (folder, 0700);
  g_key_file_save_to_file (keys, path, NULL);
}

/* ---- goals ------------------------------------------------------------------ */

static double
last_value (LoomSeries *series)
{
  double x, y;

  return loom_series_last (series, &x, &y) ? y : NAN;
}

/* Notes that a new run began, which the page has seen nothing of. */
static void
follow_run (StudioLesson *self)
{
  self->seen = MIN (self->seen, studio_run_get_step (self->run));
}

/* Figures are of the graph as it is: after a change of meaning there are none until it is trained again. And they are
 * of the page: what was trained before it was shown does not tick it. */
static double
figure (const char *name, gpointer data)
{
  StudioLesson *self = data;
  const gboolean of_split = g_str_has_prefix (name, "val_") || g_str_has_prefix (name, "test_");
  const char *what = of_split ? strchr (name, '_') + 1 : name;

  if (studio_run_get_graph (self->run) == NULL || studio_document_run_changes (self->document) > 0
      || studio_run_get_step (self->run) <= self->seen)
    return NAN;
  if (g_str_equal (name, "step"))
    return (double)studio_run_get_step (self->run);
  if (g_str_equal (name, "epoch"))
    return (double)studio_run_get_progress (self->run)->epoch;
  /* A data set without a validation split is evaluated on its test data; goals accept either. */
  if (of_split && studio_run_get_curves (self->run)->split == NULL)
    return NAN;
  if (g_str_equal (what, "loss"))
    return of_split ? last_value (studio_run_get_validation (self->run, -1)) : studio_run_get_loss (self->run);
  for (guint i = 0; i < studio_run_n_metrics (self->run); i++)
    if (g_str_equal (what, studio_run_get_metric_name (self->run, i)))
      return of_split ? last_value (studio_run_get_validation (self->run, (int)i))
                      : studio_run_get_metric (self->run, i);
  return NAN;
}

/* "q" means any tensor of that node, "q.out" a particular one. */
static gboolean
is_pinned (const char *tensor, gpointer data)
{
  StudioLesson *self = data;
  LoomElement *view = loom_element_find (loom_graph_root (studio_document_get_graph (self->document)), LOOM_TAG_VIEW);
  const gsize length = strlen (tensor);

  for (guint i = 0; view != NULL && i < loom_element_n_children (view); i++)
    {
      const char *pinned = loom_element_get (loom_element_child (view, i), "tensor");

      if (pinned != NULL && strncmp (pinned, tensor, length) == 0 && (pinned[length] == '\0' || pinned[length] == '.'))
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_selected (const char *path, gpointer data)
{
  StudioLesson *self = data;

  for (guint i = 0; i < studio_document_n_selected (self->document); i++)
    {
      g_autofree char *found
          = studio_document_dup_node_path (self->document, studio_document_get_selected (self->document, i));

      if (g_strcmp0 (found, path) == 0)
        return TRUE;
    }
  return FALSE;
}

static void
set_done (StudioLesson *self, guint page)
{
  if (page >= self->done->len || g_array_index (self->done, gboolean, page))
    return;
  g_array_index (self->done, gboolean, page) = TRUE;
  save_progress (self);
  g_signal_emit (self, signals[PROGRESS], 0);
  if (studio_lesson_n_done (self) == self->done->len)
    g_signal_emit (self, signals[COMPLETED], 0);
}

static void
evaluate (StudioLesson *self)
{
  const LoomLessonPage *page = studio_lesson_page (self);
  const guint n = page != NULL ? loom_goal_n_clauses (page->goal) : 0;
  gboolean all = n > 0, changed = FALSE;

  follow_run (self);
  if (n == 0)
    return;
  LoomGraph *graph = studio_document_get_graph (self->document);
  LoomNet *net = studio_document_get_net (self->document);
  const LoomLessonState state = { .figure = figure,
                                  .is_pinned = is_pinned,
                                  .is_selected = is_selected,
                                  .answer = studio_lesson_get_answer (self, self->page),
                                  .has_faults = loom_faults_count (studio_document_get_faults (self->document)) > 0,
                                  .data = self };
  if (self->holding->len != n)
    g_array_set_size (self->holding, n);
  for (guint i = 0; i < n; i++)
    {
      gboolean holds = loom_goal_clause_holds (page->goal, i, graph, net, &state);

      all = all && holds;
      changed = changed || holds != g_array_index (self->holding, gboolean, i);
      g_array_index (self->holding, gboolean, i) = holds;
    }
  if (changed)
    g_signal_emit (self, signals[PROGRESS], 0);
  if (all)
    set_done (self, self->page);
}

static void
forget_page (StudioLesson *self)
{
  self->seen = studio_run_get_step (self->run);
  g_array_set_size (self->holding, 0);
}

/* Reads the graph's lessons again; keeps the current page if it still exists. */
static void
read_lessons (StudioLesson *self)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  g_clear_pointer (&self->lessons, g_ptr_array_unref);
  self->lessons = loom_lessons_new (studio_document_get_graph (self->document), faults);
  self->which = MIN (self->which, MAX (self->lessons->len, 1) - 1);
  g_array_set_size (self->done, studio_lesson_n_pages (self));
  g_ptr_array_set_size (self->answers, (int)self->done->len);
  self->page = MIN (self->page, MAX (self->done->len, 1) - 1);
  forget_page (self);
  g_signal_emit (self, signals[LESSONS_CHANGED], 0);
}

/* TRUE if <lesson> is unchanged: most changes of a graph do not affect it. */
static gboolean
lessons_differ (StudioLesson *self)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GPtrArray) now = loom_lessons_new (studio_document_get_graph (self->document), faults);

  if (self->lessons == NULL || now->len != self->lessons->len)
    return TRUE;
  for (guint i = 0; i < now->len; i++)
    if (!loom_lesson_equal (now->pdata[i], self->lessons->pdata[i]))
      return TRUE;
  return FALSE;
}

static void
changed_cb (StudioLesson *self)
{
  if (lessons_differ (self))
    read_lessons (self);
}

/* ---- public ----------------------------------------------------------------- */

const LoomLesson *
studio_lesson_get (StudioLesson *self)
{
  return self->lessons != NULL && self->which < self->lessons->len ? self->lessons->pdata[self->which] : NULL;
}

guint
studio_lesson_n_lessons (StudioLesson *self)
{
  return self->lessons != NULL ? self->lessons->len : 0;
}

const char *
studio_lesson_title (StudioLesson *self, guint i)
{
  return ((const LoomLesson *)self->lessons->pdata[i])->title;
}

guint
studio_lesson_which (StudioLesson *self)
{
  return self->which;
}

void
studio_lesson_choose (StudioLesson *self, guint i)
{
  if (i >= studio_lesson_n_lessons (self) || i == self->which)
    return;
  self->which = i;
  self->page = 0;
  forget_page (self);
  load_progress (self);
  g_signal_emit (self, signals[LESSONS_CHANGED], 0);
  evaluate (self);
}

guint
studio_lesson_n_pages (StudioLesson *self)
{
  const LoomLesson *lesson = studio_lesson_get (self);

  return lesson != NULL ? lesson->pages->len : 0;
}

guint
studio_lesson_page_index (StudioLesson *self)
{
  return self->page;
}

const LoomLessonPage *
studio_lesson_page (StudioLesson *self)
{
  const LoomLesson *lesson = studio_lesson_get (self);

  return lesson != NULL && self->page < lesson->pages->len ? lesson->pages->pdata[self->page] : NULL;
}

void
studio_lesson_show_page (StudioLesson *self, guint i)
{
  const LoomLessonPage *old = studio_lesson_page (self);

  if (i >= studio_lesson_n_pages (self) || i == self->page)
    return;
  if (i > self->page && old->goal == NULL)
    set_done (self, self->page);
  self->page = i;
  forget_page (self);
  save_progress (self);
  g_signal_emit (self, signals[PAGE_CHANGED], 0);
  /* The last page is done as soon as it is shown, if it has no goal. */
  if (i + 1 == studio_lesson_n_pages (self) && studio_lesson_page (self)->goal == NULL)
    set_done (self, i);
  evaluate (self);
}

gboolean
studio_lesson_is_done (StudioLesson *self, guint page)
{
  return page < self->done->len && g_array_index (self->done, gboolean, page);
}

guint
studio_lesson_n_done (StudioLesson *self)
{
  guint n = 0;

  for (guint i = 0; i < self->done->len; i++)
    n += g_array_index (self->done, gboolean, i) ? 1 : 0;
  return n;
}

gboolean
studio_lesson_clause_holds (StudioLesson *self, guint i)
{
  return studio_lesson_is_done (self, self->page)
         || (i < self->holding->len && g_array_index (self->holding, gboolean, i));
}

void
studio_lesson_answer (StudioLesson *self, const char *text)
{
  if (self->page >= self->answers->len || g_strcmp0 (text, self->answers->pdata[self->page]) == 0)
    return;
  g_free (self->answers->pdata[self->page]);
  self->answers->pdata[self->page] = text != NULL && *text != '\0' ? g_strdup (text) : NULL;
  evaluate (self);
}

const char *
studio_lesson_get_answer (StudioLesson *self, guint page)
{
  return page < self->answers->len ? self->answers->pdata[page] : NULL;
}

guint
studio_lesson_n_answers (StudioLesson *self)
{
  guint n = 0;

  for (guint i = 0; i < self->answers->len; i++)
    n += self->answers->pdata[i] != NULL;
  return n;
}

void
studio_lesson_keep_answers (StudioLesson *self)
{
  save_progress (self);
}

char *
studio_lesson_dup_learner (StudioLesson *self)
{
  g_autoptr (GKeyFile) keys = g_key_file_new ();
  g_autofree char *path = state_file ();
  char *name;

  g_key_file_load_from_file (keys, path, G_KEY_FILE_NONE, NULL);
  name = g_key_file_get_string (keys, LEARNER, "name", NULL);
  return name != NULL ? name : g_strdup ("");
}

void
studio_lesson_set_learner (StudioLesson *self, const char *name)
{
  g_autoptr (GKeyFile) keys = g_key_file_new ();
  g_autofree char *path = state_file (), *folder = g_path_get_dirname (path);

  g_key_file_load_from_file (keys, path, G_KEY_FILE_NONE, NULL);
  g_key_file_set_string (keys, LEARNER, "name", name);
  g_mkdir_with_parents (folder, 0700);
  g_key_file_save_to_file (keys, path, NULL);
}

void
studio_lesson_start_again (StudioLesson *self)
{
  for (guint i = 0; i < self->done->len; i++)
    g_array_index (self->done, gboolean, i) = FALSE;
  g_ptr_array_set_size (self->answers, 0);
  g_ptr_array_set_size (self->answers, (int)self->done->len);
  self->page = 0;
  forget_page (self);
  save_progress (self);
  if (self->start != NULL)
    studio_document_replace (self->document, self->start, _ ("Start the lesson again"), NULL);
  g_signal_emit (self, signals[PAGE_CHANGED], 0);
  evaluate (self);
}

void
studio_lesson_opened (StudioLesson *self)
{
  g_free (self->start);
  self->start = loom_graph_write (studio_document_get_graph (self->document), NULL);
  self->which = self->page = 0;
  g_clear_pointer (&self->lessons, g_ptr_array_unref);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  self->lessons = loom_lessons_new (studio_document_get_graph (self->document), faults);
  forget_page (self);
  load_progress (self);
  g_signal_emit (self, signals[LESSONS_CHANGED], 0);
  evaluate (self);
}

/* ---- class ------------------------------------------------------------------ */

static void
studio_lesson_dispose (GObject *object)
{
  StudioLesson *self = STUDIO_LESSON (object);

  g_clear_object (&self->document);
  g_clear_object (&self->run);
  g_clear_pointer (&self->lessons, g_ptr_array_unref);
  g_clear_pointer (&self->done, g_array_unref);
  g_clear_pointer (&self->holding, g_array_unref);
  g_clear_pointer (&self->answers, g_ptr_array_unref);
  g_clear_pointer (&self->start, g_free);
  G_OBJECT_CLASS (studio_lesson_parent_class)->dispose (object);
}

static void
studio_lesson_class_init (StudioLessonClass *klass)
{
  static const char *const names[] = { "lessons-changed", "page-changed", "progress", "completed" };

  G_OBJECT_CLASS (klass)->dispose = studio_lesson_dispose;
  for (int i = 0; i < N_SIGNALS; i++)
    signals[i] = g_signal_new (names[i], STUDIO_TYPE_LESSON, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
studio_lesson_init (StudioLesson *self)
{
  self->done = g_array_new (FALSE, TRUE, sizeof (gboolean));
  self->answers = g_ptr_array_new_with_free_func (g_free);
  self->holding = g_array_new (FALSE, TRUE, sizeof (gboolean));
}

StudioLesson *
studio_lesson_new (StudioDocument *document, StudioRun *run)
{
  StudioLesson *self = g_object_new (STUDIO_TYPE_LESSON, NULL);

  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  g_signal_connect_object (document, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "net-changed", G_CALLBACK (evaluate), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "selection-changed", G_CALLBACK (evaluate), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "numbers", G_CALLBACK (evaluate), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (evaluate), self, G_CONNECT_SWAPPED);
  return self;
}
