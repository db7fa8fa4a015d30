/* A layout as changes of a graph: what Studio's undo keeps, and what `gradloom arrange` applies. */
#include "ui/layout/studio-layout.h"

#include <math.h>
#include <string.h>

char *
studio_layout_coordinate (double v)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  /* Hundredths are plenty, and a whole number stays one in the file. */
  g_ascii_formatd (buffer, sizeof buffer, "%.10g", floor (v * 100 + 0.5) / 100);
  return g_strdup (strcmp (buffer, "-0") == 0 ? "0" : buffer);
}

static void
put (GPtrArray *edits, const LoomElement *e, const char *attribute, double v)
{
  g_autofree char *text = studio_layout_coordinate (v);

  if (g_strcmp0 (loom_element_get (e, attribute), text) != 0)
    g_ptr_array_add (edits, loom_edit_set (e, attribute, text));
}

static LoomElement *
new_place (const StudioItem *item, double x, double y)
{
  g_autofree char *sx = studio_layout_coordinate (x), *sy = studio_layout_coordinate (y);

  return loom_element_new (LOOM_TAG_PLACE, "node", item->id, "x", sx, "y", sy, NULL);
}

static void
free_edit (gpointer edit)
{
  g_clear_pointer (&edit, loom_edit_free);
}

GPtrArray *
studio_layout_edits (const LoomGraph *graph, const LoomElement *scope, const StudioScene *scene,
                     const StudioLayout *layout)
{
  GPtrArray *edits = g_ptr_array_new_with_free_func (free_edit);
  LoomElement *element = loom_element_find (scope, LOOM_TAG_LAYOUT);
  guint at = element != NULL ? loom_element_place_for (element, LOOM_TAG_PLACE) : 0;

  if (element == NULL && scene->n_items > 0)
    {
      LoomElement *fresh = loom_element_new (LOOM_TAG_LAYOUT, NULL);

      for (guint i = 0; i < scene->n_items; i++)
        loom_element_append_detached (fresh, new_place (&scene->item[i], layout->x[i], layout->y[i]));
      g_ptr_array_add (edits, loom_edit_insert (scope, loom_element_place_for (scope, LOOM_TAG_LAYOUT), fresh));
      return edits;
    }
  for (guint i = 0; i < scene->n_items; i++)
    {
      const LoomElement *place = loom_scope_find_place (scope, scene->item[i].id);

      if (place == NULL)
        {
          g_ptr_array_add (edits,
                           loom_edit_insert (element, at++, new_place (&scene->item[i], layout->x[i], layout->y[i])));
          continue;
        }
      put (edits, place, "x", layout->x[i]);
      put (edits, place, "y", layout->y[i]);
    }
  for (guint a = 0; a < scene->n_annotations; a++)
    {
      const LoomElement *e = loom_graph_by_serial (graph, scene->annotation[a].serial);

      put (edits, e, "x", layout->annotation[a].x);
      put (edits, e, "y", layout->annotation[a].y);
      if (scene->annotation[a].is_note)
        continue;
      put (edits, e, "width", layout->annotation[a].width);
      put (edits, e, "height", layout->annotation[a].height);
    }
  return edits;
}
