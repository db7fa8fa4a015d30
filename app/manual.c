/* Prints the manual page and the shells' completions from the table of commands and the options that each command
 * parses, so no second list can become outdated. The build runs this and installs the output. */
#include "app/manual.h"

#include "app/commands.h"

#include <stdio.h>
#include <string.h>

typedef void (*OptionFunc) (const GOptionEntry *entry, gpointer data);

typedef struct
{
  OptionFunc each;
  gpointer data;
} Visit;

static void
visit_entries (const Command *command, const GOptionEntry *entries, gpointer data)
{
  Visit *visit = data;

  for (; entries->long_name != NULL; entries++)
    visit->each (entries, visit->data);
}

static void
foreach_option (const Command *command, OptionFunc each, gpointer data)
{
  Visit visit = { each, data };

  command_describe (command, visit_entries, &visit);
}

static gboolean
takes_value (const GOptionEntry *entry)
{
  return entry->arg != G_OPTION_ARG_NONE;
}

static gboolean
takes_file (const GOptionEntry *entry)
{
  return entry->arg == G_OPTION_ARG_FILENAME || entry->arg == G_OPTION_ARG_FILENAME_ARRAY;
}

/* ---- man ---------------------------------------------------------------- */

/* Escapes text for roff: backslashes, hyphens, and points and quotes at the beginning of a line. */
static void
print_roff (const char *text)
{
  gboolean begins = TRUE;

  for (; *text; text++)
    {
      if (begins && (*text == '.' || *text == '\''))
        printf ("\\&");
      if (*text == '\\')
        printf ("\\e");
      else if (*text == '-')
        printf ("\\-");
      else
        putchar (*text);
      begins = *text == '\n';
    }
}

/* Prints paragraphs; indented lines are examples. */
static void
print_paragraphs (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  gboolean example = FALSE;

  printf (".PP\n");
  for (char **line = lines; *line != NULL; line++)
    {
      gboolean set_in = g_str_has_prefix (*line, "  ");

      if (set_in != example)
        printf (set_in ? ".PP\n.nf\n.RS 4\n" : ".RE\n.fi\n.PP\n");
      else if (!**line && line[1] != NULL)
        printf (".PP\n");
      example = set_in;
      if (!**line)
        continue;
      print_roff (*line + (set_in ? 2 : 0));
      printf ("\n");
    }
  if (example)
    printf (".RE\n.fi\n");
}

static void
print_roff_option (const GOptionEntry *entry, gpointer data)
{
  printf (".TP\n");
  if (entry->short_name)
    printf ("\\fB\\-%c\\fR, ", entry->short_name);
  printf ("\\fB\\-\\-");
  print_roff (entry->long_name);
  printf ("\\fR");
  if (takes_value (entry))
    {
      printf ("=\\fI");
      print_roff (entry->arg_description != NULL ? entry->arg_description : "VALUE");
      printf ("\\fR");
    }
  printf ("\n");
  print_roff (entry->description);
  printf (".\n");
}

static void
print_man (const Command *const *commands, guint n)
{
  printf (".\\\" Made by “gradloom help man” from the table of commands.\n"
          ".TH GRADLOOM 1 \"\" \"Gradloom %s\" \"User Commands\"\n"
          ".SH NAME\ngradloom \\- draw a network, watch it learn, run it anywhere\n"
          ".SH SYNOPSIS\n",
          LOOM_VERSION);
  for (guint i = 0; i < n; i++)
    {
      printf ("%s.B gradloom %s\n", i ? ".br\n" : "", commands[i]->name);
      print_roff (commands[i]->arguments);
      printf ("%s", *commands[i]->arguments ? "\n" : "");
    }
  printf (".SH DESCRIPTION\n"
          "Trains, evaluates, computes and inspects graphs that were drawn in Gradloom Studio or written as XML. With\n"
          "\\-\\-json a command prints one JSON object a line on standard output and nothing else.\n"
          ".SH COMMANDS\n");
  for (guint i = 0; i < n; i++)
    {
      printf (".SS gradloom %s ", commands[i]->name);
      print_roff (commands[i]->arguments);
      printf ("\n");
      print_roff (commands[i]->summary);
      printf (".\n");
      foreach_option (commands[i], print_roff_option, NULL);
      if (commands[i]->details != NULL)
        print_paragraphs (commands[i]->details);
    }
  printf (".SH EXIT STATUS\n");
  print_roff (command_statuses);
  printf (".SH ENVIRONMENT\n");
  for (const LoomEnv *e = loom_env_table (); e->name != NULL; e++)
    if (!e->for_tests)
      {
        printf (".TP\n.B %s\n", e->name);
        print_roff (e->doc);
        printf ("\n");
      }
  printf (".TP\n.B NO_COLOR\nIf it is set and not empty, output is not coloured.\n");
}

/* ---- bash --------------------------------------------------------------- */

typedef struct
{
  GString *options, *files, *values;
} Words;

static void
add_words (const GOptionEntry *entry, gpointer data)
{
  Words *words = data;

  g_string_append_printf (words->options, " --%s%s", entry->long_name, takes_value (entry) ? "=" : "");
  if (takes_file (entry))
    g_string_append_printf (words->files, "%s--%s", words->files->len ? "|" : "", entry->long_name);
  else if (takes_value (entry))
    g_string_append_printf (words->values, "%s--%s", words->values->len ? "|" : "", entry->long_name);
}

static void
print_bash (const Command *const *commands, guint n)
{
  printf ("# Completion of gradloom for bash, made by “gradloom help bash”.\n"
          "_gradloom ()\n{\n"
          "  local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options= files= values= words=\n"
          "  COMPREPLY=()\n"
          "  # The shell cuts words at the sign between an option and its value.\n"
          "  if [[ $cur == = ]]; then cur=\n"
          "  elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}\n"
          "  fi\n"
          "  if (( COMP_CWORD == 1 )); then\n"
          "    COMPREPLY=($(compgen -W '");
  for (guint i = 0; i < n; i++)
    printf ("%s ", commands[i]->name);
  printf ("help --help --version' -- \"$cur\"))\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n");
  for (guint i = 0; i < n; i++)
    {
      Words w = { g_string_new ("--help"), g_string_new (NULL), g_string_new (NULL) };
      foreach_option (commands[i], add_words, &w);
      printf ("    %s)\n      options='%s'\n      files='%s' values='%s'\n", commands[i]->name, w.options->str,
              w.files->str, w.values->str);
      if (commands[i] == &command_ops)
        {
          printf ("      words='");
          for (guint k = 0; loom_ops ()[k] != NULL; k++)
            printf ("%s%s", k ? " " : "", loom_ops ()[k]->name);
          printf ("'\n");
        }
      printf ("      ;;\n");
      g_string_free (w.options, TRUE);
      g_string_free (w.files, TRUE);
      g_string_free (w.values, TRUE);
    }
  printf ("    help) words='man markdown format json bash zsh fish' ;;\n"
          "  esac\n"
          "  if [[ -n $values && $before =~ ^($values)$ ]]; then\n"
          "    return\n"
          "  elif [[ -n $files && $before =~ ^($files)$ ]]; then\n"
          "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
          "  elif [[ $cur == -* ]]; then\n"
          "    COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
          "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2> /dev/null\n"
          "  elif [[ -n $words ]]; then\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "  else\n"
          "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
          "  fi\n"
          "  return 0\n"
          "}\n"
          "complete -o filenames -F _gradloom gradloom\n");
}

/* ---- zsh and fish ------------------------------------------------------- */

/* Escapes text for single quotes in which a backslash is special, too. */
static void
print_quoted (const char *text, const char *escape)
{
  for (; *text; text++)
    if (*text == '\'')
      printf ("'\\''");
    else
      printf ("%s%c", strchr (escape, *text) != NULL ? "\\" : "", *text);
}

static void
print_zsh_option (const GOptionEntry *entry, gpointer data)
{
  gboolean many = entry->arg == G_OPTION_ARG_STRING_ARRAY || entry->arg == G_OPTION_ARG_FILENAME_ARRAY;

  printf (" \\\n        '%s--%s%s[", many ? "*" : "", entry->long_name, takes_value (entry) ? "=" : "");
  print_quoted (entry->description, "[]:\\");
  printf ("]");
  if (takes_value (entry))
    {
      printf (":");
      print_quoted (entry->arg_description != NULL ? entry->arg_description : "value", "[]:\\");
      printf (":%s", takes_file (entry) ? "_files" : "");
    }
  printf ("'");
}

static void
print_zsh (const Command *const *commands, guint n)
{
  printf ("#compdef gradloom\n# Made by “gradloom help zsh”.\n_gradloom() {\n  local -a commands\n  commands=(\n");
  for (guint i = 0; i < n; i++)
    {
      printf ("    '%s:", commands[i]->name);
      print_quoted (commands[i]->summary, ":\\");
      printf ("'\n");
    }
  printf ("  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
          "  shift words\n  (( CURRENT-- ))\n  case $words[1] in\n");
  for (guint i = 0; i < n; i++)
    {
      printf ("    %s)\n      _arguments", commands[i]->name);
      foreach_option (commands[i], print_zsh_option, NULL);
      printf (" \\\n        '--help[Show help options]'");
      if (commands[i] == &command_ops)
        {
          printf (" \\\n        '1:operator:(");
          for (guint k = 0; loom_ops ()[k] != NULL; k++)
            printf ("%s%s", k ? " " : "", loom_ops ()[k]->name);
          printf (")'\n");
        }
      else
        printf (" \\\n        '*:file:_files'\n");
      printf ("      ;;\n");
    }
  printf ("  esac\n}\n_gradloom \"$@\"\n");
}

static void
print_fish_option (const GOptionEntry *entry, gpointer data)
{
  const Command *command = data;

  printf ("complete -c gradloom -n '__fish_seen_subcommand_from %s' -l %s", command->name, entry->long_name);
  if (entry->short_name)
    printf (" -s %c", entry->short_name);
  printf ("%s -d '", takes_file (entry) ? " -r -F" : takes_value (entry) ? " -x" : "");
  print_quoted (entry->description, "\\");
  printf ("'\n");
}

static void
print_fish (const Command *const *commands, guint n)
{
  printf ("# Completion of gradloom for fish, made by “gradloom help fish”.\n");
  for (guint i = 0; i < n; i++)
    {
      printf ("complete -c gradloom -n __fish_use_subcommand -f -a %s -d '", commands[i]->name);
      print_quoted (commands[i]->summary, "\\");
      printf ("'\n");
      foreach_option (commands[i], print_fish_option, (gpointer)commands[i]);
    }
  printf ("complete -c gradloom -n '__fish_seen_subcommand_from ops' -f -a '");
  for (guint k = 0; loom_ops ()[k] != NULL; k++)
    printf ("%s%s", k ? " " : "", loom_ops ()[k]->name);
  printf ("'\n");
}

gboolean
manual_print (const char *what, const Command *const *commands, guint n)
{
  static const struct
  {
    const char *what;
    void (*print) (const Command *const *commands, guint n);
  } kinds[] = { { "man", print_man },
                { "markdown", manual_print_markdown },
                { "format", manual_print_format },
                { "json", manual_print_json },
                { "bash", print_bash },
                { "zsh", print_zsh },
                { "fish", print_fish } };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (strcmp (kinds[i].what, what) == 0)
      {
        kinds[i].print (commands, n);
        return TRUE;
      }
  return FALSE;
}
