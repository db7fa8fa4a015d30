/* Graphs whose steps are taken apart, and the commands that do so. */
#pragma once

#include "tests/train/train-test.h"

/* Dropout draws random numbers in each step; the last batch of an epoch is smaller. */
static const char *const GRAPH
    = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"200\"/>"
      "<node id=\"hidden\" op=\"linear\" out_features=\"16\"/><node id=\"act\" op=\"tanh\"/>"
      "<node id=\"drop\" op=\"dropout\" p=\"0.2\"/>"
      "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"
      "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/><wire from=\"act\" to=\"drop\"/>"
      "<wire from=\"drop\" to=\"scores\"/>"
      "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"48\" epochs=\"3\" seed=\"3\">"
      "<metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/></train></graph>";

/* A module of two copies, and a loop of eight iterations. */
static const char *const NESTED
    = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<module name=\"cell\"><node id=\"x\" op=\"module_input\"/><node id=\"h\" op=\"module_input\" shape=\"B,5\"/>"
      "<node id=\"w\" op=\"linear\" out_features=\"5\"/><node id=\"u\" op=\"linear\" out_features=\"5\"/>"
      "<node id=\"sum\" op=\"add\"/><node id=\"state\" op=\"tanh\"/><node id=\"y\" op=\"module_output\"/>"
      "<node id=\"h1\" op=\"module_output\" carry=\"h\"/><wire from=\"x\" to=\"w\"/><wire from=\"h\" to=\"u\"/>"
      "<wire from=\"w\" to=\"sum.input\"/><wire from=\"u\" to=\"sum.other\"/><wire from=\"sum\" to=\"state\"/>"
      "<wire from=\"state\" to=\"y\"/><wire from=\"state\" to=\"h1\"/></module>"
      "<module name=\"block\"><node id=\"x\" op=\"module_input\"/><node id=\"fc\" op=\"linear\" out_features=\"6\"/>"
      "<node id=\"act\" op=\"relu\"/><node id=\"y\" op=\"module_output\"/><wire from=\"x\" to=\"fc\"/>"
      "<wire from=\"fc\" to=\"act\"/><wire from=\"act\" to=\"y\"/></module>"
      "<node id=\"data\" op=\"dataset\" source=\"tokens\" task=\"previous\" length=\"8\" values=\"7\"/>"
      "<node id=\"loop\" op=\"scan\" body=\"cell\" axis=\"1\"/><node id=\"mid\" module=\"block\" repeat=\"2\"/>"
      "<node id=\"head\" op=\"linear\" out_features=\"7\"/>"
      "<node id=\"classes\" op=\"transpose\" dim0=\"1\" dim1=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"
      "<wire from=\"data.x\" to=\"loop.x\"/><wire from=\"loop.y\" to=\"mid\"/><wire from=\"mid\" to=\"head\"/>"
      "<wire from=\"head\" to=\"classes\"/><wire from=\"classes\" to=\"loss.input\"/>"
      "<wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"16\" epochs=\"1\" seed=\"1\"/></graph>";

/* The number of the request. place: where the walk is then. */
gint64 command (LoomTrainer *trainer, const LoomWalkCommand *c, LoomStepperPlace *place);
void move (LoomTrainer *trainer, LoomStepperMove how, LoomStepperPlace *place);
/* (transfer full) */
LoomTensor *value_of (LoomTrainer *trainer, const char *port);

/* A trainer on the reference device. */
LoomTrainer *on_ref (const char *graph);
void run_to (LoomTrainer *trainer, gint64 step);
/* LoomTensor, one for each weight. (transfer full) */
GPtrArray *weights_of (LoomTrainer *trainer);
void assert_same_bits (const GPtrArray *a, const GPtrArray *b);
/* A graph whose first loss is NaN. (transfer full) */
char *without_finite_values (void);
