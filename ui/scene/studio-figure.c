/* Allocation of figures, and the figures of modules. */
#include "ui/scene/studio-figure.h"

#include "engine/core/loom-hash.h"
#include "ui/scene/studio-geometry.h"

StudioFigure *
studio_figure_new (StudioFigureKind kind)
{
  static gint last;
  StudioFigure *figure = g_new0 (StudioFigure, 1);

  figure->kind = kind;
  figure->id = (guint)g_atomic_int_add (&last, 1) + 1;
  figure->aspect = 1;
  g_atomic_ref_count_init (&figure->refs);
  return figure;
}

StudioFigure *
studio_figure_ref (StudioFigure *figure)
{
  g_atomic_ref_count_inc (&figure->refs);
  return figure;
}

void
studio_figure_unref (StudioFigure *figure)
{
  if (figure == NULL || !g_atomic_ref_count_dec (&figure->refs))
    return;
  g_free (figure->point);
  g_free (figure->box);
  g_free (figure->line);
  g_free (figure->pixels);
  g_free (figure->label);
  g_free (figure);
}

/* ---- the inside of a module ---------------------------------------------- */

/* Hashes the terminating 0 as well, so that "a", "bc" and "ab", "c" differ. */
static guint64
mix (guint64 digest, const char *text)
{
  return loom_hash_byte (loom_hash_text (digest, text), 0xff);
}

/* Hashes everything that affects the picture of an element. */
static guint64
digest_element (guint64 digest, const LoomElement *e)
{
  digest = mix (digest, loom_tag_name (loom_element_tag (e)));
  for (guint i = 0; i < loom_element_n_attributes (e); i++)
    {
      const char *name, *value;

      loom_element_attribute (e, i, &name, &value);
      digest = mix (mix (digest, name), value);
    }
  for (guint i = 0; i < loom_element_n_children (e); i++)
    digest = digest_element (digest, loom_element_child (e, i));
  return digest;
}

static void
add_boxes (StudioFigure *figure, const StudioScene *scene, const StudioRect *all)
{
  figure->n_boxes = scene->n_items;
  figure->box = g_new0 (StudioFigureBox, scene->n_items + 1);
  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];

      figure->box[i]
          = (StudioFigureBox){ (float)((item->x - all->x) / all->width), (float)((item->y - all->y) / all->height),
                               (float)(item->width / all->width), (float)(item->height / all->height),
                               item->is_module    ? LOOM_N_CATEGORIES
                               : item->op != NULL ? (int)item->op->category
                                                  : LOOM_CATEGORY_HIDDEN };
    }
}

static void
add_lines (StudioFigure *figure, const StudioScene *scene, const StudioRect *all)
{
  figure->n_lines = scene->n_links;
  figure->line = g_new0 (StudioFigurePoint, 2 * scene->n_links + 1);
  for (guint i = 0; i < 2 * scene->n_links; i++)
    {
      const StudioLink *link = &scene->link[i / 2];
      double x, y;

      studio_geometry_port (&scene->item[i % 2 ? link->to : link->from], i % 2 == 0, i % 2 ? link->input : link->output,
                            &x, &y);
      figure->line[i].x = (float)((x - all->x) / all->width);
      figure->line[i].y = (float)((y - all->y) / all->height);
    }
}

/* more definitions do not fit on a screen */
#define MAX_KEPT 256

StudioFigure *
studio_figure_inside (const LoomGraph *graph, const LoomElement *definition)
{
  static GHashTable *kept; /* digest → figure: a changed module has another digest */
  guint64 digest = digest_element (LOOM_HASH_EMPTY, definition);
  g_autoptr (StudioScene) scene = NULL;
  StudioFigure *figure;
  StudioRect all = { 0 };

  if (kept == NULL)
    kept = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, (GDestroyNotify)studio_figure_unref);
  figure = g_hash_table_lookup (kept, &digest);
  if (figure != NULL)
    return studio_figure_ref (figure);
  scene = studio_scene_new_plain (graph, definition);
  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioRect card = studio_geometry_card (&scene->item[i]);

      all = i == 0 ? card : studio_rect_union (all, card);
    }
  all.width = MAX (all.width, 1);
  all.height = MAX (all.height, 1);
  figure = studio_figure_new (STUDIO_FIGURE_INSIDE);
  figure->aspect = all.width / all.height;
  add_boxes (figure, scene, &all);
  add_lines (figure, scene, &all);
  if (g_hash_table_size (kept) >= MAX_KEPT)
    g_hash_table_remove_all (kept);
  g_hash_table_insert (kept, g_memdup2 (&digest, sizeof digest), studio_figure_ref (figure));
  return figure;
}
