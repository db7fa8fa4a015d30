#include "ui/canvas/canvas-tooltip.h"

#include <glib/gi18n.h>

#include "ui/document/studio-quick-fix.h"
#include "ui/drawing/studio-formula.h"
#include "ui/scene/studio-health.h"
#include "ui/scene/studio-measure.h"
#include "ui/scene/studio-partitions.h"

#define PAUSE (1500 * G_TIME_SPAN_MILLISECOND)

struct _CanvasTooltip
{
  StudioDocument *document;
  CanvasTooltipRequest request;
  gpointer data;
  char *numbers, *path; /* of the card with this path; NULL: none */
  gint64 paused_until;
};

CanvasTooltip *
canvas_tooltip_new (StudioDocument *document, CanvasTooltipRequest request, gpointer data)
{
  CanvasTooltip *self = g_new0 (CanvasTooltip, 1);

  self->document = document;
  self->request = request;
  self->data = data;
  return self;
}

void
canvas_tooltip_free (CanvasTooltip *self)
{
  g_free (self->numbers);
  g_free (self->path);
  g_free (self);
}

gboolean
canvas_tooltip_set_numbers (CanvasTooltip *self, const char *path, const char *text)
{
  if (g_strcmp0 (self->numbers, text) == 0 && g_strcmp0 (self->path, path) == 0)
    return FALSE;
  g_free (self->numbers);
  g_free (self->path);
  self->numbers = g_strdup (text);
  self->path = text != NULL ? g_strdup (path) : NULL;
  return TRUE;
}

void
canvas_tooltip_pause (CanvasTooltip *self)
{
  self->paused_until = g_get_monotonic_time () + PAUSE;
}

gboolean
canvas_tooltip_is_paused (const CanvasTooltip *self)
{
  return g_get_monotonic_time () < self->paused_until;
}

/* ---- lines ----------------------------------------------------------------- */

static void
add_line (GString *markup, const char *text)
{
  g_autofree char *escaped = g_markup_escape_text (text, -1);

  g_string_append_printf (markup, "%s%s", markup->len > 0 ? "\n" : "", escaped);
}

static void
add_title (GString *markup, const char *text)
{
  g_autofree char *escaped = g_markup_escape_text (text, -1);

  g_string_append_printf (markup, "<b>%s</b>", escaped);
}

static void
add_type (GString *markup, gboolean typed, const LoomType *type)
{
  g_autofree char *shape = typed ? loom_shape_to_string (&type->shape) : NULL;
  g_autofree char *line = typed ? g_strdup_printf ("%s  %s", shape, loom_dtype_name (type->dtype)) : NULL;

  add_line (markup, typed ? line : _ ("shape not known yet"));
}

/* "Parameters 1.2 k (4 %)": a line for each cost that is not zero. */
static void
add_costs (GString *markup, const StudioScene *scene, const StudioItem *item)
{
  for (StudioMeasure m = STUDIO_MEASURE_NONE + 1; m < STUDIO_N_MEASURES; m++)
    {
      double value = studio_measure_of (item, m);
      g_autofree char *number = studio_measure_text (m, value);
      g_autofree char *line = g_strdup_printf ("%s %s (%.0f %%)", studio_measure_title (m), number,
                                               100 * studio_measure_share (scene, item, m));

      if (value > 0)
        add_line (markup, line);
    }
}

static void
add_health (GString *markup, const StudioItem *item)
{
  g_autofree char *words = studio_health_words (&item->health);

  if (words != NULL)
    add_line (markup, words);
}

static void
add_device (GString *markup, const StudioItem *item)
{
  g_autofree char *line = NULL;

  if (item->badge == NULL)
    return;
  line = g_strdup_printf (item->is_device_missing ? _ (
                              "Runs on %s, which this machine does not have. Train the graph on a machine that has it.")
                                                  : _ ("Runs on %s."),
                          item->badge);
  add_line (markup, line);
}

/* Its stage and shard in a divided graph. */
static void
add_part (GString *markup, const StudioItem *item)
{
  g_autofree char *stage = studio_item_stage_text (item), *split = studio_item_split_text (item);

  if (stage != NULL)
    add_line (markup, stage);
  if (split != NULL)
    add_line (markup, split);
}

/* Adds the run's numbers of the card, in figures of one width. */
static void
add_numbers (GString *markup, CanvasTooltip *self, const StudioItem *item)
{
  g_autofree char *escaped = NULL;

  self->request (item->path, self->data);
  if (self->numbers == NULL || g_strcmp0 (self->path, item->path) != 0)
    return;
  escaped = studio_formula_markup (self->numbers);
  g_string_append_printf (markup, "\n<span font_features=\"tnum=1\">%s</span>", escaped);
}

static void
describe_card (GString *markup, CanvasTooltip *self, const StudioScene *scene, const StudioItem *item, double zoom)
{
  const char *formula = item->op != NULL ? item->op->formula : NULL;

  add_title (markup, studio_item_title (item));
  if (studio_geometry_detail (zoom) != STUDIO_DETAIL_ALL)
    add_line (markup, item->title);
  if (item->summary[0] != '\0')
    add_line (markup, item->summary);
  if (formula != NULL)
    {
      g_autofree char *shown = studio_formula_markup (formula);

      g_string_append_printf (markup, "\n<span size=\"larger\">%s</span>", shown);
    }
  add_numbers (markup, self, item);
  for (guint p = 0; p < item->n_outputs; p++)
    if (item->output[p].typed)
      add_type (markup, TRUE, &item->output[p].type);
  add_costs (markup, scene, item);
  add_health (markup, item);
  add_device (markup, item);
  add_part (markup, item);
  if (item->waits_for != NULL)
    {
      g_autofree char *waits = g_strdup_printf (_ ("Has no shape until “%s” is fixed."), item->waits_for);

      add_line (markup, waits);
    }
  /* The bubble finds no space, or is too small to be read. */
  if (item->fault != NULL
      && (item->fault_place == STUDIO_FAULT_AS_SIGN || studio_geometry_detail (zoom) != STUDIO_DETAIL_ALL))
    add_line (markup, item->fault);
}

static void
describe_port (GString *markup, const StudioItem *item, const StudioPort *port)
{
  g_autofree char *name = g_strdup_printf ("%s.%s", item->id, port->name);

  add_title (markup, name);
  add_type (markup, port->typed, &port->type);
  if (port->doc != NULL)
    add_line (markup, port->doc);
}

static void
describe_link (GString *markup, const StudioScene *scene, const StudioLink *link)
{
  g_autofree char *ends = g_strdup_printf ("%s → %s", scene->item[link->from].id, scene->item[link->to].id);

  add_title (markup, ends);
  add_type (markup, link->typed, &link->type);
  if (link->copy_doc != NULL)
    add_line (markup, link->copy_doc);
}

/* Describes what the button below a card would do. */
static void
describe_fix (GString *markup, StudioDocument *document, guint64 serial)
{
  LoomFix *fix = studio_document_first_fix (document, serial);

  if (fix != NULL)
    add_title (markup, fix->label);
  if (fix != NULL && fix->preview != NULL)
    add_line (markup, fix->preview);
  g_clear_pointer (&fix, loom_fix_free);
}

char *
canvas_tooltip_dup_markup (CanvasTooltip *self, const StudioScene *scene, const StudioHit *hit, double zoom)
{
  g_autoptr (GString) markup = g_string_new (NULL);

  if (hit->kind == STUDIO_HIT_INPUT || hit->kind == STUDIO_HIT_OUTPUT)
    describe_port (markup, &scene->item[hit->item],
                   hit->kind == STUDIO_HIT_INPUT ? &scene->item[hit->item].input[hit->port]
                                                 : &scene->item[hit->item].output[hit->port]);
  else if (hit->kind == STUDIO_HIT_FIX)
    describe_fix (markup, self->document, scene->item[hit->item].serial);
  else if (hit->kind == STUDIO_HIT_CARD)
    describe_card (markup, self, scene, &scene->item[hit->item], zoom);
  else if (hit->kind == STUDIO_HIT_LINK)
    describe_link (markup, scene, &scene->link[hit->item]);
  return markup->len > 0 ? g_strdup (markup->str) : NULL;
}
