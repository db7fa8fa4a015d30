/* The registry of primitives, and helpers of shape rules. prim-list.h has the name of each row of prim-*.c
 * (kernels/rows.sed). */
#include "engine/program/prim-list.h"
#include "engine/program/prim-private.h"
#include "kernels/optim.h"

#define DECLARE(name)               extern const LoomPrim loom_prim_##name;
#define DECLARE_STEP(name, scalars) DECLARE (name##_step)
LOOM_ROWS (DECLARE)
LOOM_STEPS (DECLARE_STEP)

#define ROW(name)               &loom_prim_##name,
#define ROW_STEP(name, scalars) ROW (name##_step)
static const LoomPrim *const all[] = { LOOM_ROWS (ROW) LOOM_STEPS (ROW_STEP) NULL };

static gpointer
build_names (gpointer unused)
{
  GHashTable *by_name = g_hash_table_new (g_str_hash, g_str_equal);

  for (const LoomPrim *const *prim = all; *prim != NULL; prim++)
    g_hash_table_insert (by_name, (gpointer)(*prim)->name, (gpointer)*prim);
  return by_name;
}

const LoomPrim *const *
loom_prims (void)
{
  return all;
}

const LoomPrim *
loom_prim (const char *name)
{
  static GOnce once = G_ONCE_INIT;

  return g_hash_table_lookup (g_once (&once, build_names, NULL), name);
}

LoomTensorDesc
loom_desc_make (LoomDType dtype, int rank, const gint64 *dims)
{
  LoomTensorDesc d = { .dtype = dtype, .layout = LOOM_LAYOUT_PLAIN, .rank = rank };

  for (int i = 0; i < rank; i++)
    d.dim[i] = dims[i];
  return d;
}

gboolean
loom_desc_same_shape (const LoomTensorDesc *a, const LoomTensorDesc *b)
{
  return a->rank == b->rank && loom_same_ints (a->rank, a->dim, b->dim);
}

gboolean
loom_desc_broadcast (const LoomTensorDesc *a, const LoomTensorDesc *b, LoomTensorDesc *out)
{
  LoomTensorDesc r = { .rank = MAX (a->rank, b->rank) };

  for (int i = 1; i <= r.rank; i++)
    {
      gint64 da = i <= a->rank ? a->dim[a->rank - i] : 1;
      gint64 db = i <= b->rank ? b->dim[b->rank - i] : 1;

      if (da != db && da != 1 && db != 1)
        return FALSE;
      r.dim[r.rank - i] = da == 1 ? db : da;
    }
  out->rank = r.rank;
  memcpy (out->dim, r.dim, sizeof r.dim);
  return TRUE;
}

LoomDType
loom_dtype_promote (LoomDType a, LoomDType b)
{
  if (a == b)
    return a;
  /* Neither of the two 16-bit floats can represent all values of the other. */
  if (MIN (a, b) == LOOM_F16 && MAX (a, b) == LOOM_BF16)
    return LOOM_F32;
  return MIN (a, b);
}

char *
loom_ints_to_string (guint n, const gint64 *values)
{
  GString *s = g_string_new ("[");

  for (guint i = 0; i < n; i++)
    g_string_append_printf (s, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "", values[i]);
  g_string_append_c (s, ']');
  return g_string_free (s, FALSE);
}

char *
loom_desc_to_string (const LoomTensorDesc *desc)
{
  g_autofree char *dims = NULL;

  if (desc_is_absent (desc))
    return g_strdup ("nothing");
  dims = loom_ints_to_string (desc->rank, desc->dim);
  return g_strconcat (loom_dtype_name (desc->dtype), dims, NULL);
}

gboolean
loom_prim_refuse (char **why, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  *why = g_strdup_vprintf (format, args);
  va_end (args);
  return FALSE;
}

gboolean
loom_prim_same_attrs (const LoomPrim *prim, const void *a, const void *b)
{
  return prim->attrs == NULL || (!(prim->flags & LOOM_PRIM_COLLECTIVE) && loom_attrs_equal (prim->attrs, a, b));
}

char *
loom_prim_describe (const LoomPrim *prim, const void *attrs)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (prim->attrs != NULL)
    loom_attrs_append (text, prim->attrs, attrs);
  if (prim->describe != NULL)
    prim->describe (text, attrs);
  return text->len > 0 ? g_strdup (text->str) : NULL;
}

gboolean
loom_same_ints (int n, const gint64 *a, const gint64 *b)
{
  for (int i = 0; i < n; i++)
    if (a[i] != b[i])
      return FALSE;
  return TRUE;
}

gboolean
loom_prim_arity (guint n_in, guint n, char **why)
{
  return n_in == n || loom_prim_refuse (why, "takes %u operands, got %u", n, n_in);
}
