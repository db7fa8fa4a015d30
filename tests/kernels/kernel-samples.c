/* Collects the samples of all primitives: one file samples-<family>.c each. GRADLOOM_SAMPLES=PRIMITIVE selects one
 * primitive. */
#include "tests/kernels/kernel-harness.h"

#include <string.h>

/* One line a file. */
static void (*const families[]) (GPtrArray *all) = {
  samples_elementwise, samples_products, samples_norms, samples_attention,
  samples_move,        samples_optim,    samples_index, samples_linalg,
};

/* The only primitive to make samples for, or NULL. */
static const char *only;

Sample *
sample_add (GPtrArray *all, const char *primitive, double tolerance, const char *format, ...)
{
  static Sample left_out;
  const gboolean is_left_out = only != NULL && !g_str_equal (primitive, only);
  Sample *s = is_left_out ? &left_out : g_new0 (Sample, 1);
  va_list args;
  int n;

  if (is_left_out)
    {
      left_out = (Sample){ .primitive = primitive };
      return s;
    }
  n = g_snprintf (s->name, sizeof s->name, "%s ", primitive);
  va_start (args, format);
  g_vsnprintf (s->name + n, sizeof s->name - (gulong)n, format, args);
  va_end (args);
  s->primitive = primitive;
  s->tolerance = tolerance;
  g_ptr_array_add (all, s);
  return s;
}

void
sample_in (Sample *s, LoomTensorDesc d, Fill kind, double value)
{
  s->fill[s->n_in] = (FillRule){ kind, value };
  s->in[s->n_in++] = d;
}

void
sample_out (Sample *s, LoomTensorDesc d)
{
  s->out[s->n_out++] = d;
}

GPtrArray *
samples_new (void)
{
  GPtrArray *all = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) by_name = g_hash_table_new (g_str_hash, g_str_equal);

  only = g_getenv ("GRADLOOM_SAMPLES");
  for (guint i = 0; i < G_N_ELEMENTS (families); i++)
    families[i](all);
  /* Loops over attributes that a primitive does not have make some samples several times. */
  for (guint i = 0; i < all->len; i++)
    {
      const Sample *s = g_ptr_array_index (all, i), *other = g_hash_table_lookup (by_name, s->name);

      if (other == NULL)
        g_hash_table_insert (by_name, (gpointer)s->name, (gpointer)s);
      else if (sample_is_same (s, other) && s->wide == other->wide && s->mixed == other->mixed)
        g_ptr_array_remove_index (all, i--);
    }
  return all;
}
