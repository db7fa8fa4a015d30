/* Reads a graph into a document: from a file, with a sentence that helps if it cannot be read, or from an example. */
#pragma once

#include "ui/document/studio-document.h"

/* On failure the document is as it was, and the error says where in the file, and what to do. The file becomes a recent
 * one. */
gboolean graph_file_open (StudioDocument *document, GFile *file, GError **error);
/* name: "lessons/spirals". Becomes an untitled document. */
gboolean graph_file_open_example (StudioDocument *document, const char *name, GError **error);
