/* A graph for tests of documents: a chain of two layers and two instances of a module. */
#pragma once

static const char chain[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                            "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"chain\">\n"
                            "  <module name=\"block\">\n"
                            "    <arg name=\"width\" type=\"int\" default=\"8\"/>\n"
                            "    <node id=\"in\" op=\"module_input\"/>\n"
                            "    <node id=\"fc\" op=\"linear\" out_features=\"{width}\"/>\n"
                            "    <node id=\"out\" op=\"module_output\"/>\n"
                            "    <wire from=\"in\" to=\"fc\"/>\n"
                            "    <wire from=\"fc\" to=\"out\"/>\n"
                            "  </module>\n"
                            "  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"
                            "  <node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"
                            "  <node id=\"act\" op=\"relu\"/>\n"
                            "  <node id=\"b1\" module=\"block\"/>\n"
                            "  <node id=\"b2\" module=\"block\" width=\"3\"/>\n"
                            "  <wire from=\"x\" to=\"fc\"/>\n"
                            "  <wire from=\"fc\" to=\"act\"/>\n"
                            "  <wire from=\"act\" to=\"b1\"/>\n"
                            "  <wire from=\"b1\" to=\"b2\"/>\n"
                            "</graph>\n";
