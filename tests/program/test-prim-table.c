/* Tests the table of primitives: consistent descriptors, equality of attributes, and in-place results. */
#include "engine/program/loom-prim.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

/* Checks that the members of a primitive that passes read agree with each other. */
static void
check_facts (const LoomPrim *prim)
{
  gboolean elementwise = (prim->flags & LOOM_PRIM_ELEMENTWISE) != 0;

  g_assert_true ((prim->attrs_size == 0) == (prim->attrs == NULL));
  g_assert_true (prim->precision != LOOM_PRECISION_ROUNDS_ONCE || elementwise);
  g_assert_true (prim->view == LOOM_VIEW_NEVER || (!elementwise && prim->updates == NULL && prim->max_out == 1));
  g_assert_true (!(prim->flags & (LOOM_PRIM_CONVERTS | LOOM_PRIM_REARRANGES)) || prim->max_out == 1);
}

/* ---- attributes --------------------------------------------------------------------- */

typedef struct
{
  const LoomPrim *prim;
  GRand *rand;
  LoomProgram *program[2];
  guint changes, hashes;
} Attributes;

static void
set_int (const LoomAttr *attr, void *p, gint64 value)
{
  if (attr->size == 1)
    *(guint8 *)p = (guint8)value;
  else if (attr->size == 4)
    *(int *)p = (int)value;
  else
    *(gint64 *)p = value;
}

static gint64
get_int (const LoomAttr *attr, const void *p)
{
  return attr->size == 1 ? *(const guint8 *)p : attr->size == 4 ? *(const int *)p : *(const gint64 *)p;
}

/* The number of values that an integer member is drawn from. */
static int
n_values (const LoomAttr *attr)
{
  return attr->kind == LOOM_ATTR_FLAG     ? 2
         : attr->kind == LOOM_ATTR_WORD   ? (int)attr->n_words
         : attr->kind == LOOM_ATTR_SCALAR ? LOOM_N_SCALARS
         : attr->kind == LOOM_ATTR_DTYPE  ? LOOM_N_DTYPES
                                          : 4;
}

static void draw (Attributes *self, const LoomAttr *list, void *attrs);

static void
draw_element (Attributes *self, const LoomAttr *attr, void *p)
{
  LoomDims *dims = p;

  switch (attr->kind)
    {
    case LOOM_ATTR_NUMBER:
      *(double *)p = g_rand_double_range (self->rand, -2, 2);
      break;
    case LOOM_ATTR_TEXT:
      memset (p, 0, attr->size);
      *(char *)p = (char)g_rand_int_range (self->rand, 'a', 'z');
      break;
    case LOOM_ATTR_DIMS:
      dims->rank = g_rand_int_range (self->rand, 1, LOOM_MAX_RANK);
      for (int i = 0; i < LOOM_MAX_RANK; i++)
        dims->dim[i] = g_rand_int_range (self->rand, 0, 4);
      break;
    case LOOM_ATTR_PROGRAM:
      *(LoomProgram **)p = self->program[0];
      break;
    case LOOM_ATTR_GROUP:
      draw (self, attr->fields, p);
      break;
    default:
      set_int (attr, p, g_rand_int_range (self->rand, 0, n_values (attr)));
    }
}

/* Draws every element of every member, and then how many of them are in use. */
static void
draw (Attributes *self, const LoomAttr *list, void *attrs)
{
  for (const LoomAttr *attr = list; attr->kind != LOOM_ATTR_END; attr++)
    for (guint i = 0; i < attr->count; i++)
      draw_element (self, attr, (char *)attrs + attr->at + i * attr->size);
  for (const LoomAttr *attr = list; attr->kind != LOOM_ATTR_END; attr++)
    if (attr->used_at != 0)
      G_STRUCT_MEMBER (int, attrs, attr->used_at - 1) = g_rand_int_range (self->rand, 1, (int)MIN (attr->count, 4));
}

static void
check_change (Attributes *self, const LoomAttr *attr, const char *what, const void *a, const void *b)
{
  const LoomAttr *all = self->prim->attrs;
  g_autofree char *before = loom_prim_describe (self->prim, a), *after = loom_prim_describe (self->prim, b);

  if (loom_attrs_equal (all, a, b) || loom_attrs_equal (all, b, a) || loom_prim_same_attrs (self->prim, a, b))
    g_error ("%s: attributes that differ in %s are equal", self->prim->name, what);
  if (attr->name != NULL && attr->kind != LOOM_ATTR_WORD && attr->kind != LOOM_ATTR_PROGRAM
      && g_strcmp0 (before, after) == 0)
    g_error ("%s: a listing does not show %s", self->prim->name, what);
  self->changes++;
  self->hashes += loom_attrs_hash (all, a) != loom_attrs_hash (all, b);
}

/* Changes each element of b, a copy of a, in turn. of: the struct in b that the list describes. */
static void
change_each (Attributes *self, const LoomAttr *list, const void *a, void *b, void *of)
{
  for (const LoomAttr *attr = list; attr->kind != LOOM_ATTR_END; attr++)
    for (guint i = 0, n = loom_attr_used (attr, of); i < n; i++)
      {
        void *p = (char *)of + attr->at + i * attr->size;
        g_autofree void *kept = g_memdup2 (p, attr->size);

        if (attr->kind == LOOM_ATTR_GROUP)
          {
            change_each (self, attr->fields, a, b, p);
            continue;
          }
        if (attr->kind == LOOM_ATTR_NUMBER)
          *(double *)p += 1;
        else if (attr->kind == LOOM_ATTR_TEXT)
          *(char *)p = 'z';
        else if (attr->kind == LOOM_ATTR_DIMS)
          ((LoomDims *)p)->dim[0]++;
        else if (attr->kind == LOOM_ATTR_PROGRAM)
          *(LoomProgram **)p = self->program[1];
        else if (attr->kind == LOOM_ATTR_FLAG || attr->kind == LOOM_ATTR_WORD || attr->kind == LOOM_ATTR_SCALAR
                 || attr->kind == LOOM_ATTR_DTYPE)
          set_int (attr, p, (get_int (attr, p) + 1) % n_values (attr));
        else
          set_int (attr, p, get_int (attr, p) + 1);
        check_change (self, attr, attr->member, a, b);
        memcpy (p, kept, attr->size);
      }
}

static void
cover (const LoomAttr *list, guint8 *covered)
{
  for (const LoomAttr *attr = list; attr->kind != LOOM_ATTR_END; attr++)
    for (guint i = 0; i < attr->count; i++)
      if (attr->kind == LOOM_ATTR_GROUP)
        cover (attr->fields, covered + attr->at + i * attr->size);
      else
        memset (covered + attr->at + i * attr->size, 1, attr->size);
}

/* Every byte of the struct belongs to a member of the list, or may pad the next member to its alignment. A flag after
 * which nothing else comes looks like padding, so /program/prims/members compares samples, too. */
static void
check_complete (const LoomPrim *prim)
{
  g_autofree guint8 *covered = g_malloc0 (prim->attrs_size + 1);

  cover (prim->attrs, covered);
  covered[prim->attrs_size] = 1;
  for (gsize i = 0, from = 0; i <= prim->attrs_size; i++)
    {
      if (!covered[i])
        continue;
      if (i - from >= (i % 8 == 0 ? 8 : i % 4 == 0 ? 4 : 1))
        g_error ("%s: bytes %zu to %zu of the attributes are in no member", prim->name, from, i);
      from = i + 1;
    }
}

/* Attributes that differ in one element are not equal, and a listing shows it; the elements that are not in use do not
 * matter; equal attributes have one hash. */
static void
test_equality (void)
{
  Attributes self = { .rand = g_rand_new_with_seed (32), .program = { loom_program_new (), loom_program_new () } };

  for (const LoomPrim *const *prim = loom_prims (); *prim != NULL; prim++)
    {
      self.prim = *prim;
      if (self.prim->attrs == NULL)
        continue;
      check_complete (self.prim);
      for (guint k = 0; k < 20; k++)
        {
          g_autofree void *a = g_malloc0 (self.prim->attrs_size), *b = NULL;

          draw (&self, self.prim->attrs, a);
          b = g_memdup2 (a, self.prim->attrs_size);
          for (const LoomAttr *attr = self.prim->attrs; attr->kind != LOOM_ATTR_END; attr++)
            for (guint i = loom_attr_used (attr, b); i < attr->count; i++)
              draw_element (&self, attr, (char *)b + attr->at + i * attr->size);
          g_assert_true (loom_attrs_equal (self.prim->attrs, a, b));
          g_assert_cmpuint (loom_attrs_hash (self.prim->attrs, a), ==, loom_attrs_hash (self.prim->attrs, b));
          if (!(self.prim->flags & LOOM_PRIM_COLLECTIVE))
            g_assert_true (loom_prim_same_attrs (self.prim, a, b));
          change_each (&self, self.prim->attrs, a, b, b);
        }
    }
  g_test_message ("%u changes, of which %u change the hash", self.changes, self.hashes);
  g_assert_cmpuint (self.changes, >, 5000);
  g_assert_cmpuint (self.hashes, >, self.changes - self.changes / 100);
  g_rand_free (self.rand);
  loom_program_unref (self.program[0]);
  loom_program_unref (self.program[1]);
}

/* -0 and 0 are different numbers, and NaN is equal to itself: a fill of NaN is merged with another. */
static void
test_numbers (void)
{
  const LoomPrim *fill = loom_prim ("fill");
  LoomFillTo a = { .kernel.value = 0.0 }, b = { .kernel.value = -0.0 };

  g_assert_false (loom_prim_same_attrs (fill, &a, &b));
  a.kernel.value = b.kernel.value = NAN;
  g_assert_true (loom_prim_same_attrs (fill, &a, &b));
}

/* An operand that a result updates has the result's type and shape, and no two results update one operand. */
static void
test_updates (void)
{
  const LoomSgdAttrs sgd = { .n = 2, .momentum = TRUE };
  const LoomAdamAttrs adam = { .n = 2, .amsgrad = TRUE };
  const LoomStepAttrs rmsprop = { .n = 2, .kind = LOOM_STEP_RMSPROP, .momentum = TRUE, .centered = TRUE };
  const struct
  {
    const char *prim;
    const void *attrs;
    guint lists, scalars;
  } steps[] = { { "sgd_step", &sgd, 3, 7 }, { "adam_step", &adam, 5, 8 }, { "rmsprop_step", &rmsprop, 5, 8 } };

  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    {
      const LoomPrim *prim = loom_prim (steps[i].prim);
      LoomTensorDesc in[32] = { 0 }, out[32];
      guint n_in = 2 * steps[i].lists + steps[i].scalars, n_out = 0;
      g_autofree char *why = NULL;
      guint seen = 0;

      for (guint k = 0; k < 2 * steps[i].lists; k++)
        in[k] = (LoomTensorDesc){ .dtype = LOOM_F32, .rank = 1, .dim = { k % 2 + 3 } };
      in[n_in - 1].dtype = LOOM_I64;
      if (!prim->infer (steps[i].attrs, n_in, in, out, &n_out, &why))
        g_error ("%s: %s", prim->name, why);
      g_assert_cmpuint (n_out, ==, 2 * (steps[i].lists - 1));
      for (guint o = 0; o < n_out; o++)
        {
          guint k = prim->updates (steps[i].attrs, o);

          g_assert_cmpuint (k, <, 2 * steps[i].lists);
          g_assert_cmpint (in[k].dim[0], ==, out[o].dim[0]);
          g_assert_true (k / 2 != 1); /* gradients are not updated */
          g_assert_cmpuint (seen >> k & 1, ==, 0);
          seen |= 1u << k;
        }
    }
}

/* Each composite of the table can be expanded, and each entry is documented. */
static void
test_table (void)
{
  for (const LoomPrim *const *prim = loom_prims (); *prim != NULL; prim++)
    {
      g_assert_true (loom_prim ((*prim)->name) == *prim);
      g_assert_nonnull ((*prim)->doc);
      g_assert_nonnull ((*prim)->infer);
      g_assert_true ((*prim)->tier == LOOM_TIER_CORE || (*prim)->expand != NULL);
      check_facts (*prim);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/program/prim-table/table", test_table);
  g_test_add_func ("/program/prim-table/equality", test_equality);
  g_test_add_func ("/program/prim-table/numbers", test_numbers);
  g_test_add_func ("/program/prim-table/updates", test_updates);
  return g_test_run ();
}
