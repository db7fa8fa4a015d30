/* A few calls around libxml2's writer, because only this box uses the library. Only allocation can fail, and then GLib
 * ends the program elsewhere, too. */
#include "engine/graph/loom-xml.h"

#include <libxml/xmlwriter.h>

#define XML(text) ((const xmlChar *)(text))

struct _LoomXml
{
  xmlBufferPtr buffer;
  xmlTextWriterPtr writer;
};

LoomXml *
loom_xml_new (void)
{
  LoomXml *self = g_new0 (LoomXml, 1);

  self->buffer = xmlBufferCreate ();
  self->writer = xmlNewTextWriterMemory (self->buffer, 0);
  g_assert (self->writer != NULL);
  xmlTextWriterSetIndent (self->writer, 1);
  xmlTextWriterSetIndentString (self->writer, XML ("  "));
  xmlTextWriterStartDocument (self->writer, NULL, "UTF-8", NULL);
  return self;
}

static void
start (LoomXml *self, const char *element, va_list attributes)
{
  const char *name;

  xmlTextWriterStartElement (self->writer, XML (element));
  while ((name = va_arg (attributes, const char *)) != NULL)
    xmlTextWriterWriteAttribute (self->writer, XML (name), XML (va_arg (attributes, const char *)));
}

void
loom_xml_open (LoomXml *self, const char *element, ...)
{
  va_list attributes;

  va_start (attributes, element);
  start (self, element, attributes);
  va_end (attributes);
}

void
loom_xml_close (LoomXml *self)
{
  xmlTextWriterEndElement (self->writer);
}

void
loom_xml_put (LoomXml *self, const char *text, const char *element, ...)
{
  va_list attributes;

  va_start (attributes, element);
  start (self, element, attributes);
  va_end (attributes);
  if (text != NULL)
    xmlTextWriterWriteString (self->writer, XML (text));
  xmlTextWriterEndElement (self->writer);
}

void
loom_xml_comment (LoomXml *self, const char *text)
{
  xmlTextWriterWriteComment (self->writer, XML (text));
}

char *
loom_xml_finish (LoomXml *self)
{
  char *text;

  xmlTextWriterEndDocument (self->writer);
  xmlFreeTextWriter (self->writer);
  text = g_strndup ((const char *)xmlBufferContent (self->buffer), (gsize)xmlBufferLength (self->buffer));
  xmlBufferFree (self->buffer);
  g_free (self);
  return text;
}
