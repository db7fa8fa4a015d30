/* Differences between runs, from engine/diff. */
#include "engine/runs/loom-run-table.h"

#include "engine/core/loom-text.h"

#include <math.h>
#include <string.h>

#define GRAPH_COLUMN "graph"

/* ---- one attribute -------------------------------------------------------------------- */

/* TRUE if both graphs have the element, so that each attribute has a value in both. */
static gboolean
is_of_both (const LoomDifference *d)
{
  return (d->kind == LOOM_DIFFERENCE_CHANGED || d->kind == LOOM_DIFFERENCE_RENAMED) && d->old_name == NULL
         && strcmp (d->what, "wire") != 0;
}

/* "lr", "schedule.type", "fc.out_features", "block.fc.bias". (transfer full) */
static char *
column_name (const LoomDifference *d, const char *attribute)
{
  g_autoptr (GString) s = g_string_new (NULL);
  const gboolean is_node = strcmp (d->what, "node") == 0;

  if (d->scope != NULL)
    g_string_append_printf (s, "%s.", d->scope);
  if (!is_node && strcmp (d->what, "train") != 0)
    g_string_append_printf (s, "%s.", d->what);
  if (d->name != NULL && strcmp (d->what, "train") != 0)
    g_string_append_printf (s, "%s.", d->name);
  g_string_append (s, attribute);
  return g_string_free (g_steal_pointer (&s), FALSE);
}

/* The value with as many digits as its number needs: a graph's 0.10000000000000001 is 0.1. Other texts, and NULL, are
 * unchanged. (transfer full) */
static char *
shown_value (const char *value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE], *end;
  double number;

  if (value == NULL || strlen (value) < 17)
    return g_strdup (value);
  number = g_ascii_strtod (value, &end);
  if (end == value || *end != '\0' || !isfinite (number))
    return g_strdup (value);
  return g_strdup (loom_text_decimal (number, text));
}

static void
append_value (GString *s, const char *value, LoomPrintable printable)
{
  g_autofree char *plain = shown_value (value);
  g_autofree char *text = plain != NULL && printable != NULL ? printable (plain) : NULL;

  g_string_append (s, text != NULL ? text : plain != NULL ? plain : "(none)");
}

/* Adds the changes of a difference as texts. */
static void
add_changes (GPtrArray *to, const LoomDifference *d, LoomPrintable printable)
{
  if (!is_of_both (d))
    {
      g_autofree char *words = loom_difference_to_string (d, printable);

      g_ptr_array_add (to, g_strdup_printf ("%s %s", loom_difference_sign (d->kind), words));
      return;
    }
  for (guint i = 0; i < d->changes->len; i++)
    {
      const LoomAttributeChange *change = d->changes->pdata[i];
      g_autofree char *name = column_name (d, change->attribute), *shown = printable != NULL ? printable (name) : NULL;
      GString *s = g_string_new (shown != NULL ? shown : name);

      g_string_append_c (s, ' ');
      append_value (s, change->before, printable);
      g_string_append (s, " → ");
      append_value (s, change->after, printable);
      g_ptr_array_add (to, g_string_free (s, FALSE));
    }
}

char *
loom_run_change (const LoomRunSummary *before, const LoomRunSummary *run, guint most, LoomPrintable printable)
{
  g_autoptr (GPtrArray) list = loom_graph_diff (before->graph, run->graph, FALSE);
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) s = g_string_new (NULL);

  for (guint i = 0; i < list->len; i++)
    add_changes (texts, list->pdata[i], printable);
  for (guint i = 0; i < MIN (texts->len, most); i++)
    g_string_append_printf (s, "%s%s", i > 0 ? ", " : "", (const char *)texts->pdata[i]);
  if (texts->len > most)
    g_string_append_printf (s, " and %u more", texts->len - most);
  return g_string_free (g_steal_pointer (&s), FALSE);
}

const LoomRunSummary *
loom_run_before (const GPtrArray *runs, guint i)
{
  const LoomRunSummary *run = runs->pdata[i];

  for (guint k = i; run->graph != NULL && k > 0; k--)
    {
      const LoomRunSummary *before = runs->pdata[k - 1];

      if (before->graph != NULL && strcmp (before->title, run->title) == 0)
        return before;
    }
  return NULL;
}

/* ---- table --------------------------------------------------------------------------------- */

static guint
get_column (LoomRunTable *self, const char *name, const char *base, const GPtrArray *runs)
{
  guint column;

  if (g_ptr_array_find_with_equal_func (self->columns, name, g_str_equal, &column))
    return column;
  g_ptr_array_add (self->columns, g_strdup (name));
  for (guint i = 0; i < self->rows->len; i++)
    {
      const LoomRunSummary *run = runs->pdata[i];

      g_ptr_array_add (self->rows->pdata[i], run->graph != NULL ? shown_value (base) : NULL);
    }
  return self->columns->len - 1;
}

static void
set_cell (LoomRunTable *self, guint row, guint column, const char *text)
{
  GPtrArray *cells = self->rows->pdata[row];

  g_free (cells->pdata[column]);
  cells->pdata[column] = shown_value (text);
}

static void
add_words (LoomRunTable *self, guint row, const LoomDifference *d, const GPtrArray *runs)
{
  const guint column = get_column (self, GRAPH_COLUMN, NULL, runs);
  const char *have = loom_run_table_get (self, row, column);
  g_autofree char *words = loom_difference_to_string (d, NULL);
  g_autofree char *text = g_strdup_printf ("%s%s%s %s", have != NULL ? have : "", have != NULL ? "; " : "",
                                           loom_difference_sign (d->kind), words);

  set_cell (self, row, column, text);
}

LoomRunTable *
loom_run_table_new (const GPtrArray *runs)
{
  LoomRunTable *self = g_new0 (LoomRunTable, 1);
  const LoomRunSummary *base = NULL;

  self->columns = g_ptr_array_new_with_free_func (g_free);
  self->rows = g_ptr_array_new_with_free_func ((GDestroyNotify)g_ptr_array_unref);
  for (guint i = 0; i < runs->len; i++)
    g_ptr_array_add (self->rows, g_ptr_array_new_with_free_func (g_free));
  for (guint i = 0; i < runs->len; i++)
    {
      const LoomRunSummary *run = runs->pdata[i];

      if (run->graph == NULL)
        continue;
      if (base == NULL)
        {
          base = run;
          continue;
        }
      g_autoptr (GPtrArray) list = loom_graph_diff (base->graph, run->graph, FALSE);
      for (guint k = 0; k < list->len; k++)
        {
          const LoomDifference *d = list->pdata[k];

          if (!is_of_both (d))
            add_words (self, i, d, runs);
          for (guint c = 0; is_of_both (d) && c < d->changes->len; c++)
            {
              const LoomAttributeChange *change = d->changes->pdata[c];
              g_autofree char *name = column_name (d, change->attribute);

              set_cell (self, i, get_column (self, name, change->before, runs), change->after);
            }
        }
    }
  return self;
}

void
loom_run_table_free (LoomRunTable *self)
{
  g_ptr_array_unref (self->columns);
  g_ptr_array_unref (self->rows);
  g_free (self);
}

const char *
loom_run_table_get (const LoomRunTable *self, guint run, guint column)
{
  const GPtrArray *cells = self->rows->pdata[run];

  return cells->pdata[column];
}

/* ---- front --------------------------------------------------------------------------------- */

void
loom_run_front (guint n, const double *x, const double *y, gboolean *is_front)
{
  for (guint i = 0; i < n; i++)
    {
      is_front[i] = !isnan (x[i]) && !isnan (y[i]);
      for (guint k = 0; k < n && is_front[i]; k++)
        is_front[i] = !(x[k] <= x[i] && y[k] <= y[i] && (x[k] < x[i] || y[k] < y[i]));
    }
}
