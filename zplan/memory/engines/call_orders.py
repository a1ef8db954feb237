"""Orders of module calls under stage 3, by benchmarks/derive_calls.py.

Derived from transformers 5.24.0, DeepSpeed 0.19.8 and peft 0.21.2.
"""

O0 = "+. +transformer transformer.word_embeddings transformer.word_embeddings_layernorm"
O1 = "transformer.ln_f -transformer lm_head -."
O2 = "+. lm_head +transformer transformer.ln_f"
O3 = "transformer.word_embeddings_layernorm +transformer.word_embeddings"
O4 = (
    "+. input_layernorm +self_attention self_attention.query_key_value self_attention.attention_dropout "
    "self_attention.dense -self_attention post_attention_layernorm +mlp mlp.dense_h_to_4h mlp.gelu_impl "
    "mlp.dense_4h_to_h -mlp -."
)
O5 = (
    "+. +mlp +mlp.dense_4h_to_h < input_layernorm +self_attention self_attention.query_key_value "
    "self_attention.attention_dropout self_attention.dense -self_attention post_attention_layernorm +mlp "
    "mlp.dense_h_to_4h mlp.gelu_impl +mlp.dense_4h_to_h > -mlp.dense_4h_to_h mlp.gelu_impl mlp.dense_h_to_4h -mlp "
    "post_attention_layernorm +self_attention self_attention.dense self_attention.attention_dropout "
    "self_attention.query_key_value -self_attention input_layernorm -."
)
O6 = (
    "+. +mlp mlp.dense_4h_to_h mlp.gelu_impl mlp.dense_h_to_4h -mlp post_attention_layernorm +self_attention "
    "self_attention.dense self_attention.attention_dropout self_attention.query_key_value -self_attention "
    "input_layernorm -."
)
O7 = "+. +base_model +base_model.model +transformer transformer.word_embeddings transformer.word_embeddings_layernorm"
O8 = "transformer.ln_f -transformer lm_head -base_model.model -base_model -."
O9 = "+. +base_model +base_model.model lm_head +transformer transformer.ln_f"
O10 = (
    "+. input_layernorm +self_attention self_attention.query_key_value* self_attention.attention_dropout "
    "self_attention.dense* -self_attention post_attention_layernorm +mlp mlp.dense_h_to_4h* mlp.gelu_impl "
    "mlp.dense_4h_to_h* -mlp -."
)
O11 = (
    "+. +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < input_layernorm +self_attention "
    "self_attention.query_key_value* self_attention.attention_dropout self_attention.dense* -self_attention "
    "post_attention_layernorm +mlp mlp.dense_h_to_4h* mlp.gelu_impl +mlp.dense_4h_to_h "
    "mlp.dense_4h_to_h.base_layer mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.lora_A.default "
    "+mlp.dense_4h_to_h.lora_B.default > -mlp.dense_4h_to_h.lora_B.default mlp.dense_4h_to_h.lora_A.default "
    "mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.base_layer -mlp.dense_4h_to_h mlp.gelu_impl "
    "mlp.dense_h_to_4h^ -mlp post_attention_layernorm +self_attention self_attention.dense^ "
    "self_attention.attention_dropout self_attention.query_key_value^ -self_attention input_layernorm -."
)
O12 = ""
O13 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.gelu_impl mlp.dense_h_to_4h^ -mlp post_attention_layernorm +self_attention "
    "self_attention.dense^ self_attention.attention_dropout +self_attention.query_key_value "
    "self_attention.query_key_value.lora_B.default +self_attention.query_key_value.lora_A.default"
)
O14 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.gelu_impl mlp.dense_h_to_4h^ -mlp post_attention_layernorm +self_attention "
    "self_attention.dense^ self_attention.attention_dropout self_attention.query_key_value^ -self_attention "
    "input_layernorm -."
)
O15 = "+. +model model.embed_tokens model.rotary_emb"
O16 = "model.norm -model lm_head -."
O17 = "+. lm_head +model model.norm"
O18 = "+model.embed_tokens"
O19 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "+mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp -."
)
O20 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn +mlp mlp.gate_proj mlp.act_fn mlp.up_proj +mlp.down_proj > -mlp.down_proj "
    "mlp.up_proj mlp.act_fn mlp.gate_proj -mlp +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj input_layernorm -."
)
O21 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp +self_attn self_attn.o_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O22 = "+. +base_model +base_model.model +model model.embed_tokens model.rotary_emb"
O23 = "model.norm -model lm_head -base_model.model -base_model -."
O24 = "+. +base_model +base_model.model lm_head +model model.norm"
O25 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp -."
)
O26 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* "
    "+mlp.down_proj mlp.down_proj.base_layer mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default "
    "+mlp.down_proj.lora_B.default > -mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.base_layer -mlp.down_proj mlp.up_proj^ mlp.act_fn "
    "mlp.gate_proj^ -mlp +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "input_layernorm -."
)
O27 = (
    "+. +mlp mlp.down_proj^ +mlp.up_proj mlp.up_proj.lora_B.default +mlp.up_proj.lora_A.default mlp.act_fn "
    "+mlp.gate_proj mlp.gate_proj.lora_B.default +mlp.gate_proj.lora_A.default +self_attn self_attn.o_proj^ "
    "+self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O28 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O29 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.q_norm "
    "self_attn.k_norm self_attn.o_proj -self_attn +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp -."
)
O30 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp +self_attn self_attn.o_proj self_attn.k_norm "
    "self_attn.q_norm self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O31 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.q_norm self_attn.k_norm self_attn.o_proj -self_attn +mlp mlp.gate_proj mlp.act_fn mlp.up_proj "
    "+mlp.down_proj > -mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp +self_attn self_attn.o_proj "
    "self_attn.k_norm self_attn.q_norm self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O32 = (
    "+. +mlp mlp.down_proj^ +mlp.up_proj mlp.up_proj.lora_B.default +mlp.up_proj.lora_A.default mlp.act_fn "
    "+mlp.gate_proj mlp.gate_proj.lora_B.default +mlp.gate_proj.lora_A.default +self_attn self_attn.o_proj^ "
    "self_attn.k_norm self_attn.q_norm +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O33 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.q_norm "
    "self_attn.k_norm self_attn.o_proj* -self_attn +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp "
    "-."
)
O34 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp +self_attn self_attn.o_proj^ "
    "self_attn.k_norm self_attn.q_norm self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O35 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.q_norm self_attn.k_norm self_attn.o_proj* -self_attn +mlp "
    "mlp.gate_proj* mlp.act_fn mlp.up_proj* +mlp.down_proj mlp.down_proj.base_layer "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > "
    "-mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.base_layer -mlp.down_proj mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp +self_attn "
    "self_attn.o_proj^ self_attn.k_norm self_attn.q_norm self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "input_layernorm -."
)
O36 = (
    "+. input_layernorm +self_attn self_attn.q_a_proj self_attn.q_a_layernorm self_attn.q_b_proj "
    "self_attn.kv_a_proj_with_mqa self_attn.kv_a_layernorm self_attn.kv_b_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp -."
)
O37 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_a_proj self_attn.q_a_layernorm "
    "self_attn.q_b_proj self_attn.kv_a_proj_with_mqa self_attn.kv_a_layernorm self_attn.kv_b_proj self_attn.o_proj "
    "-self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj +mlp.down_proj > -mlp.down_proj "
    "mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.kv_b_proj self_attn.kv_a_layernorm self_attn.kv_a_proj_with_mqa self_attn.q_b_proj "
    "self_attn.q_a_layernorm self_attn.q_a_proj input_layernorm -."
)
O38 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.kv_b_proj self_attn.kv_a_layernorm self_attn.kv_a_proj_with_mqa self_attn.q_b_proj "
    "self_attn.q_a_layernorm self_attn.q_a_proj input_layernorm -."
)
O39 = (
    "+. input_layernorm +self_attn self_attn.q_a_proj self_attn.q_a_layernorm self_attn.q_b_proj "
    "self_attn.kv_a_proj_with_mqa self_attn.kv_a_layernorm self_attn.kv_b_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate +mlp.experts mlp.experts.act_fn -mlp.experts +mlp.shared_experts "
    "mlp.shared_experts.gate_proj mlp.shared_experts.act_fn mlp.shared_experts.up_proj "
    "mlp.shared_experts.down_proj -mlp.shared_experts -mlp -."
)
O40 = (
    "+. +mlp +mlp.shared_experts +mlp.shared_experts.down_proj < input_layernorm +self_attn self_attn.q_a_proj "
    "self_attn.q_a_layernorm self_attn.q_b_proj self_attn.kv_a_proj_with_mqa self_attn.kv_a_layernorm "
    "self_attn.kv_b_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate +mlp.experts "
    "mlp.experts.act_fn -mlp.experts +mlp.shared_experts mlp.shared_experts.gate_proj mlp.shared_experts.act_fn "
    "mlp.shared_experts.up_proj +mlp.shared_experts.down_proj > -mlp.shared_experts.down_proj "
    "mlp.shared_experts.up_proj mlp.shared_experts.act_fn mlp.shared_experts.gate_proj -mlp.shared_experts "
    "+mlp.experts mlp.experts.act_fn -mlp.experts mlp.gate -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.kv_b_proj self_attn.kv_a_layernorm self_attn.kv_a_proj_with_mqa self_attn.q_b_proj "
    "self_attn.q_a_layernorm self_attn.q_a_proj input_layernorm -."
)
O41 = (
    "+. +mlp +mlp.shared_experts mlp.shared_experts.down_proj mlp.shared_experts.up_proj mlp.shared_experts.act_fn "
    "mlp.shared_experts.gate_proj -mlp.shared_experts +mlp.experts mlp.experts.act_fn -mlp.experts mlp.gate -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.kv_b_proj self_attn.kv_a_layernorm "
    "self_attn.kv_a_proj_with_mqa self_attn.q_b_proj self_attn.q_a_layernorm self_attn.q_a_proj input_layernorm -."
)
O42 = "+. +transformer transformer.word_embeddings transformer.rotary_emb"
O43 = "+transformer.word_embeddings"
O44 = (
    "+. input_layernorm +self_attention self_attention.query_key_value self_attention.dense -self_attention +mlp "
    "mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp -."
)
O45 = (
    "+. +mlp +mlp.dense_4h_to_h < input_layernorm +self_attention self_attention.query_key_value "
    "self_attention.dense -self_attention +mlp mlp.dense_h_to_4h mlp.act +mlp.dense_4h_to_h > -mlp.dense_4h_to_h "
    "mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense self_attention.query_key_value "
    "-self_attention input_layernorm -."
)
O46 = (
    "+. +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense "
    "self_attention.query_key_value -self_attention input_layernorm -."
)
O47 = "+. +base_model +base_model.model +transformer transformer.word_embeddings transformer.rotary_emb"
O48 = (
    "+. input_layernorm +self_attention self_attention.query_key_value* self_attention.dense* -self_attention +mlp "
    "mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp -."
)
O49 = (
    "+. +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < input_layernorm +self_attention "
    "self_attention.query_key_value* self_attention.dense* -self_attention +mlp mlp.dense_h_to_4h* mlp.act "
    "+mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > -mlp.dense_4h_to_h.lora_B.default "
    "mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.base_layer "
    "-mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention input_layernorm -."
)
O50 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act +mlp.dense_h_to_4h mlp.dense_h_to_4h.lora_B.default "
    "+mlp.dense_h_to_4h.lora_A.default +self_attention self_attention.dense^ +self_attention.query_key_value "
    "self_attention.query_key_value.lora_B.default +self_attention.query_key_value.lora_A.default"
)
O51 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention input_layernorm -."
)
O52 = (
    "+. input_layernorm +self_attention self_attention.query_key_value self_attention.dense -self_attention "
    "post_attention_layernorm +mlp mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp -."
)
O53 = (
    "+. +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp post_attention_layernorm +self_attention "
    "self_attention.dense self_attention.query_key_value -self_attention input_layernorm -."
)
O54 = (
    "+. +mlp +mlp.dense_4h_to_h < input_layernorm +self_attention self_attention.query_key_value "
    "self_attention.dense -self_attention post_attention_layernorm +mlp mlp.dense_h_to_4h mlp.act "
    "+mlp.dense_4h_to_h > -mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp post_attention_layernorm "
    "+self_attention self_attention.dense self_attention.query_key_value -self_attention input_layernorm -."
)
O55 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm +self_attention "
    "self_attention.dense^ +self_attention.query_key_value self_attention.query_key_value.lora_B.default "
    "+self_attention.query_key_value.lora_A.default"
)
O56 = (
    "+. input_layernorm +self_attention self_attention.query_key_value* self_attention.dense* -self_attention "
    "post_attention_layernorm +mlp mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp -."
)
O57 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm +self_attention "
    "self_attention.dense^ self_attention.query_key_value^ -self_attention input_layernorm -."
)
O58 = (
    "+. +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < input_layernorm +self_attention "
    "self_attention.query_key_value* self_attention.dense* -self_attention post_attention_layernorm +mlp "
    "mlp.dense_h_to_4h* mlp.act +mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer "
    "mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > "
    "-mlp.dense_4h_to_h.lora_B.default mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.base_layer -mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm "
    "+self_attention self_attention.dense^ self_attention.query_key_value^ -self_attention input_layernorm -."
)
O59 = (
    "+. ln_attn ln_mlp +self_attention self_attention.query_key_value self_attention.dense -self_attention +mlp "
    "mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp -."
)
O60 = (
    "+. +mlp +mlp.dense_4h_to_h < ln_attn ln_mlp +self_attention self_attention.query_key_value "
    "self_attention.dense -self_attention +mlp mlp.dense_h_to_4h mlp.act +mlp.dense_4h_to_h > -mlp.dense_4h_to_h "
    "mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense self_attention.query_key_value "
    "-self_attention ln_mlp ln_attn -."
)
O61 = (
    "+. +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense "
    "self_attention.query_key_value -self_attention ln_mlp ln_attn -."
)
O62 = (
    "+. ln_attn ln_mlp +self_attention self_attention.query_key_value* self_attention.dense* -self_attention +mlp "
    "mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp -."
)
O63 = (
    "+. +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < ln_attn ln_mlp +self_attention "
    "self_attention.query_key_value* self_attention.dense* -self_attention +mlp mlp.dense_h_to_4h* mlp.act "
    "+mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > -mlp.dense_4h_to_h.lora_B.default "
    "mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.base_layer "
    "-mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention ln_mlp ln_attn -."
)
O64 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention ln_mlp ln_attn -."
)
O65 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp -."
)
O66 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj +mlp.down_proj "
    "> -mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O67 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O68 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp -."
)
O69 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* "
    "mlp.act_fn mlp.up_proj* +mlp.down_proj mlp.down_proj.base_layer mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > -mlp.down_proj.lora_B.default "
    "mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default mlp.down_proj.base_layer -mlp.down_proj "
    "mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O70 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "+self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O71 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O72 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm pre_feedforward_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj "
    "-mlp post_feedforward_layernorm -."
)
O73 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp +post_feedforward_layernorm > "
    "-post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O74 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O75 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm pre_feedforward_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* "
    "mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O76 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* "
    "self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp +post_feedforward_layernorm > "
    "-post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ "
    "self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O77 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj "
    "self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O78 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ "
    "self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O79 = "+. +model model.embed_tokens model.rotary_emb model.rotary_emb"
O80 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.q_norm "
    "self_attn.k_norm self_attn.o_proj -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp post_feedforward_layernorm -."
)
O81 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.q_norm self_attn.k_norm self_attn.o_proj -self_attn post_attention_layernorm "
    "pre_feedforward_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp "
    "+post_feedforward_layernorm > -post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn "
    "mlp.gate_proj -mlp pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.k_norm self_attn.q_norm self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O82 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.k_norm "
    "self_attn.q_norm self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O83 = "+. +base_model +base_model.model +model model.embed_tokens model.rotary_emb model.rotary_emb"
O84 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.q_norm "
    "self_attn.k_norm self_attn.o_proj* -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O85 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* "
    "self_attn.v_proj* self_attn.q_norm self_attn.k_norm self_attn.o_proj* -self_attn post_attention_layernorm "
    "pre_feedforward_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp "
    "+post_feedforward_layernorm > -post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn "
    "mlp.gate_proj^ -mlp pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.k_norm self_attn.q_norm self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O86 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.k_norm "
    "self_attn.q_norm +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "+self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O87 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.k_norm "
    "self_attn.q_norm self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O88 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn mlp.down_proj -mlp -."
)
O89 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn +mlp.down_proj > "
    "-mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O90 = (
    "+. +mlp mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O91 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp mlp.gate_up_proj* mlp.activation_fn mlp.down_proj* -mlp -."
)
O92 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp "
    "mlp.gate_up_proj* mlp.activation_fn +mlp.down_proj mlp.down_proj.base_layer "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > "
    "-mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.base_layer -mlp.down_proj mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O93 = (
    "+. +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "+self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O94 = (
    "+. +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O95 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn mlp.down_proj -mlp "
    "post_mlp_layernorm -."
)
O96 = (
    "+. +post_mlp_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj "
    "mlp.activation_fn mlp.down_proj -mlp +post_mlp_layernorm > -post_mlp_layernorm +mlp mlp.down_proj "
    "mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm post_self_attn_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O97 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj "
    "input_layernorm -."
)
O98 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj* mlp.activation_fn "
    "mlp.down_proj* -mlp post_mlp_layernorm -."
)
O99 = (
    "+. +post_mlp_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* "
    "self_attn.o_proj* -self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj* "
    "mlp.activation_fn mlp.down_proj* -mlp +post_mlp_layernorm > -post_mlp_layernorm +mlp mlp.down_proj^ "
    "mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm post_self_attn_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O100 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O101 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "input_layernorm -."
)
O102 = "+. +transformer transformer.wte transformer.wpe transformer.drop"
O103 = "transformer.drop +transformer.wpe +transformer.wte"
O104 = (
    "+. ln_1 +attn attn.c_attn attn.c_proj attn.resid_dropout -attn ln_2 +mlp mlp.c_fc mlp.act mlp.c_proj "
    "mlp.dropout -mlp -."
)
O105 = (
    "+. +mlp +mlp.dropout < ln_1 +attn attn.c_attn attn.c_proj attn.resid_dropout -attn ln_2 +mlp mlp.c_fc mlp.act "
    "mlp.c_proj +mlp.dropout > -mlp.dropout mlp.c_proj mlp.act mlp.c_fc -mlp ln_2 +attn attn.resid_dropout "
    "attn.c_proj attn.c_attn -attn ln_1 -."
)
O106 = (
    "+. +mlp mlp.dropout mlp.c_proj mlp.act mlp.c_fc -mlp ln_2 +attn attn.resid_dropout attn.c_proj attn.c_attn "
    "-attn ln_1 -."
)
O107 = "+. +base_model +base_model.model +transformer transformer.wte transformer.wpe transformer.drop"
O108 = "transformer.drop +transformer.wte"
O109 = (
    "+. ln_1 +attn attn.c_attn* attn.c_proj* attn.resid_dropout -attn ln_2 +mlp mlp.c_fc* mlp.act mlp.c_proj* "
    "mlp.dropout -mlp -."
)
O110 = (
    "+. +mlp +mlp.dropout < ln_1 +attn attn.c_attn* attn.c_proj* attn.resid_dropout -attn ln_2 +mlp mlp.c_fc* "
    "mlp.act mlp.c_proj* +mlp.dropout > -mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn "
    "attn.resid_dropout attn.c_proj^ attn.c_attn^ -attn ln_1 -."
)
O111 = (
    "+. +mlp mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn attn.resid_dropout attn.c_proj^ "
    "+attn.c_attn attn.c_attn.lora_B.default +attn.c_attn.lora_A.default"
)
O112 = (
    "+. +mlp mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn attn.resid_dropout attn.c_proj^ "
    "attn.c_attn^ -attn ln_1 -."
)
O113 = "+. +gpt_neox gpt_neox.embed_in gpt_neox.emb_dropout gpt_neox.rotary_emb"
O114 = "gpt_neox.final_layer_norm -gpt_neox lm_head -."
O115 = "+. lm_head +gpt_neox gpt_neox.final_layer_norm"
O116 = "gpt_neox.emb_dropout +gpt_neox.embed_in"
O117 = (
    "+. input_layernorm +attention attention.query_key_value attention.dense -attention post_attention_dropout "
    "post_attention_layernorm +mlp mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp post_mlp_dropout -."
)
O118 = (
    "+. post_mlp_dropout +mlp +mlp.dense_4h_to_h < input_layernorm +attention attention.query_key_value "
    "attention.dense -attention post_attention_dropout post_attention_layernorm +mlp mlp.dense_h_to_4h mlp.act "
    "+mlp.dense_4h_to_h > -mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense attention.query_key_value -attention input_layernorm -."
)
O119 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense attention.query_key_value -attention input_layernorm -."
)
O120 = "+. +base_model +base_model.model +gpt_neox gpt_neox.embed_in gpt_neox.emb_dropout gpt_neox.rotary_emb"
O121 = "gpt_neox.final_layer_norm -gpt_neox lm_head -base_model.model -base_model -."
O122 = "+. +base_model +base_model.model lm_head +gpt_neox gpt_neox.final_layer_norm"
O123 = (
    "+. input_layernorm +attention attention.query_key_value* attention.dense* -attention post_attention_dropout "
    "post_attention_layernorm +mlp mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp post_mlp_dropout -."
)
O124 = (
    "+. post_mlp_dropout +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < input_layernorm +attention "
    "attention.query_key_value* attention.dense* -attention post_attention_dropout post_attention_layernorm +mlp "
    "mlp.dense_h_to_4h* mlp.act +mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer "
    "mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > "
    "-mlp.dense_4h_to_h.lora_B.default mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.base_layer -mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense^ attention.query_key_value^ -attention input_layernorm -."
)
O125 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h^ mlp.act +mlp.dense_h_to_4h mlp.dense_h_to_4h.lora_B.default "
    "+mlp.dense_h_to_4h.lora_A.default post_attention_dropout +attention attention.dense^ "
    "+attention.query_key_value attention.query_key_value.lora_B.default +attention.query_key_value.lora_A.default"
)
O126 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense^ attention.query_key_value^ -attention input_layernorm -."
)
O127 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense^ +attention.query_key_value "
    "attention.query_key_value.lora_B.default +attention.query_key_value.lora_A.default"
)
O128 = "+. +transformer transformer.wte transformer.drop transformer.rotary_emb"
O129 = (
    "+. ln_1 +attn attn.q_proj attn.k_proj attn.v_proj attn.out_proj attn.resid_dropout -attn +mlp mlp.fc_in "
    "mlp.act mlp.fc_out mlp.dropout -mlp -."
)
O130 = (
    "+. +mlp mlp.dropout +mlp.fc_out < ln_1 +attn attn.q_proj attn.k_proj attn.v_proj attn.out_proj "
    "attn.resid_dropout -attn +mlp mlp.fc_in mlp.act +mlp.fc_out > -mlp.fc_out mlp.act mlp.fc_in -mlp +attn "
    "attn.resid_dropout attn.out_proj attn.v_proj attn.k_proj attn.q_proj ln_1 -."
)
O131 = (
    "+. +mlp mlp.dropout mlp.fc_out mlp.act mlp.fc_in -mlp +attn attn.resid_dropout attn.out_proj attn.v_proj "
    "attn.k_proj attn.q_proj ln_1 -."
)
O132 = "+. +base_model +base_model.model +transformer transformer.wte transformer.drop transformer.rotary_emb"
O133 = (
    "+. ln_1 +attn attn.q_proj* attn.k_proj* attn.v_proj* attn.out_proj* attn.resid_dropout -attn +mlp mlp.fc_in* "
    "mlp.act mlp.fc_out* mlp.dropout -mlp -."
)
O134 = (
    "+. +mlp mlp.dropout +mlp.fc_out +mlp.fc_out.lora_B.default < ln_1 +attn attn.q_proj* attn.k_proj* "
    "attn.v_proj* attn.out_proj* attn.resid_dropout -attn +mlp mlp.fc_in* mlp.act +mlp.fc_out "
    "mlp.fc_out.base_layer mlp.fc_out.lora_dropout.default mlp.fc_out.lora_A.default +mlp.fc_out.lora_B.default > "
    "-mlp.fc_out.lora_B.default mlp.fc_out.lora_A.default mlp.fc_out.lora_dropout.default mlp.fc_out.base_layer "
    "-mlp.fc_out mlp.act mlp.fc_in^ -mlp +attn attn.resid_dropout attn.out_proj^ attn.v_proj^ attn.k_proj^ "
    "attn.q_proj^ ln_1 -."
)
O135 = (
    "+. +mlp mlp.dropout mlp.fc_out^ mlp.act +mlp.fc_in mlp.fc_in.lora_B.default +mlp.fc_in.lora_A.default +attn "
    "attn.resid_dropout attn.out_proj^ +attn.v_proj attn.v_proj.lora_B.default +attn.v_proj.lora_A.default "
    "+attn.k_proj attn.k_proj.lora_B.default +attn.k_proj.lora_A.default +attn.q_proj attn.q_proj.lora_B.default "
    "+attn.q_proj.lora_A.default"
)
O136 = (
    "+. +mlp mlp.dropout mlp.fc_out^ mlp.act mlp.fc_in^ -mlp +attn attn.resid_dropout attn.out_proj^ attn.v_proj^ "
    "attn.k_proj^ attn.q_proj^ ln_1 -."
)
O137 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm mlp -."
)
O138 = (
    "+. +mlp < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj "
    "-self_attn post_attention_layernorm +mlp > -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O139 = (
    "+. mlp post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj input_layernorm -."
)
O140 = "+. +transformer transformer.wte"
O141 = "transformer.norm_f -transformer lm_head -."
O142 = "+. lm_head +transformer transformer.norm_f"
O143 = "+transformer.wte"
O144 = (
    "+. norm_1 +attn attn.Wqkv attn.out_proj -attn resid_attn_dropout norm_2 +ffn ffn.up_proj ffn.act "
    "ffn.down_proj -ffn -."
)
O145 = (
    "+. +ffn +ffn.down_proj < norm_1 +attn attn.Wqkv attn.out_proj -attn resid_attn_dropout norm_2 +ffn "
    "ffn.up_proj ffn.act +ffn.down_proj > -ffn.down_proj ffn.act ffn.up_proj -ffn norm_2 resid_attn_dropout +attn "
    "attn.out_proj attn.Wqkv -attn norm_1 -."
)
O146 = (
    "+. +ffn ffn.down_proj ffn.act ffn.up_proj -ffn norm_2 resid_attn_dropout +attn attn.out_proj attn.Wqkv -attn "
    "norm_1 -."
)
O147 = "+. +base_model +base_model.model +transformer transformer.wte"
O148 = "transformer.norm_f -transformer lm_head -base_model.model -base_model -."
O149 = "+. +base_model +base_model.model lm_head +transformer transformer.norm_f"
O150 = (
    "+. norm_1 +attn attn.Wqkv* attn.out_proj* -attn resid_attn_dropout norm_2 +ffn ffn.up_proj* ffn.act "
    "ffn.down_proj* -ffn -."
)
O151 = (
    "+. +ffn +ffn.down_proj +ffn.down_proj.lora_B.default < norm_1 +attn attn.Wqkv* attn.out_proj* -attn "
    "resid_attn_dropout norm_2 +ffn ffn.up_proj* ffn.act +ffn.down_proj ffn.down_proj.base_layer "
    "ffn.down_proj.lora_dropout.default ffn.down_proj.lora_A.default +ffn.down_proj.lora_B.default > "
    "-ffn.down_proj.lora_B.default ffn.down_proj.lora_A.default ffn.down_proj.lora_dropout.default "
    "ffn.down_proj.base_layer -ffn.down_proj ffn.act ffn.up_proj^ -ffn norm_2 resid_attn_dropout +attn "
    "attn.out_proj^ attn.Wqkv^ -attn norm_1 -."
)
O152 = (
    "+. +ffn ffn.down_proj^ ffn.act ffn.up_proj^ -ffn norm_2 resid_attn_dropout +attn attn.out_proj^ +attn.Wqkv "
    "attn.Wqkv.lora_B.default +attn.Wqkv.lora_A.default"
)
O153 = (
    "+. +ffn ffn.down_proj^ ffn.act ffn.up_proj^ -ffn norm_2 resid_attn_dropout +attn attn.out_proj^ attn.Wqkv^ "
    "-attn norm_1 -."
)
O154 = (
    "+. +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj "
    "-mlp post_feedforward_layernorm -."
)
O155 = (
    "+. +post_feedforward_layernorm < +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj "
    "self_attn.k_norm self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj "
    "mlp.act_fn mlp.up_proj mlp.down_proj -mlp +post_feedforward_layernorm > -post_feedforward_layernorm +mlp "
    "mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_norm self_attn.k_proj self_attn.q_norm self_attn.q_proj -."
)
O156 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj "
    "self_attn.q_norm self_attn.q_proj -."
)
O157 = (
    "+. +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* self_attn.k_norm self_attn.v_proj* "
    "self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* "
    "mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O158 = (
    "+. +post_feedforward_layernorm < +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* "
    "self_attn.k_norm self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* "
    "mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp +post_feedforward_layernorm > -post_feedforward_layernorm +mlp "
    "mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm self_attn.q_proj^ -."
)
O159 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default self_attn.k_norm +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default self_attn.q_norm +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O160 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ "
    "self_attn.q_norm self_attn.q_proj^ -."
)
O161 = "+. +model.decoder model.decoder.embed_tokens model.decoder.embed_positions"
O162 = "model.decoder.final_layer_norm -model.decoder lm_head -."
O163 = "+. lm_head +model.decoder model.decoder.final_layer_norm"
O164 = "+model.decoder.embed_positions +model.decoder.embed_tokens"
O165 = (
    "+. self_attn_layer_norm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj "
    "-self_attn final_layer_norm fc1 activation_fn fc2 -."
)
O166 = (
    "+. < self_attn_layer_norm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj "
    "-self_attn final_layer_norm fc1 activation_fn fc2 > fc2 activation_fn fc1 final_layer_norm +self_attn "
    "self_attn.out_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj self_attn_layer_norm -."
)
O167 = (
    "+. fc2 activation_fn fc1 final_layer_norm +self_attn self_attn.out_proj self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj self_attn_layer_norm -."
)
O168 = "+. +base_model +base_model.model +model.decoder model.decoder.embed_tokens model.decoder.embed_positions"
O169 = "model.decoder.final_layer_norm -model.decoder lm_head -base_model.model -base_model -."
O170 = "+. +base_model +base_model.model lm_head +model.decoder model.decoder.final_layer_norm"
O171 = "+model.decoder.embed_tokens"
O172 = (
    "+. self_attn_layer_norm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.out_proj* "
    "-self_attn final_layer_norm fc1* activation_fn fc2* -."
)
O173 = (
    "+. < self_attn_layer_norm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* "
    "self_attn.out_proj* -self_attn final_layer_norm fc1* activation_fn fc2* > fc2^ activation_fn fc1^ "
    "final_layer_norm +self_attn self_attn.out_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "self_attn_layer_norm -."
)
O174 = (
    "+. fc2^ activation_fn fc1^ final_layer_norm +self_attn self_attn.out_proj^ +self_attn.v_proj "
    "self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O175 = (
    "+. fc2^ activation_fn fc1^ final_layer_norm +self_attn self_attn.out_proj^ self_attn.v_proj^ "
    "self_attn.k_proj^ self_attn.q_proj^ self_attn_layer_norm -."
)
O176 = "-model.decoder lm_head -."
O177 = "+. lm_head +model.decoder"
O178 = (
    "+. +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj -self_attn "
    "self_attn_layer_norm fc1 activation_fn fc2 final_layer_norm -."
)
O179 = (
    "+. +final_layer_norm < +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj "
    "-self_attn self_attn_layer_norm fc1 activation_fn fc2 +final_layer_norm > -final_layer_norm fc2 activation_fn "
    "fc1 self_attn_layer_norm +self_attn self_attn.out_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj -."
)
O180 = (
    "+. final_layer_norm fc2 activation_fn fc1 self_attn_layer_norm +self_attn self_attn.out_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj -."
)
O181 = "-model.decoder lm_head -base_model.model -base_model -."
O182 = "+. +base_model +base_model.model lm_head +model.decoder"
O183 = (
    "+. +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.out_proj* -self_attn "
    "self_attn_layer_norm fc1* activation_fn fc2* final_layer_norm -."
)
O184 = (
    "+. +final_layer_norm < +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.out_proj* "
    "-self_attn self_attn_layer_norm fc1* activation_fn fc2* +final_layer_norm > -final_layer_norm fc2^ "
    "activation_fn fc1^ self_attn_layer_norm +self_attn self_attn.out_proj^ self_attn.v_proj^ self_attn.k_proj^ "
    "self_attn.q_proj^ -."
)
O185 = (
    "+. final_layer_norm fc2^ activation_fn fc1^ self_attn_layer_norm +self_attn self_attn.out_proj^ "
    "+self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O186 = (
    "+. final_layer_norm fc2^ activation_fn fc1^ self_attn_layer_norm +self_attn self_attn.out_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ -."
)
O187 = "+. +model model.embed_tokens model.embed_dropout model.rotary_emb"
O188 = "model.final_layernorm -model lm_head -."
O189 = "+. lm_head +model model.final_layernorm"
O190 = "model.embed_dropout +model.embed_tokens"
O191 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.dense -self_attn "
    "resid_dropout +mlp mlp.fc1 mlp.activation_fn mlp.fc2 -mlp resid_dropout -."
)
O192 = (
    "+. resid_dropout +mlp +mlp.fc2 < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.dense -self_attn resid_dropout +mlp mlp.fc1 mlp.activation_fn +mlp.fc2 > -mlp.fc2 "
    "mlp.activation_fn mlp.fc1 -mlp resid_dropout +self_attn self_attn.dense self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj input_layernorm -."
)
O193 = (
    "+. resid_dropout +mlp mlp.fc2 mlp.activation_fn mlp.fc1 -mlp +resid_dropout +self_attn self_attn.dense "
    "self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O194 = "+. +base_model +base_model.model +model model.embed_tokens model.embed_dropout model.rotary_emb"
O195 = "model.final_layernorm -model lm_head -base_model.model -base_model -."
O196 = "+. +base_model +base_model.model lm_head +model model.final_layernorm"
O197 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.dense* "
    "-self_attn resid_dropout +mlp mlp.fc1* mlp.activation_fn mlp.fc2* -mlp resid_dropout -."
)
O198 = (
    "+. resid_dropout +mlp +mlp.fc2 +mlp.fc2.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.dense* -self_attn resid_dropout +mlp mlp.fc1* mlp.activation_fn "
    "+mlp.fc2 mlp.fc2.base_layer mlp.fc2.lora_dropout.default mlp.fc2.lora_A.default +mlp.fc2.lora_B.default > "
    "-mlp.fc2.lora_B.default mlp.fc2.lora_A.default mlp.fc2.lora_dropout.default mlp.fc2.base_layer -mlp.fc2 "
    "mlp.activation_fn mlp.fc1^ -mlp resid_dropout +self_attn self_attn.dense^ self_attn.v_proj^ self_attn.k_proj^ "
    "self_attn.q_proj^ input_layernorm -."
)
O199 = (
    "+. resid_dropout +mlp mlp.fc2^ mlp.activation_fn +mlp.fc1 mlp.fc1.lora_B.default +mlp.fc1.lora_A.default "
    "+resid_dropout +self_attn self_attn.dense^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O200 = (
    "+. resid_dropout +mlp mlp.fc2^ mlp.activation_fn mlp.fc1^ -mlp +resid_dropout +self_attn self_attn.dense^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O201 = (
    "+. input_layernorm +self_attn self_attn.qkv_proj self_attn.o_proj -self_attn resid_attn_dropout "
    "post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn mlp.down_proj -mlp resid_mlp_dropout -."
)
O202 = (
    "+. resid_mlp_dropout +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.qkv_proj self_attn.o_proj "
    "-self_attn resid_attn_dropout post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn +mlp.down_proj "
    "> -mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm resid_attn_dropout "
    "+self_attn self_attn.o_proj self_attn.qkv_proj input_layernorm -."
)
O203 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj self_attn.qkv_proj input_layernorm -."
)
O204 = (
    "+. input_layernorm +self_attn self_attn.qkv_proj* self_attn.o_proj* -self_attn resid_attn_dropout "
    "post_attention_layernorm +mlp mlp.gate_up_proj* mlp.activation_fn mlp.down_proj* -mlp resid_mlp_dropout -."
)
O205 = (
    "+. resid_mlp_dropout +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn "
    "self_attn.qkv_proj* self_attn.o_proj* -self_attn resid_attn_dropout post_attention_layernorm +mlp "
    "mlp.gate_up_proj* mlp.activation_fn +mlp.down_proj mlp.down_proj.base_layer "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > "
    "-mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.base_layer -mlp.down_proj mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ self_attn.qkv_proj^ input_layernorm -."
)
O206 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ +self_attn.qkv_proj self_attn.qkv_proj.lora_B.default "
    "+self_attn.qkv_proj.lora_A.default"
)
O207 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ self_attn.qkv_proj^ input_layernorm -."
)
O208 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.q_layernorm "
    "self_attn.k_layernorm self_attn.dense -self_attn resid_dropout +mlp mlp.fc1 mlp.activation_fn mlp.fc2 -mlp "
    "resid_dropout -."
)
O209 = (
    "+. resid_dropout +mlp mlp.fc2 mlp.activation_fn mlp.fc1 -mlp +resid_dropout +self_attn self_attn.dense "
    "self_attn.k_layernorm self_attn.q_layernorm self_attn.v_proj self_attn.k_proj self_attn.q_proj "
    "input_layernorm -."
)
O210 = (
    "+. resid_dropout +mlp +mlp.fc2 < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.q_layernorm self_attn.k_layernorm self_attn.dense -self_attn resid_dropout +mlp "
    "mlp.fc1 mlp.activation_fn +mlp.fc2 > -mlp.fc2 mlp.activation_fn mlp.fc1 -mlp resid_dropout +self_attn "
    "self_attn.dense self_attn.k_layernorm self_attn.q_layernorm self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj input_layernorm -."
)
O211 = (
    "+. resid_dropout +mlp mlp.fc2^ mlp.activation_fn +mlp.fc1 mlp.fc1.lora_B.default +mlp.fc1.lora_A.default "
    "+resid_dropout +self_attn self_attn.dense^ self_attn.k_layernorm self_attn.q_layernorm +self_attn.v_proj "
    "self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O212 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.q_layernorm "
    "self_attn.k_layernorm self_attn.dense* -self_attn resid_dropout +mlp mlp.fc1* mlp.activation_fn mlp.fc2* -mlp "
    "resid_dropout -."
)
O213 = (
    "+. resid_dropout +mlp mlp.fc2^ mlp.activation_fn mlp.fc1^ -mlp +resid_dropout +self_attn self_attn.dense^ "
    "self_attn.k_layernorm self_attn.q_layernorm self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "input_layernorm -."
)
O214 = (
    "+. resid_dropout +mlp +mlp.fc2 +mlp.fc2.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.q_layernorm self_attn.k_layernorm self_attn.dense* -self_attn "
    "resid_dropout +mlp mlp.fc1* mlp.activation_fn +mlp.fc2 mlp.fc2.base_layer mlp.fc2.lora_dropout.default "
    "mlp.fc2.lora_A.default +mlp.fc2.lora_B.default > -mlp.fc2.lora_B.default mlp.fc2.lora_A.default "
    "mlp.fc2.lora_dropout.default mlp.fc2.base_layer -mlp.fc2 mlp.activation_fn mlp.fc1^ -mlp resid_dropout "
    "+self_attn self_attn.dense^ self_attn.k_layernorm self_attn.q_layernorm self_attn.v_proj^ self_attn.k_proj^ "
    "self_attn.q_proj^ input_layernorm -."
)
O215 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm mlp -."
)
O216 = (
    "+. +mlp < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp > -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O217 = (
    "+. mlp post_attention_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj "
    "self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O218 = (
    "+. mlp post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ "
    "self_attn.q_proj^ input_layernorm -."
)
O219 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn "
    "mlp.up_proj mlp.down_proj -mlp -."
)
O220 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj "
    "self_attn.k_norm self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj "
    "mlp.act_fn mlp.up_proj +mlp.down_proj > -mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj "
    "self_attn.q_norm self_attn.q_proj input_layernorm -."
)
O221 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj self_attn.q_norm self_attn.q_proj "
    "input_layernorm -."
)
O222 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* self_attn.k_norm "
    "self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn "
    "mlp.up_proj* mlp.down_proj* -mlp -."
)
O223 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.q_norm self_attn.k_proj* self_attn.k_norm self_attn.v_proj* self_attn.o_proj* -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* +mlp.down_proj mlp.down_proj.base_layer "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > "
    "-mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.base_layer -mlp.down_proj mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm "
    "self_attn.q_proj^ input_layernorm -."
)
O224 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "self_attn.k_norm +self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default "
    "self_attn.q_norm +self_attn.q_proj self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O225 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm self_attn.q_proj^ "
    "input_layernorm -."
)
O226 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm mlp -."
)
O227 = (
    "+. +mlp < input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp > -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj self_attn.q_norm "
    "self_attn.q_proj input_layernorm -."
)
O228 = (
    "+. mlp post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm "
    "self_attn.k_proj self_attn.q_norm self_attn.q_proj input_layernorm -."
)
O229 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp dropout -."
)
O230 = (
    "+. dropout +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn "
    "mlp.up_proj +mlp.down_proj > -mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj "
    "input_layernorm -."
)
O231 = (
    "+. dropout +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O232 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp dropout "
    "-."
)
O233 = (
    "+. dropout +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* "
    "mlp.act_fn mlp.up_proj* +mlp.down_proj mlp.down_proj.base_layer mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > -mlp.down_proj.lora_B.default "
    "mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default mlp.down_proj.base_layer -mlp.down_proj "
    "mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O234 = (
    "+. dropout +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O235 = (
    "+. dropout +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O236 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "+mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp dropout -."
)
O237 = (
    "+. dropout +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O238 = (
    "+. dropout +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.o_proj -self_attn +mlp mlp.gate_proj mlp.act_fn mlp.up_proj +mlp.down_proj > "
    "-mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp +self_attn self_attn.o_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O239 = (
    "+. dropout +mlp mlp.down_proj^ +mlp.up_proj mlp.up_proj.lora_B.default +mlp.up_proj.lora_A.default mlp.act_fn "
    "+mlp.gate_proj mlp.gate_proj.lora_B.default +mlp.gate_proj.lora_A.default +self_attn self_attn.o_proj^ "
    "+self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O240 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp dropout -."
)
O241 = (
    "+. dropout +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O242 = (
    "+. dropout +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* "
    "+mlp.down_proj mlp.down_proj.base_layer mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default "
    "+mlp.down_proj.lora_B.default > -mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.base_layer -mlp.down_proj mlp.up_proj^ mlp.act_fn "
    "mlp.gate_proj^ -mlp +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "input_layernorm -."
)
O243 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.c_fc mlp.act mlp.c_proj -mlp -."
)
O244 = (
    "+. +mlp +mlp.c_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.c_fc mlp.act +mlp.c_proj > -mlp.c_proj mlp.act "
    "mlp.c_fc -mlp post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj input_layernorm -."
)
O245 = (
    "+. +mlp mlp.c_proj mlp.act mlp.c_fc -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O246 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp mlp.c_fc* mlp.act mlp.c_proj* -mlp -."
)
O247 = (
    "+. +mlp +mlp.c_proj +mlp.c_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.c_fc* "
    "mlp.act +mlp.c_proj mlp.c_proj.base_layer mlp.c_proj.lora_dropout.default mlp.c_proj.lora_A.default "
    "+mlp.c_proj.lora_B.default > -mlp.c_proj.lora_B.default mlp.c_proj.lora_A.default "
    "mlp.c_proj.lora_dropout.default mlp.c_proj.base_layer -mlp.c_proj mlp.act mlp.c_fc^ -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "input_layernorm -."
)
O248 = (
    "+. +mlp mlp.c_proj^ mlp.act mlp.c_fc^ -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "+self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O249 = (
    "+. +mlp mlp.c_proj^ mlp.act mlp.c_fc^ -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
ORDERS: dict[str, dict[str, str]] = {
    "bloom": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O4,
        "block again": O5,
        "stem backward": O3,
        "block backward": O6,
    },
    "bloom lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O10,
        "block again": O11,
        "stem backward": O12,
        "first backward": O13,
        "block backward": O14,
    },
    "cohere": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O19,
        "block again": O20,
        "stem backward": O18,
        "block backward": O21,
    },
    "cohere lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O25,
        "block again": O26,
        "stem backward": O12,
        "first backward": O27,
        "block backward": O28,
    },
    "cohere2:global": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem backward": O18,
        "block": O19,
        "block backward": O21,
        "stem again": O18,
        "block again": O20,
    },
    "cohere2:global lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem backward": O12,
        "block": O25,
        "block backward": O28,
        "stem again": O18,
        "block again": O26,
    },
    "cohere2:local": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem backward": O18,
        "block": O19,
        "block backward": O21,
        "stem again": O18,
        "block again": O20,
    },
    "cohere2:local lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem backward": O12,
        "first backward": O27,
        "block": O25,
        "block backward": O28,
        "stem again": O18,
        "block again": O26,
    },
    "cohere:qk_norm": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem backward": O18,
        "block": O29,
        "block backward": O30,
        "stem again": O18,
        "block again": O31,
    },
    "cohere:qk_norm lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem backward": O12,
        "first backward": O32,
        "block": O33,
        "block backward": O34,
        "stem again": O18,
        "block again": O35,
    },
    "deepseek_v2:dense": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O36,
        "block again": O37,
        "stem backward": O18,
        "block backward": O38,
    },
    "deepseek_v2:moe": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O39,
        "block again": O40,
        "stem backward": O18,
        "block backward": O41,
    },
    "deepseek_v3:dense": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O36,
        "block again": O37,
        "stem backward": O18,
        "block backward": O38,
    },
    "deepseek_v3:moe": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O39,
        "block again": O40,
        "stem backward": O18,
        "block backward": O41,
    },
    "falcon": {
        "stem": O42,
        "head": O1,
        "head backward": O2,
        "stem again": O43,
        "block": O44,
        "block again": O45,
        "stem backward": O43,
        "block backward": O46,
    },
    "falcon lora": {
        "stem": O47,
        "head": O8,
        "head backward": O9,
        "stem again": O43,
        "block": O48,
        "block again": O49,
        "stem backward": O12,
        "first backward": O50,
        "block backward": O51,
    },
    "falcon:grouped": {
        "stem": O42,
        "head": O1,
        "head backward": O2,
        "stem backward": O43,
        "block": O44,
        "block backward": O46,
        "stem again": O43,
        "block again": O45,
    },
    "falcon:grouped lora": {
        "stem": O47,
        "head": O8,
        "head backward": O9,
        "stem backward": O12,
        "first backward": O50,
        "block": O48,
        "block backward": O51,
        "stem again": O43,
        "block again": O49,
    },
    "falcon:sequential": {
        "stem": O42,
        "head": O1,
        "head backward": O2,
        "stem backward": O43,
        "block": O52,
        "block backward": O53,
        "stem again": O43,
        "block again": O54,
    },
    "falcon:sequential lora": {
        "stem": O47,
        "head": O8,
        "head backward": O9,
        "stem backward": O12,
        "first backward": O55,
        "block": O56,
        "block backward": O57,
        "stem again": O43,
        "block again": O58,
    },
    "falcon:two_norms": {
        "stem": O42,
        "head": O1,
        "head backward": O2,
        "stem again": O43,
        "block": O59,
        "block again": O60,
        "stem backward": O43,
        "block backward": O61,
    },
    "falcon:two_norms lora": {
        "stem": O47,
        "head": O8,
        "head backward": O9,
        "stem again": O43,
        "block": O62,
        "block again": O63,
        "stem backward": O12,
        "first backward": O50,
        "block backward": O64,
    },
    "gemma": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O65,
        "block again": O66,
        "stem backward": O18,
        "block backward": O67,
    },
    "gemma lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O68,
        "block again": O69,
        "stem backward": O12,
        "first backward": O70,
        "block backward": O71,
    },
    "gemma2": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O72,
        "block again": O73,
        "stem backward": O18,
        "block backward": O74,
    },
    "gemma2 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O75,
        "block again": O76,
        "stem backward": O12,
        "first backward": O77,
        "block backward": O78,
    },
    "gemma3_text": {
        "stem": O79,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O80,
        "block again": O81,
        "stem backward": O18,
        "block backward": O82,
    },
    "gemma3_text lora": {
        "stem": O83,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O84,
        "block again": O85,
        "stem backward": O12,
        "first backward": O86,
        "block backward": O87,
    },
    "glm": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O88,
        "block again": O89,
        "stem backward": O18,
        "block backward": O90,
    },
    "glm lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O91,
        "block again": O92,
        "stem backward": O12,
        "first backward": O93,
        "block backward": O94,
    },
    "glm4": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O95,
        "block again": O96,
        "stem backward": O18,
        "block backward": O97,
    },
    "glm4 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O98,
        "block again": O99,
        "stem backward": O12,
        "first backward": O100,
        "block backward": O101,
    },
    "gpt2": {
        "stem": O102,
        "head": O1,
        "head backward": O2,
        "stem again": O103,
        "block": O104,
        "block again": O105,
        "stem backward": O103,
        "block backward": O106,
    },
    "gpt2 lora": {
        "stem": O107,
        "head": O8,
        "head backward": O9,
        "stem again": O108,
        "block": O109,
        "block again": O110,
        "stem backward": O12,
        "first backward": O111,
        "block backward": O112,
    },
    "gpt_bigcode": {
        "stem": O102,
        "head": O1,
        "head backward": O2,
        "stem again": O103,
        "block": O104,
        "block again": O105,
        "stem backward": O103,
        "block backward": O106,
    },
    "gpt_bigcode lora": {
        "stem": O107,
        "head": O8,
        "head backward": O9,
        "stem again": O108,
        "block": O109,
        "block again": O110,
        "stem backward": O12,
        "first backward": O111,
        "block backward": O112,
    },
    "gpt_bigcode:mha": {
        "stem": O102,
        "head": O1,
        "head backward": O2,
        "stem backward": O103,
        "block": O104,
        "block backward": O106,
        "stem again": O103,
        "block again": O105,
    },
    "gpt_bigcode:mha lora": {
        "stem": O107,
        "head": O8,
        "head backward": O9,
        "stem backward": O12,
        "first backward": O111,
        "block": O109,
        "block backward": O112,
        "stem again": O108,
        "block again": O110,
    },
    "gpt_neox": {
        "stem": O113,
        "head": O114,
        "head backward": O115,
        "stem again": O116,
        "block": O117,
        "block again": O118,
        "stem backward": O116,
        "block backward": O119,
    },
    "gpt_neox lora": {
        "stem": O120,
        "head": O121,
        "head backward": O122,
        "stem again": O116,
        "block": O123,
        "block again": O124,
        "stem backward": O12,
        "first backward": O125,
        "block backward": O126,
    },
    "gpt_neox:sequential": {
        "stem": O113,
        "head": O114,
        "head backward": O115,
        "stem again": O116,
        "block": O117,
        "block again": O118,
        "stem backward": O116,
        "block backward": O119,
    },
    "gpt_neox:sequential lora": {
        "stem": O120,
        "head": O121,
        "head backward": O122,
        "stem again": O116,
        "block": O123,
        "block again": O124,
        "stem backward": O12,
        "first backward": O127,
        "block backward": O126,
    },
    "gptj": {
        "stem": O128,
        "head": O1,
        "head backward": O2,
        "stem again": O108,
        "block": O129,
        "block again": O130,
        "stem backward": O108,
        "block backward": O131,
    },
    "gptj lora": {
        "stem": O132,
        "head": O8,
        "head backward": O9,
        "stem again": O108,
        "block": O133,
        "block again": O134,
        "stem backward": O12,
        "first backward": O135,
        "block backward": O136,
    },
    "granite": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O65,
        "block again": O66,
        "stem backward": O18,
        "block backward": O67,
    },
    "granite lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O68,
        "block again": O69,
        "stem backward": O12,
        "first backward": O70,
        "block backward": O71,
    },
    "llama": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O65,
        "block again": O66,
        "stem backward": O18,
        "block backward": O67,
    },
    "llama lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O68,
        "block again": O69,
        "stem backward": O12,
        "first backward": O70,
        "block backward": O71,
    },
    "mistral": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O65,
        "block again": O66,
        "stem backward": O18,
        "block backward": O67,
    },
    "mistral lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O68,
        "block again": O69,
        "stem backward": O12,
        "first backward": O70,
        "block backward": O71,
    },
    "mixtral": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O137,
        "block again": O138,
        "stem backward": O18,
        "block backward": O139,
    },
    "mpt": {
        "stem": O140,
        "head": O141,
        "head backward": O142,
        "stem again": O143,
        "block": O144,
        "block again": O145,
        "stem backward": O143,
        "block backward": O146,
    },
    "mpt lora": {
        "stem": O147,
        "head": O148,
        "head backward": O149,
        "stem again": O143,
        "block": O150,
        "block again": O151,
        "stem backward": O12,
        "first backward": O152,
        "block backward": O153,
    },
    "olmo": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O65,
        "block again": O66,
        "stem backward": O18,
        "block backward": O67,
    },
    "olmo lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O68,
        "block again": O69,
        "stem backward": O12,
        "first backward": O70,
        "block backward": O71,
    },
    "olmo2": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O154,
        "block again": O155,
        "stem backward": O18,
        "block backward": O156,
    },
    "olmo2 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O157,
        "block again": O158,
        "stem backward": O12,
        "first backward": O159,
        "block backward": O160,
    },
    "opt": {
        "stem": O161,
        "head": O162,
        "head backward": O163,
        "stem again": O164,
        "block": O165,
        "block again": O166,
        "stem backward": O164,
        "block backward": O167,
    },
    "opt lora": {
        "stem": O168,
        "head": O169,
        "head backward": O170,
        "stem again": O171,
        "block": O172,
        "block again": O173,
        "stem backward": O12,
        "first backward": O174,
        "block backward": O175,
    },
    "opt:post_norm": {
        "stem": O161,
        "head": O176,
        "head backward": O177,
        "stem again": O164,
        "block": O178,
        "block again": O179,
        "stem backward": O164,
        "block backward": O180,
    },
    "opt:post_norm lora": {
        "stem": O168,
        "head": O181,
        "head backward": O182,
        "stem again": O171,
        "block": O183,
        "block again": O184,
        "stem backward": O12,
        "first backward": O185,
        "block backward": O186,
    },
    "phi": {
        "stem": O187,
        "head": O188,
        "head backward": O189,
        "stem again": O190,
        "block": O191,
        "block again": O192,
        "stem backward": O190,
        "block backward": O193,
    },
    "phi lora": {
        "stem": O194,
        "head": O195,
        "head backward": O196,
        "stem again": O190,
        "block": O197,
        "block again": O198,
        "stem backward": O12,
        "first backward": O199,
        "block backward": O200,
    },
    "phi3": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O201,
        "block again": O202,
        "stem backward": O18,
        "block backward": O203,
    },
    "phi3 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O204,
        "block again": O205,
        "stem backward": O12,
        "first backward": O206,
        "block backward": O207,
    },
    "phi:qk_norm": {
        "stem": O187,
        "head": O188,
        "head backward": O189,
        "stem backward": O190,
        "block": O208,
        "block backward": O209,
        "stem again": O190,
        "block again": O210,
    },
    "phi:qk_norm lora": {
        "stem": O194,
        "head": O195,
        "head backward": O196,
        "stem backward": O12,
        "first backward": O211,
        "block": O212,
        "block backward": O213,
        "stem again": O190,
        "block again": O214,
    },
    "qwen2": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O65,
        "block again": O66,
        "stem backward": O18,
        "block backward": O67,
    },
    "qwen2 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O68,
        "block again": O69,
        "stem backward": O12,
        "first backward": O70,
        "block backward": O71,
    },
    "qwen2_moe:dense": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O65,
        "block again": O66,
        "stem backward": O18,
        "block backward": O67,
    },
    "qwen2_moe:dense lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O68,
        "block again": O69,
        "stem backward": O12,
        "block backward": O71,
    },
    "qwen2_moe:moe": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O137,
        "block again": O138,
        "stem backward": O18,
        "block backward": O139,
    },
    "qwen2_moe:moe lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O215,
        "block again": O216,
        "stem backward": O12,
        "first backward": O217,
        "block backward": O218,
    },
    "qwen3": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O219,
        "block again": O220,
        "stem backward": O18,
        "block backward": O221,
    },
    "qwen3 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O222,
        "block again": O223,
        "stem backward": O12,
        "first backward": O224,
        "block backward": O225,
    },
    "qwen3_moe:dense": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O219,
        "block again": O220,
        "stem backward": O18,
        "block backward": O221,
    },
    "qwen3_moe:moe": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O226,
        "block again": O227,
        "stem backward": O18,
        "block backward": O228,
    },
    "smollm3": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O65,
        "block again": O66,
        "stem backward": O18,
        "block backward": O67,
    },
    "smollm3 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O68,
        "block again": O69,
        "stem backward": O12,
        "first backward": O70,
        "block backward": O71,
    },
    "smollm3:nope": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O65,
        "block again": O66,
        "stem backward": O18,
        "block backward": O67,
    },
    "smollm3:nope lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O68,
        "block again": O69,
        "stem backward": O12,
        "block backward": O71,
    },
    "stablelm": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O229,
        "block again": O230,
        "stem backward": O18,
        "block backward": O231,
    },
    "stablelm lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O232,
        "block again": O233,
        "stem backward": O12,
        "first backward": O234,
        "block backward": O235,
    },
    "stablelm:parallel": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem backward": O18,
        "block": O236,
        "block backward": O237,
        "stem again": O18,
        "block again": O238,
    },
    "stablelm:parallel lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem backward": O12,
        "first backward": O239,
        "block": O240,
        "block backward": O241,
        "stem again": O18,
        "block again": O242,
    },
    "starcoder2": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O243,
        "block again": O244,
        "stem backward": O18,
        "block backward": O245,
    },
    "starcoder2 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O246,
        "block again": O247,
        "stem backward": O12,
        "first backward": O248,
        "block backward": O249,
    },
}
