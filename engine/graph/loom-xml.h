/* Writes XML for programs: one element per line, indented by depth, by libxml2. loom-writer.c writes graphs, whose
 * bytes are fixed by the format. */
#pragma once

#include <glib.h>

typedef struct _LoomXml LoomXml;

LoomXml *loom_xml_new (void);
/* Opens an element with attributes: name, value, …, NULL. Later elements are inside it until it is closed. */
void loom_xml_open (LoomXml *self, const char *element, ...) G_GNUC_NULL_TERMINATED;
void loom_xml_close (LoomXml *self);
/* Writes an element that is empty, or contains only text (NULL: none). */
void loom_xml_put (LoomXml *self, const char *text, const char *element, ...) G_GNUC_NULL_TERMINATED;
void loom_xml_comment (LoomXml *self, const char *text);
/* Ends the document and frees it. (transfer full) */
char *loom_xml_finish (LoomXml *self);
