/* The table of operators whose call in PyTorch differs in name, parameters or ports, with the code that replaces it.
 *
 * All others need no row. Their descriptor says enough: “torch.nn.GELU” is a module made with the parameters that are
 * not at their default, “torch.add” a function of the inputs and parameters in order, and a loss the function of its
 * own name in torch.nn.functional (its module would keep class weights in the state_dict). The first row whose
 * condition holds is used. */
#include "engine/pytorch/pytorch-private.h"

#include <string.h>

#define CONV(n)                                                                                                        \
  { "conv" n, .make = "nn.Conv" n "($<input:1:in_channels>, $out_channels, $kernel_size$*)" },                         \
      { "conv_transpose" n, .make = "nn.ConvTranspose" n "($<input:1:in_channels>, $out_channels, $kernel_size$*)" },  \
      { "batch_norm" n, .make = "nn.BatchNorm" n "($<input:1:num_features>$*)" },                                      \
  {                                                                                                                    \
    "instance_norm" n, .make = "nn.InstanceNorm" n "($<input:1:num_features>$*)"                                       \
  }
#define INDICES(n)                                                                                                     \
  {                                                                                                                    \
    "max_pool" n, "!indices", .call = "F.max_pool" n "(@input, $kernel_size$*, return_indices=True)"                   \
  }
#define UNPOOL(n, digits)                                                                                              \
  { "max_unpool" n, "?output_size",                                                                                    \
    .call = "F.max_unpool" n                                                                                           \
            "(@input, @indices, $kernel_size, $stride, $padding, output_size=sizes($output_size, " digits "))",        \
    .helper = "sizes" },                                                                                               \
  {                                                                                                                    \
    "max_unpool" n, .call = "F.max_unpool" n "(@input, @indices, $kernel_size, $stride, $padding)"                     \
  }
#define EXTREME(name)                                                                                                  \
  { name, "?dim", .call = "torch." name "(@input, $dim, keepdim=$keepdim)" },                                          \
  {                                                                                                                    \
    name, .call = "torch." name "(@input)", .is_one = TRUE                                                             \
  }
#define COMPARED(name)                                                                                                 \
  {                                                                                                                    \
    name, .call = "torch." name "(@input, @|other)"                                                                    \
  }
#define TENSOR_OTHER(name)                                                                                             \
  { name, "@other", .call = "torch." name "(@input, @other)" },                                                        \
  {                                                                                                                    \
    name, .call = "torch." name "(@input, torch.as_tensor($other, dtype=@input.dtype))"                                \
  }
#define LOGICAL(name)                                                                                                  \
  { name, "@other", .call = "torch." name "(@input, @other)" },                                                        \
  {                                                                                                                    \
    name, .call = "torch." name "(@input, torch.as_tensor($other))"                                                    \
  }
#define FILLED(name)                                                                                                   \
  { name, "@like", .call = "torch." name "_like(@like$*)" },                                                           \
  {                                                                                                                    \
    name, .call = "torch." name "($shape$*)"                                                                           \
  }
#define REDUCED_SCATTER(how)                                                                                           \
  {                                                                                                                    \
    "scatter", "reduce=" how, .call = "reduced_scatter(@input, $dim, @index, @src, $value, $reduce)",                  \
                              .helper = "reduced_scatter"                                                              \
  }
#define RECURRENT(name, type)                                                                                          \
  { name, "stateful=true", .make = "nn." type "($<input:-1:input_size>, $hidden_size$*)",                              \
    .call = "keep_state(self, &, @input, @h_0)", .helper = "keep_state" },                                             \
      { name, "@lengths", .make = "nn." type "($<input:-1:input_size>, $hidden_size$*)",                               \
        .call = "with_lengths(&, @input, @h_0, @lengths)", .helper = "with_lengths" },                                 \
      { name, "@h_0", .make = "nn." type "($<input:-1:input_size>, $hidden_size$*)", .call = "&(@input, @h_0)" },      \
  {                                                                                                                    \
    name, .make = "nn." type "($<input:-1:input_size>, $hidden_size$*)", .call = "&(@input)"                           \
  }

static const PyWord words[] = {
  { "linear", "?lora_rank",
    .make
    = "LoraLinear($<input:-1:in_features>, $out_features, $bias, $weight_layout, $lora_rank, $lora_alpha, $use_dora)",
    .helper = "LoraLinear" },
  { "linear", "weight_layout=in_out", .make = "LinearInOut($<input:-1:in_features>, $out_features, bias=$bias)",
    .helper = "LinearInOut" },
  { "linear", .make = "nn.Linear($<input:-1:in_features>, $out_features$*)" },
  { "bilinear", .make = "nn.Bilinear($<input1:-1:in1_features>, $<input2:-1:in2_features>, $out_features$*)" },
  CONV ("1d"),
  CONV ("2d"),
  CONV ("3d"),
  INDICES ("1d"),
  INDICES ("2d"),
  INDICES ("3d"),
  UNPOOL ("1d", "1"),
  UNPOOL ("2d", "2"),
  UNPOOL ("3d", "3"),
  { "affine_grid", .call = "F.affine_grid(@theta, [@theta.shape[0], 1, *$size], align_corners=$align_corners)" },
  { "ctc_loss", .call = "ctc(@log_probs, @targets, @input_lengths, @target_lengths$*)", .helper = "ctc" },
  { "layer_norm", "?normalized_shape", .make = "nn.LayerNorm($normalized_shape$*)" },
  { "layer_norm", .make = "nn.LayerNorm($<input:-1:normalized_shape>$*)" },
  { "rms_norm", "?normalized_shape", .make = "nn.RMSNorm($normalized_shape$*)" },
  { "rms_norm", .make = "nn.RMSNorm($<input:-1:normalized_shape>$*)" },
  { "group_norm", .make = "nn.GroupNorm($num_groups, $<input:1:num_channels>$*)" },
  RECURRENT ("rnn", "RNN"),
  RECURRENT ("gru", "GRU"),
  { "lstm", "stateful=true", .make = "nn.LSTM($<input:-1:input_size>, $hidden_size$*)",
    .call = "keep_state(self, &, @input, @h_0, @c_0)", .helper = "keep_state" },
  { "lstm", "@lengths", .make = "nn.LSTM($<input:-1:input_size>, $hidden_size$*)",
    .call = "with_lengths(&, @input, first_state(&, @input, @h_0, @c_0), @lengths)", .helper = "with_lengths" },
  { "lstm", "@h_0", .make = "nn.LSTM($<input:-1:input_size>, $hidden_size$*)",
    .call = "&(@input, first_state(&, @input, @h_0, @c_0))", .helper = "with_lengths" },
  { "lstm", "@c_0", .make = "nn.LSTM($<input:-1:input_size>, $hidden_size$*)",
    .call = "&(@input, first_state(&, @input, @h_0, @c_0))", .helper = "with_lengths" },
  { "lstm", .make = "nn.LSTM($<input:-1:input_size>, $hidden_size$*)", .call = "&(@input)" },
  { "rnn_cell", .make = "nn.RNNCell($<input:-1:input_size>, $hidden_size$*)", .call = "&(@input, @h_0)" },
  { "gru_cell", .make = "nn.GRUCell($<input:-1:input_size>, $hidden_size$*)", .call = "&(@input, @h_0)" },
  { "lstm_cell", .make = "nn.LSTMCell($<input:-1:input_size>, $hidden_size$*)",
    .call = "step_of_lstm(&, @input, @h_0, @c_0)", .helper = "step_of_lstm" },
  { "embedding_bag", .make = "nn.EmbeddingBag($num_embeddings, $embedding_dim$*)",
    .call = "&(@input, per_sample_weights=@per_sample_weights)" },
  { "multihead_attention",
    .make = "MultiheadAttention($<query:-1:embed_dim>, $num_heads$<?key|query:-1:kdim>"
            "$<?value|key|query:-1:vdim>$*)",
    .call = "&(@query, @key, @value, @key_padding_mask, @attn_mask)", .helper = "MultiheadAttention" },
  { "positional_encoding", "kind=learned", .make = "LearnedPositions($max_len, $<input:-1:features>)",
    .helper = "LearnedPositions" },
  { "positional_encoding", "kind=rotary", .call = "rotary(@input, $base)", .helper = "rotary" },
  { "positional_encoding", .call = "@input + sinusoids(@input, $base)", .helper = "sinusoids" },
  { "scaled_dot_product_attention", "!weights",
    .why = "PyTorch’s scaled_dot_product_attention does not return the attention weights" },
  { "scaled_dot_product_attention",
    .call
    = "F.scaled_dot_product_attention(@query, @key, @value, attn_mask=@attn_mask, "
      "dropout_p=$dropout_p if self.training else 0.0, is_causal=$is_causal, scale=$scale, enable_gqa=$enable_gqa)",
    .is_one = TRUE },
  { "rrelu", .make = "nn.RReLU($lower, $upper)" },
  { "identity", .call = "@input" },
  { "output", .call = "@input" },
  { "square", .call = "torch.square(@input)" },
  { "div", "rounding_mode=none", .call = "torch.div(@input, @|other)" },
  COMPARED ("add"),
  COMPARED ("sub"),
  COMPARED ("mul"),
  COMPARED ("remainder"),
  COMPARED ("fmod"),
  COMPARED ("eq"),
  COMPARED ("ne"),
  COMPARED ("lt"),
  COMPARED ("le"),
  COMPARED ("gt"),
  COMPARED ("ge"),
  TENSOR_OTHER ("maximum"),
  TENSOR_OTHER ("minimum"),
  TENSOR_OTHER ("atan2"),
  LOGICAL ("logical_and"),
  LOGICAL ("logical_or"),
  LOGICAL ("logical_xor"),
  EXTREME ("max"),
  EXTREME ("min"),
  EXTREME ("median"),
  EXTREME ("nanmedian"),
  { "prod", .call = "over_dims(torch.prod, @input, $dim, $keepdim)", .helper = "over_dims" },
  { "logsumexp", "?dim", .call = "torch.logsumexp(@input, $dim, keepdim=$keepdim)" },
  { "logsumexp", .call = "torch.logsumexp(@input, tuple(range(@input.dim())), keepdim=$keepdim)" },
  { "quantile", .call = "torch.quantile(@input, $q$*)" },
  { "nanquantile", .call = "torch.nanquantile(@input, $q$*)" },
  { "cumsum", "exclusive=true", .call = "running_sum(@input, $dim, exclusive=$exclusive, reverse=$reverse)",
    .helper = "running_sum" },
  { "cumsum", "reverse=true", .call = "running_sum(@input, $dim, exclusive=$exclusive, reverse=$reverse)",
    .helper = "running_sum" },
  { "cumsum", .call = "torch.cumsum(@input, $dim)" },
  { "einsum", .call = "torch.einsum($equation, @*)" },
  { "concat", .call = "torch.cat([@*], dim=$dim)" },
  { "stack", .call = "torch.stack([@*], dim=$dim)" },
  { "meshgrid", .call = "torch.meshgrid(@*, indexing=$indexing)" },
  { "l2_penalty", .call = "$lambda * sum(w.square().sum() for w in [@*])" },
  { "expand", .call = "@input.expand($shape)" },
  { "unsqueeze", .call = "unsqueeze(@input, $dim)", .helper = "unsqueeze" },
  { "squeeze", "?dim", .call = "torch.squeeze(@input, $dim)" },
  { "squeeze", .call = "torch.squeeze(@input)" },
  { "slice", .call = "slices(@input, $dim, $start, $end, $step)", .helper = "slices" },
  { "split", "?split_size", .call = "torch.split(@input, $split_size, $dim)" },
  { "split", "?sections", .call = "torch.split(@input, $sections, $dim)" },
  { "split", .call = "torch.tensor_split(@input, $parts, $dim)" },
  { "unbind", .call = "torch.unbind(@input, $dim)" },
  { "repeat_interleave", .call = "torch.repeat_interleave(@input, $repeats, dim=$dim)" },
  { "pad", .call = "F.pad(@input, $pad, mode=$mode, value=$value if $mode == \"constant\" else None)" },
  { "cast", .call = "@input.to($dtype)" },
  { "shape", .call = "torch.tensor(@input.shape)" },
  { "numel", .call = "torch.tensor(@input.numel())" },
  { "masked_fill", .call = "@input.masked_fill(@mask, $value)" },
  { "where", .call = "torch.where(@condition, @|input, @|other)" },
  REDUCED_SCATTER ("add"),
  REDUCED_SCATTER ("multiply"),
  REDUCED_SCATTER ("amax"),
  REDUCED_SCATTER ("amin"),
  { "scatter", "@src", .call = "torch.scatter(@input, $dim, @index, @src)" },
  { "scatter", .call = "torch.scatter(@input, $dim, @index, $value)" },
  { "scatter_add", .call = "torch.scatter_add(@input, $dim, @index, @src)" },
  { "gather", .call = "torch.gather(@input, $dim, @index)" },
  { "index_select", .call = "torch.index_select(@input, $dim, @index)" },
  { "index_add", .call = "torch.index_add(@input, $dim, @index, @source, alpha=$alpha)" },
  { "searchsorted", .call = "torch.searchsorted(@sorted_sequence, @input, right=$right)" },
  { "unique", .call = "torch.unique(@input, return_inverse=$return_inverse, return_counts=$return_counts)" },
  { "gather_nd", .call = "gather_nd(@input, @indices, $batch_dims)", .helper = "gather_nd" },
  { "scatter_nd", "reduction=none", .call = "scatter_nd(@input, @indices, @updates, False)", .helper = "scatter_nd" },
  { "scatter_nd", "reduction=add", .call = "scatter_nd(@input, @indices, @updates, True)", .helper = "scatter_nd" },
  { "scatter_nd", .why = "PyTorch has no such function for this reduction" },
  { "cosine_similarity", .call = "F.cosine_similarity(@x1, @x2, dim=$dim, eps=$eps)" },
  { "pairwise_distance", .call = "F.pairwise_distance(@x1, @x2, p=$p, eps=$eps, keepdim=$keepdim)" },
  { "local_response_norm", .make = "nn.LocalResponseNorm($size$*)" },
  { "solve_triangular",
    .call = "torch.linalg.solve_triangular(@a, @b, upper=$upper, left=$left, unitriangular=$unitriangular)" },
  { "cholesky", .call = "torch.linalg.cholesky(@input, upper=$upper)" },
  { "detach", .call = "@input.detach()" },
  { "gradient", "@grad_output", .call = "derivative(@of, @wrt, @grad_output)", .helper = "derivative" },
  { "gradient", .call = "derivative(@of, @wrt)", .helper = "derivative" },
  /* tensors of numbers */
  FILLED ("ones"),
  FILLED ("zeros"),
  { "full", "@like", .call = "torch.full_like(@like, $fill_value$*)" },
  { "full", "?dtype", .call = "torch.full($shape, $fill_value, dtype=$dtype)" },
  { "full", .call = "torch.full($shape, $fill_value, dtype=torch.float32)" },
  { "constant", "?data", .call = "table($data, $dtype).reshape($!)", .helper = "table" },
  { "constant", "#value", .call = "torch.tensor($value, dtype=$dtype).reshape($!)" },
  { "constant", .call = "torch.tensor($value, dtype=$dtype).expand($!)" },
  { "eye", "?m", .call = "torch.eye($n, $m, dtype=$dtype)" },
  { "eye", .call = "torch.eye($n, dtype=$dtype)" },
  { "linspace", .call = "torch.linspace($start, $end, $steps, dtype=$dtype)" },
  { "arange", "@like", .call = "torch.arange(@like.shape[$dim]) * $step + $start" },
  { "arange", .call = "torch.arange($start, $end, $step, dtype=$dtype)" },
  /* random numbers */
  { "rand", "@like", .call = "torch.rand(@like.shape)" },
  { "rand", .call = "torch.rand($shape)" },
  { "randn", "@like", .call = "torch.randn(@like.shape)" },
  { "randn", .call = "torch.randn($shape)" },
  { "randint", "@like", .call = "torch.randint($low, $high, @like.shape, dtype=$dtype)" },
  { "randint", .call = "torch.randint($low, $high, $shape, dtype=$dtype)" },
  { "randperm", "@like", .call = "torch.randperm(@like.shape[$dim])" },
  { "randperm", .call = "torch.randperm($n)" },
  { "bernoulli", "@input", .call = "torch.bernoulli(@input)" },
  { "bernoulli", "@like", .call = "torch.bernoulli(torch.full(@like.shape, $p))" },
  { "bernoulli", .call = "torch.bernoulli(torch.full($shape, $p))" },
  { "normal", "@mean", .call = "@mean + @|std * torch.randn_like(@mean + @|std)" },
  { "normal", "@std", .call = "@|mean + @std * torch.randn_like(@std)" },
  { "normal", "@like", .call = "@|mean + @|std * torch.randn(@like.shape)" },
  { "normal", .call = "@|mean + @|std * torch.randn($shape)" },
  { "uniform", "@low", .call = "@low + (@|high - @low) * torch.rand_like(@low + @|high)" },
  { "uniform", "@high", .call = "@|low + (@high - @|low) * torch.rand_like(@high)" },
  { "uniform", "@like", .call = "@|low + (@|high - @|low) * torch.rand(@like.shape)" },
  { "uniform", .call = "@|low + (@|high - @|low) * torch.rand($shape)" },
  { "exponential", "@rate", .call = "torch.empty_like(@rate).exponential_() / @rate" },
  { "exponential", "@like", .call = "torch.empty(@like.shape).exponential_() / @|rate" },
  { "exponential", .call = "torch.empty($shape).exponential_() / @|rate" },
  { "multinomial", .call = "torch.multinomial(@input, $num_samples, replacement=$replacement)" },
  { NULL },
};

const PyWord *
loom_pytorch_words (void)
{
  return words;
}

/* ---- helpers -------------------------------------------------------------- */

static const struct
{
  const char *name, *text;
} helpers[] = {
  { "tied", "def tied(module, **weights):\n"
            "    \"\"\"The layer with weights that belong to other layers: a state_dict has them once.\"\"\"\n"
            "    for name, weight in weights.items():\n"
            "        module._parameters.pop(name, None)\n"
            "        module.__dict__[name] = weight\n"
            "    return module\n" },
  { "LinearInOut",
    "class LinearInOut(nn.Module):\n"
    "    \"\"\"nn.Linear with a weight of [in_features, out_features], as in GPT-2's files.\"\"\"\n"
    "\n"
    "    def __init__(self, in_features, out_features, bias=True):\n"
    "        super().__init__()\n"
    "        bound = in_features ** -0.5\n"
    "        self.weight = nn.Parameter(torch.empty(in_features, out_features).uniform_(-bound, bound))\n"
    "        self.bias = nn.Parameter(torch.empty(out_features).uniform_(-bound, bound)) if bias else None\n"
    "\n"
    "    def forward(self, x):\n"
    "        return F.linear(x, self.weight.t(), self.bias)\n" },
  { "LoraLinear",
    "class LoraLinear(nn.Linear):\n"
    "    \"\"\"nn.Linear with factors of LoRA or DoRA, named as in PEFT, which are trained in its place.\"\"\"\n"
    "\n"
    "    def __init__(self, in_features, out_features, bias, layout, rank, alpha, dora=False):\n"
    "        super().__init__(in_features, out_features, bias)\n"
    "        self.turned = layout == \"in_out\"\n"
    "        if self.turned:\n"
    "            self.weight = nn.Parameter(self.weight.detach().t().contiguous())\n"
    "        self.lora_A = nn.Linear(in_features, rank, bias=False)\n"
    "        self.lora_B = nn.Linear(rank, out_features, bias=False)\n"
    "        nn.init.zeros_(self.lora_B.weight)\n"
    "        self.scale = alpha / rank\n"
    "        self.dora = dora\n"
    "        if dora:\n"
    "            self.lora_magnitude_vector = nn.Parameter(self.norms())\n"
    "\n"
    "    def norms(self):\n"
    "        weight = self.weight.t() if self.turned else self.weight\n"
    "        return (weight + self.scale * self.lora_B.weight @ self.lora_A.weight).detach().norm(dim=1).clamp(min=1e-30)\n"
    "\n"
    "    def forward(self, x):\n"
    "        y = F.linear(x, self.weight.t() if self.turned else self.weight, None if self.dora else self.bias)\n"
    "        y = y + self.lora_B(self.scale * self.lora_A(x))\n"
    "        if self.dora:\n"
    "            y = y * (self.lora_magnitude_vector / self.norms())\n"
    "            y = y if self.bias is None else y + self.bias\n"
    "        return y\n" },
  { "LearnedPositions", "class LearnedPositions(nn.Module):\n"
                        "    \"\"\"Adds a learnt vector to each position.\"\"\"\n"
                        "\n"
                        "    def __init__(self, max_len, features):\n"
                        "        super().__init__()\n"
                        "        self.weight = nn.Parameter(torch.randn(max_len, features) * 0.02)\n"
                        "\n"
                        "    def forward(self, x):\n"
                        "        return x + self.weight[:x.shape[-2]]\n" },
  { "MultiheadAttention",
    "class MultiheadAttention(nn.MultiheadAttention):\n"
    "    \"\"\"nn.MultiheadAttention with a causal mask of its own, and the queries for keys that are not "
    "given.\"\"\"\n"
    "\n"
    "    def __init__(self, *sizes, is_causal=False, average_attn_weights=True, **options):\n"
    "        super().__init__(*sizes, **options)\n"
    "        self.is_causal, self.average = is_causal, average_attn_weights\n"
    "\n"
    "    def forward(self, query, key=None, value=None, key_padding_mask=None, attn_mask=None):\n"
    "        key = query if key is None else key\n"
    "        value = key if value is None else value\n"
    "        if self.is_causal:\n"
    "            time = 1 if self.batch_first and query.dim() == 3 else 0\n"
    "            later = torch.ones(query.shape[time], key.shape[time], dtype=torch.bool, "
    "device=query.device).triu(1)\n"
    "            if attn_mask is None:\n"
    "                attn_mask = later\n"
    "            elif attn_mask.dtype == torch.bool:\n"
    "                attn_mask = attn_mask | later\n"
    "            else:\n"
    "                attn_mask = attn_mask.masked_fill(later, -math.inf)\n"
    "        return super().forward(query, key, value, key_padding_mask=key_padding_mask, attn_mask=attn_mask,\n"
    "                               average_attn_weights=self.average)\n" },
  { "angles", "def angles(x, base):\n"
              "    \"\"\"Of each position and pair of features, [T, E/2] (Vaswani et al. 2017, section 3.5).\"\"\"\n"
              "    positions = torch.arange(x.shape[-2], dtype=x.dtype, device=x.device)\n"
              "    return positions[:, None] * base ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype, "
              "device=x.device) / x.shape[-1])\n" },
  { "sinusoids", "def sinusoids(x, base):\n"
                 "    at = angles(x, base)\n"
                 "    return torch.stack((at.sin(), at.cos()), -1).flatten(-2)[:, :x.shape[-1]]\n" },
  { "rotary",
    "def rotary(x, base):\n"
    "    \"\"\"Turns pairs of features by the angle of their position (Su et al. 2021).\"\"\"\n"
    "    at, even, odd = angles(x, base), x[..., 0::2], x[..., 1::2]\n"
    "    return torch.stack((even * at.cos() - odd * at.sin(), even * at.sin() + odd * at.cos()), -1).flatten(-2)\n" },
  { "first_state",
    "def first_state(lstm, x, h, c):\n"
    "    \"\"\"The states before the first step; None stands for zeros.\"\"\"\n"
    "    layers, batch = lstm.num_layers * (2 if lstm.bidirectional else 1), x.shape[0 if lstm.batch_first else 1]\n"
    "    return (x.new_zeros(layers, batch, lstm.proj_size or lstm.hidden_size) if h is None else h,\n"
    "            x.new_zeros(layers, batch, lstm.hidden_size) if c is None else c)\n" },
  { "with_lengths",
    "def with_lengths(layer, x, state, lengths):\n"
    "    \"\"\"Stops each sample at its length: the state stays, and outputs are 0.\"\"\"\n"
    "    steps = x.shape[1 if layer.batch_first else 0]\n"
    "    packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), layer.batch_first, enforce_sorted=False)\n"
    "    y, state = layer(packed, state)\n"
    "    return nn.utils.rnn.pad_packed_sequence(y, layer.batch_first, total_length=steps)[0], state\n" },
  { "keep_state", "def keep_state(owner, layer, x, h=None, c=None):\n"
                  "    \"\"\"Starts with the state of the batch before, without a gradient through it; reset_state() "
                  "forgets it.\"\"\"\n"
                  "    kept = layer.__dict__.get(\"kept\")\n"
                  "    if kept is None or not layer.training:\n"
                  "        kept = None if h is None else h if c is None else (h, c)\n"
                  "    y, state = layer(x, kept)\n"
                  "    if layer.training:\n"
                  "        layer.__dict__[\"kept\"] = tuple(s.detach() for s in state) if isinstance(state, tuple) "
                  "else state.detach()\n"
                  "    return y, state\n" },
  { "table", "def table(data, dtype):\n"
             "    import base64, zlib\n"
             "    return torch.frombuffer(bytearray(zlib.decompress(base64.b64decode(data))), dtype=dtype)\n" },
  { "sizes", "def sizes(value, n):\n"
             "    return list(value) if isinstance(value, tuple) else [value] * n\n" },
  { "step_of_lstm", "def step_of_lstm(cell, x, h, c):\n"
                    "    \"\"\"None stands for a state of zeros.\"\"\"\n"
                    "    zeros = x.new_zeros(x.shape[0], cell.hidden_size)\n"
                    "    return cell(x, (zeros if h is None else h, zeros if c is None else c))\n" },
  { "ctc", "def ctc(log_probs, targets, input_lengths, target_lengths, **options):\n"
           "    \"\"\"None stands for all steps, or all labels.\"\"\"\n"
           "    steps, batch = log_probs.shape[:2]\n"
           "    every = torch.full((batch,), steps) if input_lengths is None else input_lengths\n"
           "    labels = torch.full((batch,), targets.shape[1]) if target_lengths is None else target_lengths\n"
           "    return F.ctc_loss(log_probs, targets, every, labels, **options)\n" },
  { "derivative", "def derivative(of, wrt, grad_output=None):\n"
                  "    \"\"\"The gradient; zeros if `of` does not depend on wrt.\"\"\"\n"
                  "    if wrt.requires_grad and not of.requires_grad:\n"
                  "        return torch.zeros_like(wrt)\n"
                  "    found, = torch.autograd.grad(of, wrt, grad_output, create_graph=True, allow_unused=True)\n"
                  "    return torch.zeros_like(wrt) if found is None else found\n" },
  { "over_dims", "def over_dims(f, x, dims, keepdim):\n"
                 "    \"\"\"A reduction of one dimension over several, or over all (None).\"\"\"\n"
                 "    dims = range(x.dim()) if dims is None else (dims,) if isinstance(dims, int) else dims\n"
                 "    for d in sorted((d % x.dim() for d in dims), reverse=True):\n"
                 "        x = f(x, d, keepdim=keepdim)\n"
                 "    return x\n" },
  { "running_sum", "def running_sum(x, dim, exclusive, reverse):\n"
                   "    if reverse:\n"
                   "        return running_sum(x.flip((dim,)), dim, exclusive, False).flip((dim,))\n"
                   "    return x.cumsum(dim) - x if exclusive else x.cumsum(dim)\n" },
  { "unsqueeze", "def unsqueeze(x, dims):\n"
                 "    dims = (dims,) if isinstance(dims, int) else dims\n"
                 "    for d in sorted(d % (x.dim() + len(dims)) for d in dims):\n"
                 "        x = x.unsqueeze(d)\n"
                 "    return x\n" },
  { "slices", "def slices(x, dims, starts, ends, steps):\n"
              "    \"\"\"Along several dimensions; None is the beginning or the end.\"\"\"\n"
              "    def each(values):\n"
              "        return values if isinstance(values, tuple) else (values,) * len(dims)\n"
              "\n"
              "    dims = dims if isinstance(dims, tuple) else (dims,)\n"
              "    index = [slice(None)] * x.dim()\n"
              "    for d, start, end, step in zip(dims, each(starts), each(ends), each(steps)):\n"
              "        index[d] = slice(start, end, step)\n"
              "    return x[tuple(index)]\n" },
  { "gather_nd", "def gather_nd(x, indices, batch_dims):\n"
                 "    if batch_dims > 0:\n"
                 "        return torch.stack([gather_nd(a, i, batch_dims - 1) for a, i in zip(x, indices)])\n"
                 "    return x[tuple(indices.movedim(-1, 0))]\n" },
  { "scatter_nd", "def scatter_nd(x, indices, updates, accumulate):\n"
                  "    return x.index_put(tuple(indices.movedim(-1, 0)), updates, accumulate=accumulate)\n" },
  { "reduced_scatter",
    "def reduced_scatter(x, dim, index, src, value, reduce):\n"
    "    src = torch.full(index.shape, value, dtype=x.dtype) if src is None else src\n"
    "    return x.scatter_reduce(dim, index, src, {\"add\": \"sum\", \"multiply\": \"prod\"}.get(reduce, reduce))\n" },
  { "assign", "def assign(owner, target, value):\n"
              "    \"\"\"Keeps a new value of a parameter or buffer until the end of the step.\"\"\"\n"
              "    if owner.training:\n"
              "        owner.__dict__.setdefault(\"assigned\", []).append((target, value.detach()))\n"
              "    return value\n"
              "\n"
              "\n"
              "@torch.no_grad()\n"
              "def do_assignments(model):\n"
              "    for module in model.modules():\n"
              "        for target, value in module.__dict__.pop(\"assigned\", ()):\n"
              "            target.copy_(value)\n" },
  { "switch", "def switch(bodies, index, *inputs):\n"
              "    \"\"\"Runs the body of a scalar index, or for each sample the body of its own.\"\"\"\n"
              "    if index.dim() == 0:\n"
              "        return bodies[int(index)](*inputs)\n"
              "    results = [body(*(x[index == b] for x in inputs)) for b, body in enumerate(bodies)]\n"
              "    places = torch.cat([(index == b).nonzero()[:, 0] for b in range(len(bodies))]).argsort()\n"
              "    if isinstance(results[0], tuple):\n"
              "        return tuple(torch.cat(parts)[places] for parts in zip(*results))\n"
              "    return torch.cat(results)[places]\n" },
  { "recurse", "def recurse(body, parent, zeros, given, carried, arity):\n"
               "    \"\"\"Runs the body for each node of trees, children before parents.\n"
               "\n"
               "    parent [B, N]; zeros: what leaves read, one tensor for each carried input; given: [B, N, …]; "
               "carried: for each\n"
               "    output the number of the carried input, or None. Carried inputs come first, `arity` for each (0: "
               "their sum).\"\"\"\n"
               "    results = None\n"
               "    for b, parents in enumerate(parent.tolist()):\n"
               "        below = [[[] for _ in zeros] for _ in parents]\n"
               "        for n, to in enumerate(parents):\n"
               "            states = []\n"
               "            for zero, children in zip(zeros, below[n]):\n"
               "                if arity == 0:\n"
               "                    states.append(sum(children, zero))\n"
               "                else:\n"
               "                    states += [children[k] if k < len(children) else zero for k in range(arity)]\n"
               "            made = body(*states, *(x[b:b + 1, n] for x in given))\n"
               "            made = made if isinstance(made, tuple) else (made,)\n"
               "            results = results or [[] for _ in made]\n"
               "            for k, value in enumerate(made):\n"
               "                results[k].append(value)\n"
               "                if carried[k] is not None and to >= 0:\n"
               "                    below[to][carried[k]].append(value)\n"
               "    results = tuple(torch.cat(rows).unflatten(0, parent.shape) for rows in results)\n"
               "    return results if len(results) > 1 else results[0]\n" },
};

/* What the text of a helper calls. */
static const struct
{
  const char *name, *needs;
} needs[] = { { "sinusoids", "angles" }, { "rotary", "angles" }, { "with_lengths", "first_state" } };

const char *
loom_pytorch_helper (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (helpers); i++)
    if (strcmp (helpers[i].name, name) == 0)
      return helpers[i].text;
  return NULL;
}

gboolean
loom_pytorch_needs (const PyWriter *w, const char *helper)
{
  for (guint i = 0; i < w->helpers->len; i++)
    if (strcmp (w->helpers->pdata[i], helper) == 0)
      return TRUE;
  return FALSE;
}

void
loom_pytorch_need (PyWriter *w, const char *helper)
{
  if (loom_pytorch_needs (w, helper))
    return;
  for (guint i = 0; i < G_N_ELEMENTS (needs); i++)
    if (strcmp (needs[i].name, helper) == 0)
      loom_pytorch_need (w, needs[i].needs);
  g_ptr_array_add (w->helpers, (gpointer)helper);
}
