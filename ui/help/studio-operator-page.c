/* Builds the documentation of an operator from its descriptor as GTK labels, with a picture of its example. */
#include "ui/help/studio-operator-page.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <string.h>

#include "gradloom-code.h"
#include "ui/charts/studio-text-scale.h"
#include "ui/document/studio-example.h"
#include "ui/drawing/studio-formula.h"
#include "ui/scene/studio-geometry.h"
#include "ui/start/studio-graph-picture.h"

#define CODE    "/org/gradloom/Studio/code/"
#define PYTORCH "https://pytorch.org/docs/stable/generated/"
#define ARXIV   "arXiv:"

/* The maximum size of the example's picture; a smaller example is drawn at the size of its cards. */
#define PICTURE_WIDTH  560.0
#define PICTURE_HEIGHT 240.0
#define PICTURE_MARGIN 24.0

/* ---- text --------------------------------------------------------------------------- */

static GtkWidget *
add_markup (GtkWidget *box, const char *markup, const char *css)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_markup (GTK_LABEL (label), markup);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  gtk_box_append (GTK_BOX (box), label);
  return label;
}

/* Sentences may contain superscripts and subscripts. */
static void
add_text (GtkWidget *box, const char *text, const char *css)
{
  g_autofree char *markup = text != NULL ? studio_formula_markup (text) : NULL;

  if (markup != NULL)
    add_markup (box, markup, css);
}

static void
add_head (GtkWidget *page, const LoomOp *op)
{
  GtkWidget *head = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12), *names = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *icon = gtk_image_new_from_icon_name (op->icon);
  g_autofree char *line = g_strdup_printf ("%s · %s", op->name, _ (loom_category_title (op->category)));

  gtk_image_set_pixel_size (GTK_IMAGE (icon), 32);
  gtk_widget_set_valign (icon, GTK_ALIGN_CENTER);
  add_text (names, op->title, "title-2");
  add_text (names, line, "dim-label");
  gtk_box_append (GTK_BOX (head), icon);
  gtk_box_append (GTK_BOX (head), names);
  gtk_box_append (GTK_BOX (page), head);
}

static void
add_formula (GtkWidget *page, const LoomOp *op)
{
  g_autofree char *markup = op->formula != NULL ? studio_formula_markup (op->formula) : NULL;
  GtkWidget *label;

  if (markup == NULL)
    return;
  label = add_markup (page, markup, "operator-formula");
  gtk_label_set_xalign (GTK_LABEL (label), 0.5f);
  gtk_label_set_justify (GTK_LABEL (label), GTK_JUSTIFY_CENTER);
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_widget_set_can_focus (label, FALSE);
}

/* ---- the example -------------------------------------------------------------------- */

static void
draw_picture (GtkPicture *picture, const LoomOp *op)
{
  g_autoptr (StudioScene) scene = studio_example_scene (op);
  StudioRect all = studio_geometry_bounds (scene);
  double scale
      = MIN (1, MIN (PICTURE_WIDTH / (all.width + PICTURE_MARGIN), PICTURE_HEIGHT / (all.height + PICTURE_MARGIN)));
  int width = (int)((all.width + PICTURE_MARGIN) * scale), height = (int)((all.height + PICTURE_MARGIN) * scale);
  int pixels = 2 * gtk_widget_get_scale_factor (GTK_WIDGET (picture));
  gboolean dark = adw_style_manager_get_dark (adw_style_manager_get_default ());
  g_autoptr (GdkTexture) texture = studio_graph_picture_new (scene, width * pixels, height * pixels, dark);
  double large = studio_text_scale (GTK_WIDGET (picture));

  gtk_picture_set_paintable (picture, GDK_PAINTABLE (texture));
  gtk_widget_set_size_request (GTK_WIDGET (picture), MIN (width, 240), (int)(height * MIN (large, 1.5)));
}

static void
dark_cb (AdwStyleManager *manager, GParamSpec *pspec, GtkPicture *picture)
{
  draw_picture (picture, g_object_get_data (G_OBJECT (picture), "op"));
}

static GtkWidget *
new_button (const char *label, const char *action, const LoomOp *op)
{
  GtkWidget *button = gtk_button_new_with_label (label);

  gtk_actionable_set_action_target (GTK_ACTIONABLE (button), "s", op->name);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  return button;
}

static void
add_example (GtkWidget *page, const LoomOp *op)
{
  GtkWidget *picture = gtk_picture_new (), *flow = gtk_flow_box_new ();
  GtkWidget *buttons[] = { new_button (_ ("Insert Example"), "win.insert-example-of", op),
                           new_button (_ ("Open as New Graph"), "win.open-example-of", op) };
  g_autofree char *what = g_strdup_printf (_ ("Picture of an example with %s"), op->title);

  add_text (page, _ ("Example"), "heading");
  g_object_set_data (G_OBJECT (picture), "op", (gpointer)op);
  gtk_picture_set_alternative_text (GTK_PICTURE (picture), what);
  gtk_widget_add_css_class (picture, "operator-example");
  draw_picture (GTK_PICTURE (picture), op);
  g_signal_connect_object (adw_style_manager_get_default (), "notify::dark", G_CALLBACK (dark_cb), picture, 0);
  gtk_box_append (GTK_BOX (page), picture);
  gtk_widget_add_css_class (buttons[0], "suggested-action");
  gtk_flow_box_set_selection_mode (GTK_FLOW_BOX (flow), GTK_SELECTION_NONE);
  gtk_flow_box_set_max_children_per_line (GTK_FLOW_BOX (flow), 2);
  gtk_flow_box_set_column_spacing (GTK_FLOW_BOX (flow), 12);
  gtk_flow_box_set_row_spacing (GTK_FLOW_BOX (flow), 6);
  for (guint i = 0; i < G_N_ELEMENTS (buttons); i++)
    {
      gtk_flow_box_insert (GTK_FLOW_BOX (flow), buttons[i], -1);
      gtk_widget_set_focusable (gtk_widget_get_parent (buttons[i]), FALSE);
    }
  gtk_accessible_update_property (GTK_ACCESSIBLE (flow), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Example"), -1);
  gtk_box_append (GTK_BOX (page), flow);
}

/* ---- ports, parameters, sources ------------------------------------------------------- */

static GtkWidget *
add_group (GtkWidget *page, const char *title, const char *description)
{
  GtkWidget *group = adw_preferences_group_new ();

  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), title);
  adw_preferences_group_set_description (ADW_PREFERENCES_GROUP (group), description);
  gtk_box_append (GTK_BOX (page), group);
  return group;
}

/* title is a name as in a file; subtitle is markup if it has links. */
static GtkWidget *
add_row (GtkWidget *group, const char *title, const char *subtitle)
{
  GtkWidget *row = adw_action_row_new ();

  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), subtitle != NULL ? subtitle : "");
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
  return row;
}

static void
add_ports (GtkWidget *page, const char *title, const LoomPortSpec *ports)
{
  GtkWidget *group;

  if (ports == NULL || ports->name == NULL)
    return;
  group = add_group (page, title, NULL);
  for (const LoomPortSpec *p = ports; p->name != NULL; p++)
    {
      GtkWidget *row = add_row (group, (p->flags & LOOM_PORT_VARIADIC) != 0 ? "0, 1, 2 …" : p->name, p->doc);
      const char *kind = (p->flags & LOOM_PORT_WEIGHT) != 0     ? _ ("weight")
                         : (p->flags & LOOM_PORT_OPTIONAL) != 0 ? _ ("optional")
                                                                : NULL;
      GtkWidget *label = kind != NULL ? gtk_label_new (kind) : NULL;

      if (label == NULL)
        continue;
      gtk_widget_add_css_class (label, "dim-label");
      adw_action_row_add_suffix (ADW_ACTION_ROW (row), label);
    }
}

static void
add_params (GtkWidget *page, const char *title, const char *description, const LoomParamSpec *params)
{
  GtkWidget *group;

  if (params == NULL || params->name == NULL)
    return;
  group = add_group (page, title, description);
  for (const LoomParamSpec *p = params; p->name != NULL; p++)
    {
      g_autofree char *facts = loom_param_facts (p), *text = g_strdup_printf ("%s\n%s", facts, p->doc);

      add_row (group, p->name, text);
    }
}

/* The properties of all nodes of an operator precede those of a variant. */
static void
add_variants (GtkWidget *page, const LoomOp *op)
{
  guint n_common = 0;

  while (op->variants != NULL && op->params[n_common].name != NULL)
    n_common++;
  for (const LoomOpVariant *v = op->variants != NULL ? op->variants () : NULL; v != NULL && v->value != NULL; v++)
    {
      g_autofree char *title = g_strdup_printf ("%s=\"%s\"", op->params->name, v->value);

      add_params (page, title, v->doc, v->params + n_common);
    }
}

/* A link to the documentation of PyTorch; NULL if PyTorch has no such name (transfer full). */
static char *
pytorch_markup (const LoomOp *op)
{
  gsize n = strspn (op->reference, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._");

  if (!g_str_has_prefix (op->reference, "torch.") || op->reference[n] != '\0'
      || g_str_has_prefix (op->reference, "torch.utils."))
    return g_markup_escape_text (op->reference, -1);
  return g_strdup_printf ("<a href=\"" PYTORCH "%s.html\">%s</a>", op->reference, op->reference);
}

/* "… 2016, arXiv:1607.06450" with a link. */
static char *
source_markup (const char *source)
{
  g_autofree char *escaped = g_markup_escape_text (source, -1);
  const char *at = strstr (escaped, ARXIV), *number = at != NULL ? at + strlen (ARXIV) : NULL;
  gsize n = number != NULL ? strspn (number, G_CSET_DIGITS ".") : 0;

  if (n == 0)
    return g_steal_pointer (&escaped);
  return g_strdup_printf ("%.*s<a href=\"https://arxiv.org/abs/%.*s\">" ARXIV "%.*s</a>%s", (int)(at - escaped),
                          escaped, (int)n, number, (int)n, number, number + n);
}

static void
add_linked_row (GtkWidget *group, const char *title, const char *markup)
{
  GtkWidget *row = add_row (group, title, NULL);

  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), TRUE);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), markup);
}

/* The source file from which the program was built. */
static void
add_code (GtkWidget *group, const LoomOp *op)
{
  g_autofree char *file = loom_op_source_file (op), *name = g_path_get_basename (file);
  g_autofree char *path = g_strconcat (CODE, name, NULL);
  g_autoptr (GBytes) bytes = NULL;
  GtkWidget *expander = adw_expander_row_new (), *label, *scroller;
  g_autofree char *text = NULL;

  if (gradloom_code_get_resource () == NULL)
    gradloom_code_register_resource ();
  bytes = g_resources_lookup_data (path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  g_return_if_fail (bytes != NULL);
  text = g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  label = gtk_label_new (g_strchomp (text));
  scroller = gtk_scrolled_window_new ();
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  gtk_widget_add_css_class (label, "monospace");
  gtk_widget_add_css_class (label, "operator-code");
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_AUTOMATIC, GTK_POLICY_NEVER);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), label);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (expander), _ ("Source Code"));
  adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (expander), file);
  adw_expander_row_add_row (ADW_EXPANDER_ROW (expander), scroller);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), expander);
}

static void
add_sources (GtkWidget *page, const LoomOp *op)
{
  GtkWidget *group = add_group (page, _ ("References"), NULL);
  g_autofree char *pytorch = pytorch_markup (op);
  g_autofree char *source = op->source != NULL ? source_markup (op->source) : NULL;

  if (source != NULL)
    add_linked_row (group, _ ("Formula"), source);
  add_linked_row (group, _ ("In PyTorch"), pytorch);
  add_code (group, op);
}

GtkWidget *
studio_operator_page_new (const LoomOp *op)
{
  GtkWidget *page = gtk_box_new (GTK_ORIENTATION_VERTICAL, 18);
  g_autofree char *more = op->more != NULL ? op->more () : NULL;

  gtk_widget_add_css_class (page, "operator-page");
  add_head (page, op);
  add_text (page, op->doc, NULL);
  add_formula (page, op);
  add_text (page, op->details, NULL);
  add_text (page, more, NULL);
  add_example (page, op);
  add_ports (page, _ ("Inputs"), op->inputs);
  add_ports (page, _ ("Outputs"), op->outputs);
  add_params (page, _ ("Parameters"), NULL, op->params);
  add_variants (page, op);
  add_sources (page, op);
  return page;
}
