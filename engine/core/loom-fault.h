/* Faults of a graph: everything that is wrong with it, each with its place, a
 * sentence that a student understands, and where there is one the fix.
 *
 * Reader, operator table and inference append to one list; the command line prints
 * it and Studio puts each on its node. */
#pragma once

#include <glib.h>

#include "engine/core/loom-error.h"

G_BEGIN_DECLS

typedef struct
{
  LoomErrorCode code;
  gboolean is_warning;
  gboolean is_todo; /* nothing is wrong: a wire or a parameter is not there yet. Training needs it all the same. */
  int line;      /* in the file, 0 when it has none */
  char *node;    /* path: "block.0.conv"; NULL when it concerns no node */
  char *port;    /* port or attribute; may be NULL */
  char *message; /* one sentence */
  char *fix;     /* "Did you mean “linear”?"; may be NULL */
  /* The fix as an edit of one attribute of the node, where it is one: a button in
   * Studio. fix_name gives the attribute that name, with the value that it has; else
   * fix_value NULL with fix_attribute set removes the attribute. */
  char *fix_attribute, *fix_value, *fix_name;
} LoomFault;

typedef struct
{
  GPtrArray *items; /* LoomFault, in order of discovery */
  char *file;       /* that their lines are of; NULL where it is not known */
} LoomFaults;

/* A copy in which what stands in “quotes”, in ="quotes" or in <brackets> is cut at 60 characters (absolute paths at
 * 400), with an ellipsis, and which is printable (loom-text.h); a quotation stays within its line. Faults are worded
 * through it, so that their formats have plain %s. (transfer full) */
char *loom_shorten_quotes (const char *sentence);
/* g_set_error() of LOOM_ERROR through the same, where a sentence quotes what a file says. */
void loom_error_set_quoting (GError **error, LoomErrorCode code, const char *format, ...) G_GNUC_PRINTF (3, 4);

LoomFaults *loom_faults_new (void);
void loom_faults_free (LoomFaults *faults);
/* Appends; node and port may be NULL. The result is owned by the list, and its fix
 * may be set with loom_fault_set_fix. */
LoomFault *loom_faults_add (LoomFaults *faults, LoomErrorCode code, int line, const char *node, const char *port,
                            const char *format, ...) G_GNUC_PRINTF (6, 7);
void loom_fault_set_fix (LoomFault *fault, const char *attribute, const char *value, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
/* The fix of a misspelt attribute: the name that was meant. */
void loom_fault_set_rename (LoomFault *fault, const char *attribute, const char *name);
/* Gives a fault the fix of another, if that has one. */
void loom_fault_copy_fix (LoomFault *fault, const LoomFault *from);
guint loom_faults_count (const LoomFaults *faults); /* warnings not counted */
guint loom_faults_length (const LoomFaults *faults);
const LoomFault *loom_faults_get (const LoomFaults *faults, guint i);
/* "line 12: node fc, input: the sentence. Fix." */
char *loom_fault_to_string (const LoomFault *fault);
/* All sentences in the order of the faults. What is wrong with several nodes in the same words is one sentence, with
 * their number and their names: "line 12: 3 nodes, device: the sentence. Fix. Nodes: a, b, c." (transfer full,
 * element-type utf8) */
GPtrArray *loom_faults_sentences (const LoomFaults *faults, gboolean with_warnings);
/* The file that the lines belong to. The first file stays: what is derived from a graph is of its file. */
void loom_faults_set_file (LoomFaults *faults, const char *file);
/* TRUE when there is no error; else the first one's code and all sentences, a line each, after the name of the file
 * (NULL: the faults' own, where it is known). */
gboolean loom_faults_to_error (const LoomFaults *faults, const char *file, GError **error);

/* The nearest of candidates (NULL-terminated) by edit distance, or NULL if none is near:
 * for "did you mean". */
const char *loom_nearest (const char *word, const char *const *candidates);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomFaults, loom_faults_free)

G_END_DECLS
