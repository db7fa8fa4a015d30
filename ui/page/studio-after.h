/* A continuation: the functions to call after an action that may have to wait, such as a save that asks for a file or a
 * question about unsaved changes. */
#pragma once

#include <glib-object.h>

typedef struct StudioAfter StudioAfter;
typedef void (*StudioThen) (gpointer owner, gpointer data);

/* owner: an object, kept alive until one of the functions was called; either may be NULL, and may destroy the widgets
 * of the owner. */
StudioAfter *studio_after_new (gpointer owner, StudioThen then, StudioThen otherwise, gpointer data);
/* Calls then, and frees it. */
void studio_after_do (StudioAfter *after);
/* Calls otherwise, and frees it. after: a StudioAfter, or NULL. */
void studio_after_cancel (gpointer after);
