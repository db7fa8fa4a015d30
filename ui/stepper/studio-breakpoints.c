/* Breakpoints in <view> as <chart kind="breakpoint" node="fc" when="gradient_above" value="10"/>: versions that know
 * none read a chart with any attributes, and ignore it. */
#include "ui/stepper/studio-breakpoints.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/studio-choice-name.h"
#include "ui/charts/studio-type.h"
#include "ui/scene/studio-format.h"

#define KIND "breakpoint"

struct _StudioBreakpoints
{
  GObject parent_instance;
  StudioDocument *document;
  StudioRun *run;
  GArray *list;            /* StudioBreakpoint */
  LoomBusWorker1 *sent_to; /* only compared */
};

G_DEFINE_FINAL_TYPE (StudioBreakpoints, studio_breakpoints, G_TYPE_OBJECT)

enum
{
  CHANGED,
  HIT,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

/* In the order of the dialog. */
static const struct
{
  const char *when, *title, *words;
  double limit; /* proposed; NaN: the condition has no number */
} conditions[] = {
  { "not_finite", N_ ("A value or gradient is NaN or infinite"),
    N_ ("stops training if a value or gradient is NaN or infinite"), NAN },
  { "gradient_above", N_ ("The norm of the gradient is above"),
    N_ ("stops training if the norm of the gradient is above %s"), 10 },
  { "dead_above", N_ ("The share of dead units is above"), N_ ("stops training if the share of dead units is above %s"),
    0.5 },
  { "equals", N_ ("A value is equal to"), N_ ("stops training if a value is equal to %s"), 0 },
};

static void
breakpoint_clear (gpointer data)
{
  StudioBreakpoint *b = data;

  g_free (b->node);
  g_free (b->when);
}

/* ---- the document ----------------------------------------------------- */

static LoomElement *
find_view (StudioBreakpoints *self)
{
  return loom_element_find (loom_graph_root (studio_document_get_graph (self->document)), LOOM_TAG_VIEW);
}

static gboolean
is_breakpoint (const LoomElement *e)
{
  return loom_element_tag (e) == LOOM_TAG_CHART && g_strcmp0 (loom_element_get (e, "kind"), KIND) == 0
         && loom_element_get (e, "node") != NULL && loom_element_get (e, "when") != NULL;
}

static LoomElement *
find_element (StudioBreakpoints *self, const char *node)
{
  LoomElement *view = find_view (self);

  for (guint i = 0; view != NULL && i < loom_element_n_children (view); i++)
    {
      LoomElement *e = loom_element_child (view, i);

      if (is_breakpoint (e) && g_str_equal (loom_element_get (e, "node"), node))
        return e;
    }
  return NULL;
}

static void
send (StudioBreakpoints *self)
{
  LoomBusWorker1 *proxy = studio_run_get_proxy (self->run);
  GVariantBuilder b;

  self->sent_to = proxy;
  if (proxy == NULL)
    return;
  g_variant_builder_init (&b, G_VARIANT_TYPE ("a(ssd)"));
  for (guint i = 0; i < self->list->len; i++)
    {
      const StudioBreakpoint *at = studio_breakpoints_get (self, i);

      g_variant_builder_add (&b, "(ssd)", at->node, at->when, at->limit);
    }
  loom_bus_worker1_call_set_breakpoints (proxy, g_variant_builder_end (&b), NULL, NULL, NULL);
}

static gboolean
is_same_list (const GArray *a, const GArray *b)
{
  for (guint i = 0; a->len == b->len && i < a->len; i++)
    {
      const StudioBreakpoint *x = &g_array_index (a, StudioBreakpoint, i), *y = &g_array_index (b, StudioBreakpoint, i);

      if (!g_str_equal (x->node, y->node) || !g_str_equal (x->when, y->when) || x->limit != y->limit)
        return FALSE;
    }
  return a->len == b->len;
}

/* The worker refuses the whole list for a condition of a later version. */
static gboolean
is_known (const char *when)
{
  for (guint i = 0; i < G_N_ELEMENTS (conditions); i++)
    if (g_str_equal (conditions[i].when, when))
      return TRUE;
  return FALSE;
}

static GArray *
read_list (StudioBreakpoints *self)
{
  GArray *list = g_array_new (FALSE, FALSE, sizeof (StudioBreakpoint));
  LoomElement *view = find_view (self);

  g_array_set_clear_func (list, breakpoint_clear);
  for (guint i = 0; view != NULL && i < loom_element_n_children (view); i++)
    {
      const LoomElement *e = loom_element_child (view, i);

      if (is_breakpoint (e) && is_known (loom_element_get (e, "when")))
        {
          const char *value = loom_element_get (e, "value");
          const StudioBreakpoint b = { g_strdup (loom_element_get (e, "node")), g_strdup (loom_element_get (e, "when")),
                                       value != NULL ? g_ascii_strtod (value, NULL) : 0 };

          g_array_append_val (list, b);
        }
    }
  return list;
}

static void
changed_cb (StudioBreakpoints *self)
{
  g_autoptr (GArray) list = read_list (self);

  if (is_same_list (list, self->list))
    return;
  g_array_unref (self->list);
  self->list = g_steal_pointer (&list);
  send (self);
  g_signal_emit (self, signals[CHANGED], 0);
}

/* A worker that has none of its own needs no message. */
static void
state_cb (StudioBreakpoints *self)
{
  if (studio_run_get_proxy (self->run) != self->sent_to && self->list->len > 0)
    send (self);
}

static void
problem_cb (StudioRun *run, const char *code, const char *node, const char *port, const char *sentence,
            StudioBreakpoints *self)
{
  if (g_str_equal (code, "BREAKPOINT"))
    g_signal_emit (self, signals[HIT], 0, node, port, sentence);
}

/* ---- access ----------------------------------------------------------- */

guint
studio_breakpoints_n (StudioBreakpoints *self)
{
  return self->list->len;
}

const StudioBreakpoint *
studio_breakpoints_get (StudioBreakpoints *self, guint i)
{
  return &g_array_index (self->list, StudioBreakpoint, i);
}

char *
studio_breakpoint_words (const StudioBreakpoint *b)
{
  g_autofree char *number = studio_format_number (b->limit);

  for (guint i = 0; i < G_N_ELEMENTS (conditions); i++)
    if (g_str_equal (conditions[i].when, b->when))
      {
        G_GNUC_BEGIN_IGNORE_DEPRECATIONS
        return g_strdup_printf (_ (conditions[i].words), number);
        G_GNUC_END_IGNORE_DEPRECATIONS
      }
  return NULL;
}

static const StudioBreakpoint *
find (StudioBreakpoints *self, const char *node)
{
  for (guint i = 0; i < self->list->len; i++)
    if (g_str_equal (studio_breakpoints_get (self, i)->node, node))
      return studio_breakpoints_get (self, i);
  return NULL;
}

/* when NULL: removes it. */
static void
set (StudioBreakpoints *self, const char *node, const char *when, double limit)
{
  LoomElement *before = find_element (self, node), *e;
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  if (before == NULL && when == NULL)
    return;
  studio_document_begin (self->document, when != NULL ? _ ("Set a breakpoint") : _ ("Remove the breakpoint"));
  if (before != NULL)
    studio_document_edit (self->document, loom_edit_remove (before));
  if (when != NULL)
    {
      LoomElement *view = studio_document_ensure (self->document, LOOM_TAG_VIEW);

      e = loom_element_new (LOOM_TAG_CHART, "kind", KIND, "node", node, "when", when, NULL);
      if (!g_str_equal (when, conditions[0].when))
        loom_element_set_detached (e, "value", loom_text_decimal (limit, number));
      studio_document_edit (self->document, loom_edit_insert (view, loom_element_n_children (view), e));
    }
  studio_document_end (self->document);
}

/* ---- the dialog ------------------------------------------------------- */

typedef struct
{
  StudioBreakpoints *self;
  char *node;
  GtkWidget *drop, *entry;
  AdwMessageDialog *dialog;
} Asking;

static void
asking_free (gpointer data, GClosure *closure)
{
  Asking *asking = data;

  g_object_unref (asking->self);
  g_free (asking->node);
  g_free (asking);
}

static gboolean
read_limit (Asking *asking, double *limit)
{
  g_autofree char *text = g_strdelimit (g_strdup (gtk_editable_get_text (GTK_EDITABLE (asking->entry))), ",", '.');
  char *end;

  *limit = g_ascii_strtod (text, &end);
  return isnan (conditions[gtk_drop_down_get_selected (GTK_DROP_DOWN (asking->drop))].limit)
         || (*text != '\0' && *end == '\0' && isfinite (*limit));
}

static void
typed_cb (Asking *asking)
{
  double limit;

  adw_message_dialog_set_response_enabled (asking->dialog, "set", read_limit (asking, &limit));
}

static void
chosen_cb (Asking *asking)
{
  const double limit = conditions[gtk_drop_down_get_selected (GTK_DROP_DOWN (asking->drop))].limit;
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  gtk_widget_set_sensitive (asking->entry, !isnan (limit));
  if (!isnan (limit))
    gtk_editable_set_text (GTK_EDITABLE (asking->entry), loom_text_decimal (limit, number));
  typed_cb (asking);
}

static void
response_cb (AdwMessageDialog *dialog, const char *response, Asking *asking)
{
  double limit;

  if (g_str_equal (response, "remove"))
    set (asking->self, asking->node, NULL, 0);
  else if (g_str_equal (response, "set") && read_limit (asking, &limit))
    set (asking->self, asking->node, conditions[gtk_drop_down_get_selected (GTK_DROP_DOWN (asking->drop))].when, limit);
}

static GtkWidget *
new_fields (Asking *asking, const StudioBreakpoint *now)
{
  g_autoptr (GtkStringList) titles = gtk_string_list_new (NULL);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  guint selected = 0;

  for (guint i = 0; i < G_N_ELEMENTS (conditions); i++)
    {
      gtk_string_list_append (titles, _ (conditions[i].title));
      if (now != NULL && g_str_equal (now->when, conditions[i].when))
        selected = i;
    }
  asking->drop = gtk_drop_down_new (g_object_ref (G_LIST_MODEL (titles)), NULL);
  asking->entry = gtk_entry_new ();
  gtk_entry_set_activates_default (GTK_ENTRY (asking->entry), TRUE);
  studio_choice_set_name (GTK_DROP_DOWN (asking->drop), _ ("Condition"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (asking->entry), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Number"), -1);
  gtk_drop_down_set_selected (GTK_DROP_DOWN (asking->drop), selected);
  chosen_cb (asking);
  if (now != NULL && !isnan (conditions[selected].limit))
    gtk_editable_set_text (GTK_EDITABLE (asking->entry), loom_text_decimal (now->limit, number));
  gtk_box_append (GTK_BOX (box), asking->drop);
  gtk_box_append (GTK_BOX (box), asking->entry);
  return box;
}

void
studio_breakpoints_ask (StudioBreakpoints *self, const char *node, GtkWidget *over)
{
  const StudioBreakpoint *now = find (self, node);
  Asking *asking = g_new0 (Asking, 1);
  g_autofree char *heading = g_strdup_printf (_ ("Breakpoint at %s"), node);
  const gboolean is_module = loom_net_find (studio_document_get_net (self->document), node) < 0;
  GString *body
      = g_string_new (_ ("Training stops before the weights change. NaN and infinite values cost nothing; other "
                         "conditions compute each step a second time."));
  AdwMessageDialog *dialog;

  if (is_module)
    g_string_append_printf (body, "\n\n%s", _ ("Each layer in it is tested."));
  if (studio_run_get_ranks (self->run) > 1)
    g_string_append_printf (body, "\n\n%s", _ ("Each rank tests its own samples, and all stop together."));
  dialog = ADW_MESSAGE_DIALOG (adw_message_dialog_new (GTK_WINDOW (gtk_widget_get_root (over)), heading, body->str));
  g_string_free (body, TRUE);
  asking->self = g_object_ref (self);
  asking->node = g_strdup (node);
  asking->dialog = dialog;
  adw_message_dialog_add_response (dialog, "cancel", _ ("_Cancel"));
  if (now != NULL)
    adw_message_dialog_add_response (dialog, "remove", _ ("_Remove"));
  adw_message_dialog_add_response (dialog, "set", _ ("_Stop Here"));
  adw_message_dialog_set_response_appearance (dialog, "set", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (dialog, "set");
  adw_message_dialog_set_close_response (dialog, "cancel");
  adw_message_dialog_set_extra_child (dialog, new_fields (asking, now));
  g_signal_connect_swapped (asking->drop, "notify::selected", G_CALLBACK (chosen_cb), asking);
  g_signal_connect_swapped (asking->entry, "changed", G_CALLBACK (typed_cb), asking);
  g_signal_connect_data (dialog, "response", G_CALLBACK (response_cb), asking, asking_free, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

/* ---- object ----------------------------------------------------------- */

static void
breakpoints_dispose (GObject *object)
{
  StudioBreakpoints *self = STUDIO_BREAKPOINTS (object);

  g_clear_object (&self->run);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (studio_breakpoints_parent_class)->dispose (object);
}

static void
breakpoints_finalize (GObject *object)
{
  g_array_unref (STUDIO_BREAKPOINTS (object)->list);
  G_OBJECT_CLASS (studio_breakpoints_parent_class)->finalize (object);
}

static void
studio_breakpoints_class_init (StudioBreakpointsClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = breakpoints_dispose;
  G_OBJECT_CLASS (klass)->finalize = breakpoints_finalize;
  signals[CHANGED] = studio_signal_new ("changed", STUDIO_TYPE_BREAKPOINTS, 0);
  signals[HIT] = studio_signal_new ("hit", STUDIO_TYPE_BREAKPOINTS, 3, G_TYPE_STRING, G_TYPE_STRING, G_TYPE_STRING);
}

static void
studio_breakpoints_init (StudioBreakpoints *self)
{
  self->list = g_array_new (FALSE, FALSE, sizeof (StudioBreakpoint));
  g_array_set_clear_func (self->list, breakpoint_clear);
}

StudioBreakpoints *
studio_breakpoints_new (StudioDocument *document, StudioRun *run)
{
  StudioBreakpoints *self = g_object_new (STUDIO_TYPE_BREAKPOINTS, NULL);

  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  g_signal_connect_object (document, "changed", G_CALLBACK (changed_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "state-changed", G_CALLBACK (state_cb), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (run, "problem", G_CALLBACK (problem_cb), self, 0);
  changed_cb (self);
  return self;
}
