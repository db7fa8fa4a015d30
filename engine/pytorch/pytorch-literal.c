/* Literals, names and comments of Python. Whatever comes from a graph passes through here. */
#include "engine/graph/loom-expr.h"
#include "engine/pytorch/pytorch-private.h"

#include <math.h>

char *
loom_pytorch_quote (const char *text)
{
  GString *s = g_string_new ("\"");

  for (const char *c = text; *c != 0; c++)
    if (*c == '"' || *c == '\\')
      g_string_append_printf (s, "\\%c", *c);
    else if (*c >= 32 && *c < 127)
      g_string_append_c (s, *c);
    else if (!g_utf8_validate (c, -1, NULL))
      g_string_append_printf (s, "\\x%02x", (guchar)*c);
    else
      {
        g_string_append_printf (s, "\\U%08x", g_utf8_get_char (c));
        c = g_utf8_next_char (c) - 1;
      }
  return g_string_free (g_string_append_c (s, '"'), FALSE);
}

/* A comment ends at the end of its line. For Python these are \n and \r, and a form feed resets the indentation; all
 * other control characters and the line breaks of Unicode are replaced, too. */
char *
loom_pytorch_comment (const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  GString *s = g_string_new (NULL);

  for (const char *c = valid; *c != 0; c = g_utf8_next_char (c))
    {
      gunichar u = g_utf8_get_char (c);

      if (g_unichar_iscntrl (u) || u == 0x2028 || u == 0x2029 || g_unichar_type (u) == G_UNICODE_FORMAT)
        g_string_append_c (s, ' ');
      else
        g_string_append_unichar (s, u);
    }
  return g_strstrip (g_string_free (s, FALSE));
}

char *
loom_pytorch_float (double d)
{
  if (isnan (d))
    return g_strdup ("math.nan");
  if (isinf (d))
    return g_strdup (d > 0 ? "math.inf" : "-math.inf");
  return loom_number_to_string ((LoomNumber){ .d = d });
}

char *
loom_pytorch_dtype (LoomDType dtype)
{
  static const char *const names[]
      = { [LOOM_F32] = "float32", [LOOM_F64] = "float64", [LOOM_F16] = "float16", [LOOM_BF16] = "bfloat16",
          [LOOM_I64] = "int64",   [LOOM_I32] = "int32",   [LOOM_U8] = "uint8",    [LOOM_BOOL] = "bool" };

  return g_strdup_printf ("torch.%s", names[dtype]);
}

/* Keywords and built-ins of Python 3.13 that the file uses, its imports and functions, and the members of nn.Module of
 * PyTorch 2.4 to 2.15. */
static const char *const taken[] = { "False",
                                     "None",
                                     "True",
                                     "and",
                                     "as",
                                     "assert",
                                     "async",
                                     "await",
                                     "break",
                                     "case",
                                     "class",
                                     "continue",
                                     "def",
                                     "del",
                                     "elif",
                                     "else",
                                     "except",
                                     "finally",
                                     "for",
                                     "from",
                                     "global",
                                     "if",
                                     "import",
                                     "in",
                                     "is",
                                     "lambda",
                                     "match",
                                     "nonlocal",
                                     "not",
                                     "or",
                                     "pass",
                                     "raise",
                                     "return",
                                     "try",
                                     "type",
                                     "while",
                                     "with",
                                     "yield",
                                     "abs",
                                     "bool",
                                     "dict",
                                     "enumerate",
                                     "float",
                                     "int",
                                     "isinstance",
                                     "len",
                                     "list",
                                     "max",
                                     "min",
                                     "open",
                                     "print",
                                     "range",
                                     "reversed",
                                     "super",
                                     "tuple",
                                     "zip",
                                     "self",
                                     "math",
                                     "os",
                                     "sys",
                                     "torch",
                                     "nn",
                                     "F",
                                     "np",
                                     "layer",
                                     "T_destination",
                                     "add_module",
                                     "apply",
                                     "bfloat16",
                                     "buffers",
                                     "call_super_init",
                                     "children",
                                     "compile",
                                     "cpu",
                                     "cuda",
                                     "double",
                                     "dump_patches",
                                     "eval",
                                     "extra_repr",
                                     "forward",
                                     "get_buffer",
                                     "get_extra_state",
                                     "get_parameter",
                                     "get_submodule",
                                     "half",
                                     "ipu",
                                     "load_state_dict",
                                     "modules",
                                     "mtia",
                                     "named_buffers",
                                     "named_children",
                                     "named_modules",
                                     "named_parameters",
                                     "parameters",
                                     "register_backward_hook",
                                     "register_buffer",
                                     "register_forward_hook",
                                     "register_forward_pre_hook",
                                     "register_full_backward_hook",
                                     "register_full_backward_pre_hook",
                                     "register_load_state_dict_post_hook",
                                     "register_load_state_dict_pre_hook",
                                     "register_module",
                                     "register_parameter",
                                     "register_state_dict_post_hook",
                                     "register_state_dict_pre_hook",
                                     "requires_grad_",
                                     "set_extra_state",
                                     "set_submodule",
                                     "share_memory",
                                     "state_dict",
                                     "to",
                                     "to_empty",
                                     "train",
                                     "training",
                                     "xpu",
                                     "zero_grad",
                                     "FROZEN",
                                     "GROUPS",
                                     "LOSS",
                                     "Lamb",
                                     "Lars",
                                     "Lion",
                                     "METRICS",
                                     "Newton",
                                     "Own",
                                     "PORTS",
                                     "SAMPLES",
                                     NULL };

gboolean
loom_pytorch_is_taken (const char *name)
{
  return g_strv_contains (taken, name) || name[0] == '_' || g_ascii_isdigit (name[0]) || strchr (name, '-') != NULL
         || loom_pytorch_helper (name) != NULL;
}

char *
loom_pytorch_identifier (GHashTable *used, const char *id)
{
  GString *s = g_string_new (id);

  g_strdelimit (s->str, "-", '_');
  if (g_ascii_isdigit (*id) || *id == '_')
    g_string_prepend (s, "n");
  while (loom_pytorch_is_taken (s->str) || g_hash_table_contains (used, s->str))
    g_string_append_c (s, '_');
  g_hash_table_add (used, g_strdup (s->str));
  return g_string_free (s, FALSE);
}

char *
loom_pytorch_member (const char *of, const char *id, gboolean is_parameter)
{
  if (!loom_pytorch_is_taken (id))
    return g_strdup_printf ("%s.%s", of, id);
  return g_strdup_printf ("%s.%s[\"%s\"]", of, is_parameter ? "_parameters" : "_modules", id);
}

/* Copies are children of an nn.ModuleList, whose names are numbers. */
char *
loom_pytorch_weight (const char *of, const char *path)
{
  g_auto (GStrv) parts = g_strsplit (path, ".", -1);
  char *s = g_strdup (of);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      g_autofree char *before = s;

      s = loom_pytorch_member (before, parts[i], parts[i + 1] == NULL);
    }
  return s;
}

char *
loom_pytorch_mark (const char *prefix, const char *name, const char *value, const char *def)
{
  return g_strdup_printf ("\1%s\2%s\2%s\2%s\3", prefix, name, value, def != NULL ? def : "");
}
