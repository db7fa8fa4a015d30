/* Shared by tests of documents: a document from a text, and what is in it. */
#pragma once

#include "ui/document/studio-document.h"

static inline StudioDocument *
document_load (const char *text)
{
  StudioDocument *document = studio_document_new ();
  g_autoptr (GError) error = NULL;

  g_assert_true (studio_document_open_text (document, text, -1, NULL, &error));
  g_assert_no_error (error);
  return document;
}

static inline char *
document_text (StudioDocument *document)
{
  return loom_graph_write (studio_document_get_graph (document), NULL);
}

/* 0 where the shown scope has no node of this name. */
static inline guint64
document_serial (StudioDocument *document, const char *id)
{
  StudioScene *scene = studio_document_get_scene (document);
  guint i = studio_scene_find_id (scene, id);

  return i != STUDIO_NO_ITEM ? scene->item[i].serial : 0;
}
