/* Values of pinned tensors; see the header. */
#include "ui/pins/pin-value.h"

#include <math.h>
#include <string.h>

PinValue *
pin_value_new (const char *title, const char *where, const char *when, gint64 step)
{
  PinValue *self = g_new0 (PinValue, 1);

  self->title = g_strdup (title);
  self->where = g_strdup (where != NULL ? where : "");
  self->when = g_strdup (when != NULL ? when : "");
  self->tensor = g_strdup (title);
  self->step = step;
  return self;
}

void
pin_value_free (PinValue *self)
{
  if (self == NULL)
    return;
  g_free (self->title);
  g_free (self->where);
  g_free (self->when);
  g_free (self->tensor);
  g_free (self->values);
  g_free (self->components);
  g_strfreev (self->row_labels);
  g_strfreev (self->column_labels);
  g_free (self);
}

gboolean
pin_value_set (PinValue *self, gsize rank, const gint64 *dims, const float *values, gsize n_values)
{
  const gsize n = loom_dims_count (rank, dims, n_values);

  if (rank > LOOM_SHAPE_MAX_RANK || n == 0)
    return FALSE;
  g_free (self->values);
  self->values = g_memdup2 (values, n * sizeof (float));
  self->n_values = n;
  self->rank = rank;
  if (rank > 0)
    memcpy (self->dims, dims, rank * sizeof *dims);
  return TRUE;
}

gsize
pin_value_columns (const PinValue *self)
{
  return self->rank >= 1 ? (gsize)self->dims[self->rank - 1] : 1;
}

gsize
pin_value_rows (const PinValue *self)
{
  return self->rank >= 2 ? (gsize)self->dims[self->rank - 2] : 1;
}

gsize
pin_value_tiles (const PinValue *self)
{
  return self->n_values / MAX (1, pin_value_rows (self) * pin_value_columns (self));
}

gsize
pin_value_axis (const PinValue *self, gsize from_last)
{
  return self->full_rank > from_last ? self->full_rank - 1 - from_last : 0;
}

void
pin_value_choose_row (PinValue *self)
{
  const gsize rows = pin_value_rows (self), columns = pin_value_columns (self);
  const gsize axis = pin_value_axis (self, 1);
  const gint64 whole = MAX (self->full[axis], 1);

  if (self->rank < 2 || self->full_rank < 2)
    return;
  const gsize row = MIN ((gsize)(self->index[axis] * (gint64)rows / whole), rows - 1);
  memmove (self->values, self->values + row * columns, columns * sizeof (float));
  self->n_values = columns;
  self->rank = 1;
  self->dims[0] = (gint64)columns;
}

static const char *
label (char *const *labels, gsize n, gsize i)
{
  return labels != NULL && i < n && g_strv_length ((char **)labels) == n ? labels[i] : NULL;
}

const char *
pin_value_row_label (const PinValue *self, gsize row)
{
  return label (self->row_labels, pin_value_rows (self), row);
}

const char *
pin_value_column_label (const PinValue *self, gsize column)
{
  return label (self->column_labels, pin_value_columns (self), column);
}

/* Where a value comes from in the whole tensor: its first element, and the number of them along each axis. FALSE: it is
 * not of elements. */
static gboolean
place_of (const PinValue *self, gsize i, gint64 at[LOOM_SHAPE_MAX_RANK], gint64 span[LOOM_SHAPE_MAX_RANK])
{
  const gsize skipped = self->full_rank > self->rank ? self->full_rank - self->rank : 0;

  if (self->full_rank == 0 || self->rank > self->full_rank)
    return FALSE;
  for (gsize d = 0; d < self->full_rank; d++)
    {
      at[d] = self->index[d];
      span[d] = 1;
    }
  /* Axes that are sent whole come last, except that a chosen row leaves only the last one. */
  for (gsize d = self->rank; d > 0; d--)
    {
      const gint64 n = self->dims[d - 1], whole = self->full[skipped + d - 1];

      span[skipped + d - 1] = MAX (1, (whole + n - 1) / n);
      at[skipped + d - 1] = (gint64)i % n * span[skipped + d - 1];
      i /= (gsize)n;
    }
  return TRUE;
}

gint64
pin_value_element (const PinValue *self, gsize i)
{
  gint64 at[LOOM_SHAPE_MAX_RANK], span[LOOM_SHAPE_MAX_RANK], element = 0;

  if (!place_of (self, i, at, span))
    return self->full_rank == 0 ? 0 : -1;
  for (gsize d = 0; d < self->full_rank; d++)
    element = element * MAX (self->full[d], 1) + at[d];
  return element;
}

char *
pin_value_origin (const PinValue *self, gsize i)
{
  g_autoptr (GString) text = g_string_new (self->title);
  gint64 at[LOOM_SHAPE_MAX_RANK], span[LOOM_SHAPE_MAX_RANK];

  if (!place_of (self, i, at, span))
    return g_string_free (g_steal_pointer (&text), FALSE);
  g_string_append_c (text, '[');
  for (gsize d = 0; d < self->full_rank; d++)
    {
      const gint64 last = MIN (at[d] + span[d], MAX (self->full[d], 1)) - 1;

      g_string_append_printf (text, "%s%" G_GINT64_FORMAT, d > 0 ? ", " : "", at[d]);
      if (last > at[d])
        g_string_append_printf (text, "–%" G_GINT64_FORMAT, last);
    }
  g_string_append_c (text, ']');
  return g_string_free (g_steal_pointer (&text), FALSE);
}

gboolean
pin_value_range (const PinValue *self, double *least, double *most, gsize *n_bad)
{
  *least = INFINITY;
  *most = -INFINITY;
  *n_bad = 0;
  for (gsize i = 0; i < self->n_values; i++)
    {
      if (!isfinite (self->values[i]))
        {
          ++*n_bad;
          continue;
        }
      *least = MIN (*least, self->values[i]);
      *most = MAX (*most, self->values[i]);
    }
  return *least <= *most;
}

static void
append_number (GString *text, double value)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append (text, g_ascii_formatd (number, sizeof number, "%.9g", value));
}

/* A header of the columns' labels, after one field for each dimension before them. */
static void
append_header (const PinValue *self, GString *text, gboolean named)
{
  const gsize columns = pin_value_columns (self);

  if (pin_value_column_label (self, 0) == NULL)
    return;
  for (gsize d = 2; d < self->rank; d++)
    g_string_append_c (text, ',');
  for (gsize c = 0; c < columns; c++)
    {
      g_string_append (text, c > 0 || named || self->rank > 2 ? "," : "");
      loom_text_append_csv (text, self->column_labels[c]);
    }
  g_string_append_c (text, '\n');
}

char *
pin_value_to_csv (const PinValue *self)
{
  GString *text = g_string_new (NULL);
  const gsize columns = pin_value_columns (self), rows = pin_value_rows (self);
  const gboolean named = pin_value_row_label (self, 0) != NULL;

  append_header (self, text, named);
  for (gsize line = 0; line * columns < self->n_values; line++)
    {
      gsize tile = line / rows, size = pin_value_tiles (self);

      for (gsize d = 0; d + 2 < self->rank; d++)
        {
          size /= (gsize)self->dims[d];
          g_string_append_printf (text, "%zu,", tile / size % (gsize)self->dims[d]);
        }
      if (named)
        loom_text_append_csv (text, self->row_labels[line % rows]);
      else if (self->rank > 2)
        g_string_append_printf (text, "%zu", line % rows);
      for (gsize c = 0; c < columns; c++)
        {
          g_string_append (text, c > 0 || named || self->rank > 2 ? "," : "");
          append_number (text, self->values[line * columns + c]);
        }
      g_string_append_c (text, '\n');
    }
  return g_string_free (text, FALSE);
}

/* ---- history ---------------------------------------------------------- */

PinHistory *
pin_history_new (void)
{
  PinHistory *self = g_new0 (PinHistory, 1);

  self->step = g_array_new (FALSE, FALSE, sizeof (gint64));
  self->value = g_array_new (FALSE, FALSE, sizeof (float));
  return self;
}

void
pin_history_free (PinHistory *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->step);
  g_array_unref (self->value);
  g_free (self);
}

void
pin_history_clear (PinHistory *self)
{
  g_array_set_size (self->step, 0);
  g_array_set_size (self->value, 0);
}

/* Drops every second step, so that memory is bounded and the whole run stays visible. */
static void
thin (PinHistory *self)
{
  const gsize n = self->step->len / 2;

  for (gsize i = 0; i < n; i++)
    {
      g_array_index (self->step, gint64, i) = g_array_index (self->step, gint64, 2 * i);
      memmove (&g_array_index (self->value, float, i * self->width),
               &g_array_index (self->value, float, 2 * i * self->width), self->width * sizeof (float));
    }
  g_array_set_size (self->step, (guint)n);
  g_array_set_size (self->value, (guint)(n * self->width));
}

void
pin_history_add (PinHistory *self, const PinValue *value)
{
  const guint n = self->step->len;

  if (value->n_values != self->width || (n > 0 && g_array_index (self->step, gint64, n - 1) > value->step))
    pin_history_clear (self);
  self->width = value->n_values;
  if (self->step->len > 0 && g_array_index (self->step, gint64, self->step->len - 1) == value->step)
    {
      g_array_set_size (self->step, self->step->len - 1);
      g_array_set_size (self->value, (guint)(self->step->len * self->width));
    }
  if (self->step->len == PIN_HISTORY)
    thin (self);
  g_array_append_val (self->step, value->step);
  g_array_append_vals (self->value, value->values, (guint)self->width);
}

const float *
pin_history_get (const PinHistory *self, gsize i)
{
  return &g_array_index (self->value, float, i * self->width);
}

gint64
pin_history_step (const PinHistory *self, gsize i)
{
  return g_array_index (self->step, gint64, i);
}

char *
pin_history_to_csv (const PinHistory *self, const char *const *names)
{
  GString *text = g_string_new ("step");
  const gsize n_names = names != NULL ? g_strv_length ((char **)names) : 0;

  for (gsize k = 0; k < self->width; k++)
    if (k < n_names)
      g_string_append_printf (text, ",%s", names[k]);
    else
      g_string_append_printf (text, ",bin %zu", k - n_names + 1);
  g_string_append_c (text, '\n');
  for (gsize i = 0; i < self->step->len; i++)
    {
      g_string_append_printf (text, "%" G_GINT64_FORMAT, pin_history_step (self, i));
      for (gsize k = 0; k < self->width; k++)
        {
          g_string_append_c (text, ',');
          append_number (text, pin_history_get (self, i)[k]);
        }
      g_string_append_c (text, '\n');
    }
  return g_string_free (text, FALSE);
}
