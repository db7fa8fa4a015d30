/* Lines of events.jsonl as a stranger may write them: members of every kind, and bytes changed. */
#pragma once

#include <glib.h>

/* Each ended readers once. */
#define EVENT_LINES_BAD                                                                                                \
  "{\"event\":1}\n{\"event\":\"eval\",\"split\":7}\n"                                                                  \
  "{\"event\":\"eval\",\"split\":7,\"step\":2,\"loss\":[],\"metrics\":{\"a\":\"b\",\"c\":[],\"d\":{}}}\n"              \
  "{\"event\":\"hyper\",\"step\":2,\"name\":[],\"value\":\"x\"}\n{\"event\":\"branch\",\"parent\":1,\"step\":[]}\n"    \
  "{\"event\":\"failed\",\"message\":{}}\n"

/* n lines, the same for the same seed. (transfer full) */
static inline char *
event_lines_new (guint32 seed, guint n)
{
  static const char *const names[]
      = { "event", "step", "epoch", "loss", "lr", "split", "name", "value", "before", "parent", "message", "metrics" };
  static const char *const kinds[] = { "step", "eval", "hyper", "branch", "failed", "epoch" };
  static const char *const values[] = { "1",
                                        "7",
                                        "\"7\"",
                                        "\"val\"",
                                        "\"lr\"",
                                        "null",
                                        "true",
                                        "[]",
                                        "{}",
                                        "-1",
                                        "1e300",
                                        "1e999",
                                        "0.5",
                                        "9223372036854775807",
                                        "\"\"",
                                        "[[1]]",
                                        "-2.5",
                                        "{\"a\":\"b\"}",
                                        "{\"a\":1}",
                                        "\"\\u0000<b>\"",
                                        "99999999999999999999" };
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  GString *text = g_string_new (EVENT_LINES_BAD);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GString) line = g_string_new (NULL);

      if (g_rand_int_range (rand, 0, 8) > 0)
        g_string_append_printf (line, "{\"event\":\"%s\"", kinds[g_rand_int_range (rand, 0, G_N_ELEMENTS (kinds))]);
      else
        g_string_append (line, "{\"event\":1");
      for (guint k = 0; k < G_N_ELEMENTS (names); k++)
        if (g_rand_int_range (rand, 0, 3) > 0 && (k > 0 || g_rand_int_range (rand, 0, 8) == 0))
          g_string_append_printf (line, ",\"%s\":%s", names[k],
                                  values[g_rand_int_range (rand, 0, G_N_ELEMENTS (values))]);
      g_string_append_c (line, '}');
      if (g_rand_int_range (rand, 0, 4) == 0)
        line->str[g_rand_int_range (rand, 0, (gint32)line->len)] = (char)g_rand_int_range (rand, 1, 256);
      g_string_append_printf (text, "%s\n", line->str);
    }
  return g_string_free (text, FALSE);
}
