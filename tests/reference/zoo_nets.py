"""The networks of zoo.py: for each a name, a function that makes it with random weights, and one that makes an input.
Sizes are the smallest that the architecture allows, depth and topology are the library's own."""

import functools

import timm
import torch
import torchvision
import transformers

# Classification at 64 × 64 pixels, or at the size after the colon.
TORCHVISION = """
alexnet convnext_tiny convnext_small densenet121 densenet169 densenet201 efficientnet_b0 efficientnet_b1
efficientnet_b2 efficientnet_b3 efficientnet_b4 efficientnet_v2_s googlenet inception_v3:96 maxvit_t:224 mnasnet0_5 mnasnet0_75
mnasnet1_0 mnasnet1_3 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_400mf regnet_x_800mf regnet_x_1_6gf
regnet_y_400mf regnet_y_800mf regnet_y_1_6gf resnet18 resnet34 resnet50 resnet101 resnext50_32x4d
shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5 squeezenet1_0 squeezenet1_1 swin_t swin_s swin_v2_t vgg11 vgg11_bn
vit_b_32:224 fcn_resnet50 deeplabv3_resnet50 deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large
"""

TIMM = """
bat_resnext26ts:256 beit_base_patch16_224:224 botnet26t_256:256 caformer_s18 cait_xxs24_224:224 coat_tiny:224 coat_lite_tiny:224
coatnet_nano_rw_224:224 convit_tiny:224 convmixer_768_32 convformer_s18 convnextv2_atto cs3darknet_s cspresnet50 cspdarknet53
crossvit_tiny_240:240 darknet53 davit_tiny:224 deit_tiny_patch16_224:224 deit3_small_patch16_224:224 dla34 dla46x_c dm_nfnet_f0
dpn48b eca_nfnet_l0 ecaresnet26t edgenext_xx_small efficientformer_l1:224 efficientformerv2_s0:224 efficientvit_b0
efficientvit_m0:224 ese_vovnet19b_dw eva02_tiny_patch14_224:224 fastvit_t8 fbnetc_100 focalnet_tiny_srf:224 gcresnet33ts
gcvit_xxtiny:224 gernet_s ghostnet_100 ghostnetv2_100 gmixer_24_224:224 gmlp_s16_224:224 halonet26t:256 hardcorenas_a hgnet_tiny
hgnetv2_b0 hrnet_w18_small inception_next_atto inception_resnet_v2:128 inception_v4:128 lambda_resnet26t:256 lcnet_050
levit_128s:224 mambaout_femto maxvit_rmlp_pico_rw_256:256 mixer_s32_224:224 mixnet_s mobilenetv4_conv_small mobileone_s0
mobilevit_xxs mobilevitv2_050 mvitv2_tiny:224 nest_tiny:224 nextvit_small nf_regnet_b0 nfnet_l0 pit_ti_224:224
poolformer_s12 poolformerv2_s12 pvt_v2_b0 rdnet_tiny regnetx_002 regnety_002 regnetz_b16 repghostnet_050 repvgg_a0 repvit_m0_9
res2net50_26w_4s resmlp_12_224:224 resnest14d resnet26t resnetaa50 resnetv2_50 rexnet_100 samvit_base_patch16_224:224 sebotnet33ts_256:256
selecsls42b semnasnet_050 sequencer2d_s:224 seresnet33ts skresnet18 spnasnet_100 starnet_s1 swiftformer_xs:224
swinv2_cr_tiny_ns_224:224 tf_efficientnet_lite0 tiny_vit_5m_224:224 tinynet_e tnt_s_legacy_patch16_224:224 tresnet_m twins_svt_small:224
vgg11 visformer_tiny:224 vit_tiny_patch16_224:224 vit_relpos_small_patch16_224:224 vovnet39a volo_d1_224:224 xception41 xcit_nano_12_p16_224:224
"""

# Model types of transformers, made by their own configuration with the sizes of SMALL where it has fields of these names.
TEXT = """
albert bart bert bert-generation big_bird biogpt bloom camembert codegen cohere convbert ctrl data2vec-text deberta deberta-v2
diffllama distilbert electra ernie esm flaubert fnet gemma gemma2 glm gpt2 gpt_bigcode gpt_neo gpt_neox gptj granite
helium ibert layoutlm llama megatron-bert mistral mobilebert modernbert mpnet mpt mra nystromformer olmo olmo2 openai-gpt opt
persimmon phi phi3 qwen2 qwen3 rembert roberta roberta-prelayernorm roc_bert roformer smollm3 splinter stablelm
starcoder2 xglm xlm xlm-roberta yoso
"""

SMALL = dict(vocab_size=99, hidden_size=32, d_model=32, n_embd=32, dim=32, emb_dim=32, embedding_size=16, num_hidden_layers=2, n_layer=2,
             n_layers=2, num_layers=2, encoder_layers=2, decoder_layers=2, num_attention_heads=4, n_head=4, n_heads=4, num_heads=4,
             encoder_attention_heads=4, decoder_attention_heads=4, num_key_value_heads=2, head_dim=8, intermediate_size=64, d_ff=64,
             dff=64, hidden_dim=64, n_inner=64, ffn_dim=64, encoder_ffn_dim=64, decoder_ffn_dim=64, d_kv=8, d_inner=64, d_head=8,
             max_position_embeddings=64, n_positions=64, max_seq_len=64, use_cache=False, pad_token_id=0, bos_token_id=1,
             eos_token_id=2, attention_types=[[["global", "local"], 1]], rotary_dim=4, n_ctx=64)


def picture(size):
    return lambda batch: torch.randn(batch, 3, size, size)


def tokens(batch):
    return torch.randint(3, 99, (batch, 12))


def torchvision_net(name):
    options = {}
    if name in ("googlenet", "inception_v3"):
        options = {"init_weights": True, "aux_logits": False}
    elif name in torchvision.models.list_models(module=torchvision.models.segmentation):
        options = {"weights_backbone": None, "aux_loss": False} if name != "lraspp_mobilenet_v3_large" else {"weights_backbone": None}
    return torchvision.models.get_model(name, weights=None, **options)


def text_net(kind):
    config = transformers.AutoConfig.for_model(kind)
    for field, value in SMALL.items():
        if isinstance(getattr(config, field, None), (int, list, type(None))) and hasattr(config, field):
            setattr(config, field, value)
    config.use_cache = False
    return transformers.AutoModel.from_config(config, attn_implementation="eager" if kind in ("gpt_bigcode",) else None)


def models():
    """Name → (make, example, whether tokens enter)."""
    made = {}
    for prefix, table, make in (("torchvision", TORCHVISION, torchvision_net),
                                ("timm", TIMM, functools.partial(timm.create_model, pretrained=False))):
        for entry in table.split():
            name, _, size = entry.partition(":")
            made[f"{prefix}/{name}"] = (functools.partial(make, name), picture(int(size or 64)), False)
    for kind in TEXT.split():
        made[f"transformers/{kind}"] = (functools.partial(text_net, kind), tokens, True)
    return made
