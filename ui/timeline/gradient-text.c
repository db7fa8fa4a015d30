#include "ui/timeline/gradient-text.h"

#include <glib/gi18n.h>

char *
gradient_text_result (guint n_compared, guint n_wrong, guint n_left, const char *worst)
{
  g_autofree char *text = NULL, *left = NULL;

  if (n_wrong > 0)
    text = g_strdup_printf (ngettext ("The gradient of %1$u layer differs from finite differences. %2$s",
                                      "The gradients of %1$u layers differ from finite differences. %2$s", n_wrong),
                            n_wrong, worst);
  else if (n_compared == 0)
    text = g_strdup (_ ("No gradient was compared."));
  else if (n_left > 0)
    text = g_strdup_printf (ngettext ("The gradient of %u checked layer agrees with finite differences.",
                                      "The gradients of the %u checked layers agree with finite differences.",
                                      n_compared),
                            n_compared);
  else
    text = g_strdup_printf (ngettext ("The gradient of %u layer agrees with finite differences.",
                                      "The gradients of all %u layers agree with finite differences.", n_compared),
                            n_compared);
  if (n_left == 0)
    return g_steal_pointer (&text);
  left = g_strdup_printf (ngettext ("%u layer was not checked.", "%u layers were not checked.", n_left), n_left);
  return g_strconcat (text, " ", left, NULL);
}
