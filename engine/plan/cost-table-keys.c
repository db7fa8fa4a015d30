/* Formats the names of devices, calls and options in a cost table. */
#include "engine/plan/loom-cost-table.h"

#include "kernels/options.h"

/* Replaces the characters that a key of a key file cannot contain. */
static char *
as_name (char *text)
{
  return g_strstrip (g_strdelimit (g_strdelimit (g_strdelimit (text, "=", ':'), "[", '('), "]\n", ')'));
}

char *
loom_cost_device_key (const char *backend, const LoomDeviceInfo *info)
{
  return as_name (g_strdup_printf ("%s: %s, %s", backend, info->name, info->libraries));
}

static void
append_desc (GString *s, const LoomTensorDesc *d)
{
  if (d->dtype == LOOM_N_DTYPES)
    {
      g_string_append (s, " -");
      return;
    }
  g_string_append_printf (s, " %s", loom_dtype_name (d->dtype));
  for (int i = 0; i < d->rank; i++)
    g_string_append_printf (s, "%c%" G_GINT64_FORMAT, i == 0 ? ' ' : 'x', (gint64)d->dim[i]);
}

char *
loom_cost_call_key (const LoomKernelSpec *spec, const char *attributes)
{
  GString *s = g_string_new (spec->primitive);

  for (int i = 0; i < spec->n_in; i++)
    {
      append_desc (s, &spec->in[i]);
      g_string_append_c (s, ',');
    }
  g_string_append (s, " to");
  for (int o = 0; o < spec->n_out; o++)
    {
      append_desc (s, &spec->out[o]);
      if (o + 1 < spec->n_out)
        g_string_append_c (s, ',');
    }
  if (attributes != NULL)
    g_string_append_printf (s, "; %s", attributes);
  if (spec->tf32)
    g_string_append (s, "; tf32");
  return as_name (g_string_free (s, FALSE));
}

const char *
loom_cost_layout_name (const LoomKernelSpec *spec, guint64 nhwc)
{
  guint64 in = loom_spec_mask_in (spec, nhwc), images = loom_spec_images (spec);

  if (nhwc == 0)
    return "plain";
  if ((nhwc & loom_spec_filter (spec)) != 0)
    return "packed";
  /* Only the operands of a weight gradient are images, so one layout names the option. */
  if (nhwc == images || (in != 0 && in != nhwc))
    return "nhwc";
  return in != 0 ? "nhwc-plain" : "plain-nhwc";
}

char *
loom_cost_option_key (const LoomKernelSpec *spec, const LoomKernelOption *option)
{
  return g_strdup_printf ("%s %s", option->algorithm, loom_cost_layout_name (spec, option->nhwc));
}
