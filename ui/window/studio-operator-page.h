/* The documentation of one operator: what it does, its formula, ports and parameters, where the formula comes from, its
 * code, and an example with buttons that insert it or open it. Everything is read from the operator's table. */
#pragma once

#include <gtk/gtk.h>

#include "ui/scene/studio-scene.h"

G_BEGIN_DECLS

/* A vertical box. Its buttons are the actions win.insert-example-of and win.open-example-of. */
GtkWidget *studio_operator_page_new (const LoomOp *op);

/* Shows the page of an operator in a window over parent, which is kept in *window: a weak pointer that is NULL at first
 * and is used again. The window takes the actions "win." from its parent. */
void studio_operator_window_present (GtkWindow *parent, GtkWidget **window, const LoomOp *op);

G_END_DECLS
