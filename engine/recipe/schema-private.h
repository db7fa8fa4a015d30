/* Shared by the printers of the schema. */
#pragma once

#include "engine/graph/loom-xml.h"
#include "engine/recipe/loom-attributes.h"

/* Writes the alternatives for a value of this type, within a <choice>. */
void schema_put_values (LoomXml *out, const LoomParamSpec *param);
/* Writes the attributes of an element of training, from loom_attributes(); FALSE if the element has none. */
gboolean schema_put_attributes (LoomXml *out, LoomTag tag);
