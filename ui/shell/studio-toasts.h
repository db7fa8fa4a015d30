/* A queue of the toasts of an AdwToastOverlay. */
#pragma once

#include <adwaita.h>

/* Shows the toast (transfer full) as soon as possible: one of high priority replaces a normal one, all others wait
 * until the current toast is gone. */
void studio_toasts_add (GtkWidget *overlay, AdwToast *toast);
/* Adds a toast with a sentence, which wraps if it is long, and calls the function for sentences. */
void studio_toasts_say (GtkWidget *overlay, const char *sentence);
/* The same with a heading, until the user dismisses it: for text that is read with care. */
void studio_toasts_say_lasting (GtkWidget *overlay, const char *heading, const char *sentence);
/* func is called after each sentence, for a window that marks pages that are not shown. */
void studio_toasts_set_said_func (GtkWidget *overlay, void (*func) (gpointer data), gpointer data);
/* Dismisses a toast that is shown or waiting. */
void studio_toast_dismiss (AdwToast *toast);
