/* XML that programs read: elements a line each, indented by their depth, written by libxml2.
 *
 * Graphs are written by loom-writer.c, whose bytes are the format's. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct _LoomXml LoomXml;

LoomXml *loom_xml_new (void);
/* An element with attributes: name, value, …, NULL. What follows stands in it, until it is closed. */
void loom_xml_open (LoomXml *self, const char *element, ...) G_GNUC_NULL_TERMINATED;
void loom_xml_close (LoomXml *self);
/* One with nothing, or nothing but text (NULL: none), in it. */
void loom_xml_put (LoomXml *self, const char *text, const char *element, ...) G_GNUC_NULL_TERMINATED;
void loom_xml_comment (LoomXml *self, const char *text);
/* Frees it; the whole document. (transfer full) */
char *loom_xml_finish (LoomXml *self);

G_END_DECLS
