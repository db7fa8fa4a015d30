/* The trace of a step as a file: an object with "traceEvents", in which each complete event ("ph":"X") is a span, with
 * times in microseconds; a process is a rank and a thread one of its lanes. The format is Chrome's "Trace Event
 * Format". */
#include "engine/train/loom-trace.h"

#include <json-glib/json-glib.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/core/loom-folder.h"
#include "engine/core/loom-json.h"

static const char *const kind_names[LOOM_N_TRACE_KINDS] = { "compute", "exchange", "wait" };
static const char *const phase_names[LOOM_N_TRACE_PHASES] = { NULL, "forward", "backward", "update" };

static void
copy_text (char *to, gsize size, const char *text)
{
  const char *end;

  g_strlcpy (to, text != NULL ? text : "", size);
  if (!g_utf8_validate (to, -1, &end))
    to[end - to] = '\0';
}

void
loom_trace_add (GArray *spans, const LoomTraceSpan *span, const char *lane, const char *label, const char *node)
{
  LoomTraceSpan own = *span;

  copy_text (own.lane, sizeof own.lane, lane);
  copy_text (own.label, sizeof own.label, label);
  copy_text (own.node, sizeof own.node, node);
  g_array_append_val (spans, own);
}

static int
compare_spans (gconstpointer a, gconstpointer b)
{
  const LoomTraceSpan *x = a, *y = b;
  int lane = strcmp (x->lane, y->lane);

  if (x->rank != y->rank)
    return x->rank < y->rank ? -1 : 1;
  if (lane != 0)
    return lane;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

void
loom_trace_sort (GArray *spans)
{
  g_array_sort (spans, compare_spans);
}

/* ---- overlap ----------------------------------------------------------------- */

typedef struct
{
  gint64 begin, end;
} Interval;

static int
compare_intervals (gconstpointer a, gconstpointer b)
{
  const Interval *x = a, *y = b;

  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The union of a rank's spans of one kind. */
static GArray *
times_of (const GArray *spans, gint32 rank, LoomTraceKind kind)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (Interval));
  GArray *merged = g_array_new (FALSE, FALSE, sizeof (Interval));

  for (guint i = 0; i < spans->len; i++)
    {
      const LoomTraceSpan *span = &g_array_index (spans, LoomTraceSpan, i);
      const Interval own = { span->begin, span->end };

      if (span->rank == rank && span->kind == (gint32)kind)
        g_array_append_val (all, own);
    }
  g_array_sort (all, compare_intervals);
  for (guint i = 0; i < all->len; i++)
    {
      const Interval *own = &g_array_index (all, Interval, i);
      Interval *last = merged->len > 0 ? &g_array_index (merged, Interval, merged->len - 1) : NULL;

      if (last != NULL && own->begin <= last->end)
        last->end = MAX (last->end, own->end);
      else
        g_array_append_val (merged, *own);
    }
  return merged;
}

static LoomTraceOverlap
overlap_of (const GArray *spans, gint32 rank)
{
  g_autoptr (GArray) exchange = times_of (spans, rank, LOOM_TRACE_EXCHANGE);
  g_autoptr (GArray) compute = times_of (spans, rank, LOOM_TRACE_COMPUTE);
  LoomTraceOverlap o = { .rank = rank };

  for (guint i = 0, k = 0; i < exchange->len; i++)
    {
      const Interval *x = &g_array_index (exchange, Interval, i);

      o.exchange += 1e-9 * (double)(x->end - x->begin);
      while (k < compute->len && g_array_index (compute, Interval, k).end <= x->begin)
        k++;
      for (guint at = k; at < compute->len && g_array_index (compute, Interval, at).begin < x->end; at++)
        {
          const Interval *y = &g_array_index (compute, Interval, at);

          o.overlapped += 1e-9 * (double)(MIN (x->end, y->end) - MAX (x->begin, y->begin));
        }
    }
  return o;
}

GArray *
loom_trace_overlap (const GArray *spans)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (LoomTraceOverlap));
  gint32 last = -1;

  for (guint i = 0; i < spans->len; i++)
    last = MAX (last, g_array_index (spans, LoomTraceSpan, i).rank);
  for (gint32 rank = 0; rank <= last; rank++)
    {
      const LoomTraceOverlap o = overlap_of (spans, rank);

      if (o.exchange > 0)
        g_array_append_val (all, o);
    }
  return all;
}

char *
loom_trace_describe_overlap (const GArray *spans)
{
  g_autoptr (GArray) all = loom_trace_overlap (spans);
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < all->len; i++)
    {
      const LoomTraceOverlap *o = &g_array_index (all, LoomTraceOverlap, i);

      g_string_append_printf (text, "%srank %d %.3g of %.3g ms (%.0f %%)", i > 0 ? ", " : "", o->rank,
                              o->overlapped * 1e3, o->exchange * 1e3, 100 * o->overlapped / o->exchange);
    }
  return g_string_free (text, all->len == 0);
}

/* ---- writing ----------------------------------------------------------------- */

static void
add_overlap (LoomJson *json, const GArray *spans)
{
  g_autoptr (GArray) all = loom_trace_overlap (spans);

  loom_json_begin_array (json, "overlap");
  for (guint i = 0; i < all->len; i++)
    {
      const LoomTraceOverlap *o = &g_array_index (all, LoomTraceOverlap, i);

      loom_json_begin_object (json, NULL);
      loom_json_int (json, "rank", o->rank);
      loom_json_fixed (json, "exchange_ms", o->exchange * 1e3, 6);
      loom_json_fixed (json, "beside_ms", o->overlapped * 1e3, 6);
      loom_json_end_object (json);
    }
  loom_json_end_array (json);
}

/* An event that names a process or a thread. */
static void
add_name (LoomJson *json, const char *what, int rank, int lane, const char *name)
{
  loom_json_begin_object (json, NULL);
  loom_json_string (json, "name", what);
  loom_json_string (json, "ph", "M");
  loom_json_int (json, "pid", rank);
  loom_json_int (json, "tid", lane);
  loom_json_begin_object (json, "args");
  loom_json_string (json, "name", name);
  loom_json_end_object (json);
  loom_json_end_object (json);
}

static void
add_span (LoomJson *json, const LoomTraceSpan *span, int lane)
{
  loom_json_begin_object (json, NULL);
  loom_json_string (json, "name", span->node[0] != '\0' ? span->node : span->label);
  loom_json_string (json, "cat", kind_names[span->kind]);
  loom_json_string (json, "ph", "X");
  loom_json_fixed (json, "ts", (double)span->begin / 1000, 3);
  loom_json_fixed (json, "dur", (double)(span->end - span->begin) / 1000, 3);
  loom_json_int (json, "pid", span->rank);
  loom_json_int (json, "tid", lane);
  loom_json_begin_object (json, "args");
  loom_json_string (json, "node", span->node);
  loom_json_string (json, "kernel", span->label);
  loom_json_fixed (json, "ms", (double)(span->end - span->begin) / 1e6, 6);
  loom_json_fixed (json, "bytes", span->bytes, 0);
  if (span->phase > LOOM_TRACE_NO_PHASE && span->phase < LOOM_N_TRACE_PHASES)
    loom_json_string (json, "phase", phase_names[span->phase]);
  loom_json_end_object (json);
  loom_json_end_object (json);
}

char *
loom_trace_to_text (const GArray *spans, const char *title)
{
  g_autoptr (LoomJson) json = loom_json_new ();
  int rank = -1, lane = 0;
  const char *name = NULL;

  loom_json_begin_object (json, NULL);
  loom_json_string (json, "displayTimeUnit", "ms");
  loom_json_begin_object (json, "otherData");
  loom_json_string (json, "title", title);
  add_overlap (json, spans);
  loom_json_end_object (json);
  loom_json_begin_array (json, "traceEvents");
  for (guint i = 0; i < spans->len; i++)
    {
      const LoomTraceSpan *span = &g_array_index (spans, LoomTraceSpan, i);

      if (span->rank != rank)
        {
          g_autofree char *who = g_strdup_printf ("rank %d", span->rank);

          add_name (json, "process_name", span->rank, 0, who);
          lane = -1;
          name = NULL;
        }
      if (name == NULL || !g_str_equal (name, span->lane))
        add_name (json, "thread_name", span->rank, ++lane, span->lane);
      rank = span->rank;
      name = span->lane;
      add_span (json, span, lane);
    }
  loom_json_end_array (json);
  loom_json_end_object (json);
  return g_strdup (loom_json_text (json));
}

/* ---- reading ------------------------------------------------------------------ */

static double
number (JsonObject *object, const char *name)
{
  JsonNode *node = object != NULL ? json_object_get_member (object, name) : NULL;

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) ? json_node_get_double (node) : 0;
}

static const char *
text (JsonObject *object, const char *name)
{
  JsonNode *node = object != NULL ? json_object_get_member (object, name) : NULL;

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING
             ? json_node_get_string (node)
             : "";
}

static JsonObject *
object_of (JsonObject *object, const char *name)
{
  JsonNode *node = object != NULL ? json_object_get_member (object, name) : NULL;

  return node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

static void
read_event (GArray *spans, GHashTable *lanes, JsonObject *event)
{
  const char *phase = text (event, "ph"), *kind = text (event, "cat");
  JsonObject *args = object_of (event, "args");
  double rank = number (event, "pid"), lane = number (event, "tid"), begin = number (event, "ts") * 1000;
  double length = number (event, "dur") * 1000;
  g_autofree char *key = g_strdup_printf ("%.0f %.0f", rank, lane);
  const char *name = g_hash_table_lookup (lanes, key);

  if (g_str_equal (phase, "M") && g_str_equal (text (event, "name"), "thread_name"))
    g_hash_table_insert (lanes, g_steal_pointer (&key), g_strdup (text (args, "name")));
  if (!g_str_equal (phase, "X") || !(rank >= 0 && rank < 1e6) || !(begin >= 0 && begin < 1e17)
      || !(length >= 0 && length < 1e17))
    return;
  LoomTraceSpan span = { .rank = (gint32)rank,
                         .kind = LOOM_TRACE_COMPUTE,
                         .begin = (gint64)begin,
                         .end = (gint64)(begin + length),
                         .bytes = number (args, "bytes") };
  for (int k = 0; k < LOOM_N_TRACE_KINDS; k++)
    if (g_str_equal (kind, kind_names[k]))
      span.kind = k;
  for (int p = 1; p < LOOM_N_TRACE_PHASES; p++)
    if (g_str_equal (text (args, "phase"), phase_names[p]))
      span.phase = p;
  loom_trace_add (spans, &span, name != NULL ? name : "", text (args, "kernel"),
                  args != NULL ? text (args, "node") : text (event, "name"));
}

GArray *
loom_trace_parse (const char *data, gsize length, char **title, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GHashTable) lanes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (LoomTraceSpan));
  g_autoptr (GError) local = NULL;
  JsonNode *root;
  JsonObject *whole = NULL;
  JsonNode *events = NULL;

  if (!loom_json_is_within (data, length, LOOM_JSON_LEVELS))
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DATA,
                           "It is nested too deeply, or has half of a surrogate pair.");
      return NULL;
    }
  if (!json_parser_load_from_data (parser, data, (gssize)length, &local))
    return loom_refuse_null (error, LOOM_ERROR_DATA, "It is not JSON: %s.", local->message);
  root = json_parser_get_root (parser);
  if (root != NULL && JSON_NODE_HOLDS_OBJECT (root))
    whole = json_node_get_object (root);
  if (whole != NULL)
    events = json_object_get_member (whole, "traceEvents");
  if (events == NULL || !JSON_NODE_HOLDS_ARRAY (events))
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DATA, "It has no list “traceEvents”.");
      return NULL;
    }
  for (guint i = 0; i < json_array_get_length (json_node_get_array (events)); i++)
    {
      JsonNode *event = json_array_get_element (json_node_get_array (events), i);

      if (JSON_NODE_HOLDS_OBJECT (event))
        read_event (spans, lanes, json_node_get_object (event));
    }
  if (title != NULL)
    *title = g_strdup (text (object_of (whole, "otherData"), "title"));
  loom_trace_sort (spans);
  return g_steal_pointer (&spans);
}

#define MAX_BYTES 1000000000

GArray *
loom_trace_read_run (const char *run, char **title, GError **error)
{
  g_autoptr (LoomFolder) folder = loom_folder_open (run, error);
  g_autofree char *data = NULL;
  gsize length;

  return folder != NULL && loom_folder_read (folder, LOOM_TRACE_FILE, MAX_BYTES, &data, &length, error)
             ? loom_trace_parse (data, length, title, error)
             : NULL;
}

GArray *
loom_trace_read (const char *path, char **title, GError **error)
{
  g_autofree char *data = NULL;
  gsize length;
  GArray *spans;

  if (!loom_path_read (path, &data, &length, error))
    {
      g_prefix_error (error, "The trace cannot be read: ");
      return NULL;
    }
  spans = loom_trace_parse (data, length, title, error);
  if (spans == NULL)
    g_prefix_error (error, "The file %s is not a trace. ", path);
  return spans;
}
