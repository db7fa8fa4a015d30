/* Adds up what requests of observers take; see the header. */
#include "engine/train/view-costs.h"

#include "engine/core/loom-json.h"

#define MOST 256

typedef struct
{
  char *view;
  gint64 requests, microseconds; /* requests: -1 before the first */
} ViewCost;

static void
cost_free (gpointer data)
{
  g_free (((ViewCost *)data)->view);
  g_free (data);
}

void
view_costs_clear (ViewCosts *self)
{
  g_clear_pointer (&self->all, g_ptr_array_unref);
}

static ViewCost *
find (ViewCosts *self, const char *view)
{
  ViewCost *cost;

  if (self->all == NULL)
    self->all = g_ptr_array_new_with_free_func (cost_free);
  for (guint i = 0; i < self->all->len; i++)
    if (g_str_equal (((ViewCost *)self->all->pdata[i])->view, view))
      return self->all->pdata[i];
  if (self->all->len == MOST)
    return NULL;
  cost = g_new0 (ViewCost, 1);
  cost->view = g_strdup (view);
  cost->requests = -1;
  g_ptr_array_add (self->all, cost);
  return cost;
}

void
view_costs_add (ViewCosts *self, const char *view, gint64 microseconds)
{
  ViewCost *cost = find (self, view);

  if (cost == NULL)
    return;
  cost->requests++;
  if (cost->requests > 0)
    cost->microseconds += microseconds;
}

static int
compare (gconstpointer a, gconstpointer b)
{
  const ViewCost *x = *(ViewCost *const *)a, *y = *(ViewCost *const *)b;

  return x->microseconds > y->microseconds ? -1 : x->microseconds < y->microseconds;
}

char *
view_costs_text (const ViewCosts *self)
{
  GString *text = g_string_new (NULL);

  if (self->all != NULL)
    g_ptr_array_sort (self->all, compare);
  for (guint i = 0; self->all != NULL && i < self->all->len; i++)
    {
      const ViewCost *cost = self->all->pdata[i];

      if (cost->requests < 1)
        continue;
      LoomJson *json = loom_json_new ();
      loom_json_begin_object (json, NULL);
      loom_json_string (json, "view", cost->view);
      loom_json_int (json, "requests", cost->requests);
      loom_json_exact (json, "seconds", (double)cost->microseconds / G_USEC_PER_SEC);
      loom_json_end_object (json);
      g_autofree char *line = loom_json_take (json);
      g_string_append_printf (text, "%s\n", line);
    }
  return g_string_free (text, FALSE);
}
