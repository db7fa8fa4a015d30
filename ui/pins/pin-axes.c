/* Which axes of a pinned tensor are drawn whole, and which element is chosen of each other one. */
#include "ui/pins/pin-axes.h"

#include <glib/gi18n.h>

/* The number of last axes that the kind draws whole. Samples are chosen, unless they are rows of a matrix. */
static gsize
whole_axes (const PinSubject *subject, const StudioPinKind *kind)
{
  const gsize rank = subject->rank, outer = subject->is_weight ? 0 : subject->n_loops + 1;
  gsize n = kind->n_whole;

  if (kind->summary != NULL)
    return rank;
  if (n > 2)
    n = MAX (2, MIN (n, rank > outer ? rank - outer : 0));
  return MIN (n, rank);
}

gsize
pin_axes_chosen (const PinSubject *subject, const StudioPinKind *kind, gsize axes[LOOM_SHAPE_MAX_RANK])
{
  const gsize rank = subject->rank, whole = whole_axes (subject, kind);
  gsize n = 0;

  if (kind->chooses_tile && whole >= 3 && kind->summary == NULL)
    axes[n++] = rank - 3;
  for (gsize axis = rank - whole; axis > 0; axis--)
    axes[n++] = axis - 1;
  return n;
}

char *
pin_axes_name_chosen (const PinSubject *subject, const StudioPinKind *kind, const gint64 *index, gint64 n_samples)
{
  const gboolean is_counted = n_samples > 0 && pin_subject_is_of_samples (subject);
  gboolean names_sample = FALSE;
  g_autoptr (GString) text = g_string_new (NULL);
  gsize axes[LOOM_SHAPE_MAX_RANK];
  const gsize n = pin_axes_chosen (subject, kind, axes);

  for (gsize k = 0; k < n; k++)
    {
      const gsize a = axes[k];
      const int at = (int)index[a] + 1;
      const char *name = pin_subject_axis (subject, a);

      g_string_append (text, k > 0 ? " · " : "");
      names_sample = g_str_equal (name, _ ("sample"));
      if (k == 0 && subject->dims[a] > 0 && !(is_counted && names_sample))
        /* Translators: an element of an axis of a tensor: "channel 3 of 16". */
        g_string_append_printf (text, _ ("%1$s %2$d of %3$d"), name, at, (int)subject->dims[a]);
      else
        g_string_append_printf (text, "%s %d", name, at);
    }
  /* Of a sample that is the last of what is chosen. */
  if (is_counted)
    {
      g_string_append (text, names_sample ? " " : n > 0 ? " · " : "");
      g_string_append_printf (text, ngettext ("of %d fixed sample", "of %d fixed samples", (gulong)n_samples),
                              (int)n_samples);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

GVariant *
pin_axes_index (const PinSubject *subject, const StudioPinKind *kind, const gint64 *index)
{
  const gsize rank = subject->rank, lead = rank > 2 ? rank - 2 : 0, whole = whole_axes (subject, kind);
  gint64 sent[LOOM_SHAPE_MAX_RANK];

  for (gsize d = 0; d < lead; d++)
    sent[d] = d + whole < rank ? index[d] : -1;
  return g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, sent, lead, sizeof *sent);
}

gint64
pin_axes_sample (const PinSubject *subject, const StudioPinKind *kind, const gint64 *index)
{
  gsize axes[LOOM_SHAPE_MAX_RANK];
  const gsize n = pin_axes_chosen (subject, kind, axes);

  for (gsize k = 0; k < n; k++)
    if (axes[k] == subject->n_loops && !subject->is_weight)
      return index[axes[k]];
  return 0;
}
