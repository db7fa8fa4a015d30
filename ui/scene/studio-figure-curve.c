/* The curves of activations, computed by the engine once for each operator and its parameters. */
#include "engine/infer/loom-curve.h"
#include "ui/scene/studio-figure.h"

#include <math.h>

enum
{
  POINTS = 65,
  CHECKED = 33 /* every second point */
};
#define REACH 3.0 /* from -REACH to REACH */

static StudioFigure *
make (const LoomOp *op, const LoomElement *node)
{
  float x[POINTS], some[CHECKED];
  g_autoptr (LoomTensor) y = NULL, check = NULL;
  StudioFigure *figure;

  for (guint i = 0; i < POINTS; i++)
    x[i] = (float)(REACH * (2.0 * i / (POINTS - 1) - 1));
  for (guint i = 0; i < CHECKED; i++)
    some[i] = x[2 * i];
  y = loom_curve_evaluate (op, node, x, POINTS);
  check = y != NULL ? loom_curve_evaluate (op, node, some, CHECKED) : NULL;
  if (check == NULL)
    return NULL;
  /* An operator that depends on neighbouring elements has no curve. */
  for (guint i = 0; i < CHECKED; i++)
    if (!(fabs (loom_tensor_get (y, 2 * i) - loom_tensor_get (check, i)) < 1e-5))
      return NULL;
  figure = studio_figure_new (STUDIO_FIGURE_CURVE);
  figure->n_points = POINTS;
  figure->point = g_new0 (StudioFigurePoint, POINTS);
  figure->x0 = -REACH;
  figure->x1 = REACH;
  for (guint i = 0; i < POINTS; i++)
    {
      figure->point[i] = (StudioFigurePoint){ x[i], (float)loom_tensor_get (y, i), 0 };
      figure->y0 = i == 0 ? figure->point[i].y : MIN (figure->y0, figure->point[i].y);
      figure->y1 = i == 0 ? figure->point[i].y : MAX (figure->y1, figure->point[i].y);
    }
  return figure;
}

#define MAX_KEPT 256

StudioFigure *
studio_figure_curve (const LoomOp *op, const LoomElement *node)
{
  static GHashTable *kept; /* operator and parameters → figure, or NULL */
  g_autofree char *key = NULL;
  gpointer found;

  if (op == NULL || op->category != LOOM_CATEGORY_ACTIVATIONS)
    return NULL;
  if (kept == NULL)
    kept = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)studio_figure_unref);
  key = loom_curve_key (op, node);
  if (!g_hash_table_lookup_extended (kept, key, NULL, &found))
    {
      /* While the user drags a number, every value is another key. */
      if (g_hash_table_size (kept) >= MAX_KEPT)
        g_hash_table_remove_all (kept);
      found = make (op, node);
      g_hash_table_insert (kept, g_strdup (key), found);
    }
  return found != NULL ? studio_figure_ref (found) : NULL;
}
