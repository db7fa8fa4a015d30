/* Copy and paste as text: a small graph file of the nodes, the wires between them and the modules they need.
 *
 * It is a valid graph file, so that it can be pasted into a text editor, a mail, and back. */
#pragma once

#include "ui/document/studio-document.h"

G_BEGIN_DECLS

/* The selection as text; NULL when no node is selected. */
char *studio_clipboard_copy (StudioDocument *document);
/* A graph of this module, with those that it uses, and one instance of it; NULL where there is none (transfer full). */
char *studio_clipboard_copy_module (StudioDocument *document, const char *module);
/* Pastes in one transaction with the first card's corner at x, y (a step beside the originals when both are NaN),
 * and selects what came. A module that equals one of the graph is shared; a different one of the same name comes as
 * NAME_2. PARSE error when the text is no graph. */
gboolean studio_clipboard_paste (StudioDocument *document, const char *text, double x, double y, GError **error);

/* The module of another graph with those that it uses, as a paste brings them, but without an instance. The caller has
 * begun a transaction, and cancels it where this fails. Gives the module's name in the document (transfer full), or
 * NULL with an error: SCHEMA where there is no such module, CYCLE where the shown module would come to hold itself. */
char *
studio_clipboard_bring_module (StudioDocument *document, const LoomGraph *graph, const char *module, GError **error);

G_END_DECLS
