/* Implements studio-key-card.h. */
#include "ui/page/studio-key-card.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-template.h"
#include "ui/charts/studio-text-scale.h"

#define CROWDED_PIXELS 500

struct _StudioKeyCard
{
  AdwBin parent_instance;
  GtkWidget *keys;
  char *progress;
};

G_DEFINE_FINAL_TYPE (StudioKeyCard, studio_key_card, ADW_TYPE_BIN)

enum
{
  PROP_PROGRESS = 1,
  N_PROPERTIES
};
static GParamSpec *properties[N_PROPERTIES];

/* "<b>S</b> spotlight": a key and its present effect. */
static void
append_key (GString *text, const char *key, const char *does)
{
  g_string_append_printf (text, "%s<b>%s</b> %s", text->len > 0 ? "   " : "", key, does);
}

static void
append_pen_keys (GString *text)
{
  append_key (text, "1 – 4", _ ("colours"));
  append_key (text, "E", _ ("eraser"));
  append_key (text, "C", _ ("clear"));
  append_key (text, "Esc", _ ("put the pen away"));
}

static void
append_keys (GString *text, StudioRunState state, gboolean has_views)
{
  gboolean running = state == STUDIO_RUN_RUNNING || state == STUDIO_RUN_STARTING;
  if (has_views)
    append_key (text, "Page Down", _ ("next view"));
  append_key (text, "→", _ ("next"));
  append_key (text, "Space", running ? _ ("pause") : _ ("step"));
  append_key (text, "Ctrl Enter", running ? _ ("pause") : C_ ("verb", "train"));
  append_key (text, "L", _ ("learning rate"));
  append_key (text, "S", _ ("spotlight"));
  append_key (text, "P", _ ("pen"));
  append_key (text, "Esc", _ ("leave"));
}

void
studio_key_card_show_keys (StudioKeyCard *self, StudioRunState state, gboolean has_views)
{
  g_autoptr (GString) text = g_string_new (NULL);
  append_keys (text, state, has_views);
  gtk_label_set_markup (GTK_LABEL (self->keys), text->str);
}

void
studio_key_card_show_pen_keys (StudioKeyCard *self)
{
  g_autoptr (GString) text = g_string_new (NULL);
  append_pen_keys (text);
  gtk_label_set_markup (GTK_LABEL (self->keys), text->str);
}

/* By the height of the window: a page that was just added as a tab has none yet. */
static gboolean
is_crowded (StudioKeyCard *self)
{
  GtkWidget *window = GTK_WIDGET (gtk_widget_get_root (GTK_WIDGET (self)));
  return window != NULL && gtk_widget_get_height (window) < CROWDED_PIXELS * studio_text_scale (window);
}

void
studio_key_card_set_presenting (StudioKeyCard *self, gboolean presenting)
{
  gtk_widget_set_visible (GTK_WIDGET (self), presenting && !is_crowded (self));
}

static void
key_card_get_property (GObject *object, guint property, GValue *value, GParamSpec *spec)
{
  g_value_set_string (value, STUDIO_KEY_CARD (object)->progress);
}

static void
key_card_set_property (GObject *object, guint property, const GValue *value, GParamSpec *spec)
{
  StudioKeyCard *self = STUDIO_KEY_CARD (object);
  g_free (self->progress);
  self->progress = g_value_dup_string (value);
}

static void
key_card_finalize (GObject *object)
{
  g_free (STUDIO_KEY_CARD (object)->progress);
  G_OBJECT_CLASS (studio_key_card_parent_class)->finalize (object);
}

static void
studio_key_card_class_init (StudioKeyCardClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  object_class->get_property = key_card_get_property;
  object_class->set_property = key_card_set_property;
  object_class->finalize = key_card_finalize;
  properties[PROP_PROGRESS]
      = g_param_spec_string ("progress", NULL, NULL, NULL, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);
  STUDIO_TEMPLATE (klass, "studio-key-card.ui");
  STUDIO_TEMPLATE_CHILDREN (klass, StudioKeyCard, keys);
}

static void
studio_key_card_init (StudioKeyCard *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}
