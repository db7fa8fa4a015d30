/* The lesson beside the canvas: when its tab is there, and what its page does to canvas and palette. */
#include "ui/lesson/studio-lesson-pane.h"

#include <glib/gi18n.h>

#include "ui/page/studio-page-private.h"

#define PAGE "lesson"

/* Nodes outside the spotlight are dimmed, and other operators are not offered, only while the page is looked at. */
static void
apply_page (StudioPage *self)
{
  const LoomLessonPage *page
      = gtk_widget_get_mapped (GTK_WIDGET (self->lesson_pane)) ? studio_lesson_page (self->lesson) : NULL;

  studio_canvas_set_spotlight (self->canvas, "", page != NULL ? (const char *const *)page->spotlight : NULL);
  studio_palette_set_offered (self->palette, page != NULL ? (const char *const *)page->palette : NULL);
}

/* The tab is there while there is something to read, and is called by what that is. */
static void
show_tab (StudioPage *self)
{
  const char *title = studio_lesson_get (self->lesson) != NULL          ? N_ ("Lesson")
                      : studio_lesson_pane_has_text (self->lesson_pane) ? N_ ("About")
                                                                        : NULL;

  if (g_strcmp0 (title, self->lesson_tab) == 0)
    return;
  if (self->lesson_tab != NULL)
    studio_panes_remove_page (self->panes, PAGE);
  if (title != NULL)
    studio_panes_add_page (self->panes, STUDIO_PANE_START, GTK_WIDGET (self->lesson_pane), PAGE, _ (title));
  self->lesson_tab = title;
}

static void
lessons_changed_cb (StudioPage *self)
{
  show_tab (self);
  apply_page (self);
}

static void
follow_cb (StudioLessonPane *pane, const char *path, StudioPage *self)
{
  studio_canvas_focus_path (self->canvas, path);
}

static void
completed_cb (StudioPage *self)
{
  g_autofree char *sentence = g_strdup_printf (_ ("“%s” is complete."), studio_lesson_get (self->lesson)->title);

  studio_page_toast (self, sentence);
}

void
studio_page_open_lesson (StudioPage *self)
{
  studio_lesson_opened (self->lesson);
  if (studio_lesson_get (self->lesson) != NULL && !self->presenting)
    studio_panes_show_page (self->panes, PAGE);
}

void
studio_page_setup_lesson (StudioPage *self)
{
  self->lesson = studio_lesson_new (self->document, self->run);
  self->lesson_pane = g_object_ref_sink (studio_lesson_pane_new (self->document, self->lesson));
  g_signal_connect_swapped (self->lesson, "lessons-changed", G_CALLBACK (lessons_changed_cb), self);
  g_signal_connect_swapped (self->lesson, "page-changed", G_CALLBACK (apply_page), self);
  g_signal_connect_swapped (self->lesson, "completed", G_CALLBACK (completed_cb), self);
  g_signal_connect_swapped (self->document, "changed", G_CALLBACK (show_tab), self);
  g_signal_connect (self->lesson_pane, "follow", G_CALLBACK (follow_cb), self);
  g_signal_connect_swapped (self->lesson_pane, "map", G_CALLBACK (apply_page), self);
  g_signal_connect_swapped (self->lesson_pane, "unmap", G_CALLBACK (apply_page), self);
}

void
studio_page_dispose_lesson (StudioPage *self)
{
  if (self->lesson_pane != NULL)
    g_signal_handlers_disconnect_by_data (self->lesson_pane, self);
  if (self->lesson != NULL)
    g_signal_handlers_disconnect_by_data (self->lesson, self);
  g_clear_object (&self->lesson_pane);
  g_clear_object (&self->lesson);
}

void
studio_page_write_lesson (StudioPage *self)
{
  studio_lesson_pane_edit (self->lesson_pane);
  show_tab (self);
  studio_panes_show_page (self->panes, PAGE);
}
