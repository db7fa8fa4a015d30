/* Graphs for tests of documents: one with a fork and an unconnected node, and one with a module of which one instance
 * is repeated, has its own training settings and is watched. */
#pragma once

#define GRAPH(body)                                                                                                    \
  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n" body "</graph>\n"

static const char net[] = GRAPH ("  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"
                                 "  <node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"
                                 "  <node id=\"act\" op=\"relu\"/>\n"
                                 "  <node id=\"head\" op=\"linear\" out_features=\"2\"/>\n"
                                 "  <node id=\"sum\" op=\"add\"/>\n"
                                 "  <node id=\"image\" op=\"input\" shape=\"B,1,28,28\"/>\n"
                                 "  <node id=\"conv\" op=\"conv2d\" out_channels=\"3\" kernel_size=\"3\"/>\n"
                                 "  <wire from=\"x\" to=\"fc\"/>\n"
                                 "  <wire from=\"fc\" to=\"act\"/>\n"
                                 "  <wire from=\"act\" to=\"head\"/>\n"
                                 "  <wire from=\"act\" to=\"sum.input\"/>\n"
                                 "  <wire from=\"fc\" to=\"sum.other\"/>\n"
                                 "  <layout>\n"
                                 "    <route from=\"fc\" to=\"act\" points=\"1,2\"/>\n"
                                 "  </layout>\n");

static const char modular[]
    = GRAPH ("  <module name=\"stage\">\n"
             "    <arg name=\"width\" type=\"int\" default=\"8\"/>\n"
             "    <arg name=\"rate\" type=\"float\" default=\"0.5\"/>\n"
             "    <node id=\"in\" op=\"module_input\"/>\n"
             "    <node id=\"fc\" op=\"linear\" out_features=\"{width * 2}\"/>\n"
             "    <node id=\"act\" op=\"relu\"/>\n"
             "    <node id=\"down\" op=\"linear\" out_features=\"{width}\"/>\n"
             "    <node id=\"out\" op=\"module_output\"/>\n"
             "    <wire from=\"in\" to=\"fc\"/>\n"
             "    <wire from=\"fc\" to=\"act\"/>\n"
             "    <wire from=\"act\" to=\"down\"/>\n"
             "    <wire from=\"down\" to=\"out\"/>\n"
             "  </module>\n"
             "  <node id=\"data\" op=\"dataset\" source=\"spirals\"/>\n"
             "  <node id=\"body\" module=\"stage\" width=\"3\" repeat=\"2\" device=\"cpu\"/>\n"
             "  <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n"
             "  <node id=\"loss\" op=\"cross_entropy\"/>\n"
             "  <wire from=\"data.x\" to=\"body\"/>\n"
             "  <wire from=\"body\" to=\"fc\"/>\n"
             "  <wire from=\"fc\" to=\"loss.input\"/>\n"
             "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
             "  <train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"2\" epochs=\"1\">\n"
             "    <group match=\"body.1\" lr=\"0.2\"/>\n"
             "    <metric type=\"accuracy\" input=\"fc\" target=\"data.y\"/>\n"
             "  </train>\n"
             "  <view>\n"
             "    <pin tensor=\"body.1.act\" kind=\"heat\"/>\n"
             "  </view>\n");
