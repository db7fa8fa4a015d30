/* Explains errors of the XML parser in plain words: the faulty text, and what to write instead. The parser's messages
 * contain names of its functions and productions ("xmlParseEntityRef: no name"), so none of them is shown; for a code
 * without a sentence here, the error is "no XML" with the line. */
#include "engine/graph/reader-private.h"

#include <libxml/xmlerror.h>
#include <string.h>

#define EXCERPT 40

/* Quotes text safely: the file may not be XML, and its bytes could be control codes of a terminal. */
static char *
printable (const char *text, gsize length)
{
  g_autofree char *valid = g_utf8_make_valid (text, (gssize)length);
  GString *clean = g_string_new (NULL);

  for (const char *c = valid; *c != '\0'; c = g_utf8_next_char (c))
    g_string_append_unichar (clean, g_unichar_isprint (g_utf8_get_char (c)) ? g_utf8_get_char (c) : 0xFFFD);
  return g_string_free (clean, FALSE);
}

/* The position just before the one at which the parser stopped, within its line. at_end: no text follows. */
static char *
excerpt_before (const char *data, gsize length, const xmlError *error, gboolean *at_end)
{
  const char *line = data, *end = data + length, *start, *stop;
  g_autofree char *shown = NULL;
  GString *text;

  for (int n = 1; n < error->line && line < end; n++)
    {
      const char *next = memchr (line, '\n', (gsize)(end - line));

      line = next != NULL ? next + 1 : end;
    }
  stop = error->int2 > 0 ? line + MIN ((gsize)error->int2, (gsize)(end - line)) : line;
  if (memchr (line, '\n', (gsize)(stop - line)) != NULL)
    stop = memchr (line, '\n', (gsize)(stop - line));
  *at_end = stop == end;
  start = stop - MIN ((gsize)(stop - line), EXCERPT);
  while (start < stop && ((guchar)*start & 0xC0) == 0x80)
    start++;
  while (start < stop && g_ascii_isspace (*start))
    start++;
  while (stop > start && g_ascii_isspace (stop[-1]))
    stop--;
  shown = printable (start, (gsize)(stop - start));
  text = g_string_new (start > line ? "…" : "");
  g_string_append (text, shown);
  return g_string_free (text, FALSE);
}

/* An & that begins no reference, or a < that begins no tag. */
static char *
explain_name (const char *before)
{
  const char *amp = strrchr (before, '&'), *less = strrchr (before, '<');

  if (amp != NULL && (less == NULL || amp > less))
    return g_strdup_printf ("“%s” contains an unescaped “&”: write &amp;", before);
  return g_strdup_printf ("the “<” in “%s” does not begin an element: write &lt; for the character itself", before);
}

static char *
explain_end (const char *data, gsize length)
{
  int line = 0;
  g_autofree char *open = loom_reading_innermost_open (data, length, &line);

  if (open == NULL || open[0] == '\0')
    return g_strdup ("the file ends inside a tag: it is truncated");
  return g_strdup_printf ("the file ends inside <%s>, which begins in line %d: it is truncated, or </%s> is missing",
                          open, line, open);
}

/* The number of blanks at the beginning of the text, which need not be zero-terminated. */
static gsize
count_blanks (const char *data, gsize length)
{
  gsize n = 0;

  while (n < length && g_ascii_isspace (data[n]))
    n++;
  return n;
}

static char *
explain_start (const char *data, gsize length)
{
  gsize blank = count_blanks (data, length), n = 0;
  g_autofree char *first = NULL, *start = NULL;

  if (blank >= length)
    return g_strdup ("it contains only blanks; a graph begins with <graph …>");
  while (blank + n < length && n < 4 * EXCERPT && data[blank + n] != '\n' && data[blank + n] != '\r')
    n++;
  first = printable (data + blank, n);
  start = g_utf8_substring (first, 0, MIN (g_utf8_strlen (first, -1), EXCERPT));
  return g_strdup_printf ("it begins with “%s”, which is not XML; a graph begins with <graph xmlns=\"%s\">", start,
                          LOOM_GRAPH_NAMESPACE);
}

char *
loom_reading_explain (const xmlError *error, const char *data, gsize length)
{
  const char *name = error->str1 != NULL ? error->str1 : "";
  gboolean at_end;
  g_autofree char *before = excerpt_before (data, length, error, &at_end);

  switch (error->code)
    {
    case XML_ERR_DOCUMENT_EMPTY:
      return explain_start (data, length);
    case XML_ERR_DOCUMENT_END:
      if (count_blanks (data, length) >= length)
        return explain_start (data, length);
      if (!loom_reading_is_cut_off (data, length))
        return g_strdup ("text follows the end of the graph: remove everything after </graph>");
      return explain_end (data, length);
    case XML_ERR_TAG_NOT_FINISHED:
    case XML_ERR_LTSLASH_REQUIRED:
      return explain_end (data, length);
    case XML_ERR_TAG_NAME_MISMATCH:
      return g_strdup_printf ("<%s>, which begins in line %d, is not closed before </%s>: write </%s> first, "
                              "or end it with />",
                              name, error->int1, error->str2 != NULL ? error->str2 : "", name);
    case XML_ERR_NAME_REQUIRED:
      return explain_name (before);
    case XML_ERR_ENTITYREF_SEMICOL_MISSING:
      return g_strdup_printf ("the “&” in “%s” lacks its “;”: write &amp; for the character itself", before);
    case XML_ERR_UNDECLARED_ENTITY:
    case XML_WAR_UNDECLARED_ENTITY:
      return g_strdup_printf ("the entity “&%s;” is not defined in XML: write the character itself", name);
    case XML_ERR_LT_IN_ATTRIBUTE:
      return g_strdup_printf ("a value contains a “<”, in “%s”: write &lt;", before);
    case XML_ERR_ATTRIBUTE_NOT_STARTED:
      return g_strdup_printf ("a value has no quotation marks, in “%s”: write name=\"value\"", before);
    case XML_ERR_ATTRIBUTE_NOT_FINISHED:
      return g_strdup ("a quotation mark that opens a value is never closed");
    case XML_ERR_ATTRIBUTE_WITHOUT_VALUE:
      return g_strdup_printf ("the attribute “%s” has no value: write %s=\"…\"", name, name);
    case XML_ERR_ATTRIBUTE_REDEFINED:
      return g_strdup_printf ("an element has the attribute “%s” twice: remove one of them", name);
    case XML_ERR_SPACE_REQUIRED:
      return at_end ? explain_end (data, length)
                    : g_strdup_printf ("a space is missing between two attributes, in “%s”", before);
    case XML_ERR_GT_REQUIRED:
      return at_end ? explain_end (data, length) : g_strdup_printf ("a “>” is missing, in “%s”", before);
    case XML_ERR_COMMENT_NOT_FINISHED:
      return g_strdup ("a comment that begins with <!-- is never closed: write --> after it");
    case XML_ERR_HYPHEN_IN_COMMENT:
      return g_strdup ("a comment contains “--”, which XML does not allow: write one hyphen");
    case XML_ERR_MISPLACED_CDATA_END:
      return g_strdup ("a text contains “]]>”, which XML does not allow: write ]]&gt;");
    case XML_ERR_UNKNOWN_ENCODING:
    case XML_ERR_UNSUPPORTED_ENCODING:
    case XML_ERR_ENCODING_NAME:
      return g_strdup ("the first line names an unknown encoding: a graph is UTF-8, so write "
                       "encoding=\"UTF-8\"");
    case XML_ERR_INVALID_ENCODING:
      return g_strdup ("the file contains characters that are not UTF-8: save it as UTF-8");
    case XML_ERR_INVALID_CHAR:
    case XML_ERR_INVALID_CHARREF:
    case XML_ERR_INVALID_DEC_CHARREF:
    case XML_ERR_INVALID_HEX_CHARREF:
      return g_strdup_printf ("XML does not allow a character in “%s”: remove it", before);
    case XML_ERR_RESERVED_XML_NAME:
      return g_strdup ("<?xml …?> must be at the very beginning of a file: remove the text before it");
    case XML_NS_ERR_UNDEFINED_NAMESPACE:
      return g_strdup_printf ("the prefix “%s:” is not declared: add xmlns:%s=\"…\", or remove the prefix", name, name);
    default:
      return before[0] != '\0' ? g_strdup_printf ("this is not XML, in “%s”", before) : g_strdup ("this is not XML");
    }
}
