/* Calls SentencePiece's library, which has no interface in C. */
#include "engine/data/token-sentencepiece.h"

#include <sentencepiece_processor.h>

#include <memory>
#include <vector>

using sentencepiece::SentencePieceProcessor;

static void *
load (const char *model, size_t length)
{
  auto self = std::make_unique<SentencePieceProcessor> ();

  return self->LoadFromSerializedProto (absl::string_view (model, length)).ok () ? self.release () : nullptr;
}

static void
unload (void *self)
{
  delete static_cast<SentencePieceProcessor *> (self);
}

static uint32_t
size (const void *self)
{
  return (uint32_t) static_cast<const SentencePieceProcessor *> (self)->GetPieceSize ();
}

static const char *
spelling (const void *self, uint32_t id)
{
  return static_cast<const SentencePieceProcessor *> (self)->IdToPiece ((int)id).c_str ();
}

static void
encode (const void *self, const char *text, size_t length, void (*add) (uint32_t id, void *data), void *data)
{
  std::vector<int> ids;

  if (!static_cast<const SentencePieceProcessor *> (self)->Encode (absl::string_view (text, length), &ids).ok ())
    return;
  for (int id : ids)
    add ((uint32_t)id, data);
}

extern "C" const TokenSentencePiece loom_sentencepiece; /* read by name */
const TokenSentencePiece loom_sentencepiece = { load, unload, size, spelling, encode };
