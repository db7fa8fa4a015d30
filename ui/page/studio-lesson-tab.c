/* Implements studio-lesson-tab.h. */
#include "ui/page/studio-lesson-tab.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-type.h"
#include "ui/lesson/studio-lesson-pane.h"
#include "ui/shell/studio-toasts.h"

#define PAGE "lesson"

struct _StudioLessonTab
{
  GObject parent_instance;
  StudioCanvas *canvas;
  StudioPalette *palette;
  StudioPanes *panes;
  GtkWidget *toasts;
  StudioLesson *lesson;
  StudioLessonPane *pane;
  const char *title; /* of the tab; NULL: it is not there */
};

STUDIO_DEFINE_TYPE (StudioLessonTab, studio_lesson_tab, G_TYPE_OBJECT)

static guint hand_in_signal;

/* Nodes outside the spotlight are dimmed, and other operators are not offered, only while the page is visible. */
static void
apply_page (StudioLessonTab *self)
{
  const LoomLessonPage *page
      = gtk_widget_get_mapped (GTK_WIDGET (self->pane)) ? studio_lesson_page (self->lesson) : NULL;

  studio_canvas_set_spotlight (self->canvas, "", page != NULL ? (const char *const *)page->spotlight : NULL);
  studio_palette_set_offered (self->palette, page != NULL ? (const char *const *)page->palette : NULL);
}

/* The tab is there while there is a text, and its title names the kind of text. */
static void
update_tab (StudioLessonTab *self)
{
  const char *title = studio_lesson_get (self->lesson) != NULL   ? N_ ("Lesson")
                      : studio_lesson_pane_has_text (self->pane) ? N_ ("About")
                                                                 : NULL;

  if (g_strcmp0 (title, self->title) == 0)
    return;
  if (self->title != NULL)
    studio_panes_remove_page (self->panes, PAGE);
  if (title != NULL)
    studio_panes_add_page (self->panes, STUDIO_PANE_START, GTK_WIDGET (self->pane), PAGE, _ (title));
  self->title = title;
}

static void
lessons_changed_cb (StudioLessonTab *self)
{
  update_tab (self);
  apply_page (self);
}

static void
follow_cb (StudioLessonPane *pane, const char *path, StudioLessonTab *self)
{
  studio_canvas_focus_path (self->canvas, path);
}

static void
hand_in_cb (StudioLessonTab *self)
{
  g_signal_emit (self, hand_in_signal, 0);
}

static void
completed_cb (StudioLessonTab *self)
{
  g_autofree char *sentence = g_strdup_printf (_ ("“%s” is complete."), studio_lesson_get (self->lesson)->title);

  studio_toasts_say (self->toasts, sentence);
}

void
studio_lesson_tab_open (StudioLessonTab *self)
{
  studio_lesson_opened (self->lesson);
  if (studio_lesson_get (self->lesson) != NULL && studio_panes_get_available (self->panes, STUDIO_PANE_START))
    studio_panes_show_page (self->panes, PAGE);
}

void
studio_lesson_tab_write (StudioLessonTab *self)
{
  studio_lesson_pane_edit (self->pane);
  update_tab (self);
  studio_panes_show_page (self->panes, PAGE);
}

StudioLesson *
studio_lesson_tab_get_lesson (StudioLessonTab *self)
{
  return self->lesson;
}

static void
lesson_tab_dispose (GObject *object)
{
  StudioLessonTab *self = STUDIO_LESSON_TAB (object);
  if (self->pane != NULL)
    g_signal_handlers_disconnect_by_data (self->pane, self);
  if (self->lesson != NULL)
    g_signal_handlers_disconnect_by_data (self->lesson, self);
  g_clear_object (&self->pane);
  g_clear_object (&self->lesson);
  G_OBJECT_CLASS (studio_lesson_tab_parent_class)->dispose (object);
}

static void
studio_lesson_tab_class_init (StudioLessonTabClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = lesson_tab_dispose;
  hand_in_signal = studio_signal_new ("hand-in", STUDIO_TYPE_LESSON_TAB, 0);
}

StudioLessonTab *
studio_lesson_tab_new (StudioDocument *document, StudioRun *run, StudioCanvas *canvas, StudioPalette *palette,
                       StudioPanes *panes, GtkWidget *toasts)
{
  StudioLessonTab *self = g_object_new (STUDIO_TYPE_LESSON_TAB, NULL);
  self->canvas = canvas;
  self->palette = palette;
  self->panes = panes;
  self->toasts = toasts;
  self->lesson = studio_lesson_new (document, run);
  self->pane = g_object_ref_sink (studio_lesson_pane_new (document, self->lesson));
  g_signal_connect_swapped (self->lesson, "lessons-changed", G_CALLBACK (lessons_changed_cb), self);
  g_signal_connect_swapped (self->lesson, "page-changed", G_CALLBACK (apply_page), self);
  g_signal_connect_swapped (self->lesson, "completed", G_CALLBACK (completed_cb), self);
  g_signal_connect_object (document, "changed", G_CALLBACK (update_tab), self, G_CONNECT_SWAPPED);
  g_signal_connect (self->pane, "follow", G_CALLBACK (follow_cb), self);
  g_signal_connect_swapped (self->pane, "hand-in", G_CALLBACK (hand_in_cb), self);
  g_signal_connect_swapped (self->pane, "map", G_CALLBACK (apply_page), self);
  g_signal_connect_swapped (self->pane, "unmap", G_CALLBACK (apply_page), self);
  return self;
}
