/* The documentation page of an operator: description, formula, ports, parameters, source of the formula, source code,
 * and an example that can be inserted or opened. Everything comes from the operator's descriptor. */
#pragma once

#include <gtk/gtk.h>

#include "ui/scene/studio-scene.h"

/* Returns a vertical GtkBox. Its buttons activate win.insert-example-of and win.open-example-of. */
GtkWidget *studio_operator_page_new (const LoomOp *op);

/* Shows the page of an operator in a window over parent. *window is a weak pointer, initially NULL; the window is
 * reused. Its actions "win." are the parent's. */
void studio_operator_window_present (GtkWindow *parent, GtkWidget **window, const LoomOp *op);
