/* Dialogs that ask before something is lost, one at a time. */
#pragma once

#include <adwaita.h>

/* Has the response "cancel"; callers add others. */
AdwMessageDialog *studio_question_new (GtkWindow *parent, const char *heading, const char *body);

/* The questions of a page or a window. */
typedef struct _StudioQuestions StudioQuestions;

/* Dialogs are transient for the window of this widget, which is not kept. */
StudioQuestions *studio_questions_new (GtkWidget *widget);
void studio_questions_free (StudioQuestions *self);
/* A dialog, which counts as being asked while it is visible. */
AdwMessageDialog *studio_questions_add (StudioQuestions *self, const char *heading, const char *body);
/* TRUE while a question waits for its response; presents it. */
gboolean studio_questions_is_asking (StudioQuestions *self);
/* The last dialog, or NULL. */
GtkWindow *studio_questions_get (StudioQuestions *self);
/* For a window that is closed by a response: the dialog lives longer, and would disconnect from freed objects. */
void studio_questions_detach (StudioQuestions *self);
