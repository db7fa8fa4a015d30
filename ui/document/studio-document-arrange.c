/* Commands that move cards, frames and notes: moving, arranging, aligning. Each is one transaction. */
#include "ui/document/studio-document-arrange.h"

#include "ui/document/document-edit.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/scene/studio-flow.h"

/* Cards without a position keep the one from the layout; they must not jump when others get a position. */
static void
place_all (StudioDocument *self, LoomElement *scope, const StudioScene *scene)
{
  for (guint i = 0; i < scene->n_items; i++)
    if (loom_scope_find_place (scope, scene->item[i].id) == NULL)
      studio_document_place_in (self, scope, scene->item[i].id, scene->item[i].x, scene->item[i].y);
}

/* Frames and notes follow the items in these arrays. */
static void
move_each (StudioDocument *self, const char *name, const double *dx, const double *dy)
{
  StudioScene *scene = studio_document_get_scene (self);
  LoomElement *scope = studio_document_get_scope (self);

  studio_document_begin (self, name);
  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];

      /* Cards without a position keep the one from the layout; they must not jump when others get a position. */
      if (dx[i] != 0 || dy[i] != 0 || loom_scope_find_place (scope, item->id) == NULL)
        studio_document_place (self, item->id, item->x + dx[i], item->y + dy[i]);
    }
  studio_document_shift_points (self, dx, dy);
  for (guint r = 0; r < scene->n_annotations; r++)
    {
      guint k = scene->n_items + r;
      LoomElement *e = loom_graph_by_serial (studio_document_get_graph (self), scene->annotation[r].serial);
      g_autofree char *x = studio_document_coordinate (scene->annotation[r].x + dx[k]);
      g_autofree char *y = studio_document_coordinate (scene->annotation[r].y + dy[k]);

      if (dx[k] == 0 && dy[k] == 0)
        continue;
      studio_document_put (self, e, "x", x);
      studio_document_put (self, e, "y", y);
    }
  studio_document_end (self);
}

void
studio_document_move (StudioDocument *self, const guint64 *serials, guint n, double dx, double dy)
{
  StudioScene *scene = studio_document_get_scene (self);
  g_autofree char *name = NULL;
  g_autofree gboolean *moves = g_new0 (gboolean, scene->n_items + 1);
  g_autofree gboolean *annotations = g_new0 (gboolean, scene->n_annotations + 1);
  g_autofree double *x = g_new0 (double, scene->n_items + scene->n_annotations + 1);
  g_autofree double *y = g_new0 (double, scene->n_items + scene->n_annotations + 1);
  guint count = 0, others = 0, one = 0;

  studio_document_moving (self, serials, n, moves, annotations);
  for (guint i = 0; i < scene->n_items; i++)
    if (moves[i])
      {
        count++;
        one = i;
        x[i] = dx;
        y[i] = dy;
      }
  for (guint r = 0; r < scene->n_annotations; r++)
    if (annotations[r])
      {
        others++;
        x[scene->n_items + r] = dx;
        y[scene->n_items + r] = dy;
      }
  if (count + others == 0 || (dx == 0 && dy == 0))
    return;
  name = count == 1 && others == 0 ? g_strdup_printf (_ ("Move %s"), scene->item[one].id)
         : others == 0             ? g_strdup_printf (ngettext ("Move %u node", "Move %u nodes", count), count)
         : count == 0              ? g_strdup (_ ("Move note or frame"))
                                   : g_strdup (_ ("Move frame"));
  move_each (self, name, x, y);
}

gboolean
studio_document_arrange (StudioDocument *self, double width, double height, StudioLayoutDirection direction)
{
  static const char *const names[] = { [STUDIO_LAYOUT_AUTOMATIC] = N_ ("Arrange"),
                                       [STUDIO_LAYOUT_KEEP] = N_ ("Arrange selection"),
                                       [STUDIO_LAYOUT_RIGHT] = N_ ("Arrange left to right"),
                                       [STUDIO_LAYOUT_DOWN] = N_ ("Arrange top to bottom") };
  StudioScene *scene = studio_document_get_scene (self);
  g_autofree gboolean *chosen = g_new0 (gboolean, scene->n_items + 1);
  g_autoptr (StudioLayout) layout = NULL;
  g_autoptr (GPtrArray) edits = NULL;
  gboolean is_part;
  guint n = 0;

  for (guint i = 0; i < scene->n_items; i++)
    n += chosen[i] = studio_document_is_selected (self, scene->item[i].serial);
  /* The direction applies to the whole scope. */
  is_part = n > 1 && n < scene->n_items && direction == STUDIO_LAYOUT_AUTOMATIC;
  layout = studio_layout_new (scene, is_part ? chosen : NULL, width, height, direction);
  edits = studio_layout_edits (studio_document_get_graph (self), studio_document_get_scope (self), scene, layout);
  studio_document_begin (self, _ (names[is_part ? STUDIO_LAYOUT_KEEP : direction]));
  for (guint i = 0; i < edits->len; i++)
    studio_document_edit (self, g_steal_pointer (&edits->pdata[i]));
  studio_document_end (self);
  return !is_part;
}

/* The dropped card itself is no obstacle. */
static double *
push_for (const StudioScene *scene, guint item, guint from, double across, double *x, double *y)
{
  g_autofree StudioItem *items = g_memdup2 (scene->item, scene->n_items * sizeof (StudioItem));
  StudioRect room = studio_geometry_with_pins (&scene->item[item]);
  double *by = g_new (double, scene->n_items + 1);
  StudioScene others = *scene;

  others.item = items;
  items[item].x = -1e9;
  studio_layout_place_new (&others, from, FALSE, room.width, room.height, across, x, y, by);
  return by;
}

void
studio_document_place_on (StudioDocument *self, const StudioScene *scene, guint item, double by)
{
  const StudioItem *it = &scene->item[item];
  gboolean down = scene->flow == STUDIO_FLOW_DOWN;

  studio_document_place (self, it->id, it->x + (down ? 0 : by), it->y + (down ? by : 0));
}

double *
studio_document_make_space (const StudioScene *scene, guint item, guint link, guint input, double *dx, double *dy)
{
  const StudioItem *it = &scene->item[item], *from = &scene->item[scene->link[link].from];
  StudioRect lies = studio_geometry_with_pins (it);
  const StudioItem *to = &scene->item[scene->link[link].to];
  StudioPoint in, out;
  gboolean hides = FALSE;
  double x, y, *moved;

  lies.x += *dx;
  lies.y += *dy;
  for (guint i = 0; i < scene->n_items && !hides; i++)
    {
      StudioRect other = studio_geometry_with_pins (&scene->item[i]);

      hides = i != item && studio_rect_intersects (&lies, &other);
    }
  if (!hides || (scene->flow == STUDIO_FLOW_DOWN ? to->y < from->y + from->height : to->x < from->x + from->width))
    return NULL;
  studio_geometry_port (from, TRUE, scene->link[link].output, &out.x, &out.y);
  studio_geometry_port (it, FALSE, input, &in.x, &in.y);
  moved = push_for (scene, item, scene->link[link].from,
                    studio_flow_across (scene->flow, out.x - (in.x - it->x), out.y - (in.y - it->y)), &x, &y);
  *dx = x - it->x;
  *dy = y - it->y;
  return moved;
}

gboolean
studio_document_fold_selection (StudioDocument *self)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint n = studio_document_n_selected (self), count = 0, one = 0;
  g_autofree guint64 *serials = g_new (guint64, n + 1);
  g_autofree gboolean *items = g_new0 (gboolean, scene->n_items + 1);
  g_autofree gboolean *annotations = g_new0 (gboolean, scene->n_annotations + 1);
  g_autofree char *name = NULL;
  gboolean all = TRUE;

  if (studio_document_selects_frame (self))
    return studio_document_fold_frames (self);
  for (guint i = 0; i < n; i++)
    serials[i] = studio_document_get_selected (self, i);
  studio_document_moving (self, serials, n, items, annotations);
  for (guint i = 0; i < scene->n_items; i++)
    if (items[i])
      {
        all = all && scene->item[i].folded;
        count++;
        one = i;
      }
  if (count == 0)
    return FALSE;
  name = count == 1 ? g_strdup_printf (all ? _ ("Expand %s") : _ ("Collapse %s"), scene->item[one].id)
                    : g_strdup_printf (all ? ngettext ("Expand %u node", "Expand %u nodes", count)
                                           : ngettext ("Collapse %u node", "Collapse %u nodes", count),
                                       count);
  studio_document_begin (self, name);
  place_all (self, studio_document_get_scope (self), scene);
  for (guint i = 0; i < scene->n_items; i++)
    if (items[i])
      studio_document_put (self, loom_scope_find_place (studio_document_get_scope (self), scene->item[i].id),
                           "collapsed", all ? NULL : "true");
  studio_document_end (self);
  return TRUE;
}

/* The scope's cards make space for pins of the card that the path leads to or through. */
static void
make_space_in (StudioDocument *self, const StudioScene *scene, const char *node_path, double more, double width)
{
  LoomElement *scope = loom_graph_by_serial (studio_document_get_graph (self), scene->scope);
  const guint item = studio_scene_card_of (scene, node_path);
  g_autofree double *dx = g_new0 (double, scene->n_items + 1), *dy = g_new0 (double, scene->n_items + 1);

  if (item == STUDIO_NO_ITEM)
    return;
  studio_layout_make_space (scene, item, more, width, dx, dy);
  place_all (self, scope, scene);
  for (guint i = 0; i < scene->n_items; i++)
    if (dx[i] != 0 || dy[i] != 0)
      studio_document_place_in (self, scope, scene->item[i].id, scene->item[i].x + dx[i], scene->item[i].y + dy[i]);
}

/* A pin is also under the card of each module around its node. */
void
studio_document_make_space_for_pin (StudioDocument *self, const char *node_path, double width, double before,
                                    double height)
{
  const double more = studio_geometry_pin_height (height) - (before > 0 ? studio_geometry_pin_height (before) : 0);
  g_auto (GStrv) part = g_strsplit (node_path, ".", -1);
  g_autoptr (GString) path = g_string_new (NULL);
  StudioPathScope in;

  for (guint i = 0; part[i] != NULL; i++)
    {
      studio_document_find_scope (self, path->str, &in);
      if (in.scope == NULL)
        return;
      if (in.scope == studio_document_get_scope (self)
          && g_str_equal (path->str, studio_document_get_scope_path (self)))
        make_space_in (self, studio_document_get_scene (self), node_path, MAX (more, 0), width);
      else if (in.instance == NULL || !loom_node_is_copy (in.instance, part[i]))
        {
          g_autoptr (StudioScene) scene = studio_scene_new (studio_document_get_graph (self), in.scope, path->str,
                                                            studio_document_peek_net (self), NULL, NULL, NULL);

          studio_layout_fill (scene);
          make_space_in (self, scene, node_path, MAX (more, 0), width);
        }
      g_string_append_printf (path, "%s%s", i > 0 ? "." : "", part[i]);
    }
}

void
studio_document_align (StudioDocument *self, StudioAlign how)
{
  static const char *const names[] = { N_ ("Align left"),
                                       N_ ("Align centres"),
                                       N_ ("Align right"),
                                       N_ ("Align tops"),
                                       N_ ("Align middles"),
                                       N_ ("Align bottoms"),
                                       N_ ("Distribute horizontally"),
                                       N_ ("Distribute vertically") };
  StudioScene *scene = studio_document_get_scene (self);
  guint all = scene->n_items + scene->n_annotations, n = 0;
  g_autofree StudioRect *rect = g_new (StudioRect, all + 1), *was = NULL;
  g_autofree guint *which = g_new (guint, all + 1);
  g_autofree double *dx = g_new0 (double, all + 1), *dy = g_new0 (double, all + 1);
  gboolean any = FALSE;

  for (guint k = 0; k < all; k++)
    {
      const StudioAnnotation *a = k >= scene->n_items ? &scene->annotation[k - scene->n_items] : NULL;

      if (!studio_document_is_selected (self, a != NULL ? a->serial : scene->item[k].serial))
        continue;
      rect[n] = a != NULL ? (StudioRect){ a->x, a->y, a->width, a->height } : studio_geometry_card (&scene->item[k]);
      which[n++] = k;
    }
  was = g_memdup2 (rect, n * sizeof (StudioRect));
  studio_align (rect, n, how);
  /* A frame moves its contents, unless they are selected themselves. */
  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < n; i++)
      {
        g_autofree gboolean *items = g_new0 (gboolean, scene->n_items + 1);
        g_autofree gboolean *annotations = g_new0 (gboolean, scene->n_annotations + 1);
        guint64 serial = which[i] < scene->n_items ? scene->item[which[i]].serial
                                                   : scene->annotation[which[i] - scene->n_items].serial;

        if (pass == 0)
          studio_document_moving (self, &serial, 1, items, annotations);
        else if (which[i] < scene->n_items)
          items[which[i]] = TRUE;
        else
          annotations[which[i] - scene->n_items] = TRUE;
        for (guint k = 0; k < all; k++)
          if (k < scene->n_items ? items[k] : annotations[k - scene->n_items])
            {
              dx[k] = rect[i].x - was[i].x;
              dy[k] = rect[i].y - was[i].y;
            }
      }
  for (guint k = 0; k < all; k++)
    any |= dx[k] != 0 || dy[k] != 0;
  if (any)
    move_each (self, _ (names[how]), dx, dy);
}
