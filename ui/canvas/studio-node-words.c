#include "ui/canvas/studio-node-words.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/scene/studio-health.h"
#include "ui/scene/studio-partitions.h"

/* More names than this are no help to a listener. */
#define MAX_NAMES 12

/* ---- phrases --------------------------------------------------------------- */

typedef enum
{
  PHRASE_UNKNOWN,
  PHRASE_ON,
  PHRASE_ON_MISSING,
  PHRASE_MUTED,
  PHRASE_COLLAPSED,
  PHRASE_FROZEN,
  PHRASE_FAULT,
  PHRASE_TODO,
  PHRASE_WARNING,
  PHRASE_WAITS,
  PHRASE_FROM,
  PHRASE_TO,
  N_PHRASES
} Phrase;

/* A phrase in the language of the user. An edit may change the words of thousands of cards, and gettext searches its
 * tables at each call: each phrase is translated once, as the language does not change while Studio runs. */
typedef struct
{
  const char *text, *rest; /* rest: after its %s; "" */
  gssize n;                /* bytes before its %s */
} Translation;

static const Translation *
translated (Phrase phrase)
{
  static const char *const english[N_PHRASES] = {
    [PHRASE_UNKNOWN] = N_ ("shape not known"),
    [PHRASE_ON] = N_ ("on %s"),
    [PHRASE_ON_MISSING] = N_ ("on %s, which is not on this machine"),
    [PHRASE_MUTED] = N_ ("muted"),
    [PHRASE_COLLAPSED] = N_ ("collapsed"),
    [PHRASE_FROZEN] = N_ ("frozen"),
    [PHRASE_FAULT] = N_ ("fault: %s"),
    [PHRASE_TODO] = N_ ("to do: %s"),
    [PHRASE_WARNING] = N_ ("warning: %s"),
    [PHRASE_WAITS] = N_ ("waits for %s"),
    [PHRASE_FROM] = N_ ("from %s"),
    [PHRASE_TO] = N_ ("to %s"),
  };
  static Translation local[N_PHRASES];
  Translation *t = &local[phrase];

  if (t->text == NULL)
    {
      const char *text = _ (english[phrase]), *gap = strstr (text, "%s");

      *t = (Translation){ text, gap != NULL ? gap + 2 : "", gap != NULL ? gap - text : (gssize)strlen (text) };
    }
  return t;
}

/* Appends "; muted", or "; on cpu:1". */
static void
add_phrase (GString *s, Phrase phrase, const char *word)
{
  const Translation *t = translated (phrase);

  g_string_append (s, "; ");
  g_string_append_len (s, t->text, t->n);
  if (word != NULL)
    g_string_append (s, word);
  g_string_append (s, t->rest);
}

static void
add_words (GString *s, const char *words)
{
  g_string_append (s, "; ");
  g_string_append (s, words);
}

/* ---- neighbours ------------------------------------------------------------ */

static guint
next_link (const StudioScene *scene, guint link, gboolean outgoing)
{
  return outgoing ? scene->link[link].next_out : scene->link[link].next_in;
}

static void
add_names (GString *s, const StudioScene *scene, guint item, gboolean outgoing)
{
  guint n = 0;

  for (guint p = 0; p < (outgoing ? scene->item[item].n_outputs : scene->item[item].n_inputs); p++)
    {
      const StudioPort *port = outgoing ? &scene->item[item].output[p] : &scene->item[item].input[p];

      for (guint i = port->link; i != STUDIO_NO_ITEM && n < MAX_NAMES; i = next_link (scene, i, outgoing))
        {
          if (n++ > 0)
            g_string_append (s, ", ");
          g_string_append (s, scene->item[outgoing ? scene->link[i].to : scene->link[i].from].id);
        }
    }
}

static void
add_neighbours (GString *s, const StudioScene *scene, guint item, gboolean outgoing)
{
  guint n = 0;

  for (guint p = 0; p < (outgoing ? scene->item[item].n_outputs : scene->item[item].n_inputs); p++)
    n += (outgoing ? scene->item[item].output[p] : scene->item[item].input[p]).n_links;
  if (n > MAX_NAMES)
    {
      g_autoptr (GString) names = g_string_new (NULL);
      const guint more = n - MAX_NAMES;

      add_names (names, scene, item, outgoing);
      g_string_append (s, "; ");
      g_string_append_printf (s,
                              outgoing ? ngettext ("to %s and %u more", "to %s and %u more", more)
                                       : ngettext ("from %s and %u more", "from %s and %u more", more),
                              names->str, more);
    }
  else if (n > 0)
    {
      const Translation *t = translated (outgoing ? PHRASE_TO : PHRASE_FROM);

      g_string_append (s, "; ");
      g_string_append_len (s, t->text, t->n);
      add_names (s, scene, item, outgoing);
      g_string_append (s, t->rest);
    }
}

char *
studio_node_words (const StudioScene *scene, guint at, const char *mark)
{
  const StudioItem *item = &scene->item[at];
  GString *description = g_string_sized_new (128);
  g_autofree char *stage = studio_item_stage_text (item), *split = studio_item_split_text (item),
                  *health = studio_health_words (&item->health);
  StudioTone tone = studio_item_tone (item);

  for (guint p = 0; p < item->n_outputs; p++)
    if (item->output[p].typed)
      {
        g_autofree char *shape = loom_shape_to_string (&item->output[p].type.shape);

        if (description->len > 0)
          g_string_append (description, ", ");
        g_string_append (description, shape);
      }
  if (description->len == 0)
    g_string_append (description, translated (PHRASE_UNKNOWN)->text);
  if (mark != NULL)
    add_words (description, mark);
  if (item->badge != NULL)
    add_phrase (description, item->is_device_missing ? PHRASE_ON_MISSING : PHRASE_ON, item->badge);
  if (stage != NULL)
    add_words (description, stage);
  if (split != NULL)
    add_words (description, split);
  if (item->muted)
    add_phrase (description, PHRASE_MUTED, NULL);
  if (item->is_frame)
    add_words (description, item->summary);
  if (item->folded || item->is_frame)
    add_phrase (description, PHRASE_COLLAPSED, NULL);
  if (item->frozen)
    add_phrase (description, PHRASE_FROZEN, NULL);
  if (health != NULL)
    add_words (description, health);
  if (item->fault != NULL)
    add_phrase (description,
                tone == STUDIO_TONE_ERROR  ? PHRASE_FAULT
                : tone == STUDIO_TONE_TODO ? PHRASE_TODO
                                           : PHRASE_WARNING,
                item->fault);
  if (item->waits_for != NULL)
    add_phrase (description, PHRASE_WAITS, item->waits_for);
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

guint
studio_node_names_digest (const StudioItem *item)
{
  guint h = mix (17, item->id);

  h = item->op != NULL && !item->is_module ? h * 31 + g_direct_hash (item->op) : mix (h, item->kind);
  return strcmp (item->title, item->id) == 0 ? h : mix (h, item->title);
}
