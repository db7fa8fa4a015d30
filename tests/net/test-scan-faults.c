/* Graphs whose loops are refused, each with its one fault. */
#include "tests/net/scan-graph.h"
#include "tests/test-program.h"

static void
test_faults (void)
{
#define MODULE(nodes) "<module name='m'><node id='x' op='module_input'/>" nodes "</module>"
#define USE(attributes)                                                                                                \
  "<node id='x' op='input' shape='T,B,2'/><node id='s' op='scan' body='m' " attributes "/><wire from='x' to='s.x'/>"
#define OUT(from) "<node id='y' op='module_output'/><wire from='" from "' to='y'/>"
  static const struct
  {
    const char *body, *node, *port, *sentence;
  } cases[] = {
    { "<node id='s' op='scan'/>", "s", "body", "“scan” needs the name of the module that it runs." },
    { "<node id='s' op='scan' body='none'/>", "s", "body", "There is no module “none”." },
    { MODULE ("<node id='y' op='module_output' carry='g'/><wire from='x' to='y'/>") USE (""), "s.y", "carry",
      "“y” is carried to “g” of the next step, but the module has no module_input of this name." },
    { MODULE ("<node id='h' op='module_input' shape='B,2'/><node id='y' op='module_output' carry='h'/>"
              "<node id='z' op='module_output' carry='h'/><wire from='x' to='y'/><wire from='x' to='z'/>") USE (""),
      "s.z", "carry", "“y” and “z” are both carried to “h”, which can have only one value at the next step." },
    { MODULE ("<node id='h' op='module_input' shape='B,3'/><node id='y' op='module_output' carry='h'/>"
              "<wire from='x' to='y'/>") USE (""),
      "s", "h",
      "“h” is f32 4 × 3 before the first step, but f32 4 × 2 after a step (“y”). A carried value must have the same "
      "type at every step." },
    { MODULE ("<node id='h' op='module_input'/><node id='y' op='module_output' carry='h'/><wire from='x' to='y'/>")
          USE (""),
      "s", "h", "The input “h” is not wired, and its module_input has no shape for initial zeros." },
    { MODULE (OUT ("x")) USE ("sequence='z'"), "s", "sequence", "sequence names “z”, but “m” has no such input." },
    { MODULE (OUT ("x")) USE ("axis='3'"), "s", "x",
      "“x” is divided into steps along dimension 3, counted from 0, but its value is 5 × 4 × 2." },
    { MODULE (OUT ("x")) USE ("colour='red'"), "s", "colour",
      "Neither “scan” nor its module “m” has a parameter “colour”." },
    { MODULE ("<node id='z' op='module_input'/><node id='a' op='add'/><wire from='x' to='a.input'/>"
              "<wire from='z' to='a.other'/>" OUT ("a"))
          USE ("sequence='x,z'") "<node id='z' op='input' shape='7,B,2'/><wire from='z' to='s.z'/>",
      "s", "z", "All sequences of a loop need the same number of steps, but “z” has 7 and another sequence has 5." },
    { MODULE (OUT ("x")) USE ("") "<node id='l' op='input' shape='B'/><wire from='l' to='s.lengths'/>", "s", "lengths",
      "lengths must be one integer (i64) for each sample, but is f32 4." },
    { MODULE ("<node id='i' op='input' shape='B,2'/>" OUT ("i")) USE (""), "s.i", NULL,
      "“input” is not allowed in the body of a loop: outer values enter it through a module_input." },
    { MODULE ("<node id='u' op='unique'/><wire from='x' to='u'/>" OUT ("u.out")) USE (""), "s.u", NULL,
      "“unique” is not allowed in the body of a loop: its size would differ from step to step." },
    { MODULE ("<node id='r' op='relu' device='ref'/><wire from='x' to='r'/>" OUT ("r")) USE (""), "s.r", "device",
      "A loop runs on one device, that of “s”. Remove device." },
    { MODULE ("<node id='again' op='scan' body='m'/><wire from='x' to='again'/>" OUT ("again")) USE (""), "s.again",
      "module", "A module cannot contain itself: “m” holds “m”." },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (Made) m = { 0 };
      gboolean found = FALSE;

      read_graph (&m, cases[i].body, STEPS);
      for (guint k = 0; k < loom_faults_length (m.faults); k++)
        {
          const LoomFault *fault = loom_faults_get (m.faults, k);

          g_test_message ("%s %s: %s", fault->node, fault->port, fault->message);
          found |= g_strcmp0 (fault->node, cases[i].node) == 0 && g_strcmp0 (fault->port, cases[i].port) == 0
                   && g_str_equal (fault->message, cases[i].sentence);
        }
      if (!found || loom_faults_count (m.faults) != 1)
        g_error ("%s does not say “%s”, or more than that", cases[i].body, cases[i].sentence);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/scan-faults/faults", test_faults);
  return g_test_run ();
}
