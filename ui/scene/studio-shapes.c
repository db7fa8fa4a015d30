/* Formats shapes: a dimension that has a name in the graph or in a layer is shown as a letter, others as numbers. */
#include "ui/scene/studio-shapes.h"

static const char *const names[STUDIO_N_SHAPES] = {
  [STUDIO_SHAPES_SIZES] = "sizes",
  [STUDIO_SHAPES_NAMES] = "names",
  [STUDIO_SHAPES_NUMBERS] = "numbers",
};

const char *
studio_shapes_name (StudioShapes shapes)
{
  return names[shapes];
}

StudioShapes
studio_shapes_find (const char *name)
{
  for (guint i = 0; i < STUDIO_N_SHAPES; i++)
    if (g_strcmp0 (names[i], name) == 0)
      return (StudioShapes)i;
  return STUDIO_SHAPES_SIZES;
}

static char *
named_text (const LoomShape *shape, const LoomNetAxes *axes)
{
  GString *s = g_string_new (NULL);

  for (int d = 0; d < shape->rank; d++)
    {
      LoomShape one = { .rank = 1, .dim = { shape->dim[d] } };
      g_autofree char *size = loom_shape_to_string (&one);
      const char letter[2] = { axes->name[d], '\0' };

      g_string_append (s, d > 0 ? " × " : "");
      if (letter[0] != '\0' && !g_str_equal (letter, size))
        g_string_append_printf (s, "%s=", letter);
      g_string_append (s, size);
    }
  return g_string_free (s, FALSE);
}

static char *
shape_text (const LoomShape *shape, const LoomNetAxes *axes, StudioShapes shapes, gint64 batch)
{
  LoomBinding binding = { .value['B' - 'A'] = batch };
  LoomShape bound = *shape;

  if (shapes == STUDIO_SHAPES_NAMES && shape->rank > 0)
    return named_text (shape, axes);
  if (shapes == STUDIO_SHAPES_NUMBERS && batch > 0)
    bound = loom_shape_bind (shape, &binding);
  return loom_shape_to_string (&bound);
}

void
studio_link_relabel (const StudioScene *scene, StudioLink *link)
{
  g_autofree char *shape = NULL, *label = NULL;

  g_clear_pointer (&link->label, g_ref_string_release);
  if (!link->typed)
    return;
  shape = shape_text (&link->type.shape, &link->axes, scene->shapes, scene->batch);
  if (link->copy == NULL)
    {
      link->label = g_ref_string_new (shape);
      return;
    }
  g_auto (GStrv) part = g_strsplit (link->copy, " · ", 2);
  label = g_strdup_printf ("%s\t%s%s%s", shape, part[0], part[1] != NULL ? "\t" : "", part[1] != NULL ? part[1] : "");
  link->label = g_ref_string_new (label);
}

void
studio_scene_set_shapes (StudioScene *scene, StudioShapes shapes)
{
  if (scene->shapes == shapes)
    return;
  scene->shapes = shapes;
  for (guint i = 0; i < scene->n_links; i++)
    studio_link_relabel (scene, &scene->link[i]);
}
