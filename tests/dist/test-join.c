/* Machines that are joined, two threads in the place of their processes: over IPv4, IPv6, and by a name. */
#include <gio/gio.h>

#include "engine/dist/loom-join.h"

typedef struct
{
  const char *address;
  guint16 port;
  int status;
  GError *error;
} Other;

static gpointer
wait_there (gpointer data)
{
  Other *other = data;

  other->status = loom_join_wait (other->address, other->port, 2, 3, 20, &other->error);
  return NULL;
}

static guint16
free_port (void)
{
  g_autoptr (GSocketListener) listener = g_socket_listener_new ();

  return g_socket_listener_add_any_inet_port (listener, NULL, NULL);
}

/* The agent finds the other one by the name that mpirun has for it, and what it is to start is started. */
static void
check (const char *address, const char *hosts, const char *name)
{
  Other other = { .address = address, .port = free_port () };
  GThread *thread = g_thread_new ("other", wait_there, &other);
  g_autoptr (GError) error = NULL;
  LoomJoin *join = loom_join_open (other.port, 5, 2, 20, "gradloom", &error);

  g_assert_no_error (error);
  g_assert_cmpstr (loom_join_hosts (join), ==, hosts);
  g_assert_cmpint (loom_join_pass_on (name, "exit 7", &error), ==, 7);
  g_assert_no_error (error);
  g_assert_cmpint (loom_join_pass_on ("nobody", "exit 7", &error), ==, 255);
  loom_join_close (join, 42);
  g_thread_join (thread);
  g_assert_no_error (other.error);
  g_assert_cmpint (other.status, ==, 42);
}

static void
test_ipv4 (void)
{
  check ("127.0.0.1", "127.0.0.1:2,127.0.0.1:3", "127.0.0.1");
}

static void
test_ipv6 (void)
{
  g_autofree char *hosts = g_strdup_printf ("%s:2,--1:3", g_get_host_name ());
  g_autoptr (GInetAddress) loopback = g_inet_address_new_loopback (G_SOCKET_FAMILY_IPV6);
  g_autoptr (GSocketAddress) address = g_inet_socket_address_new (loopback, 0);
  g_autoptr (GSocket) socket = g_socket_new (G_SOCKET_FAMILY_IPV6, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, NULL);

  if (socket == NULL || !g_socket_bind (socket, address, FALSE, NULL))
    g_test_skip ("this machine has no IPv6");
  else
    check ("::1", hosts, "--1");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/dist/join/ipv4", test_ipv4);
  g_test_add_func ("/dist/join/ipv6", test_ipv6);
  return g_test_run ();
}
