/* Widgets that several pages of the evaluation have. */
#pragma once

#include <gtk/gtk.h>

/* A sentence that wraps, with a style class. */
GtkWidget *eval_label_new (const char *style);
/* A drop-down list with a name. Signal "notify::selected". */
GtkWidget *eval_choice_new (const char *const *titles, const char *name);
