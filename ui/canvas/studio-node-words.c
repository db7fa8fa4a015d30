#include "ui/canvas/studio-node-words.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/scene/studio-health.h"
#include "ui/scene/studio-partitions.h"

/* More names than this are no help to a listener. */
#define MAX_NAMES 12

static guint
next_link (const StudioScene *scene, guint link, gboolean outgoing)
{
  return outgoing ? scene->link[link].next_out : scene->link[link].next_in;
}

static void
add_neighbours (GString *s, const StudioScene *scene, guint item, gboolean outgoing)
{
  g_autoptr (GString) names = g_string_new (NULL);
  guint n = 0, all = 0;

  for (guint p = 0; p < (outgoing ? scene->item[item].n_outputs : scene->item[item].n_inputs); p++)
    {
      const StudioPort *port = outgoing ? &scene->item[item].output[p] : &scene->item[item].input[p];

      all += port->n_links;
      for (guint i = port->link; i != STUDIO_NO_ITEM && n < MAX_NAMES; i = next_link (scene, i, outgoing))
        g_string_append_printf (names, "%s%s", n++ == 0 ? "" : ", ",
                                scene->item[outgoing ? scene->link[i].to : scene->link[i].from].id);
    }
  if (n == 0)
    return;
  g_string_append (s, "; ");
  if (all > n)
    g_string_append_printf (s,
                            outgoing ? ngettext ("to %s and %u more", "to %s and %u more", all - n)
                                     : ngettext ("from %s and %u more", "from %s and %u more", all - n),
                            names->str, all - n);
  else
    g_string_append_printf (s, outgoing ? _ ("to %s") : _ ("from %s"), names->str);
}

/* Appends "; muted". */
G_GNUC_PRINTF (2, 3)
static void
add_words (GString *s, const char *format, ...)
{
  va_list words;

  g_string_append (s, "; ");
  va_start (words, format);
  g_string_append_vprintf (s, format, words);
  va_end (words);
}

char *
studio_node_words (const StudioScene *scene, guint at, const char *mark)
{
  const StudioItem *item = &scene->item[at];
  GString *description = g_string_new (NULL);
  g_autofree char *stage = studio_item_stage_text (item), *split = studio_item_split_text (item),
                  *health = studio_health_words (&item->health);
  StudioTone tone = studio_item_tone (item);

  for (guint p = 0; p < item->n_outputs; p++)
    if (item->output[p].typed)
      {
        g_autofree char *shape = loom_shape_to_string (&item->output[p].type.shape);

        g_string_append_printf (description, "%s%s", description->len > 0 ? ", " : "", shape);
      }
  if (description->len == 0)
    g_string_append (description, _ ("shape not known"));
  /* Words are translated only if they are said: thousands of cards may lose their types at once. */
  if (mark != NULL)
    add_words (description, "%s", mark);
  if (item->badge != NULL)
    add_words (description, item->is_device_missing ? _ ("on %s, which is not on this machine") : _ ("on %s"),
               item->badge);
  if (stage != NULL)
    add_words (description, "%s", stage);
  if (split != NULL)
    add_words (description, "%s", split);
  if (item->muted)
    add_words (description, "%s", _ ("muted"));
  if (item->is_frame)
    add_words (description, "%s", item->summary);
  if (item->folded || item->is_frame)
    add_words (description, "%s", _ ("collapsed"));
  if (item->frozen)
    add_words (description, "%s", _ ("frozen"));
  if (health != NULL)
    add_words (description, "%s", health);
  if (item->fault != NULL)
    add_words (description,
               tone == STUDIO_TONE_ERROR  ? _ ("fault: %s")
               : tone == STUDIO_TONE_TODO ? _ ("to do: %s")
                                          : _ ("warning: %s"),
               item->fault);
  if (item->waits_for != NULL)
    add_words (description, _ ("waits for %s"), item->waits_for);
  add_neighbours (description, scene, at, FALSE);
  add_neighbours (description, scene, at, TRUE);
  return g_string_free (description, FALSE);
}

/* ---- digest ---------------------------------------------------------------- */

static guint
mix (guint hash, const char *text)
{
  return hash * 31 + (text != NULL ? g_str_hash (text) : 7);
}

static guint
shape_digest (const LoomShape *shape)
{
  guint h = (guint)shape->rank + 1; /* no shape: 0 */

  for (int d = 0; d < shape->rank; d++)
    {
      h = h * 31 + (guint)shape->dim[d].coef;
      for (int s = 0; s < LOOM_DIM_MAX_SYMBOLS; s++)
        h = h * 31 + (guint)shape->dim[d].symbol[s];
    }
  return h;
}

guint
studio_node_names_digest (const StudioItem *item)
{
  guint h = mix (17, item->id);

  h = item->op != NULL && !item->is_module ? h * 31 + g_direct_hash (item->op) : mix (h, item->kind);
  return strcmp (item->title, item->id) == 0 ? h : mix (h, item->title);
}

guint
studio_node_words_digest (const StudioScene *scene, guint at, const char *mark)
{
  const StudioItem *item = &scene->item[at];
  guint h = mix (studio_node_names_digest (item), mark);

  h = mix (mix (h, item->badge), item->split) * 31 + (guint)item->is_device_missing;
  h = (h * 31 + (guint)item->in_stage) * 31 + (guint)(item->in_stage ? item->first_stage * 64 + item->last_stage : 0);
  h = ((h * 2 + (guint)item->muted) * 2 + (guint)item->folded) * 2 + (guint)item->frozen;
  h = mix (h * 2 + (guint)item->is_frame, item->is_frame ? item->summary : NULL);
  /* Not the norms, which change with every report. */
  h = (h * 31 + (guint)item->health.is_known * 64 + (guint)item->health.verdict) * 31 + (guint)item->health.dead;
  h = mix (mix (h, item->fault), item->waits_for) * 4 + (guint)studio_item_tone (item);
  for (guint p = 0; p < item->n_inputs; p++)
    for (guint i = item->input[p].link; i != STUDIO_NO_ITEM; i = scene->link[i].next_in)
      h = mix (h, scene->item[scene->link[i].from].id);
  for (guint p = 0; p < item->n_outputs; p++)
    {
      h = h * 31 + (item->output[p].typed ? shape_digest (&item->output[p].type.shape) : 0);
      for (guint i = item->output[p].link; i != STUDIO_NO_ITEM; i = scene->link[i].next_out)
        h = mix (h, scene->item[scene->link[i].to].id) * 31 + (guint)scene->item[scene->link[i].to].serial;
    }
  return h;
}
