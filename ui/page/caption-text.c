/* Implements caption-text.h. */
#include "ui/page/caption-text.h"

#include <string.h>

#include "ui/drawing/studio-formula.h"

/* "w_q", with its index as a subscript. */
static void
append_name (GString *markup, const char *name)
{
  const char *index = strchr (name, '_');
  g_autofree char *head = index != NULL ? g_strndup (name, (gsize)(index - name)) : NULL;
  g_autofree char *escaped = g_markup_escape_text (head != NULL && *head != '\0' ? head : name, -1);
  g_string_append (markup, escaped);
  if (head == NULL || *head == '\0')
    return;
  g_autofree char *below = g_markup_escape_text (index + 1, -1);
  g_string_append_printf (markup, "<sub>%s</sub>", below);
}

static void
append_source (GString *markup, const StudioScene *scene, const StudioPort *port)
{
  const StudioLink *link = &scene->link[port->link];
  const StudioItem *from = &scene->item[link->from];
  append_name (markup, from->id);
  if (from->n_outputs > 1)
    g_string_append_printf (markup, ".%s", from->output[link->output].name);
}

/* The sign between two operands, from the operator's formula "y = a + b"; a dot for products of matrices. */
static char *
dup_sign (const StudioItem *item)
{
  static const char head[] = "y = a ", tail[] = " b";
  const char *formula = item->op != NULL ? item->op->formula : NULL;
  gsize length = formula != NULL ? strlen (formula) : 0, sides = strlen (head) + strlen (tail);
  if (formula == NULL)
    return NULL;
  if (g_str_has_prefix (formula, head) && g_str_has_suffix (formula, tail) && length > sides && length < sides + 6)
    return g_strndup (formula + strlen (head), length - sides);
  return g_str_has_suffix (formula, "aᵢₖ bₖⱼ") || g_str_has_suffix (formula, "aₙ bₙ") ? g_strdup ("·") : NULL;
}

/* Appends the equation of a card with the names on the canvas: v = x · w_v, attention = softmax(scaled). */
static void
append_equation (GString *markup, const StudioScene *scene, const StudioItem *item)
{
  g_autofree char *sign = dup_sign (item);
  guint n = 0, wired = 0;
  append_name (markup, item->id);
  for (guint i = 0; i < item->n_inputs; i++)
    wired += item->input[i].link != STUDIO_NO_ITEM ? 1 : 0;
  if (wired == 0)
    return;
  if (wired != 2)
    g_clear_pointer (&sign, g_free);
  g_string_append (markup, " = ");
  if (sign == NULL)
    {
      g_autofree char *kind = g_markup_escape_text (item->kind, -1);
      g_string_append_printf (markup, "%s(", kind);
    }
  for (guint i = 0; i < item->n_inputs; i++)
    {
      if (item->input[i].link == STUDIO_NO_ITEM)
        continue;
      if (n++ > 0)
        g_string_append_printf (markup, sign != NULL ? " %s " : "%s ", sign != NULL ? sign : ",");
      append_source (markup, scene, &item->input[i]);
    }
  if (sign == NULL)
    g_string_append (markup, ")");
}

char *
caption_text_new (const StudioScene *scene, guint i)
{
  const StudioItem *item = &scene->item[i];
  g_autoptr (GString) text = g_string_new (NULL);
  append_equation (text, scene, item);
  if (item->n_outputs > 0 && item->output[0].typed)
    {
      g_autofree char *shape = loom_shape_to_string (&item->output[0].type.shape);
      g_string_append_printf (text, "   <span alpha='75%%'>%s</span>", shape);
    }
  g_autofree char *sign = dup_sign (item);
  if (item->op != NULL && item->op->formula != NULL && sign == NULL)
    {
      g_autofree char *formula = studio_formula_markup (item->op->formula);
      g_string_append_printf (text, "   <span alpha='75%%' size='85%%'>%s</span>", formula);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}
