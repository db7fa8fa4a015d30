/* A queue of the toasts of an AdwToastOverlay. */
#pragma once

#include <adwaita.h>

G_BEGIN_DECLS

/* Shows the toast (transfer full) as soon as possible: one of high priority replaces a normal one, all others wait
 * until the current toast is gone. */
void studio_toasts_add (GtkWidget *overlay, AdwToast *toast);
/* Dismisses a toast that is shown or waiting. */
void studio_toast_dismiss (AdwToast *toast);

G_END_DECLS
