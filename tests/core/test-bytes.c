/* Amounts of memory as people read and write them. */
#include "engine/core/loom-bytes.h"
#include "tests/test-program.h"

static void
test_units (void)
{
  static const struct
  {
    double bytes;
    const char *text;
  } cases[] = {
    { 0, "0 B" },         { 1, "1 B" },          { 999, "999 B" },      { 1000, "1.0 kB" },
    { 1049, "1.0 kB" },   { 99940, "99.9 kB" },  { 99960, "100 kB" },   { 999499, "999 kB" },
    { 999500, "1.0 MB" }, { 4200000, "4.2 MB" }, { 1048576, "1.0 MB" }, { 2.5e9, "2.5 GB" },
    { 128e9, "128 GB" },  { 3e12, "3.0 TB" },    { 7e18, "7000 PB" },   { -5042048, "−5.0 MB" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = loom_bytes_to_string (cases[i].bytes);

      g_assert_cmpstr (text, ==, cases[i].text);
    }
}

static void
test_parse (void)
{
  static const struct
  {
    const char *text;
    double bytes; /* 0: it is no amount */
  } cases[]
      = { { "8", 8 },  { "80k", 80e3 }, { "512M", 512e6 }, { "1.5G", 1.5e9 }, { "", 0 },    { "k", 0 },   { "0", 0 },
          { "-1", 0 }, { "1kb", 0 },    { "1T", 0 },       { "1 M", 0 },      { "nan", 0 }, { "1e30", 0 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      double bytes;
      const gboolean is_amount = loom_bytes_parse (cases[i].text, &bytes);

      g_assert_cmpint (is_amount, ==, cases[i].bytes > 0);
      if (is_amount)
        g_assert_cmpfloat (bytes, ==, cases[i].bytes);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/bytes/units", test_units);
  g_test_add_func ("/bytes/parse", test_parse);
  return g_test_run ();
}
