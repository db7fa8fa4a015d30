/* Lines of words: "host RANK RANKS" and "agent TOKEN HOST BYTES" begin a connection; "run BYTES", "ran STATUS" and
 * "end STATUS" go over it. Behind a number of bytes come as many. */
#include "engine/dist/loom-join.h"

#include <gio/gio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define HELLO      "gradloom-join-1"
#define MOST_BYTES (1 << 20) /* of a command */
#define GREETING   10        /* seconds in which one that has connected must say who it is */
#define BETWEEN    (G_USEC_PER_SEC / 5)
#define ADDRESS_SECONDS 5 /* for each address of a name */

typedef struct
{
  char *name;      /* as mpirun hears of it */
  int rank, ranks; /* of the first of its processes, and how many are taken */
  GSocketConnection *connection;
  GDataInputStream *in;
  GMutex lock; /* one command at a time */
} Host;

struct _LoomJoin
{
  GSocketListener *listener;
  GCancellable *cancellable;
  GThread *thread;
  GMutex lock;
  GCond come;
  GPtrArray *host; /* Host, without this machine */
  char *own;       /* this machine's, likewise */
  char *token, *hosts;
  int ranks, n_ranks; /* that are wanted, and there */
};

/* ---- lines ------------------------------------------------------------------------ */

static GDataInputStream *
reader (GSocketConnection *connection)
{
  GDataInputStream *in = g_data_input_stream_new (g_io_stream_get_input_stream (G_IO_STREAM (connection)));

  g_filter_input_stream_set_close_base_stream (G_FILTER_INPUT_STREAM (in), FALSE);
  return in;
}

/* The words of the next line; NULL where there is none any more. (transfer full) */
static GStrv
read_words (GDataInputStream *in, GError **error)
{
  g_autofree char *line = g_data_input_stream_read_line (in, NULL, NULL, error);

  return line != NULL ? g_strsplit (line, " ", 5) : NULL;
}

static gboolean
is (const GStrv words, const char *first, guint n)
{
  return words != NULL && g_strv_length (words) == n && g_str_equal (words[0], first);
}

static int
number (const char *word)
{
  gint64 n;

  return g_ascii_string_to_signed (word, 10, 0, G_MAXINT32, &n, NULL) ? (int)n : -1;
}

static gboolean
write_all (GSocketConnection *connection, const char *text, gsize n, GError **error)
{
  return g_output_stream_write_all (g_io_stream_get_output_stream (G_IO_STREAM (connection)), text, n, NULL, NULL,
                                    error);
}

static gboolean
say (GSocketConnection *connection, GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *line = g_strdup_vprintf (format, args);
  va_end (args);
  return write_all (connection, line, strlen (line), error);
}

/* So many bytes as a text, or NULL. (transfer full) */
static char *
read_text (GDataInputStream *in, int n, GError **error)
{
  g_autofree char *text = n >= 0 && n <= MOST_BYTES ? g_malloc0 ((gsize)n + 1) : NULL;
  gsize got = 0;

  return text != NULL && g_input_stream_read_all (G_INPUT_STREAM (in), text, (gsize)n, &got, NULL, error)
                 && got == (gsize)n
             ? g_steal_pointer (&text)
             : NULL;
}

/* The name under which mpirun hears of a machine: its address without the port. What it does not know it asks the
 * agent for, so that one of IPv6 may have other signs where mpirun takes a colon for the end of the name.
 * (transfer full) */
static char *
name_of (GSocketAddress *address)
{
  char *name = g_inet_address_to_string (g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (address)));

  return g_strdelimit (name, ":", '-');
}

/* The same of this machine, which mpirun has to know for its own: of an address of IPv6 it would not. (transfer full)
 */
static char *
own_name (GSocketAddress *address)
{
  return g_socket_address_get_family (address) == G_SOCKET_FAMILY_IPV6 ? g_strdup (g_get_host_name ())
                                                                       : name_of (address);
}

/* ---- the first process ------------------------------------------------------------- */

static void
host_free (gpointer data)
{
  Host *host = data;

  g_clear_object (&host->in);
  g_clear_object (&host->connection);
  g_mutex_clear (&host->lock);
  g_free (host->name);
  g_free (host);
}

typedef struct
{
  LoomJoin *join;
  GSocketConnection *connection;
} Guest;

/* One machine's processes may come one by one: the first of them starts what is asked for, the others wait. */
static void
welcome_host (LoomJoin *join, GSocketConnection *connection, GDataInputStream *in, int rank, int ranks)
{
  g_autoptr (GSocketAddress) here = g_socket_connection_get_local_address (connection, NULL);
  g_autoptr (GSocketAddress) there = g_socket_connection_get_remote_address (connection, NULL);

  if (here == NULL || there == NULL || rank < 1 || ranks < 1)
    return;
  Host *host = g_new0 (Host, 1);
  host->name = name_of (there);
  host->rank = rank;
  host->ranks = ranks;
  host->connection = g_object_ref (connection);
  host->in = g_object_ref (in);
  g_mutex_init (&host->lock);
  g_socket_set_timeout (g_socket_connection_get_socket (connection), 0);
  g_socket_set_keepalive (g_socket_connection_get_socket (connection), TRUE);
  g_mutex_lock (&join->lock);
  if (join->own == NULL || !g_str_equal (host->name, join->own))
    {
      g_free (join->own);
      join->own = own_name (here);
    }
  g_ptr_array_add (join->host, host);
  join->n_ranks += ranks;
  g_cond_broadcast (&join->come);
  g_mutex_unlock (&join->lock);
}

static Host *
find_host (LoomJoin *join, const char *name)
{
  Host *found = NULL;

  g_mutex_lock (&join->lock);
  for (guint i = 0; i < join->host->len && found == NULL; i++)
    if (g_str_equal (((Host *)join->host->pdata[i])->name, name))
      found = join->host->pdata[i];
  g_mutex_unlock (&join->lock);
  return found;
}

/* What the agent wants started there: its status, 255 where nobody can be asked. */
static int
relay (LoomJoin *join, const char *name, const char *command)
{
  Host *host = find_host (join, name);
  int status = 255;

  if (host == NULL)
    return status;
  g_mutex_lock (&host->lock);
  if (say (host->connection, NULL, "run %zu\n", strlen (command))
      && write_all (host->connection, command, strlen (command), NULL))
    {
      g_auto (GStrv) words = read_words (host->in, NULL);

      status = is (words, "ran", 2) ? number (words[1]) : 255;
    }
  g_mutex_unlock (&host->lock);
  return status;
}

static gpointer
serve_guest (gpointer data)
{
  Guest *guest = data;
  g_autoptr (GSocketConnection) connection = guest->connection;
  LoomJoin *join = guest->join;
  g_autoptr (GDataInputStream) in = reader (connection);

  g_free (guest);
  g_socket_set_timeout (g_socket_connection_get_socket (connection), GREETING);
  g_auto (GStrv) words = read_words (in, NULL);
  if (words == NULL || !g_str_equal (words[0], HELLO))
    return NULL;
  if (g_strv_length (words) == 4 && g_str_equal (words[1], "host"))
    welcome_host (join, connection, in, number (words[2]), number (words[3]));
  else if (g_strv_length (words) == 5 && g_str_equal (words[1], "agent") && g_str_equal (words[2], join->token))
    {
      g_autofree char *command = read_text (in, number (words[4]), NULL);

      if (command != NULL)
        say (connection, NULL, "ran %d\n", relay (join, words[3], command));
    }
  return NULL;
}

/* Guests have threads of their own: one that says nothing keeps nobody waiting. */
static gpointer
accept_all (gpointer data)
{
  LoomJoin *join = data;
  GSocketConnection *connection;

  while ((connection = g_socket_listener_accept (join->listener, NULL, join->cancellable, NULL)) != NULL)
    {
      Guest *guest = g_new (Guest, 1);

      *guest = (Guest){ join, connection };
      g_thread_unref (g_thread_new ("guest", serve_guest, guest));
    }
  return NULL;
}

static int
by_rank (gconstpointer a, gconstpointer b)
{
  return (*(const Host *const *)a)->rank - (*(const Host *const *)b)->rank;
}

static void
list_hosts (LoomJoin *join, int own)
{
  g_autoptr (GString) text = g_string_new (NULL);

  g_ptr_array_sort (join->host, by_rank);
  g_string_append_printf (text, "%s:%d", join->own, own);
  for (guint i = 0; i < join->host->len; i++)
    {
      const Host *host = join->host->pdata[i];

      g_string_append_printf (text, ",%s:%d", host->name, host->ranks);
    }
  join->hosts = g_strdup (text->str);
}

static gboolean
wait_for_all (LoomJoin *join, double seconds, GError **error)
{
  const gint64 end = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);
  gboolean late = FALSE;
  int n;

  g_mutex_lock (&join->lock);
  while (join->n_ranks < join->ranks && !late)
    late = !g_cond_wait_until (&join->come, &join->lock, end);
  n = join->n_ranks;
  g_mutex_unlock (&join->lock);
  if (n == join->ranks)
    return TRUE;
  if (n > join->ranks)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DIST,
                 "%d ranks have come, and WORLD_SIZE is %d: that or LOCAL_WORLD_SIZE is wrong somewhere.", n,
                 join->ranks);
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DIST,
                 "Of %d ranks %d have come within %g seconds. Start the others, with the same WORLD_SIZE, MASTER_ADDR "
                 "and MASTER_PORT, or look whether they reach this machine.",
                 join->ranks, n, seconds);
  return FALSE;
}

LoomJoin *
loom_join_open (guint16 port, int ranks, int own, double seconds, const char *program, GError **error)
{
  g_autofree char *token = g_uuid_string_random ();
  LoomJoin *join = g_new0 (LoomJoin, 1);

  join->listener = g_socket_listener_new ();
  join->cancellable = g_cancellable_new ();
  join->host = g_ptr_array_new_with_free_func (host_free);
  join->token = g_steal_pointer (&token);
  join->ranks = ranks;
  join->n_ranks = own;
  g_mutex_init (&join->lock);
  g_cond_init (&join->come);
  g_autoptr (GError) local = NULL;
  if (!g_socket_listener_add_inet_port (join->listener, port, NULL, &local))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DIST,
                   "Nothing can listen at port %u: %s. Set GRADLOOM_PORT to a free one, on all machines.", port,
                   local->message);
      loom_join_close (join, 3);
      return NULL;
    }
  /* Signals are for the thread that waits for them. */
  sigset_t all, before;
  sigfillset (&all);
  pthread_sigmask (SIG_BLOCK, &all, &before);
  join->thread = g_thread_new ("join", accept_all, join);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (!wait_for_all (join, seconds, error))
    {
      loom_join_close (join, 3);
      return NULL;
    }
  list_hosts (join, own);
  g_autofree char *agent = g_strdup_printf ("%s worker --pass-on", program);
  g_autofree char *how = g_strdup_printf ("%u %s", port, join->token);
  g_setenv ("OMPI_MCA_plm", "rsh", TRUE);
  g_setenv ("OMPI_MCA_ras", "^slurm", TRUE); /* hosts go by their addresses, which SLURM does not know */
  g_setenv ("OMPI_MCA_plm_rsh_agent", agent, TRUE);
  g_setenv ("OMPI_MCA_plm_rsh_no_tree_spawn", "1", TRUE); /* only this machine has the agent's number */
  g_setenv (LOOM_JOIN_VARIABLE, how, TRUE);
  return join;
}

const char *
loom_join_hosts (const LoomJoin *join)
{
  return join->hosts;
}

void
loom_join_close (LoomJoin *join, int status)
{
  if (join == NULL)
    return;
  g_cancellable_cancel (join->cancellable);
  if (join->thread != NULL)
    g_thread_join (join->thread);
  g_socket_listener_close (join->listener);
  g_mutex_lock (&join->lock);
  for (guint i = 0; i < join->host->len; i++)
    say (((Host *)join->host->pdata[i])->connection, NULL, "end %d\n", status);
  g_mutex_unlock (&join->lock);
  /* A guest that never said who it is may still hold on to the rest, which the process's end frees. */
}

/* ---- the others ---------------------------------------------------------------------- */

static GSocketConnection *
reach (const char *address, guint16 port, double seconds, GError **error)
{
  g_autoptr (GSocketClient) client = g_socket_client_new ();
  const gint64 end = g_get_monotonic_time () + (gint64)(seconds * G_USEC_PER_SEC);

  g_socket_client_set_enable_proxy (client, FALSE);
  /* A name may have several addresses, of which one answers nothing at all: the others are tried in turn. */
  g_socket_client_set_timeout (client, ADDRESS_SECONDS);
  for (;;)
    {
      g_autoptr (GError) local = NULL;
      GSocketConnection *connection = g_socket_client_connect_to_host (client, address, port, NULL, &local);

      if (connection != NULL)
        {
          g_socket_set_timeout (g_socket_connection_get_socket (connection), 0);
          return connection;
        }
      if (g_get_monotonic_time () > end)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DIST,
                       "The first rank's process cannot be reached at %s, port %u: %s. Look at MASTER_ADDR and "
                       "MASTER_PORT, and whether it runs.",
                       address, port, local->message);
          return NULL;
        }
      g_usleep (BETWEEN);
    }
}

/* As a shell does it, in whose place ssh would have one. */
static int
start_command (const char *command)
{
  const char *words[] = { "/bin/sh", "-c", command, NULL };
  int status;

  if (!g_spawn_sync (NULL, (char **)words, NULL, G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, NULL, NULL, &status, NULL))
    return 255;
  return WIFEXITED (status) ? WEXITSTATUS (status) : 255;
}

int
loom_join_wait (const char *address, guint16 port, int rank, int ranks, double seconds, GError **error)
{
  g_autoptr (GSocketConnection) connection = reach (address, port, seconds, error);

  if (connection == NULL)
    return 3;
  g_autoptr (GDataInputStream) in = reader (connection);
  g_socket_set_keepalive (g_socket_connection_get_socket (connection), TRUE);
  say (connection, NULL, HELLO " host %d %d\n", rank, ranks);
  for (;;)
    {
      g_auto (GStrv) words = read_words (in, NULL);

      if (is (words, "end", 2))
        return MAX (0, number (words[1]));
      g_autofree char *command = is (words, "run", 2) ? read_text (in, number (words[1]), NULL) : NULL;
      if (command == NULL || !say (connection, NULL, "ran %d\n", start_command (command)))
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DIST, "The first rank's process at %s has ended.", address);
          return 3;
        }
    }
}

/* ---- the agent ------------------------------------------------------------------------ */

int
loom_join_pass_on (const char *host, const char *command, GError **error)
{
  const char *said = g_getenv (LOOM_JOIN_VARIABLE);
  g_auto (GStrv) how = g_strsplit (said != NULL ? said : "", " ", 2);
  const int port = g_strv_length (how) == 2 ? number (how[0]) : -1;
  g_autoptr (GSocketConnection) connection = port > 0 ? reach ("127.0.0.1", (guint16)port, 0, error) : NULL;

  if (port <= 0)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "Only mpirun, started by gradloom train, calls this.");
  if (connection == NULL)
    return 255;
  g_autoptr (GDataInputStream) in = reader (connection);
  g_auto (GStrv) words = say (connection, error, HELLO " agent %s %s %zu\n", how[1], host, strlen (command))
                                 && write_all (connection, command, strlen (command), error)
                             ? read_words (in, error)
                             : NULL;
  return is (words, "ran", 2) ? number (words[1]) : 255;
}
