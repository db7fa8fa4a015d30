/* Prints the attributes of the graph file as Markdown: of <graph>, of nodes, of <train> and its children, then the
 * optimisers, schedules and metrics. All from the tables that the reader uses, so the page cannot differ from the
 * program. */
#include "app/manual.h"

#include <math.h>
#include <stdio.h>

/* Escapes text for a table's cell: a bar would begin the next cell, and < a tag of HTML. */
void
manual_print_cell (const char *text)
{
  for (; *text != '\0'; text++)
    if (*text == '|')
      printf ("\\|");
    else if (*text == '<')
      printf ("&lt;");
    else
      putchar (*text == '\n' ? ' ' : *text);
}

/* Prints the last cell of a row. Docs that error messages quote begin with “the” and have no point; others may begin
 * with the name of a value. */
static void
print_doc (const char *doc)
{
  const char first = g_str_has_prefix (doc, "the ") ? 'T' : doc[0];
  g_autofree char *sentence = g_strdup_printf ("%c%s%s", first, doc + 1, g_str_has_suffix (doc, ".") ? "" : ".");

  manual_print_cell (sentence);
  printf (" |\n");
}

static void
print_spec (const LoomParamSpec *spec)
{
  g_autofree char *facts = loom_param_facts (spec);

  printf ("| `%s` | ", spec->name);
  manual_print_cell (facts);
  printf (" | ");
  print_doc (spec->doc);
}

static void
print_attributes (LoomTag tag)
{
  printf ("\n### `<%s>`\n\n| attribute | value | meaning |\n|---|---|---|\n", loom_tag_name (tag));
  for (const LoomAttribute *a = loom_attributes (tag); a->spec.name != NULL; a++)
    print_spec (&a->spec);
}

static void
print_reserved (void)
{
  printf ("\n### `<node>`, in addition to the parameters of its operator\n\n"
          "| attribute | value | meaning |\n|---|---|---|\n");
  for (const LoomReserved *r = loom_reserved (); r->spec.name != NULL; r++)
    print_spec (&r->spec);
}

static void
print_initializers (void)
{
  printf ("\n### Initial values, of `%s` and `%s`\n\n| value | parameters, with defaults | meaning |\n|---|---|---|\n",
          LOOM_WEIGHT_INIT, LOOM_BIAS_INIT);
  for (const LoomInitializer *f = loom_initializers (); f->name != NULL; f++)
    {
      g_autofree char *doc = g_strconcat (f->doc, " ", f->formula, f->source != NULL ? ". " : "",
                                          f->source != NULL ? f->source : "", NULL);

      printf ("| `%s` |", f->name);
      for (const LoomInitializerParam *p = f->param; p->name != NULL; p++)
        {
          printf (" `%s` ", p->name);
          if (p->choices == NULL)
            printf ("%g", p->value);
          for (guint i = 0; p->choices != NULL && p->choices[i] != NULL; i++)
            printf ("%s%s", i == 0 ? "" : i == 1 ? ", or " : " ", p->choices[i]);
        }
      printf (" | ");
      print_doc (doc);
    }
}

static void
print_optimizers (void)
{
  printf ("\n### Optimisers\n\n| `optimizer` | options, with defaults | meaning |\n|---|---|---|\n");
  for (const LoomOptimizer *const *each = loom_optimizers (); *each != NULL; each++)
    {
      printf ("| `%s` |", (*each)->name);
      for (const LoomHyper *hyper = (*each)->hyper; hyper != NULL && hyper->name != NULL; hyper++)
        {
          const char *value = loom_default_text (hyper->value, hyper->choices, hyper->is_bool);

          printf (" `%s`%s%s", hyper->name, value != NULL ? " " : "", value != NULL ? value : "");
        }
      printf (" | ");
      print_doc ((*each)->doc);
    }
}

/* A default that the formula computes is stated in the parameter's doc. */
static void
print_schedules (void)
{
  printf ("\n### Schedules\n\n| `type` | meaning |\n|---|---|\n");
  for (const LoomScheduleClass *const *each = loom_schedules (); *each != NULL; each++)
    {
      printf ("| `%s` | ", (*each)->name);
      print_doc ((*each)->doc);
    }
  printf ("\n| `type` | parameter | value | meaning |\n|---|---|---|---|\n");
  for (const LoomScheduleClass *const *each = loom_schedules (); *each != NULL; each++)
    {
      if ((*each)->has_milestones)
        printf ("| `%s` | `milestones` | required | see `<schedule>` |\n", (*each)->name);
      if ((*each)->has_formula)
        printf ("| `%s` | `formula` | required | see `<schedule>` |\n", (*each)->name);
      for (const LoomScheduleParam *p = (*each)->param; p->name != NULL; p++)
        {
          printf ("| `%s` | `%s` | ", (*each)->name, p->name);
          if (p->required)
            printf ("required");
          else if (p->choices != NULL)
            printf ("%s", p->choices[(int)p->value]);
          else if (!isnan (p->value))
            printf ("%.10g", p->value);
          for (guint k = 0; p->choices != NULL && p->choices[k] != NULL; k++)
            printf ("%s%s", k == 0 ? ", one of " : " ", p->choices[k]);
          printf (" | ");
          print_doc (p->doc);
        }
    }
}

static void
print_metrics (void)
{
  printf ("\n### Metrics\n\n| `type` | meaning |\n|---|---|\n");
  for (const LoomMetric *const *each = loom_metrics (); *each != NULL; each++)
    {
      printf ("| `%s` | ", (*each)->name);
      print_doc ((*each)->doc);
    }
}

void
manual_print_attributes (void)
{
  static const LoomTag tags[] = { LOOM_TAG_GRAPH, LOOM_TAG_TRAIN,  LOOM_TAG_GROUP,   LOOM_TAG_SCHEDULE,
                                  LOOM_TAG_CLIP,  LOOM_TAG_METRIC, LOOM_TAG_PARALLEL };

  print_reserved ();
  print_initializers ();
  for (guint i = 0; i < G_N_ELEMENTS (tags); i++)
    print_attributes (tags[i]);
  print_optimizers ();
  print_schedules ();
  print_metrics ();
}

void
manual_print_format (const Command *const *commands, guint n)
{
  printf ("# The attributes of graph files, Gradloom %s\n\nMade by `gradloom help format`.\n", LOOM_VERSION);
  manual_print_attributes ();
}
