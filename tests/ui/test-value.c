/* Typed values: formulas, units, names, and the messages for invalid ones. No display. */
#include <math.h>
#include <string.h>

#include "ui/inspector/studio-inspector-params.h"
#include "ui/inspector/studio-value.h"
#include "tests/test-program.h"

static const LoomParamSpec whole = { .name = "out_features", .type = LOOM_PARAM_INT, .minimum = 1, .maximum = 1e9 };
static const LoomParamSpec real = { .name = "lr", .type = LOOM_PARAM_FLOAT };
static const LoomParamSpec list = { .name = "kernel_size", .type = LOOM_PARAM_INTS, .length = 2 };
static const LoomParamSpec shape = { .name = "shape", .type = LOOM_PARAM_SHAPE };
static const LoomParamSpec memory = { .name = "bucket_mb", .type = LOOM_PARAM_FLOAT };
static const LoomParamSpec patience = { .name = "limit_seconds", .type = LOOM_PARAM_FLOAT };
static const LoomParamSpec words = { .name = "title", .type = LOOM_PARAM_STRING, .def = "" };

static StudioNameKind
lookup (const char *name, double *value, gpointer data)
{
  if (strcmp (name, "in_features") == 0)
    {
      *value = 12;
      return STUDIO_NAME_NUMBER;
    }
  if (strcmp (name, "later") == 0)
    return STUDIO_NAME_NUMBER;
  if (strcmp (name, "width") == 0)
    {
      *value = 8;
      return STUDIO_NAME_ARGUMENT;
    }
  return strcmp (name, "open") == 0 ? STUDIO_NAME_ARGUMENT : STUDIO_NAME_UNKNOWN;
}

static void
test_good (void)
{
  static const struct
  {
    const LoomParamSpec *spec;
    const char *typed, *text, *shown;
  } cases[] = {
    { &whole, "32", "32", NULL },
    { &whole, " 4*in_features ", "48", "= 48" },
    { &whole, "2^10", "1024", "= 1024" },
    { &whole, "2**3**2", "512", "= 512" },
    { &whole, "64k", "64000", "= 64000" },
    { &whole, "64 Ki", "65536", "= 65536" },
    { &whole, "7 // 2 + 10 % 4", "5", "= 5" },
    { &whole, "max(3, 2^2, 1)", "4", "= 4" },
    { &whole, "0.1 * 30", "3", "= 3" },
    { &whole, "-(-5)", "5", "= 5" },
    { &whole, "ceil(7/2)", "4", "= 4" },
    { &whole, "50 % * 8", "4", "= 4" },
    { &real, "1e-3", "1e-3", NULL },
    { &real, "0.0010", "0.0010", NULL },
    { &real, "10 %", "0.1", "= 0.1" },
    { &real, "1/3", "0.3333333333333333", "= 0.3333333333333333" },
    { &real, "-2^2", "-4", "= -4" },
    { &list, "3,3", "3,3", NULL },
    { &list, "3, max(1,2)", "3,2", "= 3,2" },
    { &shape, "B,1,28,28", "B,1,28,28", NULL },
    { &shape, "B,2^3", "B,8", "= B,8" },
    { &memory, "2 GiB", "2048", "= 2048" },
    { &memory, "25", "25", NULL },
    { &patience, "5 min + 30 s", "330", "= 330" },
    { &whole, "{width * 2}", "{width * 2}", "= 16" },
    { &whole, "2*width", "{2*width}", "= 16" },
    { &whole, "open + 1", "{open + 1}", NULL },
    { &whole, "{unknown}", "{unknown}", NULL },
    { &words, "2^10", "2^10", NULL },
    { &words, "", "", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (StudioValue) value = studio_value_read (cases[i].spec, cases[i].typed, lookup, NULL);

      g_test_message ("%s: %s", cases[i].typed, value.wrong != NULL ? value.wrong : value.text);
      g_assert_cmpstr (value.wrong, ==, NULL);
      g_assert_cmpstr (value.text, ==, cases[i].text);
      g_assert_cmpstr (value.shown, ==, cases[i].shown);
    }
}

static void
test_bad (void)
{
  static const struct
  {
    const LoomParamSpec *spec;
    const char *typed, *said;
  } cases[] = {
    { &whole, "", "A value is required" },
    { &whole, "0", "At least 1" },
    { &whole, "2^40", "At most" },
    { &whole, "4*", "The end of the expression is missing" },
    { &whole, "*4", "missing before" },
    { &whole, "(4", "closing bracket" },
    { &whole, "4)", "is not allowed there" },
    { &whole, "4 5", "is not allowed there" },
    { &whole, "1/3", "must be a whole number" },
    { &whole, "1/0", "divides by zero" },
    { &whole, "10^400", "too large" },
    { &whole, "foo*2", "“foo” is neither" },
    { &whole, "later*2", "“later” is not known yet" },
    { &whole, "tan(2)", "“tan” is not a function" },
    { &whole, "5 parsecs", "“parsecs” is not a known unit" },
    { &whole, "5 min", "“min” is a unit of time" },
    { &real, "2 GiB", "amount of memory" },
    { &memory, "2 s", "is a unit of time" },
    { &whole, "width^2", "only + - *" },
    { &list, "2*width,3", "not a list" },
    { &list, "1,2,3", "One number, or 2" },
    { &shape, "B,28*", "The end of the expression is missing" },
    { &real, "nan", "“nan” is neither" },
    { &whole, "3,4", "is not allowed there" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (StudioValue) value = studio_value_read (cases[i].spec, cases[i].typed, lookup, NULL);

      g_test_message ("%s: %s", cases[i].typed, value.wrong != NULL ? value.wrong : value.text);
      g_assert_null (value.text);
      g_assert_nonnull (value.wrong);
      g_assert_nonnull (strstr (value.wrong, cases[i].said));
    }
}

/* No text crashes the parser, and each result is a valid value of the parameter. */
static void
test_anything (void)
{
  static const char letters[] = "0123456789.eE+-*/%^(), kKMGiBsminwdth_{}∞";
  static const LoomParamSpec *const specs[] = { &whole, &real, &list, &shape, &memory, &words };
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  g_autofree char *deep = g_strnfill (10000, '(');
  g_auto (StudioValue) nested = studio_value_read (&whole, deep, lookup, NULL);

  g_assert_nonnull (nested.wrong);
  for (guint i = 0; i < 20000; i++)
    {
      char text[16];
      guint n = (guint)g_rand_int_range (rand, 0, sizeof text);
      const LoomParamSpec *spec = specs[i % G_N_ELEMENTS (specs)];

      for (guint k = 0; k < n; k++)
        text[k] = letters[g_rand_int_range (rand, 0, sizeof letters - 1)];
      text[n] = '\0';
      {
        g_auto (StudioValue) value = studio_value_read (spec, text, lookup, NULL);

        g_assert_true ((value.text == NULL) == (value.wrong != NULL));
        if (value.text != NULL)
          {
            g_auto (StudioValue) again = studio_value_read (spec, value.text, lookup, NULL);

            g_assert_cmpstr (again.text, ==, value.text);
          }
      }
    }
}

/* The hint and the fault of entries. */
static void
test_params (void)
{
  static const LoomParamSpec width = { .name = "width", .type = LOOM_PARAM_INT, .minimum = 1, .maximum = 64 };
  static const LoomParamSpec kernel = { .name = "kernel", .type = LOOM_PARAM_INTS, .length = 2, .def = "3" };
  static const struct
  {
    const LoomParamSpec *spec;
    const char *text;
    gboolean good;
  } cases[] = { { &width, "8", TRUE },       { &width, "0", FALSE },        { &width, "65", FALSE },
                { &width, "", FALSE },       { &width, "8x", FALSE },       { &width, "{n}", TRUE },
                { &kernel, "", TRUE },       { &kernel, "3,5", TRUE },      { &kernel, "3", TRUE },
                { &kernel, "1,2,3", FALSE }, { &shape, "B,1,28,28", TRUE }, { &shape, "-1", FALSE } };
  g_autofree char *title = studio_param_title ("out_features"), *count = studio_count_text (61706);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *wrong = studio_param_check (cases[i].spec, cases[i].text);

      g_test_message ("%s = “%s”: %s", cases[i].spec->name, cases[i].text, wrong != NULL ? wrong : "good");
      g_assert_true ((wrong == NULL) == cases[i].good);
    }
  g_assert_cmpstr (title, ==, "Out features");
  g_assert_cmpstr (count, ==, "61,706");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/value/good", test_good);
  g_test_add_func ("/value/bad", test_bad);
  g_test_add_func ("/value/anything", test_anything);
  g_test_add_func ("/ui/value/params", test_params);
  return g_test_run ();
}
