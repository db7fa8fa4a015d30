/* Toasts of a page, one after the other. */
#pragma once

#include <adwaita.h>

G_BEGIN_DECLS

/* Shows the toast (transfer full) on an AdwToastOverlay as soon as there is room: a passing one makes way for one of
 * high priority, all others wait until the one that is seen is gone. */
void studio_toasts_add (GtkWidget *overlay, AdwToast *toast);
/* Takes a toast away, whether it is seen or waits. */
void studio_toast_dismiss (AdwToast *toast);

G_END_DECLS
