/* Closes a window, or all tabs but one. One dialog asks about all the pages to be closed and lists those with unsaved
 * changes. */
#pragma once

#include "ui/shell/studio-question.h"
#include "ui/window/studio-tabs.h"

typedef struct
{
  StudioTabs *tabs;
  StudioQuestions *questions;
  GtkWindow *window; /* destroyed after the questions */
} StudioClosing;

/* TRUE: a dialog is shown first, and the window is destroyed later. */
gboolean studio_closing_ask (const StudioClosing *self);
/* Closes all pages but that of studio_tabs_get_target(). */
void studio_closing_close_others (const StudioClosing *self);
