/* The faults of a graph, each with its location, a sentence that a student understands, and the fix if there is one.
 *
 * Reader, operator table and inference append to one list; the command line prints it and Studio shows each fault on
 * its node. */
#pragma once

#include <glib.h>

#include "engine/core/loom-error.h"

typedef struct
{
  LoomErrorCode code;
  gboolean is_warning;
  gboolean is_todo; /* not an error: a wire or a parameter is still missing, which training requires */
  int line;         /* in the file; 0: none */
  char *node;       /* path: "block.0.conv"; NULL: no node */
  char *port;       /* port or attribute; may be NULL */
  char *message;    /* one sentence */
  char *fix;        /* "Did you mean “linear”?"; may be NULL */
  /* The fix as an edit of one attribute of the node, which is a button in Studio. fix_name is the attribute's new name,
   * and the value is kept; else fix_attribute is set to fix_value, and NULL removes it. */
  char *fix_attribute, *fix_value, *fix_name;
} LoomFault;

typedef struct
{
  GPtrArray *items; /* LoomFault, in order of discovery */
  char *file;       /* the file of the line numbers; NULL: unknown */
} LoomFaults;

/* Formats a sentence in which quoted text (“…”, ="…" and <…>) is cut at 60 characters (absolute paths at 400), with an
 * ellipsis, and made printable (loom-text.h); a quotation has no line breaks. All faults are formatted by it, so
 * formats contain plain %s. (transfer full) */
char *loom_shorten_quotes (const char *sentence);
/* g_set_error() of LOOM_ERROR with the same formatting, for sentences that quote a file. */
void loom_error_set_quoting (GError **error, LoomErrorCode code, const char *format, ...) G_GNUC_PRINTF (3, 4);

/* Returns a sentence, or its format, in the user's language, as gettext() does. */
typedef char *(*LoomTranslate) (const char *text);
/* Sets how the faults that this process finds from now on are worded; NULL: in English, which programs read. The
 * formats of loom_faults_add() and of the functions that call it are extracted for translators (data/po/meson.build).
 */
void loom_faults_set_language (LoomTranslate translate);
const char *loom_faults_translate (const char *format);

LoomFaults *loom_faults_new (void);
void loom_faults_free (LoomFaults *faults);
/* Appends a fault; node and port may be NULL. The list owns the result, whose fix may be set with loom_fault_set_fix().
 */
LoomFault *loom_faults_add (LoomFaults *faults, LoomErrorCode code, int line, const char *node, const char *port,
                            const char *format, ...) G_GNUC_PRINTF (6, 7);
void loom_fault_set_fix (LoomFault *fault, const char *attribute, const char *value, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
/* Sets the fix of a misspelt attribute: the intended name. */
void loom_fault_set_rename (LoomFault *fault, const char *attribute, const char *name);
/* Copies the fix of another fault, if it has one. */
void loom_fault_copy_fix (LoomFault *fault, const LoomFault *from);
guint loom_faults_count (const LoomFaults *faults); /* warnings not counted */
guint loom_faults_length (const LoomFaults *faults);
const LoomFault *loom_faults_get (const LoomFaults *faults, guint i);
/* "line 12: node fc, input: the sentence. Fix." */
char *loom_fault_to_string (const LoomFault *fault);
/* All sentences in the order of the faults. Faults of several nodes with the same sentence become one, with the number
 * and the names of the nodes: "line 12: 3 nodes, device: the sentence. Fix. Nodes: a, b, c." (transfer full,
 * element-type utf8) */
GPtrArray *loom_faults_sentences (const LoomFaults *faults, gboolean with_warnings);
/* Sets the file of the line numbers. The first call has precedence, because everything derived from a graph belongs to
 * the graph's file. */
void loom_faults_set_file (LoomFaults *faults, const char *file);
/* TRUE if there is no error; else sets the code of the first one and all sentences, one per line, after the name of the
 * file (NULL: the faults' file, if known). */
gboolean loom_faults_to_error (const LoomFaults *faults, const char *file, GError **error);

/* Returns the nearest of candidates (NULL-terminated) by edit distance for "did you mean", or NULL if none is near. */
const char *loom_nearest (const char *word, const char *const *candidates);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomFaults, loom_faults_free)
