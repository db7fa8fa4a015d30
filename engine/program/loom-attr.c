/* Compares, hashes and lists attributes by their description. What differs between kinds of members is a table. */
#include "engine/program/loom-prim.h"

#include <math.h>
#include <string.h>

const char *const loom_reduce_words[] = { "sum", "max", "min", "prod" };

guint
loom_attr_used (const LoomAttr *attr, const void *attrs)
{
  if (attr->if_at != 0 && !G_STRUCT_MEMBER (bool, attrs, attr->if_at - 1))
    return 0;
  return attr->used_at != 0 ? (guint)G_STRUCT_MEMBER (int, attrs, attr->used_at - 1) : attr->count;
}

static const void *
element (const LoomAttr *attr, const void *attrs, guint i)
{
  return (const char *)attrs + attr->at + i * attr->size;
}

static gint64
int_at (const LoomAttr *attr, const void *p)
{
  return attr->size == 1 ? *(const guint8 *)p : attr->size == 4 ? *(const int *)p : *(const gint64 *)p;
}

static guint
mix (guint hash, guint64 value)
{
  return hash * 31 + (guint)(value ^ value >> 32);
}

static gboolean
append_ints (GString *to, guint n, const LoomAttr *attr, const void *first)
{
  g_string_append_c (to, '[');
  for (guint i = 0; i < n; i++)
    g_string_append_printf (to, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "",
                            int_at (attr, (const char *)first + i * attr->size));
  g_string_append_c (to, ']');
  return TRUE;
}

static gboolean
append_int (GString *to, guint n, const LoomAttr *attr, const void *p)
{
  if (attr->count > 1)
    return append_ints (to, n, attr, p);
  g_string_append_printf (to, "%" G_GINT64_FORMAT, int_at (attr, p));
  return TRUE;
}

static gboolean
append_flag (GString *to, guint n, const LoomAttr *attr, const void *p)
{
  return int_at (attr, p) != 0;
}

static gboolean
same_number (const LoomAttr *attr, const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return x == y ? signbit (x) == signbit (y) : isnan (x) && isnan (y);
}

static guint
hash_number (guint hash, const LoomAttr *attr, const void *p)
{
  return mix (hash, isnan (*(const double *)p) ? 1 : *(const guint64 *)p);
}

static gboolean
append_number (GString *to, guint n, const LoomAttr *attr, const void *p)
{
  g_string_append_printf (to, "%.*g", attr->digits > 0 ? attr->digits : 6, *(const double *)p);
  return TRUE;
}

static gboolean
append_bits (GString *to, guint n, const LoomAttr *attr, const void *p)
{
  g_string_append_printf (to, "%016" G_GINT64_MODIFIER "x", *(const guint64 *)p);
  return TRUE;
}

static gboolean
append_axes (GString *to, guint n, const LoomAttr *attr, const void *p)
{
  guint axes = *(const guint *)p;

  for (guint i = 0, seen = 0; i < LOOM_MAX_RANK; i++)
    if (axes >> i & 1)
      g_string_append_printf (to, "%s%u", seen++ > 0 ? "," : "", i);
  return TRUE;
}

static gboolean
append_word (GString *to, guint n, const LoomAttr *attr, const void *p)
{
  const char *word = attr->words[int_at (attr, p)];

  g_string_append (to, word != NULL ? word : "");
  return word != NULL;
}

static gboolean
append_scalar (GString *to, guint n, const LoomAttr *attr, const void *p)
{
  g_string_append (to, loom_scalar_name (*(const LoomScalarOp *)p));
  return *(const LoomScalarOp *)p != LOOM_SCALAR_ID;
}

static gboolean
append_dtype (GString *to, guint n, const LoomAttr *attr, const void *p)
{
  g_string_append (to, loom_dtype_name (*(const LoomDType *)p));
  return TRUE;
}

static gboolean
same_text (const LoomAttr *attr, const void *a, const void *b)
{
  return strncmp (a, b, attr->size) == 0;
}

static guint
hash_text (guint hash, const LoomAttr *attr, const void *p)
{
  for (const char *c = p; c < (const char *)p + attr->size && *c != '\0'; c++)
    hash = mix (hash, (guint8)*c);
  return hash;
}

static gboolean
same_dims (const LoomAttr *attr, const void *a, const void *b)
{
  const LoomDims *x = a, *y = b;

  return x->rank == y->rank && memcmp (x->dim, y->dim, (gsize)x->rank * sizeof x->dim[0]) == 0;
}

static guint
hash_dims (guint hash, const LoomAttr *attr, const void *p)
{
  const LoomDims *dims = p;

  for (int i = 0; i < dims->rank; i++)
    hash = mix (hash, (guint64)dims->dim[i]);
  return hash;
}

static gboolean
append_dims (GString *to, guint n, const LoomAttr *attr, const void *p)
{
  static const LoomAttr dim = { .size = sizeof (gint64) };
  const LoomDims *dims = p;

  return append_ints (to, (guint)dims->rank, &dim, dims->dim);
}

static gboolean
append_program (GString *to, guint n, const LoomAttr *attr, const void *p)
{
  g_string_append_printf (to, "%u", loom_program_n_instrs (*(LoomProgram *const *)p));
  return TRUE;
}

static gboolean
same_group (const LoomAttr *attr, const void *a, const void *b)
{
  return loom_attrs_equal (attr->fields, a, b);
}

static guint
hash_group (guint hash, const LoomAttr *attr, const void *p)
{
  return mix (hash, loom_attrs_hash (attr->fields, p));
}

/* same and hash concern one element, NULL: its bytes. append() appends the value of a member of which n elements are in
 * use; FALSE if it is not listed, and what it appended is removed. */
static const struct
{
  gboolean (*same) (const LoomAttr *attr, const void *a, const void *b);
  guint (*hash) (guint hash, const LoomAttr *attr, const void *p);
  gboolean (*append) (GString *to, guint n, const LoomAttr *attr, const void *p);
} kinds[LOOM_N_ATTR_KINDS] = {
  [LOOM_ATTR_INT] = { NULL, NULL, append_int },
  [LOOM_ATTR_FLAG] = { NULL, NULL, append_flag },
  [LOOM_ATTR_NUMBER] = { same_number, hash_number, append_number },
  [LOOM_ATTR_BITS] = { NULL, NULL, append_bits },
  [LOOM_ATTR_AXES] = { NULL, NULL, append_axes },
  [LOOM_ATTR_WORD] = { NULL, NULL, append_word },
  [LOOM_ATTR_SCALAR] = { NULL, NULL, append_scalar },
  [LOOM_ATTR_DTYPE] = { NULL, NULL, append_dtype },
  [LOOM_ATTR_TEXT] = { same_text, hash_text, NULL },
  [LOOM_ATTR_DIMS] = { same_dims, hash_dims, append_dims },
  [LOOM_ATTR_PROGRAM] = { NULL, NULL, append_program },
  [LOOM_ATTR_GROUP] = { same_group, hash_group, NULL },
};

static gboolean
same_element (const LoomAttr *attr, const void *a, const void *b)
{
  return kinds[attr->kind].same != NULL ? kinds[attr->kind].same (attr, a, b) : memcmp (a, b, attr->size) == 0;
}

gboolean
loom_attrs_equal (const LoomAttr *list, const void *a, const void *b)
{
  for (const LoomAttr *attr = list; attr->kind != LOOM_ATTR_END; attr++)
    {
      guint n = loom_attr_used (attr, a);

      if (n != loom_attr_used (attr, b))
        return FALSE;
      for (guint i = 0; i < n; i++)
        if (!same_element (attr, element (attr, a, i), element (attr, b, i)))
          return FALSE;
    }
  return TRUE;
}

guint
loom_attrs_hash (const LoomAttr *list, const void *attrs)
{
  guint hash = 0;

  for (const LoomAttr *attr = list; attr->kind != LOOM_ATTR_END; attr++)
    for (guint i = 0, n = loom_attr_used (attr, attrs); i < n; i++)
      {
        const void *p = element (attr, attrs, i);

        hash = kinds[attr->kind].hash != NULL ? kinds[attr->kind].hash (hash, attr, p)
                                              : mix (hash, (guint64)int_at (attr, p));
      }
  return hash;
}

/* TRUE if all elements in use have the value that is not listed. */
static gboolean
is_normal (const LoomAttr *attr, guint n, const void *attrs)
{
  for (guint i = 0; i < n; i++)
    {
      const void *p = element (attr, attrs, i);

      if (attr->kind == LOOM_ATTR_NUMBER ? *(const double *)p != (double)attr->normal
                                         : int_at (attr, p) != attr->normal)
        return FALSE;
    }
  return TRUE;
}

void
loom_attrs_append (GString *to, const LoomAttr *list, const void *attrs)
{
  for (const LoomAttr *attr = list; attr->kind != LOOM_ATTR_END; attr++)
    {
      const guint n = loom_attr_used (attr, attrs);
      const gsize before = to->len;

      if (attr->name == NULL || n == 0 || (attr->has_normal && is_normal (attr, n, attrs)))
        continue;
      g_string_append_printf (
          to, "%s%s%s", to->len > 0 ? " " : "", attr->name,
          attr->name[0] == '\0' || attr->kind == LOOM_ATTR_FLAG || g_str_has_suffix (attr->name, " ") ? "" : "=");
      if (!kinds[attr->kind].append (to, n, attr, element (attr, attrs, 0)))
        g_string_truncate (to, before);
    }
}
