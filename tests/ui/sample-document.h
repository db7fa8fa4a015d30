/* A document with a graph that can be trained. */
#pragma once

#include "ui/document/studio-document.h"

static const char sample_graph[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                   "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"Test\">\n"
                                   "  <node id=\"data\" op=\"dataset\" source=\"spirals\"/>\n"
                                   "  <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n"
                                   "  <node id=\"loss\" op=\"cross_entropy\"/>\n"
                                   "  <wire from=\"data.x\" to=\"fc\"/>\n"
                                   "  <wire from=\"fc\" to=\"loss.input\"/>\n"
                                   "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
                                   "</graph>\n";

static inline StudioDocument *
sample_document (void)
{
  StudioDocument *document = studio_document_new ();
  g_autoptr (GError) error = NULL;
  g_assert_true (studio_document_open_text (document, sample_graph, -1, NULL, &error));
  g_assert_no_error (error);
  return document;
}
