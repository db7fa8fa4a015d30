/* Applies slides to the canvas; see the header. */
#include "ui/present/studio-slide-show.h"

#include <string.h>

/* Enters one module instance after the other. */
static void
show_scope (StudioDocument *document, const char *path)
{
  g_auto (GStrv) part = g_strsplit (path, ".", -1);
  const LoomElement *node = NULL;

  if (g_str_equal (studio_document_get_scope_path (document), path))
    return;
  studio_document_leave_to (document, 0);
  for (guint i = 0; path[0] != '\0' && part[i] != NULL; i++)
    {
      if (node != NULL && loom_node_is_copy (node, part[i]))
        continue;
      node = loom_scope_find_node (studio_document_get_scope (document), part[i]);
      if (node == NULL || !studio_document_enter (document, loom_element_serial (node)))
        return;
    }
}

void
studio_slide_show (StudioDocument *document, StudioCanvas *canvas, const LoomSlide *slide, gboolean light)
{
  const graphene_rect_t part = slide == NULL ? GRAPHENE_RECT_INIT (0, 0, 0, 0)
                                             : GRAPHENE_RECT_INIT ((float)slide->x, (float)slide->y,
                                                                   (float)slide->width, (float)slide->height);

  show_scope (document, slide != NULL ? slide->scope : "");
  studio_canvas_set_spotlight (canvas, studio_document_get_scope_path (document),
                               slide != NULL && light ? (const char *const *)slide->spotlight : NULL);
  studio_canvas_show_part (canvas, slide == NULL || slide->whole ? NULL : &part, light);
}

char *
studio_slide_dup_selected (StudioDocument *document)
{
  GString *ids = g_string_new (NULL);

  for (guint i = 0; i < studio_document_n_selected (document); i++)
    {
      const LoomElement *e
          = loom_graph_by_serial (studio_document_get_graph (document), studio_document_get_selected (document, i));
      const char *id = e != NULL && loom_element_tag (e) == LOOM_TAG_NODE ? loom_element_get (e, "id") : NULL;

      if (id != NULL)
        g_string_append_printf (ids, "%s%s", ids->len > 0 ? " " : "", id);
    }
  return g_string_free (ids, FALSE);
}

LoomSlide *
studio_slide_capture (StudioDocument *document, StudioCanvas *canvas)
{
  LoomSlide *slide = g_new0 (LoomSlide, 1);
  g_autofree char *selected = studio_slide_dup_selected (document);
  double zoom;

  studio_canvas_get_view (canvas, &slide->x, &slide->y, &zoom);
  slide->width = gtk_widget_get_width (GTK_WIDGET (canvas)) / zoom;
  slide->height = gtk_widget_get_height (GTK_WIDGET (canvas)) / zoom;
  slide->title = g_strdup ("");
  slide->text = g_strdup ("");
  slide->scope = g_strdup (studio_document_get_scope_path (document));
  /* Any click selects a card, so only a selection of several is intentional. */
  if (strchr (selected, ' ') != NULL)
    slide->spotlight = g_strsplit (selected, " ", -1);
  return slide;
}
