/* The lesson of a graph as a page of the pane at the start, and its effect on canvas and palette. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/lesson/studio-lesson.h"
#include "ui/palette/studio-palette.h"
#include "ui/shell/studio-panes.h"

#define STUDIO_TYPE_LESSON_TAB (studio_lesson_tab_get_type ())
G_DECLARE_FINAL_TYPE (StudioLessonTab, studio_lesson_tab, STUDIO, LESSON_TAB, GObject)

/* Signal "hand-in": the learner wants to hand in. toasts: an AdwToastOverlay for sentences. */
StudioLessonTab *studio_lesson_tab_new (StudioDocument *document, StudioRun *run, StudioCanvas *canvas,
                                        StudioPalette *palette, StudioPanes *panes, GtkWidget *toasts);
/* Another graph was opened. */
void studio_lesson_tab_open (StudioLessonTab *self);
/* Shows the fields of the graph's lesson, and begins one if there is none. */
void studio_lesson_tab_write (StudioLessonTab *self);
StudioLesson *studio_lesson_tab_get_lesson (StudioLessonTab *self);
