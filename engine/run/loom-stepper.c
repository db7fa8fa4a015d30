/* Walks a program node by node; see the header.
 *
 * Frames are nested programs: the step, then the body of each loop that was entered. Levels are nested ranges of
 * instructions in a frame: the whole program, then each module that was entered. The innermost level is divided into
 * groups, successive instructions of one region whose paths begin alike; the stepper stands at the end of a group. */
#include "engine/run/loom-stepper.h"

#include "engine/core/loom-refuse.h"

#include <string.h>

typedef struct
{
  char *prefix; /* of the paths in it; "" for a program */
  guint first, end;
} Level;

typedef struct
{
  LoomEager *eager;
  LoomEagerLoop *loop; /* owned; NULL for the step */
  guint index;         /* of the loop's instruction in the frame around it */
  gint64 iteration;
  GArray *levels; /* Level, never empty */
} Frame;

struct _LoomStepper
{
  GPtrArray *frames; /* Frame, never empty */
};

/* ---- frames and levels ------------------------------------------------ */

static void
level_clear (gpointer data)
{
  g_free (((Level *)data)->prefix);
}

static void
add_level (Frame *f, const char *prefix, guint first, guint end)
{
  const Level level = { g_strdup (prefix), first, end };

  g_array_append_val (f->levels, level);
}

static Frame *
frame_new (LoomEager *eager, LoomEagerLoop *loop, guint index, const char *prefix)
{
  Frame *f = g_new0 (Frame, 1);

  f->eager = eager;
  f->loop = loop;
  f->index = index;
  f->levels = g_array_new (FALSE, FALSE, sizeof (Level));
  g_array_set_clear_func (f->levels, level_clear);
  add_level (f, prefix, 0, loom_program_n_instrs (loom_eager_program (eager)));
  return f;
}

static void
frame_free (gpointer data)
{
  Frame *f = data;

  if (f->loop != NULL)
    loom_eager_loop_free (f->loop);
  else
    loom_eager_free (f->eager);
  g_array_unref (f->levels);
  g_free (f);
}

static Frame *
innermost (const LoomStepper *self)
{
  return self->frames->pdata[self->frames->len - 1];
}

static const Level *
level_of (const Frame *f)
{
  return &g_array_index (f->levels, Level, f->levels->len - 1);
}

static const LoomInstr *
instr_of (const Frame *f, guint i)
{
  return loom_program_instr (loom_eager_program (f->eager), i);
}

/* The region of a loop's body is that of the loop. */
static LoomRegion
region_of (const LoomStepper *self, guint at)
{
  const Frame *root = self->frames->pdata[0];
  const guint n = loom_program_n_instrs (loom_eager_program (root->eager));

  if (self->frames->len > 1)
    at = ((const Frame *)self->frames->pdata[1])->index;
  return n == 0 ? LOOM_REGION_FORWARD : instr_of (root, MIN (at, n - 1))->region;
}

/* ---- groups ----------------------------------------------------------- */

static gboolean
is_inside (const char *path, const char *scope)
{
  const gsize n = strlen (scope);

  return path != NULL && (n == 0 || (strncmp (path, scope, n) == 0 && path[n] == '.'));
}

/* The length of the part of a path that names a group: up to the first component after the level's prefix. */
static gsize
name_length (const Level *level, const char *path)
{
  const char *rest = path;

  if (is_inside (path, level->prefix) && level->prefix[0] != '\0')
    rest += strlen (level->prefix) + 1;
  return (gsize)(strchrnul (rest, '.') - path);
}

/* The path of an instruction; NULL if it belongs to no node, or to the loop or module that the level is in. */
static const char *
path_of (const Frame *f, guint i)
{
  const char *path = instr_of (f, i)->origin;

  return path != NULL && !g_str_equal (path, level_of (f)->prefix) ? path : NULL;
}

static gboolean
is_same_name (const Level *level, const char *a, const char *b)
{
  const gsize n = name_length (level, a);

  return a == b || (n == name_length (level, b) && strncmp (a, b, n) == 0);
}

/* Metrics, sums and what a loop does around its nodes belong to no node; they are part of the group before them, or of
 * the first one of a region. The update is one group. */
static guint
group_end (const Frame *f, guint at)
{
  const Level *level = level_of (f);
  const LoomRegion region = instr_of (f, at)->region;
  const char *name = path_of (f, at);
  guint i = at + 1;

  for (; i < level->end && (instr_of (f, i)->region == region); i++)
    {
      const char *next = path_of (f, i);

      if (region == LOOM_REGION_UPDATE || next == NULL)
        continue;
      if (name != NULL && !is_same_name (level, name, next))
        break;
      name = next;
    }
  return i;
}

static guint
group_first (const Frame *f, guint at)
{
  guint first = level_of (f)->first;

  while (first < at && group_end (f, first) < at)
    first = group_end (f, first);
  return first;
}

/* The path of the group [first, end): NULL if it belongs to no node. (transfer full) */
static char *
group_name (const Frame *f, guint first, guint end)
{
  for (guint i = first; i < end; i++)
    if (path_of (f, i) != NULL && instr_of (f, i)->region != LOOM_REGION_UPDATE)
      return g_strndup (path_of (f, i), name_length (level_of (f), path_of (f, i)));
  return NULL;
}

/* The loop that is the node of a group; -1: none. Products of its body that are the same for all iterations, or that
 * are computed for all at once, are part of the group. */
static int
loop_of (const Frame *f, guint first, guint end, const char *name)
{
  for (guint i = end; i > first; i--)
    if (loom_eager_is_loop (f->eager, i - 1) && g_strcmp0 (instr_of (f, i - 1)->origin, name) == 0)
      return (int)i - 1;
  return -1;
}

static gboolean
has_deeper (const Frame *f, guint first, guint end, const char *name)
{
  for (guint i = first; i < end && name != NULL; i++)
    if (is_inside (instr_of (f, i)->origin, name))
      return TRUE;
  return FALSE;
}

/* ---- moving ----------------------------------------------------------- */

static gboolean
seek (Frame *f, guint at, GError **error)
{
  if (loom_eager_at (f->eager) > at)
    loom_eager_back_to (f->eager, at);
  while (loom_eager_at (f->eager) < at)
    if (!loom_eager_step (f->eager, error))
      return FALSE;
  return TRUE;
}

static void
leave_frame (LoomStepper *self)
{
  g_ptr_array_set_size (self->frames, (int)self->frames->len - 1);
}

static void
leave_level (Frame *f)
{
  g_array_set_size (f->levels, f->levels->len - 1);
}

/* Leaves the innermost module or loop: a module at its end or its beginning, a loop complete, or before it. */
static gboolean
leave (LoomStepper *self, gboolean forward, GError **error)
{
  Frame *f = innermost (self);

  if (f->levels->len > 1)
    {
      const guint to = forward ? level_of (f)->end : level_of (f)->first;

      leave_level (f);
      return seek (f, to, error);
    }
  if (self->frames->len > 1)
    {
      const guint index = f->index;
      guint to;

      leave_frame (self);
      f = innermost (self);
      to = group_first (f, index + 1);
      return seek (f, forward ? group_end (f, to) : to, error);
    }
  return TRUE;
}

static gboolean
enter_iteration (Frame *f, gint64 n, GError **error)
{
  f->iteration = n;
  return loom_eager_loop_enter (f->loop, n, error) != NULL;
}

static gboolean
move_next (LoomStepper *self, GError **error)
{
  Frame *f = innermost (self);

  for (; loom_eager_at (f->eager) == level_of (f)->end; f = innermost (self))
    {
      if (f->levels->len > 1)
        leave_level (f);
      else if (f->loop != NULL && f->iteration + 1 < loom_eager_loop_length (f->loop))
        {
          if (!enter_iteration (f, f->iteration + 1, error))
            return FALSE;
        }
      else
        return leave (self, TRUE, error); /* the results of a loop exist when it is complete */
    }
  return seek (f, group_end (f, loom_eager_at (f->eager)), error);
}

static gboolean
move_back (LoomStepper *self, GError **error)
{
  Frame *f = innermost (self);
  const guint at = loom_eager_at (f->eager), first = level_of (f)->first;

  /* The beginning of a scope is the end of what comes before it. */
  if (at > first && (group_first (f, at) > first || (f->levels->len == 1 && self->frames->len == 1)))
    return seek (f, group_first (f, at), error);
  if (f->levels->len == 1 && f->loop != NULL && f->iteration > 0)
    return enter_iteration (f, f->iteration - 1, error) && seek (f, level_of (f)->end, error);
  return leave (self, FALSE, error);
}

static gboolean
move_into (LoomStepper *self, GError **error)
{
  Frame *f = innermost (self);
  const guint end = loom_eager_at (f->eager);
  const guint first = group_first (f, end);
  g_autofree char *name = group_name (f, first, end);
  LoomEagerLoop *loop;
  LoomEager *body;
  int index;

  if (end == first)
    return TRUE;
  index = loop_of (f, first, end, name);
  if (index < 0)
    {
      if (!has_deeper (f, first, end, name))
        return TRUE;
      add_level (f, name, first, end);
      return seek (f, first, error) && move_next (self, error);
    }
  if (!seek (f, (guint)index, error))
    return FALSE;
  loop = loom_eager_loop_new (f->eager, (guint)index, error);
  body = loop != NULL ? loom_eager_loop_enter (loop, 0, error) : NULL;
  if (body == NULL)
    {
      loom_eager_loop_free (loop);
      return FALSE;
    }
  g_ptr_array_add (self->frames, frame_new (body, loop, (guint)index, name));
  return move_next (self, error);
}

gboolean
loom_stepper_move (LoomStepper *self, LoomStepperMove move, GError **error)
{
  switch (move)
    {
    case LOOM_STEPPER_NEXT:
      return move_next (self, error);
    case LOOM_STEPPER_BACK:
      return move_back (self, error);
    case LOOM_STEPPER_INTO:
      return move_into (self, error);
    case LOOM_STEPPER_OUT:
      return leave (self, TRUE, error);
    }
  g_return_val_if_reached (FALSE);
}

/* To the outermost level of the step. */
static Frame *
leave_all (LoomStepper *self)
{
  Frame *root = self->frames->pdata[0];

  g_ptr_array_set_size (self->frames, 1);
  g_array_set_size (root->levels, 1);
  return root;
}

gboolean
loom_stepper_finish (LoomStepper *self, LoomRegion region, GError **error)
{
  Frame *root = leave_all (self);
  guint at = 0;

  while (at < level_of (root)->end && instr_of (root, at)->region <= region)
    at++;
  return seek (root, at, error);
}

/* The first group of the level that has the node inside, or is it; NULL range: none. */
static gboolean
find_group (const Frame *f, const char *node, int region, guint *first, guint *end)
{
  for (guint i = level_of (f)->first; i < level_of (f)->end; i = *end)
    {
      g_autofree char *name = NULL;

      *first = i;
      *end = group_end (f, i);
      name = group_name (f, *first, *end);
      if (name != NULL && (region < 0 || (int)instr_of (f, *first)->region == region)
          && (g_str_equal (name, node) || is_inside (node, name)))
        return TRUE;
    }
  return FALSE;
}

gboolean
loom_stepper_go_to (LoomStepper *self, const char *node, LoomRegion region, GError **error)
{
  Frame *f = leave_all (self);
  int in_region = (int)region;
  guint first, end;

  while (find_group (f, node, in_region, &first, &end))
    {
      g_autofree char *name = group_name (f, first, end);

      if (!seek (f, end, error))
        return FALSE;
      if (g_str_equal (name, node))
        return TRUE;
      if (!has_deeper (f, first, end, name) && loop_of (f, first, end, name) < 0)
        break;
      if (!move_into (self, error))
        return FALSE;
      f = innermost (self);
      in_region = self->frames->len > 1 ? -1 : (int)region;
    }
  return loom_refuse (error, LOOM_ERROR_PORT, "The %s pass computes nothing at node %s.",
                      region == LOOM_REGION_FORWARD ? "forward" : "backward", node);
}

/* ---- reading ---------------------------------------------------------- */

/* TRUE if it stands in the loop of an operator, whose iterations are its time steps: the body has no nodes. */
static gboolean
is_in_operator (const LoomStepper *self)
{
  const Frame *f = innermost (self);
  const Level *level = level_of (f);

  for (guint i = level->first; i < level->end; i++)
    if (path_of (f, i) != NULL)
      return FALSE;
  return f->loop != NULL && f->levels->len == 1;
}

void
loom_stepper_place_clear (LoomStepperPlace *place)
{
  g_clear_pointer (&place->node, g_free);
  g_clear_pointer (&place->scope, g_free);
}

void
loom_stepper_get_place (const LoomStepper *self, LoomStepperPlace *place)
{
  const Frame *f = innermost (self), *root = self->frames->pdata[0];
  const guint at = loom_eager_at (f->eager), first = group_first (f, at);
  const LoomRegion region = region_of (self, at > 0 ? at - 1 : 0);

  *place = (LoomStepperPlace){ .region = region, .scope = g_strdup (level_of (f)->prefix) };
  place->node = group_name (f, first, at);
  place->has_inside = has_deeper (f, first, at, place->node) || loop_of (f, first, at, place->node) >= 0;
  for (guint i = level_of (f)->first; i < level_of (f)->end; i = group_end (f, i))
    if (self->frames->len > 1 || instr_of (f, i)->region == region)
      {
        place->count++;
        place->index += i < at;
      }
  if (f->loop != NULL)
    {
      place->iteration = loom_eager_loop_row (f->loop, f->iteration);
      place->iterations = loom_eager_loop_length (f->loop);
    }
  if (is_in_operator (self))
    {
      const Frame *around = self->frames->pdata[self->frames->len - 2];

      place->node = g_strdup (level_of (f)->prefix);
      g_free (place->scope);
      place->scope = g_strdup (level_of (around)->prefix);
    }
  place->is_end = loom_eager_at (root->eager) == loom_program_n_instrs (loom_eager_program (root->eager));
}

gboolean
loom_stepper_is_outside (const LoomStepper *self)
{
  return self->frames->len == 1;
}

/* The state of an operator after the iteration at which it stands: the first carried value. NULL without error: the
 * iteration is not computed. */
static LoomTensor *
state_of_operator (LoomStepper *self, GError **error)
{
  const Frame *f = innermost (self);

  return loom_eager_at (f->eager) == level_of (f)->end ? loom_eager_output (f->eager, 0, error) : NULL;
}

LoomTensor *
loom_stepper_port (LoomStepper *self, const char *port, GError **error)
{
  if (is_in_operator (self) && region_of (self, 0) == LOOM_REGION_FORWARD
      && g_str_equal (port, level_of (innermost (self))->prefix))
    return state_of_operator (self, error);
  for (guint i = self->frames->len; i > 0; i--)
    {
      const Frame *f = self->frames->pdata[i - 1];
      const LoomValue v = loom_program_find_port (loom_eager_program (f->eager), port);

      if (v != 0)
        return loom_eager_has_value (f->eager, v) ? loom_eager_value (f->eager, v, error) : NULL;
    }
  return NULL;
}

LoomEager *
loom_stepper_eager (const LoomStepper *self)
{
  return ((const Frame *)self->frames->pdata[0])->eager;
}

/* ---- its life --------------------------------------------------------- */

LoomStepper *
loom_stepper_new (LoomEager *eager)
{
  LoomStepper *self = g_new0 (LoomStepper, 1);

  self->frames = g_ptr_array_new_with_free_func (frame_free);
  g_ptr_array_add (self->frames, frame_new (eager, NULL, 0, ""));
  return self;
}

gboolean
loom_stepper_begin (LoomStepper *self, GError **error)
{
  return loom_eager_begin (leave_all (self)->eager, error);
}

void
loom_stepper_free (LoomStepper *self)
{
  if (self == NULL)
    return;
  /* The innermost first: a loop reads values of the frame around it. */
  while (self->frames->len > 0)
    leave_frame (self);
  g_ptr_array_unref (self->frames);
  g_free (self);
}
