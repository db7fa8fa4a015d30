/* Copy and paste as text: a small graph file of the nodes, the wires between them and the modules they need. It is a
 * valid graph file, which can also be pasted into a text editor or a mail. */
#pragma once

#include "ui/document/studio-document.h"

/* The selection as text; NULL if no node is selected. */
char *studio_clipboard_copy (StudioDocument *document);
/* A graph of this module, with the modules that it uses, and one instance of it; NULL if it does not exist (transfer
 * full). */
char *studio_clipboard_copy_module (StudioDocument *document, const char *module);
/* Pastes in one transaction with the first card's corner at x, y (a grid step from the originals if both are NaN), and
 * selects the new nodes. A module equal to one of the graph is shared; a different one of the same name becomes NAME_2.
 * PARSE if the text is no graph. */
gboolean studio_clipboard_paste (StudioDocument *document, const char *text, double x, double y, GError **error);

/* Copies a module of another graph with the modules that it uses, as a paste does, but without an instance. To be
 * called inside a transaction, which the caller cancels on failure. Returns the module's name in the document (transfer
 * full), or NULL with an error: SCHEMA if there is no such module, CYCLE if the shown module would contain itself. */
char *
studio_clipboard_bring_module (StudioDocument *document, const LoomGraph *graph, const char *module, GError **error);
