/* Reads a graph file with libxml2's streaming reader.
 *
 * The file may come from an untrusted source, so: no network, no document types (and therefore no entities), and limits
 * of size, depth, number of elements and length of attributes. All grammar faults are collected; an invalid element is
 * skipped with its content. Attributes of nodes are not checked here. */
#include "engine/graph/loom-grammar.h"
#include "engine/core/loom-refuse.h"
#include "engine/graph/reader-private.h"
#include "engine/core/loom-file.h"

#include <string.h>

#define MAX_BYTES     64000000
#define MAX_DEPTH     64
#define MAX_ELEMENTS  1000000
#define MAX_ATTRIBUTE 1000000
#define MAX_FAULTS    1000

static int
current_line (const Reading *r)
{
  xmlNodePtr node = xmlTextReaderCurrentNode (r->xml);
  long line = node != NULL ? xmlGetLineNo (node) : 0;

  /* A node stores 16 bits; for later lines the parser's current position is used. */
  if (line >= 65535)
    line = MAX (line, xmlTextReaderGetParserLineNumber (r->xml));
  return (int)line;
}

static LoomFault *add_fault (Reading *r, LoomErrorCode code, const LoomElement *at, const char *attribute,
                             const char *format, ...) G_GNUC_PRINTF (5, 6);

static LoomFault *
add_fault (Reading *r, LoomErrorCode code, const LoomElement *at, const char *attribute, const char *format, ...)
{
  g_autofree char *message = NULL;
  const char *node = at != NULL && at->tag == LOOM_TAG_NODE ? loom_element_get (at, "id") : NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  /* A list of a million faults of one file is useless. */
  if (loom_faults_length (r->faults) >= MAX_FAULTS)
    return NULL;
  return loom_faults_add (r->faults, code, current_line (r), node, attribute, "%s", message);
}

static void
error_cb (void *data, xmlErrorPtr error)
{
  Reading *r = data;

  if (error->level < XML_ERR_ERROR || r->broken != NULL)
    return;
  r->broken = loom_reading_explain (error, r->data, r->length);
  r->broken_line = error->line;
}

gboolean
loom_reading_attribute_fits (Reading *r, const char *value)
{
  if (strlen (value) <= MAX_ATTRIBUTE)
    return TRUE;
  if (r->broken == NULL)
    {
      r->broken = g_strdup ("an attribute is longer than 1 MB");
      r->broken_line = current_line (r);
    }
  return FALSE;
}

/* ---- own elements --------------------------------------------------------- */

static gboolean
lists (const char *const *names, const char *name)
{
  return names != NULL && g_strv_contains (names, name);
}

static void
read_attributes (Reading *r, LoomElement *e)
{
  const GrammarRule *rule = loom_grammar (e->tag);

  while (xmlTextReaderMoveToNextAttribute (r->xml) == 1)
    {
      const char *name = (const char *)xmlTextReaderConstName (r->xml);
      const char *prefix = (const char *)xmlTextReaderConstPrefix (r->xml);
      const char *value = or_empty (xmlTextReaderConstValue (r->xml));

      if (xmlTextReaderIsNamespaceDecl (r->xml) == 1 || !loom_reading_attribute_fits (r, value))
        continue;
      if (prefix != NULL)
        {
          /* An attribute of another namespace is kept together with the namespace's declaration. */
          if (strcmp (prefix, "xml") != 0)
            {
              g_autofree char *declaration = g_strconcat ("xmlns:", prefix, NULL);

              loom_element_set_value (e, declaration, or_empty (xmlTextReaderConstNamespaceUri (r->xml)));
            }
          loom_element_set_value (e, name, value);
        }
      else
        loom_element_set_value (e, name, value);
    }
  xmlTextReaderMoveToElement (r->xml);

  for (guint i = 0; i < e->n_attributes; i++)
    {
      const char *name = e->attributes[i].name;
      g_autoptr (GPtrArray) known = NULL;
      const char *near;
      LoomFault *fault;

      if (rule->any_attribute || strchr (name, ':') != NULL || lists (rule->required, name)
          || lists (rule->optional, name))
        continue;
      known = g_ptr_array_new ();
      for (guint k = 0; rule->required != NULL && rule->required[k] != NULL; k++)
        g_ptr_array_add (known, (gpointer)rule->required[k]);
      for (guint k = 0; rule->optional != NULL && rule->optional[k] != NULL; k++)
        g_ptr_array_add (known, (gpointer)rule->optional[k]);
      g_ptr_array_add (known, NULL);
      near = loom_nearest (name, (const char *const *)known->pdata);
      fault = add_fault (r, LOOM_ERROR_SCHEMA, e, name, "<%s> has no attribute “%s”.", rule->name, name);
      if (fault != NULL && near != NULL)
        loom_fault_set_fix (fault, NULL, NULL, "Did you mean “%s”?", near);
    }
  for (guint i = 0; rule->required != NULL && rule->required[i] != NULL; i++)
    if (loom_element_get (e, rule->required[i]) == NULL)
      add_fault (r, LOOM_ERROR_SCHEMA, e, NULL, "<%s> needs the attribute “%s”.", rule->name, rule->required[i]);
}

/* Positions and sizes are used by the canvas without further checks. */
static gboolean
check_numbers (Reading *r, const LoomElement *e)
{
  static const char *const numeric[] = { "x", "y", "width", "height" };
  gboolean fine = TRUE;

  if (e->tag < LOOM_TAG_PLACE || e->tag > LOOM_TAG_SLIDE)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (numeric); i++)
    {
      const char *value = loom_element_get (e, numeric[i]);
      char *end;
      double number;

      if (value == NULL)
        continue;
      number = g_ascii_strtod (value, &end);
      if (end == value || *end != 0 || !(number > -1e9 && number < 1e9))
        {
          add_fault (r, LOOM_ERROR_SCHEMA, e, numeric[i], "<%s> has %s=\"%s\", which is not a number.",
                     loom_tag_name (e->tag), numeric[i], value);
          fine = FALSE;
        }
    }
  return fine;
}

static gboolean
has_required (const LoomElement *e)
{
  const GrammarRule *rule = loom_grammar (e->tag);

  for (guint i = 0; rule->required != NULL && rule->required[i] != NULL; i++)
    if (loom_element_get (e, rule->required[i]) == NULL)
      return FALSE;
  return TRUE;
}

static void
check_version (Reading *r)
{
  const char *text = loom_element_get (r->root, "version");
  guint64 version;

  if (text == NULL)
    return;
  if (!g_ascii_string_to_unsigned (text, 10, 1, G_MAXUINT, &version, NULL))
    add_fault (r, LOOM_ERROR_SCHEMA, r->root, "version", "The version “%s” is not a number.", text);
  else if (version > LOOM_GRAPH_VERSION)
    add_fault (r, LOOM_ERROR_SCHEMA, r->root, "version",
               "The file has version %" G_GUINT64_FORMAT ", but this program reads versions up to %d. Open it with a "
               "newer Gradloom.",
               version, LOOM_GRAPH_VERSION);
}

static void
unknown_element (Reading *r, const LoomElement *parent, const char *name)
{
  g_autoptr (GPtrArray) known = g_ptr_array_new ();
  const char *near;
  LoomFault *fault;

  for (int tag = 0; tag < LOOM_TAG_COMMENT; tag++)
    if (loom_grammar (tag)->parents & 1u << parent->tag)
      g_ptr_array_add (known, (gpointer)loom_grammar (tag)->name);
  g_ptr_array_add (known, NULL);
  near = loom_nearest (name, (const char *const *)known->pdata);
  fault = add_fault (r, LOOM_ERROR_SCHEMA, NULL, NULL, "There is no element <%s>.", name);
  if (fault != NULL && near != NULL)
    loom_fault_set_fix (fault, NULL, NULL, "Did you mean <%s>?", near);
}

/* The index of the element in its parent, with a warning for the first of its kind that the file has out of order. */
static guint
find_place (Reading *r, const LoomElement *parent, LoomTag tag)
{
  int order = loom_grammar (tag)->order;

  for (guint i = loom_element_n_children (parent); i > 0; i--)
    {
      LoomTag before = loom_element_child (parent, i - 1)->tag;
      LoomFault *fault;

      if (before == LOOM_TAG_COMMENT || before == LOOM_TAG_FOREIGN)
        continue;
      if (loom_grammar (before)->order <= order)
        return G_MAXUINT;
      if (!(r->misplaced & 1u << tag))
        {
          fault = add_fault (r, LOOM_ERROR_SCHEMA, NULL, NULL,
                             "<%s> is after <%s>, but belongs before it; such elements are read as if they were there.",
                             loom_tag_name (tag), loom_tag_name (before));
          if (fault != NULL)
            fault->is_warning = TRUE;
        }
      r->misplaced |= 1u << tag;
      return loom_element_place_for (parent, tag);
    }
  return G_MAXUINT;
}

/* FALSE: the element is skipped. */
static gboolean
own_start (Reading *r)
{
  const char *name = (const char *)xmlTextReaderConstLocalName (r->xml);
  LoomElement *parent = r->open->len > 0 ? r->open->pdata[r->open->len - 1] : NULL;
  LoomTag tag = loom_grammar_tag (name);
  g_autoptr (LoomElement) e = NULL;
  LoomElement *kept;

  if (parent != NULL && tag == LOOM_N_TAGS)
    {
      unknown_element (r, parent, name);
      return FALSE;
    }
  if (parent != NULL && !(loom_grammar (tag)->parents & 1u << parent->tag))
    {
      add_fault (r, LOOM_ERROR_SCHEMA, NULL, NULL, "<%s> is not allowed in <%s>.", name, loom_tag_name (parent->tag));
      return FALSE;
    }
  if (parent != NULL && loom_grammar (tag)->once && tag != parent->tag && loom_element_find (parent, tag) != NULL)
    {
      add_fault (r, LOOM_ERROR_SCHEMA, NULL, NULL, "<%s> contains a second <%s>; only one is allowed.",
                 loom_tag_name (parent->tag), name);
      return FALSE;
    }

  e = loom_element_create (tag);
  e->line = current_line (r);
  read_attributes (r, e);
  if (parent == NULL)
    {
      kept = r->root = g_steal_pointer (&e);
      check_version (r);
    }
  else if (!has_required (e) || !check_numbers (r, e))
    return FALSE;
  else
    {
      guint place = find_place (r, parent, tag);

      kept = g_steal_pointer (&e);
      loom_element_attach (parent, place, kept);
    }
  if (xmlTextReaderIsEmptyElement (r->xml) != 1)
    {
      g_ptr_array_add (r->open, kept);
      g_string_truncate (r->text, 0);
    }
  return TRUE;
}

static void
own_end (Reading *r)
{
  LoomElement *e = r->open->pdata[r->open->len - 1];

  if (loom_grammar (e->tag)->has_text && r->text->len > 0)
    loom_element_set_content (e, r->text->str);
  g_string_truncate (r->text, 0);
  g_ptr_array_set_size (r->open, (int)r->open->len - 1);
}

static void
read_text (Reading *r)
{
  const char *text = or_empty (xmlTextReaderConstValue (r->xml));
  const LoomElement *e = r->open->len > 0 ? r->open->pdata[r->open->len - 1] : NULL;

  if (e == NULL)
    return;
  if (loom_grammar (e->tag)->has_text)
    g_string_append (r->text, text);
  else if (text[strspn (text, " \t\r\n")] != 0)
    {
      g_autofree char *start = g_strstrip (g_utf8_substring (text, 0, MIN (g_utf8_strlen (text, -1), 40)));

      add_fault (r, LOOM_ERROR_SCHEMA, e, NULL, "<%s> must not contain text, but contains “%s”.",
                 loom_tag_name (e->tag), start);
      r->n_dropped++;
    }
}

static void
read_comment (Reading *r, GPtrArray *before)
{
  LoomElement *e;

  if (r->open->len > 0 && loom_grammar (((LoomElement *)r->open->pdata[r->open->len - 1])->tag)->has_text)
    {
      r->n_dropped++;
      return;
    }
  e = loom_element_create (LOOM_TAG_COMMENT);
  e->line = current_line (r);
  loom_element_set_content (e, or_empty (xmlTextReaderConstValue (r->xml)));
  if (r->open->len > 0)
    loom_element_attach (r->open->pdata[r->open->len - 1], G_MAXUINT, e);
  else if (r->root == NULL)
    {
      loom_element_set_value (e, "place", "before");
      g_ptr_array_add (before, e);
    }
  else
    {
      loom_element_set_value (e, "place", "after");
      loom_element_attach (r->root, G_MAXUINT, e);
    }
}

/* ---- the loop ------------------------------------------------------------- */

static gboolean
stop (Reading *r, const char *why)
{
  /* The parser reads ahead, so the fault that it reports may be earlier. */
  g_free (r->broken);
  r->broken = g_strdup (why);
  r->broken_line = current_line (r);
  return FALSE;
}

/* Reads the current element with all its content. */
static void
leave_out (Reading *r, int depth)
{
  r->n_dropped++;
  if (xmlTextReaderIsEmptyElement (r->xml) != 1)
    r->skip_depth = depth + 1;
}

static gboolean
element_start (Reading *r, int depth)
{
  const char *uri = or_empty (xmlTextReaderConstNamespaceUri (r->xml));
  const char *name = (const char *)xmlTextReaderConstLocalName (r->xml);
  gboolean is_own = strcmp (uri, LOOM_GRAPH_NAMESPACE) == 0;
  const LoomElement *parent;

  if (r->root == NULL && (!is_own || strcmp (name, "graph") != 0))
    {
      g_autofree char *why = g_strdup_printf (
          "this is not a graph: it begins with <%s>, not with <graph xmlns=\"" LOOM_GRAPH_NAMESPACE "\">", name);

      return stop (r, why);
    }
  if (is_own)
    {
      if (!own_start (r))
        leave_out (r, depth);
      return TRUE;
    }
  parent = r->open->pdata[r->open->len - 1];
  if (uri[0] == 0)
    add_fault (r, LOOM_ERROR_SCHEMA, NULL, NULL, "<%s> has no namespace, so it is unknown.", name);
  if (uri[0] != 0 && !loom_grammar (parent->tag)->has_text)
    loom_reading_copy_foreign (r);
  else
    leave_out (r, depth);
  return TRUE;
}

/* Handles one event of the reader; FALSE stops with r->broken set. */
static gboolean
read_event (Reading *r, GPtrArray *before)
{
  int type = xmlTextReaderNodeType (r->xml), depth = xmlTextReaderDepth (r->xml);

  if (type == XML_READER_TYPE_DOCUMENT_TYPE)
    return stop (r, "a document type (<!DOCTYPE …>) is not allowed in a graph; remove it");
  if (type == XML_READER_TYPE_ENTITY_REFERENCE)
    return stop (r, "it uses an entity that XML does not define");
  if (type == XML_READER_TYPE_ELEMENT)
    {
      if (++r->n_elements > MAX_ELEMENTS)
        return stop (r, "it has more than 1,000,000 elements");
      if (depth >= MAX_DEPTH)
        return stop (r, "elements are nested deeper than 64");
    }

  if (r->skip_depth > 0)
    {
      if (type == XML_READER_TYPE_END_ELEMENT && depth == r->skip_depth - 1)
        r->skip_depth = 0;
      return TRUE;
    }
  if (r->bindings->len > 0)
    {
      loom_reading_copy_foreign (r);
      return TRUE;
    }

  switch (type)
    {
    case XML_READER_TYPE_ELEMENT:
      if (!element_start (r, depth))
        return FALSE;
      break;
    case XML_READER_TYPE_END_ELEMENT:
      own_end (r);
      break;
    case XML_READER_TYPE_TEXT:
    case XML_READER_TYPE_CDATA:
    case XML_READER_TYPE_WHITESPACE:
    case XML_READER_TYPE_SIGNIFICANT_WHITESPACE:
      read_text (r);
      break;
    case XML_READER_TYPE_COMMENT:
      read_comment (r, before);
      break;
    case XML_READER_TYPE_PROCESSING_INSTRUCTION:
      /* A processing instruction is harmless, so it is no fault, but the writer cannot write it. */
      r->n_dropped++;
      break;
    default:
      break;
    }
  return r->broken == NULL;
}

LoomGraph *
loom_graph_read_data (const char *data, gsize length, const char *name_for_errors, LoomFaults *faults, GError **error)
{
  Reading r = {
    .file = name_for_errors != NULL ? name_for_errors : "the graph", .data = data, .length = length, .faults = faults
  };
  g_autoptr (GPtrArray) before = NULL;
  int status = 0;
  static gsize is_ready;
  LoomGraph *graph;

  g_return_val_if_fail ((data != NULL || length == 0) && faults != NULL, NULL);

  /* Two threads that read their first graphs at once would both initialise libxml2, and crash. */
  if (g_once_init_enter (&is_ready))
    {
      xmlInitParser ();
      g_once_init_leave (&is_ready, 1);
    }

  if (length > MAX_BYTES)
    return loom_refuse_null (error, LOOM_ERROR_PARSE, "%s: the file is larger than 64 MB, the limit for graphs.",
                             r.file);
  if (length == 0)
    return loom_refuse_null (error, LOOM_ERROR_PARSE, "%s: the file is empty; a graph begins with <graph …>.", r.file);
  if (!loom_reading_check_text (r.file, data, length, error))
    return NULL;

  r.xml = xmlReaderForMemory (data, (int)length, r.file, "UTF-8", XML_PARSE_NONET | XML_PARSE_BIG_LINES);
  g_assert (r.xml != NULL);
  xmlTextReaderSetStructuredErrorHandler (r.xml, error_cb, &r);
  r.open = g_ptr_array_new ();
  r.bindings = g_ptr_array_new_with_free_func (g_free);
  r.text = g_string_new (NULL);
  r.foreign = g_string_new (NULL);
  before = g_ptr_array_new ();

  while (r.broken == NULL && (status = xmlTextReaderRead (r.xml)) == 1)
    if (!read_event (&r, before))
      break;

  for (guint i = before->len; i > 0; i--)
    if (r.root != NULL)
      loom_element_attach (r.root, 0, before->pdata[i - 1]);
    else
      loom_element_free (before->pdata[i - 1]);
  if (r.broken == NULL && (status < 0 || r.root == NULL))
    r.broken = g_strdup ("it contains no element");
  if (r.broken != NULL)
    {
      g_autofree char *why = loom_shorten_quotes (r.broken);

      g_set_error (error, LOOM_ERROR, LOOM_ERROR_PARSE, "%s: line %d: %s.", r.file, MAX (r.broken_line, 1), why);
      g_clear_pointer (&r.root, loom_element_free);
    }
  xmlFreeTextReader (r.xml);
  g_ptr_array_unref (r.open);
  g_ptr_array_unref (r.bindings);
  g_string_free (r.text, TRUE);
  g_string_free (r.foreign, TRUE);
  g_free (r.broken);
  if (r.root == NULL)
    return NULL;
  graph = loom_graph_create (r.root);
  graph->n_dropped = r.n_dropped;
  return graph;
}

static LoomGraph *
read_named (const char *data, gsize length, const char *path, LoomFaults *faults, GError **error)
{
  g_autofree char *absolute = NULL, *folder = NULL;
  LoomGraph *graph = loom_graph_read_data (data, length, path, faults, error);

  if (graph == NULL)
    return NULL;
  absolute = g_canonicalize_filename (path, NULL);
  folder = g_path_get_dirname (absolute);
  loom_graph_set_folder (graph, folder);
  graph->file = g_strdup (path);
  return graph;
}

LoomGraph *
loom_graph_read_in (LoomFolder *folder, const char *name, LoomFaults *faults, GError **error)
{
  g_autofree char *data = NULL, *path = loom_folder_path_of (folder, name);
  gsize length;

  if (!loom_folder_read (folder, name, MAX_BYTES, &data, &length, error))
    return NULL;
  return read_named (data, length, path, faults, error);
}

LoomGraph *
loom_graph_read_file (const char *path, LoomFaults *faults, GError **error)
{
  g_autofree char *data = NULL;
  g_autoptr (GError) cause = NULL;
  gsize length;

  g_return_val_if_fail (path != NULL && faults != NULL, NULL);

  if (!loom_file_read (path, NULL, MAX_BYTES, &data, &length, &cause))
    return loom_refuse_null (error, loom_file_error_code (cause), "“%s” cannot be read: %s.", path, cause->message);
  if (length > MAX_BYTES)
    return loom_refuse_null (error, LOOM_ERROR_PARSE, "%s: the file is larger than 64 MB, the limit for graphs.", path);
  return read_named (data, length, path, faults, error);
}
