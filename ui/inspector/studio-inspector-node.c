/* Builds the inspector's content for a node, a frame or a wire: groups of rows for parameters, outputs and costs. */
#include "ui/inspector/studio-inspector-private.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <string.h>

#include "ui/charts/studio-expander.h"
#include "ui/charts/studio-icon.h"
#include "ui/drawing/studio-formula.h"
#include "ui/inspector/studio-inspector-params.h"
/* ---- the parts ---------------------------------------------------------------- */

GtkWidget *
inspector_add_label (StudioInspector *self, const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  gtk_box_append (GTK_BOX (self->box), label);
  return label;
}

/* A name may have any length: the tooltip has the whole name. */
static GtkWidget *
new_title (const char *text)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_widget_set_tooltip_text (label, text);
  gtk_widget_add_css_class (label, "title-4");
  return label;
}

GtkWidget *
inspector_add_group (StudioInspector *self, const char *title)
{
  GtkWidget *group = adw_preferences_group_new ();

  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), title);
  gtk_box_append (GTK_BOX (self->box), group);
  return group;
}

static void
refresh_facts (StudioInspector *self, const StudioItem *item)
{
  g_autofree char *parameters = NULL, *flops = NULL, *bytes = NULL;

  for (guint p = 0; p < item->n_outputs; p++)
    {
      g_autofree char *shape = item->output[p].typed ? loom_shape_to_string (&item->output[p].type.shape) : NULL;
      g_autofree char *value = shape != NULL
                                   ? g_strdup_printf ("%s\n%s", shape, loom_dtype_name (item->output[p].type.dtype))
                                   : g_strdup (_ ("not known yet"));

      inspector_put_fact (self->output_group, self->output_rows, p, item->output[p].name, value, item->output[p].doc);
    }
  inspector_clear_facts (self->output_group, self->output_rows, item->n_outputs);
  gtk_widget_set_visible (self->output_group, item->n_outputs > 0);
  parameters = studio_count_text (item->costs.parameters);
  flops = studio_count_text (item->costs.flops);
  bytes = loom_bytes_to_string (item->costs.bytes);
  inspector_put_fact (self->cost_group, self->cost_rows, 0, _ ("Parameters"), parameters,
                      N_ ("Values that training changes"));
  inspector_put_fact (self->cost_group, self->cost_rows, 1, _ ("FLOPs"), flops,
                      N_ ("Operations of the forward pass for one sample"));
  inspector_put_fact (self->cost_group, self->cost_rows, 2, _ ("Output memory"), bytes, N_ ("For one sample"));
}

static void refresh_options (StudioInspector *self);

void
inspector_refresh_node (StudioInspector *self)
{
  StudioScene *scene;
  guint i;

  if (self->serial == 0 || self->name == NULL)
    return;
  studio_document_get_net (self->document);
  scene = studio_document_get_scene (self->document);
  i = studio_scene_find (scene, self->serial);
  if (i == STUDIO_NO_ITEM)
    return;
  self->updating = TRUE;
  if (strcmp (gtk_editable_get_text (GTK_EDITABLE (self->name)), scene->item[i].id) != 0
      && gtk_widget_get_focus_child (self->name) == NULL)
    gtk_editable_set_text (GTK_EDITABLE (self->name), scene->item[i].id);
  if (self->options != NULL)
    refresh_options (self);
  for (guint r = 0; r < self->rows->len; r++)
    inspector_refresh_row (self->rows->pdata[r]);
  inspector_show_fault (self);
  refresh_facts (self, &scene->item[i]);
  self->updating = FALSE;
}

static gboolean
rename_node (StudioInspector *self)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *id = g_strstrip (g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->name))));

  if (self->updating || inspector_element (self) == NULL)
    return FALSE;
  if (!studio_document_rename (self->document, self->serial, id, &error))
    {
      inspector_set_message (self->name_row, self->name, self->name_message, error->message, TRUE, NULL);
      return FALSE;
    }
  inspector_set_message (self->name_row, self->name, self->name_message, NULL, FALSE, NULL);
  return TRUE;
}

static void
name_activate_cb (StudioInspector *self)
{
  if (rename_node (self))
    inspector_return_focus (self);
}

static void
name_left_cb (StudioInspector *self)
{
  LoomElement *e;
  const char *id;

  rename_node (self);
  /* Text that is no valid name is replaced by the current name. */
  e = inspector_element (self);
  id = e != NULL ? loom_element_get (e, "id") : NULL;
  if (id != NULL)
    {
      gtk_editable_set_text (GTK_EDITABLE (self->name), id);
      inspector_set_message (self->name_row, self->name, self->name_message, NULL, FALSE, NULL);
    }
}

static void
add_name (StudioInspector *self, GtkWidget *group, const StudioItem *item)
{
  GtkEventController *focus = gtk_event_controller_focus_new ();
  GtkWidget *message_row;

  self->name_row = adw_action_row_new ();
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->name_row), _ ("Name"));
  self->name = gtk_entry_new ();
  gtk_editable_set_text (GTK_EDITABLE (self->name), item->id);
  inspector_shape_field (self->name);
  gtk_widget_set_valign (self->name, GTK_ALIGN_CENTER);
  g_signal_connect_swapped (self->name, "activate", G_CALLBACK (name_activate_cb), self);
  g_signal_connect_swapped (focus, "leave", G_CALLBACK (name_left_cb), self);
  gtk_widget_add_controller (self->name, focus);
  adw_action_row_add_suffix (ADW_ACTION_ROW (self->name_row), self->name);
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (self->name_row), self->name);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), self->name_row);
  self->name_message = inspector_add_message (group, &message_row);
}

/* ---- data sets ------------------------------------------------------------------ */

/* Replaces the rows of the former source's options; the entry for the source, in which the user may be typing, stays.
 */
static void
refresh_options (StudioInspector *self)
{
  LoomElement *e = inspector_element (self);
  const LoomOp *op = e != NULL ? loom_op (loom_element_get (e, "op")) : NULL;
  const char *source = op != NULL ? loom_element_get (e, op->params->name) : NULL;
  const LoomOpVariant *variant = op != NULL ? loom_op_variant (op, source) : NULL;
  guint n_common = 0, n = 0;

  if (g_strcmp0 (source, self->source) == 0)
    return;
  g_free (self->source);
  self->source = g_strdup (source);
  for (guint i = self->rows->len; i-- > 0;)
    {
      InspectorRow *row = self->rows->pdata[i];

      if (!row->is_option)
        continue;
      adw_preferences_group_remove (ADW_PREFERENCES_GROUP (self->options), row->row);
      if (row->message_row != NULL)
        adw_preferences_group_remove (ADW_PREFERENCES_GROUP (self->options), row->message_row);
      g_ptr_array_remove_index (self->rows, i);
    }
  /* Attributes that every node of the operator has are shown above. */
  while (op != NULL && op->params[n_common].name != NULL)
    n_common++;
  for (const LoomParamSpec *spec = variant != NULL ? variant->params + n_common : NULL;
       spec != NULL && spec->name != NULL; spec++, n++)
    inspector_add_param (self, self->options, spec)->is_option = TRUE;
  gtk_widget_set_visible (self->options, n > 0);
  if (variant == NULL)
    return;
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (self->options), variant->title);
  adw_preferences_group_set_description (ADW_PREFERENCES_GROUP (self->options), variant->doc);
}

/* Numbers as text that is too long for an entry. */
static gboolean
is_table (const LoomElement *element, const LoomParamSpec *spec)
{
  const char *text = element != NULL ? loom_element_get (element, spec->name) : NULL;

  return spec->type == LOOM_PARAM_STRING && text != NULL && strlen (text) > 4096;
}

/* Rarely set parameters are collapsed unless they are set. */
static void
add_operator_params (StudioInspector *self, GtkWidget *group, const LoomOp *op)
{
  const LoomElement *element = inspector_element (self);
  GtkWidget *advanced = NULL;

  for (const LoomParamSpec *spec = op->params; spec != NULL && spec->name != NULL; spec++)
    /* Text that determines the inputs is a formula. */
    if (is_table (element, spec))
      continue;
    else if (op->dynamic_inputs != NULL && spec->type == LOOM_PARAM_STRING && spec->choices == NULL)
      inspector_add_formula (self, group, spec);
    else if (!spec->advanced || (element != NULL && loom_element_get (element, spec->name) != NULL))
      inspector_add_param (self, group, spec);
    else
      {
        if (advanced == NULL)
          {
            advanced = adw_expander_row_new ();
            adw_preferences_row_set_title (ADW_PREFERENCES_ROW (advanced), _ ("More"));
            gtk_accessible_update_property (GTK_ACCESSIBLE (advanced), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                            _ ("More parameters"), -1);
          }
        inspector_add_param (self, advanced, spec);
      }
  self->more = advanced;
  if (advanced != NULL)
    adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), advanced);
}

/* ---- attributes of every node ----------------------------------------------------- */

/* The ways in which ranks can shard the node's weights, interned and NULL-terminated; empty: none. (transfer full) */
static GPtrArray *
find_ways (StudioInspector *self, guint64 serial)
{
  LoomNet *net = studio_document_get_net (self->document);
  GPtrArray *ways = g_ptr_array_new ();

  for (guint i = 0; net != NULL && i < loom_net_n_weights (net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (net, i);

      if (weight->splits == NULL || loom_net_node (net, weight->node)->serial != serial)
        continue;
      for (const LoomWeightSplit *s = weight->splits; s->how != NULL; s++)
        if (!g_ptr_array_find (ways, g_intern_string (s->how), NULL))
          g_ptr_array_add (ways, (gpointer)g_intern_string (s->how));
    }
  if (ways->len > 0)
    g_ptr_array_add (ways, NULL);
  return ways;
}

/* Everything but its values that determines the rows of a node. */
static char *
dup_layout (StudioInspector *self, const StudioItem *item)
{
  const LoomElement *element = loom_graph_by_serial (studio_document_get_graph (self->document), item->serial);
  const LoomElement *module
      = item->is_module ? loom_graph_find_module (studio_document_get_graph (self->document), item->kind) : NULL;
  g_autoptr (GPtrArray) ways = find_ways (self, item->serial);
  GString *layout = g_string_new (item->kind);

  g_string_append (layout, item->is_module ? " module" : " op");
  for (const LoomParamSpec *spec = item->op != NULL ? item->op->params : NULL; spec != NULL && spec->name != NULL;
       spec++)
    g_string_append_c (layout, is_table (element, spec) ? 't'
                               : spec->advanced         ? (loom_element_get (element, spec->name) != NULL ? 's' : 'a')
                                                        : '.');
  for (guint i = 0; module != NULL && i < loom_element_n_children (module); i++)
    {
      const LoomElement *arg = loom_element_child (module, i);
      const char *def = loom_element_get (arg, "default");

      if (loom_element_tag (arg) == LOOM_TAG_ARG)
        g_string_append_printf (layout, " %d %s=%s", (int)loom_argument_type (arg), loom_element_get (arg, "name"),
                                def != NULL ? def : "");
    }
  for (guint i = 0; i + 1 < ways->len; i++)
    g_string_append_printf (layout, " %s", (const char *)ways->pdata[i]);
  return g_string_free (layout, FALSE);
}

static void
add_reserved (StudioInspector *self, const LoomOp *op)
{
  GtkWidget *group = inspector_add_group (self, _ ("Node"));

  g_ptr_array_unref (self->ways);
  self->ways = find_ways (self, self->serial);
  for (const LoomReserved *r = loom_reserved (); r->spec.name != NULL; r++)
    {
      LoomParamSpec spec = r->spec;
      const char *const *ways
          = g_str_equal (spec.name, "split") && self->ways->len > 0 ? (const char *const *)self->ways->pdata : NULL;

      /* An operator's own parameter of this name takes precedence: cast has a dtype. */
      if ((strcmp (spec.name, LOOM_WEIGHT_INIT) == 0 || strcmp (spec.name, LOOM_BIAS_INIT) == 0)
          && (op == NULL || !loom_initializer_concerns (op, spec.name)))
        continue;
      if ((r->shown != LOOM_SHOWN_AT_NODES && ways == NULL) || (op != NULL && loom_op_has_param (op, spec.name)))
        continue;
      if (self->devices != NULL && strcmp (spec.name, "device") == 0)
        spec.choices = (const char *const *)self->devices;
      if (ways != NULL)
        spec.choices = ways;
      inspector_add_param (self, group, &spec);
    }
}

/* A module's parameters are its arguments. */
static void
add_module_params (StudioInspector *self, GtkWidget *group, const char *module)
{
  static const LoomParamType types[LOOM_N_ARGUMENT_TYPES]
      = { [LOOM_ARGUMENT_ANY] = LOOM_PARAM_STRING,    [LOOM_ARGUMENT_INT] = LOOM_PARAM_INT,
          [LOOM_ARGUMENT_FLOAT] = LOOM_PARAM_FLOAT,   [LOOM_ARGUMENT_BOOL] = LOOM_PARAM_BOOL,
          [LOOM_ARGUMENT_STRING] = LOOM_PARAM_STRING, [LOOM_ARGUMENT_MODULE] = LOOM_PARAM_STRING,
          [LOOM_ARGUMENT_UNKNOWN] = LOOM_PARAM_STRING };
  LoomElement *m = loom_graph_find_module (studio_document_get_graph (self->document), module);

  for (guint i = 0; m != NULL && i < loom_element_n_children (m); i++)
    {
      const LoomElement *arg = loom_element_child (m, i);
      const char *name = loom_element_tag (arg) == LOOM_TAG_ARG ? loom_element_get (arg, "name") : NULL;
      const char *def = name != NULL ? loom_element_get (arg, "default") : NULL;
      LoomParamSpec spec = { 0 };

      if (name == NULL)
        continue;
      spec.name = g_intern_string (name);
      spec.def = def != NULL ? g_intern_string (def) : NULL;
      spec.type = types[loom_argument_type (arg)];
      inspector_add_param (self, group, &spec);
    }
  for (const LoomReserved *r = loom_reserved (); r->spec.name != NULL; r++)
    if (r->shown == LOOM_SHOWN_AT_INSTANCES)
      inspector_add_param (self, group, &r->spec);
}

static void
add_documentation (StudioInspector *self, const LoomOp *op)
{
  GtkWidget *label, *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12),
                    *button = gtk_button_new_with_label (_ ("Show Example"));
  g_autofree char *text
      = g_strdup_printf ("%s%s%s%s%s", op->doc != NULL ? op->doc : "", op->details != NULL ? "\n\n" : "",
                         op->details != NULL ? op->details : "", op->reference != NULL ? "\n\nPyTorch: " : "",
                         op->reference != NULL ? op->reference : "");
  g_autofree char *markup = studio_formula_markup (text);

  label = gtk_label_new (NULL);
  gtk_label_set_markup (GTK_LABEL (label), markup);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_box_append (GTK_BOX (box), label);
  gtk_actionable_set_action_target (GTK_ACTIONABLE (button), "s", op->name);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), "win.documentation-of");
  gtk_widget_set_halign (button, GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (box), button);
  gtk_widget_set_margin_top (box, 6);
  self->documentation = studio_expander_new (_ ("Documentation"), box);
  gtk_box_append (GTK_BOX (self->box), self->documentation);
}

void
inspector_clear (StudioInspector *self)
{
  GtkWidget *child;

  g_ptr_array_set_size (self->output_rows, 0);
  g_ptr_array_set_size (self->cost_rows, 0);
  self->name = NULL;
  self->fault = NULL;
  self->preview = NULL;
  self->more = self->documentation = NULL;
  g_clear_pointer (&self->layout, g_free);
  inspector_end_preview (self);
  g_array_set_size (self->several, 0);
  self->options = NULL;
  g_clear_pointer (&self->source, g_free);
  /* Entries emit signals when they are destroyed; they must not change a node then. */
  self->updating = TRUE;
  self->serial = 0;
  while ((child = gtk_widget_get_first_child (self->box)) != NULL)
    gtk_box_remove (GTK_BOX (self->box), child);
  g_ptr_array_set_size (self->rows, 0);
  self->updating = FALSE;
}

/* A field that has the focus goes with its node, so that nothing is typed for another. */
static gboolean
is_reusable (const StudioInspector *self)
{
  return self->layout != NULL && gtk_widget_get_focus_child (self->box) == NULL;
}

gboolean
inspector_release_node (StudioInspector *self)
{
  if (!is_reusable (self))
    return FALSE;
  inspector_end_preview (self);
  self->serial = 0;
  return TRUE;
}

gboolean
inspector_rebind_node (StudioInspector *self, const StudioItem *item)
{
  g_autofree char *layout = is_reusable (self) ? dup_layout (self, item) : NULL;

  if (layout == NULL || strcmp (layout, self->layout) != 0)
    return FALSE;
  inspector_end_preview (self);
  self->serial = item->serial;
  self->updating = TRUE;
  gtk_editable_set_text (GTK_EDITABLE (self->name), item->id);
  inspector_set_message (self->name_row, self->name, self->name_message, NULL, FALSE, NULL);
  if (self->more != NULL)
    adw_expander_row_set_expanded (ADW_EXPANDER_ROW (self->more), FALSE);
  if (self->documentation != NULL)
    gtk_expander_set_expanded (GTK_EXPANDER (self->documentation), FALSE);
  for (guint r = 0; r < self->rows->len; r++)
    inspector_rebind_row (self->rows->pdata[r]);
  self->updating = FALSE;
  inspector_refresh_node (self);
  return TRUE;
}

void
inspector_build_node (StudioInspector *self, const StudioItem *item)
{
  GtkWidget *head = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12), *label, *group;

  self->serial = item->serial;
  self->layout = dup_layout (self, item);
  gtk_box_append (GTK_BOX (head),
                  studio_icon_image_new (self->box, item->op != NULL ? item->op->icon : "view-grid-symbolic"));
  gtk_box_append (GTK_BOX (head), new_title (studio_item_title (item)));
  gtk_box_append (GTK_BOX (self->box), head);
  if (item->op != NULL && item->op->formula != NULL)
    {
      g_autofree char *markup = studio_formula_markup (item->op->formula);

      label = inspector_add_label (self, "", "studio-formula");
      gtk_label_set_markup (GTK_LABEL (label), markup);
      gtk_label_set_selectable (GTK_LABEL (label), TRUE);
      gtk_widget_set_can_focus (label, FALSE);
    }
  group = inspector_add_group (self, _ ("Parameters"));
  add_name (self, group, item);
  if (item->op != NULL)
    add_operator_params (self, group, item->op);
  if (item->is_module)
    add_module_params (self, group, item->kind);
  if (item->op != NULL && item->op->variants != NULL)
    {
      self->options = inspector_add_group (self, _ ("Options"));
      gtk_widget_set_visible (self->options, FALSE);
    }
  self->fault = inspector_add_label (self, "", "error");
  /* Below the fields, so that none moves under the pointer. */
  self->preview = inspector_add_label (self, "", "numeric");
  gtk_widget_set_visible (self->preview, FALSE);
  self->output_group = inspector_add_group (self, _ ("Output"));
  self->cost_group = inspector_add_group (self, _ ("Cost"));
  add_reserved (self, item->op);
  if (item->op != NULL)
    add_documentation (self, item->op);
  inspector_refresh_node (self);
}

void
inspector_build_annotation (StudioInspector *self, const StudioAnnotation *annotation)
{
  static const LoomParamSpec specs[] = {
    { .name = "title", .type = LOOM_PARAM_STRING, .def = "" },
    { .name = "width", .type = LOOM_PARAM_FLOAT, .minimum = 48, .maximum = 1e6, .doc = N_ ("In pixels at 100 %") },
    { .name = "height", .type = LOOM_PARAM_FLOAT, .minimum = 48, .maximum = 1e6, .doc = N_ ("In pixels at 100 %") },
    { .name = "color", .type = LOOM_PARAM_STRING, .def = "", .doc = N_ ("A name or #rrggbb") },
  };
  GtkWidget *group;

  inspector_add_label (self, annotation->is_note ? _ ("Note") : _ ("Frame"), "title-4");
  if (annotation->is_note)
    {
      inspector_add_label (self, _ ("Press Enter to edit the text and Ctrl+Enter to finish."), "dim-label");
      return;
    }
  self->serial = annotation->serial;
  group = inspector_add_group (self, "");
  self->updating = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    inspector_refresh_row (inspector_add_param (self, group, &specs[i]));
  self->updating = FALSE;
}

void
inspector_build_link (StudioInspector *self, const StudioScene *scene, const StudioLink *link)
{
  g_autofree char *from
      = g_strdup_printf ("%s.%s", scene->item[link->from].id, scene->item[link->from].output[link->output].name);
  g_autofree char *to
      = g_strdup_printf ("%s.%s", scene->item[link->to].id, scene->item[link->to].input[link->input].name);
  GtkWidget *group;

  inspector_add_label (self, _ ("Wire"), "title-4");
  group = inspector_add_group (self, "");
  inspector_put_fact (group, self->output_rows, 0, _ ("From"), from, NULL);
  inspector_put_fact (group, self->output_rows, 1, _ ("To"), to, NULL);
  inspector_put_fact (group, self->output_rows, 2, _ ("Type"),
                      link->typed ? loom_dtype_name (link->type.dtype) : _ ("not known yet"), NULL);
  inspector_put_fact (group, self->output_rows, 3, _ ("Shape"), link->label != NULL ? link->label : _ ("not known yet"),
                      NULL);
}
