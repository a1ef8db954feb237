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
    "+. input_layernorm +self_attn self_attn.q_a_proj self_attn.q_a_layernorm self_attn.q_b_proj "
    "self_attn.kv_a_proj_with_mqa self_attn.kv_a_layernorm self_attn.kv_b_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp -."
)
O30 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_a_proj self_attn.q_a_layernorm "
    "self_attn.q_b_proj self_attn.kv_a_proj_with_mqa self_attn.kv_a_layernorm self_attn.kv_b_proj self_attn.o_proj "
    "-self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj +mlp.down_proj > -mlp.down_proj "
    "mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.kv_b_proj self_attn.kv_a_layernorm self_attn.kv_a_proj_with_mqa self_attn.q_b_proj "
    "self_attn.q_a_layernorm self_attn.q_a_proj input_layernorm -."
)
O31 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.kv_b_proj self_attn.kv_a_layernorm self_attn.kv_a_proj_with_mqa self_attn.q_b_proj "
    "self_attn.q_a_layernorm self_attn.q_a_proj input_layernorm -."
)
O32 = (
    "+. input_layernorm +self_attn self_attn.q_a_proj self_attn.q_a_layernorm self_attn.q_b_proj "
    "self_attn.kv_a_proj_with_mqa self_attn.kv_a_layernorm self_attn.kv_b_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate +mlp.experts mlp.experts.act_fn -mlp.experts +mlp.shared_experts "
    "mlp.shared_experts.gate_proj mlp.shared_experts.act_fn mlp.shared_experts.up_proj "
    "mlp.shared_experts.down_proj -mlp.shared_experts -mlp -."
)
O33 = (
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
O34 = (
    "+. +mlp +mlp.shared_experts mlp.shared_experts.down_proj mlp.shared_experts.up_proj mlp.shared_experts.act_fn "
    "mlp.shared_experts.gate_proj -mlp.shared_experts +mlp.experts mlp.experts.act_fn -mlp.experts mlp.gate -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.kv_b_proj self_attn.kv_a_layernorm "
    "self_attn.kv_a_proj_with_mqa self_attn.q_b_proj self_attn.q_a_layernorm self_attn.q_a_proj input_layernorm -."
)
O35 = "+. +transformer transformer.word_embeddings transformer.rotary_emb"
O36 = "+transformer.word_embeddings"
O37 = (
    "+. input_layernorm +self_attention self_attention.query_key_value self_attention.dense -self_attention +mlp "
    "mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp -."
)
O38 = (
    "+. +mlp +mlp.dense_4h_to_h < input_layernorm +self_attention self_attention.query_key_value "
    "self_attention.dense -self_attention +mlp mlp.dense_h_to_4h mlp.act +mlp.dense_4h_to_h > -mlp.dense_4h_to_h "
    "mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense self_attention.query_key_value "
    "-self_attention input_layernorm -."
)
O39 = (
    "+. +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense "
    "self_attention.query_key_value -self_attention input_layernorm -."
)
O40 = "+. +base_model +base_model.model +transformer transformer.word_embeddings transformer.rotary_emb"
O41 = (
    "+. input_layernorm +self_attention self_attention.query_key_value* self_attention.dense* -self_attention +mlp "
    "mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp -."
)
O42 = (
    "+. +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < input_layernorm +self_attention "
    "self_attention.query_key_value* self_attention.dense* -self_attention +mlp mlp.dense_h_to_4h* mlp.act "
    "+mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > -mlp.dense_4h_to_h.lora_B.default "
    "mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.base_layer "
    "-mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention input_layernorm -."
)
O43 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act +mlp.dense_h_to_4h mlp.dense_h_to_4h.lora_B.default "
    "+mlp.dense_h_to_4h.lora_A.default +self_attention self_attention.dense^ +self_attention.query_key_value "
    "self_attention.query_key_value.lora_B.default +self_attention.query_key_value.lora_A.default"
)
O44 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention input_layernorm -."
)
O45 = (
    "+. input_layernorm +self_attention self_attention.query_key_value self_attention.dense -self_attention "
    "post_attention_layernorm +mlp mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp -."
)
O46 = (
    "+. +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp post_attention_layernorm +self_attention "
    "self_attention.dense self_attention.query_key_value -self_attention input_layernorm -."
)
O47 = (
    "+. +mlp +mlp.dense_4h_to_h < input_layernorm +self_attention self_attention.query_key_value "
    "self_attention.dense -self_attention post_attention_layernorm +mlp mlp.dense_h_to_4h mlp.act "
    "+mlp.dense_4h_to_h > -mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp post_attention_layernorm "
    "+self_attention self_attention.dense self_attention.query_key_value -self_attention input_layernorm -."
)
O48 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm +self_attention "
    "self_attention.dense^ +self_attention.query_key_value self_attention.query_key_value.lora_B.default "
    "+self_attention.query_key_value.lora_A.default"
)
O49 = (
    "+. input_layernorm +self_attention self_attention.query_key_value* self_attention.dense* -self_attention "
    "post_attention_layernorm +mlp mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp -."
)
O50 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm +self_attention "
    "self_attention.dense^ self_attention.query_key_value^ -self_attention input_layernorm -."
)
O51 = (
    "+. +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < input_layernorm +self_attention "
    "self_attention.query_key_value* self_attention.dense* -self_attention post_attention_layernorm +mlp "
    "mlp.dense_h_to_4h* mlp.act +mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer "
    "mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > "
    "-mlp.dense_4h_to_h.lora_B.default mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.base_layer -mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm "
    "+self_attention self_attention.dense^ self_attention.query_key_value^ -self_attention input_layernorm -."
)
O52 = (
    "+. ln_attn ln_mlp +self_attention self_attention.query_key_value self_attention.dense -self_attention +mlp "
    "mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp -."
)
O53 = (
    "+. +mlp +mlp.dense_4h_to_h < ln_attn ln_mlp +self_attention self_attention.query_key_value "
    "self_attention.dense -self_attention +mlp mlp.dense_h_to_4h mlp.act +mlp.dense_4h_to_h > -mlp.dense_4h_to_h "
    "mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense self_attention.query_key_value "
    "-self_attention ln_mlp ln_attn -."
)
O54 = (
    "+. +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense "
    "self_attention.query_key_value -self_attention ln_mlp ln_attn -."
)
O55 = (
    "+. ln_attn ln_mlp +self_attention self_attention.query_key_value* self_attention.dense* -self_attention +mlp "
    "mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp -."
)
O56 = (
    "+. +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < ln_attn ln_mlp +self_attention "
    "self_attention.query_key_value* self_attention.dense* -self_attention +mlp mlp.dense_h_to_4h* mlp.act "
    "+mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > -mlp.dense_4h_to_h.lora_B.default "
    "mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.base_layer "
    "-mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention ln_mlp ln_attn -."
)
O57 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention ln_mlp ln_attn -."
)
O58 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp -."
)
O59 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj +mlp.down_proj "
    "> -mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O60 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O61 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp -."
)
O62 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* "
    "mlp.act_fn mlp.up_proj* +mlp.down_proj mlp.down_proj.base_layer mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > -mlp.down_proj.lora_B.default "
    "mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default mlp.down_proj.base_layer -mlp.down_proj "
    "mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O63 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "+self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O64 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O65 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm pre_feedforward_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj "
    "-mlp post_feedforward_layernorm -."
)
O66 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp +post_feedforward_layernorm > "
    "-post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O67 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O68 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm pre_feedforward_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* "
    "mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O69 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* "
    "self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp +post_feedforward_layernorm > "
    "-post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ "
    "self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O70 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj "
    "self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O71 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ "
    "self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O72 = "+. +model model.embed_tokens model.rotary_emb model.rotary_emb"
O73 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.q_norm "
    "self_attn.k_norm self_attn.o_proj -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp post_feedforward_layernorm -."
)
O74 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.q_norm self_attn.k_norm self_attn.o_proj -self_attn post_attention_layernorm "
    "pre_feedforward_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp "
    "+post_feedforward_layernorm > -post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn "
    "mlp.gate_proj -mlp pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.k_norm self_attn.q_norm self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O75 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.k_norm "
    "self_attn.q_norm self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O76 = "+. +base_model +base_model.model +model model.embed_tokens model.rotary_emb model.rotary_emb"
O77 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.q_norm "
    "self_attn.k_norm self_attn.o_proj* -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O78 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* "
    "self_attn.v_proj* self_attn.q_norm self_attn.k_norm self_attn.o_proj* -self_attn post_attention_layernorm "
    "pre_feedforward_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp "
    "+post_feedforward_layernorm > -post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn "
    "mlp.gate_proj^ -mlp pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.k_norm self_attn.q_norm self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O79 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.k_norm "
    "self_attn.q_norm +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "+self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O80 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.k_norm "
    "self_attn.q_norm self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O81 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn mlp.down_proj -mlp -."
)
O82 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn +mlp.down_proj > "
    "-mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O83 = (
    "+. +mlp mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O84 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp mlp.gate_up_proj* mlp.activation_fn mlp.down_proj* -mlp -."
)
O85 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp "
    "mlp.gate_up_proj* mlp.activation_fn +mlp.down_proj mlp.down_proj.base_layer "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > "
    "-mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.base_layer -mlp.down_proj mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O86 = (
    "+. +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "+self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O87 = (
    "+. +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O88 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn mlp.down_proj -mlp "
    "post_mlp_layernorm -."
)
O89 = (
    "+. +post_mlp_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj "
    "mlp.activation_fn mlp.down_proj -mlp +post_mlp_layernorm > -post_mlp_layernorm +mlp mlp.down_proj "
    "mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm post_self_attn_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O90 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj "
    "input_layernorm -."
)
O91 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj* mlp.activation_fn "
    "mlp.down_proj* -mlp post_mlp_layernorm -."
)
O92 = (
    "+. +post_mlp_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* "
    "self_attn.o_proj* -self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj* "
    "mlp.activation_fn mlp.down_proj* -mlp +post_mlp_layernorm > -post_mlp_layernorm +mlp mlp.down_proj^ "
    "mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm post_self_attn_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O93 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O94 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "input_layernorm -."
)
O95 = "+. +transformer transformer.wte transformer.wpe transformer.drop"
O96 = "transformer.drop +transformer.wpe +transformer.wte"
O97 = (
    "+. ln_1 +attn attn.c_attn attn.c_proj attn.resid_dropout -attn ln_2 +mlp mlp.c_fc mlp.act mlp.c_proj "
    "mlp.dropout -mlp -."
)
O98 = (
    "+. +mlp +mlp.dropout < ln_1 +attn attn.c_attn attn.c_proj attn.resid_dropout -attn ln_2 +mlp mlp.c_fc mlp.act "
    "mlp.c_proj +mlp.dropout > -mlp.dropout mlp.c_proj mlp.act mlp.c_fc -mlp ln_2 +attn attn.resid_dropout "
    "attn.c_proj attn.c_attn -attn ln_1 -."
)
O99 = (
    "+. +mlp mlp.dropout mlp.c_proj mlp.act mlp.c_fc -mlp ln_2 +attn attn.resid_dropout attn.c_proj attn.c_attn "
    "-attn ln_1 -."
)
O100 = "+. +base_model +base_model.model +transformer transformer.wte transformer.wpe transformer.drop"
O101 = "transformer.drop +transformer.wte"
O102 = (
    "+. ln_1 +attn attn.c_attn* attn.c_proj* attn.resid_dropout -attn ln_2 +mlp mlp.c_fc* mlp.act mlp.c_proj* "
    "mlp.dropout -mlp -."
)
O103 = (
    "+. +mlp +mlp.dropout < ln_1 +attn attn.c_attn* attn.c_proj* attn.resid_dropout -attn ln_2 +mlp mlp.c_fc* "
    "mlp.act mlp.c_proj* +mlp.dropout > -mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn "
    "attn.resid_dropout attn.c_proj^ attn.c_attn^ -attn ln_1 -."
)
O104 = (
    "+. +mlp mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn attn.resid_dropout attn.c_proj^ "
    "+attn.c_attn attn.c_attn.lora_B.default +attn.c_attn.lora_A.default"
)
O105 = (
    "+. +mlp mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn attn.resid_dropout attn.c_proj^ "
    "attn.c_attn^ -attn ln_1 -."
)
O106 = "+. +gpt_neox gpt_neox.embed_in gpt_neox.emb_dropout gpt_neox.rotary_emb"
O107 = "gpt_neox.final_layer_norm -gpt_neox lm_head -."
O108 = "+. lm_head +gpt_neox gpt_neox.final_layer_norm"
O109 = "gpt_neox.emb_dropout +gpt_neox.embed_in"
O110 = (
    "+. input_layernorm +attention attention.query_key_value attention.dense -attention post_attention_dropout "
    "post_attention_layernorm +mlp mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp post_mlp_dropout -."
)
O111 = (
    "+. post_mlp_dropout +mlp +mlp.dense_4h_to_h < input_layernorm +attention attention.query_key_value "
    "attention.dense -attention post_attention_dropout post_attention_layernorm +mlp mlp.dense_h_to_4h mlp.act "
    "+mlp.dense_4h_to_h > -mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense attention.query_key_value -attention input_layernorm -."
)
O112 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense attention.query_key_value -attention input_layernorm -."
)
O113 = "+. +base_model +base_model.model +gpt_neox gpt_neox.embed_in gpt_neox.emb_dropout gpt_neox.rotary_emb"
O114 = "gpt_neox.final_layer_norm -gpt_neox lm_head -base_model.model -base_model -."
O115 = "+. +base_model +base_model.model lm_head +gpt_neox gpt_neox.final_layer_norm"
O116 = (
    "+. input_layernorm +attention attention.query_key_value* attention.dense* -attention post_attention_dropout "
    "post_attention_layernorm +mlp mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp post_mlp_dropout -."
)
O117 = (
    "+. post_mlp_dropout +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < input_layernorm +attention "
    "attention.query_key_value* attention.dense* -attention post_attention_dropout post_attention_layernorm +mlp "
    "mlp.dense_h_to_4h* mlp.act +mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer "
    "mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > "
    "-mlp.dense_4h_to_h.lora_B.default mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.base_layer -mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense^ attention.query_key_value^ -attention input_layernorm -."
)
O118 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h^ mlp.act +mlp.dense_h_to_4h mlp.dense_h_to_4h.lora_B.default "
    "+mlp.dense_h_to_4h.lora_A.default post_attention_dropout +attention attention.dense^ "
    "+attention.query_key_value attention.query_key_value.lora_B.default +attention.query_key_value.lora_A.default"
)
O119 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense^ attention.query_key_value^ -attention input_layernorm -."
)
O120 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense^ +attention.query_key_value "
    "attention.query_key_value.lora_B.default +attention.query_key_value.lora_A.default"
)
O121 = "+. +transformer transformer.wte transformer.drop transformer.rotary_emb"
O122 = (
    "+. ln_1 +attn attn.q_proj attn.k_proj attn.v_proj attn.out_proj attn.resid_dropout -attn +mlp mlp.fc_in "
    "mlp.act mlp.fc_out mlp.dropout -mlp -."
)
O123 = (
    "+. +mlp mlp.dropout +mlp.fc_out < ln_1 +attn attn.q_proj attn.k_proj attn.v_proj attn.out_proj "
    "attn.resid_dropout -attn +mlp mlp.fc_in mlp.act +mlp.fc_out > -mlp.fc_out mlp.act mlp.fc_in -mlp +attn "
    "attn.resid_dropout attn.out_proj attn.v_proj attn.k_proj attn.q_proj ln_1 -."
)
O124 = (
    "+. +mlp mlp.dropout mlp.fc_out mlp.act mlp.fc_in -mlp +attn attn.resid_dropout attn.out_proj attn.v_proj "
    "attn.k_proj attn.q_proj ln_1 -."
)
O125 = "+. +base_model +base_model.model +transformer transformer.wte transformer.drop transformer.rotary_emb"
O126 = (
    "+. ln_1 +attn attn.q_proj* attn.k_proj* attn.v_proj* attn.out_proj* attn.resid_dropout -attn +mlp mlp.fc_in* "
    "mlp.act mlp.fc_out* mlp.dropout -mlp -."
)
O127 = (
    "+. +mlp mlp.dropout +mlp.fc_out +mlp.fc_out.lora_B.default < ln_1 +attn attn.q_proj* attn.k_proj* "
    "attn.v_proj* attn.out_proj* attn.resid_dropout -attn +mlp mlp.fc_in* mlp.act +mlp.fc_out "
    "mlp.fc_out.base_layer mlp.fc_out.lora_dropout.default mlp.fc_out.lora_A.default +mlp.fc_out.lora_B.default > "
    "-mlp.fc_out.lora_B.default mlp.fc_out.lora_A.default mlp.fc_out.lora_dropout.default mlp.fc_out.base_layer "
    "-mlp.fc_out mlp.act mlp.fc_in^ -mlp +attn attn.resid_dropout attn.out_proj^ attn.v_proj^ attn.k_proj^ "
    "attn.q_proj^ ln_1 -."
)
O128 = (
    "+. +mlp mlp.dropout mlp.fc_out^ mlp.act +mlp.fc_in mlp.fc_in.lora_B.default +mlp.fc_in.lora_A.default +attn "
    "attn.resid_dropout attn.out_proj^ +attn.v_proj attn.v_proj.lora_B.default +attn.v_proj.lora_A.default "
    "+attn.k_proj attn.k_proj.lora_B.default +attn.k_proj.lora_A.default +attn.q_proj attn.q_proj.lora_B.default "
    "+attn.q_proj.lora_A.default"
)
O129 = (
    "+. +mlp mlp.dropout mlp.fc_out^ mlp.act mlp.fc_in^ -mlp +attn attn.resid_dropout attn.out_proj^ attn.v_proj^ "
    "attn.k_proj^ attn.q_proj^ ln_1 -."
)
O130 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm mlp -."
)
O131 = (
    "+. +mlp < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj "
    "-self_attn post_attention_layernorm +mlp > -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O132 = (
    "+. mlp post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj input_layernorm -."
)
O133 = "+. +transformer transformer.wte"
O134 = "transformer.norm_f -transformer lm_head -."
O135 = "+. lm_head +transformer transformer.norm_f"
O136 = "+transformer.wte"
O137 = (
    "+. norm_1 +attn attn.Wqkv attn.out_proj -attn resid_attn_dropout norm_2 +ffn ffn.up_proj ffn.act "
    "ffn.down_proj -ffn -."
)
O138 = (
    "+. +ffn +ffn.down_proj < norm_1 +attn attn.Wqkv attn.out_proj -attn resid_attn_dropout norm_2 +ffn "
    "ffn.up_proj ffn.act +ffn.down_proj > -ffn.down_proj ffn.act ffn.up_proj -ffn norm_2 resid_attn_dropout +attn "
    "attn.out_proj attn.Wqkv -attn norm_1 -."
)
O139 = (
    "+. +ffn ffn.down_proj ffn.act ffn.up_proj -ffn norm_2 resid_attn_dropout +attn attn.out_proj attn.Wqkv -attn "
    "norm_1 -."
)
O140 = "+. +base_model +base_model.model +transformer transformer.wte"
O141 = "transformer.norm_f -transformer lm_head -base_model.model -base_model -."
O142 = "+. +base_model +base_model.model lm_head +transformer transformer.norm_f"
O143 = (
    "+. norm_1 +attn attn.Wqkv* attn.out_proj* -attn resid_attn_dropout norm_2 +ffn ffn.up_proj* ffn.act "
    "ffn.down_proj* -ffn -."
)
O144 = (
    "+. +ffn +ffn.down_proj +ffn.down_proj.lora_B.default < norm_1 +attn attn.Wqkv* attn.out_proj* -attn "
    "resid_attn_dropout norm_2 +ffn ffn.up_proj* ffn.act +ffn.down_proj ffn.down_proj.base_layer "
    "ffn.down_proj.lora_dropout.default ffn.down_proj.lora_A.default +ffn.down_proj.lora_B.default > "
    "-ffn.down_proj.lora_B.default ffn.down_proj.lora_A.default ffn.down_proj.lora_dropout.default "
    "ffn.down_proj.base_layer -ffn.down_proj ffn.act ffn.up_proj^ -ffn norm_2 resid_attn_dropout +attn "
    "attn.out_proj^ attn.Wqkv^ -attn norm_1 -."
)
O145 = (
    "+. +ffn ffn.down_proj^ ffn.act ffn.up_proj^ -ffn norm_2 resid_attn_dropout +attn attn.out_proj^ +attn.Wqkv "
    "attn.Wqkv.lora_B.default +attn.Wqkv.lora_A.default"
)
O146 = (
    "+. +ffn ffn.down_proj^ ffn.act ffn.up_proj^ -ffn norm_2 resid_attn_dropout +attn attn.out_proj^ attn.Wqkv^ "
    "-attn norm_1 -."
)
O147 = (
    "+. +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj "
    "-mlp post_feedforward_layernorm -."
)
O148 = (
    "+. +post_feedforward_layernorm < +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj "
    "self_attn.k_norm self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj "
    "mlp.act_fn mlp.up_proj mlp.down_proj -mlp +post_feedforward_layernorm > -post_feedforward_layernorm +mlp "
    "mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_norm self_attn.k_proj self_attn.q_norm self_attn.q_proj -."
)
O149 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj "
    "self_attn.q_norm self_attn.q_proj -."
)
O150 = (
    "+. +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* self_attn.k_norm self_attn.v_proj* "
    "self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* "
    "mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O151 = (
    "+. +post_feedforward_layernorm < +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* "
    "self_attn.k_norm self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* "
    "mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp +post_feedforward_layernorm > -post_feedforward_layernorm +mlp "
    "mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm self_attn.q_proj^ -."
)
O152 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default self_attn.k_norm +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default self_attn.q_norm +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O153 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ "
    "self_attn.q_norm self_attn.q_proj^ -."
)
O154 = "+. +model.decoder model.decoder.embed_tokens model.decoder.embed_positions"
O155 = "model.decoder.final_layer_norm -model.decoder lm_head -."
O156 = "+. lm_head +model.decoder model.decoder.final_layer_norm"
O157 = "+model.decoder.embed_positions +model.decoder.embed_tokens"
O158 = (
    "+. self_attn_layer_norm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj "
    "-self_attn final_layer_norm fc1 activation_fn fc2 -."
)
O159 = (
    "+. < self_attn_layer_norm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj "
    "-self_attn final_layer_norm fc1 activation_fn fc2 > fc2 activation_fn fc1 final_layer_norm +self_attn "
    "self_attn.out_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj self_attn_layer_norm -."
)
O160 = (
    "+. fc2 activation_fn fc1 final_layer_norm +self_attn self_attn.out_proj self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj self_attn_layer_norm -."
)
O161 = "+. +base_model +base_model.model +model.decoder model.decoder.embed_tokens model.decoder.embed_positions"
O162 = "model.decoder.final_layer_norm -model.decoder lm_head -base_model.model -base_model -."
O163 = "+. +base_model +base_model.model lm_head +model.decoder model.decoder.final_layer_norm"
O164 = "+model.decoder.embed_tokens"
O165 = (
    "+. self_attn_layer_norm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.out_proj* "
    "-self_attn final_layer_norm fc1* activation_fn fc2* -."
)
O166 = (
    "+. < self_attn_layer_norm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* "
    "self_attn.out_proj* -self_attn final_layer_norm fc1* activation_fn fc2* > fc2^ activation_fn fc1^ "
    "final_layer_norm +self_attn self_attn.out_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "self_attn_layer_norm -."
)
O167 = (
    "+. fc2^ activation_fn fc1^ final_layer_norm +self_attn self_attn.out_proj^ +self_attn.v_proj "
    "self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O168 = (
    "+. fc2^ activation_fn fc1^ final_layer_norm +self_attn self_attn.out_proj^ self_attn.v_proj^ "
    "self_attn.k_proj^ self_attn.q_proj^ self_attn_layer_norm -."
)
O169 = "-model.decoder lm_head -."
O170 = "+. lm_head +model.decoder"
O171 = (
    "+. +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj -self_attn "
    "self_attn_layer_norm fc1 activation_fn fc2 final_layer_norm -."
)
O172 = (
    "+. +final_layer_norm < +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj "
    "-self_attn self_attn_layer_norm fc1 activation_fn fc2 +final_layer_norm > -final_layer_norm fc2 activation_fn "
    "fc1 self_attn_layer_norm +self_attn self_attn.out_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj -."
)
O173 = (
    "+. final_layer_norm fc2 activation_fn fc1 self_attn_layer_norm +self_attn self_attn.out_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj -."
)
O174 = "-model.decoder lm_head -base_model.model -base_model -."
O175 = "+. +base_model +base_model.model lm_head +model.decoder"
O176 = (
    "+. +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.out_proj* -self_attn "
    "self_attn_layer_norm fc1* activation_fn fc2* final_layer_norm -."
)
O177 = (
    "+. +final_layer_norm < +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.out_proj* "
    "-self_attn self_attn_layer_norm fc1* activation_fn fc2* +final_layer_norm > -final_layer_norm fc2^ "
    "activation_fn fc1^ self_attn_layer_norm +self_attn self_attn.out_proj^ self_attn.v_proj^ self_attn.k_proj^ "
    "self_attn.q_proj^ -."
)
O178 = (
    "+. final_layer_norm fc2^ activation_fn fc1^ self_attn_layer_norm +self_attn self_attn.out_proj^ "
    "+self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O179 = (
    "+. final_layer_norm fc2^ activation_fn fc1^ self_attn_layer_norm +self_attn self_attn.out_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ -."
)
O180 = "+. +model model.embed_tokens model.embed_dropout model.rotary_emb"
O181 = "model.final_layernorm -model lm_head -."
O182 = "+. lm_head +model model.final_layernorm"
O183 = "model.embed_dropout +model.embed_tokens"
O184 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.dense -self_attn "
    "resid_dropout +mlp mlp.fc1 mlp.activation_fn mlp.fc2 -mlp resid_dropout -."
)
O185 = (
    "+. resid_dropout +mlp +mlp.fc2 < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.dense -self_attn resid_dropout +mlp mlp.fc1 mlp.activation_fn +mlp.fc2 > -mlp.fc2 "
    "mlp.activation_fn mlp.fc1 -mlp resid_dropout +self_attn self_attn.dense self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj input_layernorm -."
)
O186 = (
    "+. resid_dropout +mlp mlp.fc2 mlp.activation_fn mlp.fc1 -mlp +resid_dropout +self_attn self_attn.dense "
    "self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O187 = "+. +base_model +base_model.model +model model.embed_tokens model.embed_dropout model.rotary_emb"
O188 = "model.final_layernorm -model lm_head -base_model.model -base_model -."
O189 = "+. +base_model +base_model.model lm_head +model model.final_layernorm"
O190 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.dense* "
    "-self_attn resid_dropout +mlp mlp.fc1* mlp.activation_fn mlp.fc2* -mlp resid_dropout -."
)
O191 = (
    "+. resid_dropout +mlp +mlp.fc2 +mlp.fc2.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.dense* -self_attn resid_dropout +mlp mlp.fc1* mlp.activation_fn "
    "+mlp.fc2 mlp.fc2.base_layer mlp.fc2.lora_dropout.default mlp.fc2.lora_A.default +mlp.fc2.lora_B.default > "
    "-mlp.fc2.lora_B.default mlp.fc2.lora_A.default mlp.fc2.lora_dropout.default mlp.fc2.base_layer -mlp.fc2 "
    "mlp.activation_fn mlp.fc1^ -mlp resid_dropout +self_attn self_attn.dense^ self_attn.v_proj^ self_attn.k_proj^ "
    "self_attn.q_proj^ input_layernorm -."
)
O192 = (
    "+. resid_dropout +mlp mlp.fc2^ mlp.activation_fn +mlp.fc1 mlp.fc1.lora_B.default +mlp.fc1.lora_A.default "
    "+resid_dropout +self_attn self_attn.dense^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O193 = (
    "+. resid_dropout +mlp mlp.fc2^ mlp.activation_fn mlp.fc1^ -mlp +resid_dropout +self_attn self_attn.dense^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O194 = (
    "+. input_layernorm +self_attn self_attn.qkv_proj self_attn.o_proj -self_attn resid_attn_dropout "
    "post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn mlp.down_proj -mlp resid_mlp_dropout -."
)
O195 = (
    "+. resid_mlp_dropout +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.qkv_proj self_attn.o_proj "
    "-self_attn resid_attn_dropout post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn +mlp.down_proj "
    "> -mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm resid_attn_dropout "
    "+self_attn self_attn.o_proj self_attn.qkv_proj input_layernorm -."
)
O196 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj self_attn.qkv_proj input_layernorm -."
)
O197 = (
    "+. input_layernorm +self_attn self_attn.qkv_proj* self_attn.o_proj* -self_attn resid_attn_dropout "
    "post_attention_layernorm +mlp mlp.gate_up_proj* mlp.activation_fn mlp.down_proj* -mlp resid_mlp_dropout -."
)
O198 = (
    "+. resid_mlp_dropout +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn "
    "self_attn.qkv_proj* self_attn.o_proj* -self_attn resid_attn_dropout post_attention_layernorm +mlp "
    "mlp.gate_up_proj* mlp.activation_fn +mlp.down_proj mlp.down_proj.base_layer "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > "
    "-mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.base_layer -mlp.down_proj mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ self_attn.qkv_proj^ input_layernorm -."
)
O199 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ +self_attn.qkv_proj self_attn.qkv_proj.lora_B.default "
    "+self_attn.qkv_proj.lora_A.default"
)
O200 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ self_attn.qkv_proj^ input_layernorm -."
)
O201 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm mlp -."
)
O202 = (
    "+. +mlp < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp > -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O203 = (
    "+. mlp post_attention_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj "
    "self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O204 = (
    "+. mlp post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ "
    "self_attn.q_proj^ input_layernorm -."
)
O205 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn "
    "mlp.up_proj mlp.down_proj -mlp -."
)
O206 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj "
    "self_attn.k_norm self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj "
    "mlp.act_fn mlp.up_proj +mlp.down_proj > -mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj "
    "self_attn.q_norm self_attn.q_proj input_layernorm -."
)
O207 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj self_attn.q_norm self_attn.q_proj "
    "input_layernorm -."
)
O208 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* self_attn.k_norm "
    "self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn "
    "mlp.up_proj* mlp.down_proj* -mlp -."
)
O209 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.q_norm self_attn.k_proj* self_attn.k_norm self_attn.v_proj* self_attn.o_proj* -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* +mlp.down_proj mlp.down_proj.base_layer "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > "
    "-mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.base_layer -mlp.down_proj mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm "
    "self_attn.q_proj^ input_layernorm -."
)
O210 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "self_attn.k_norm +self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default "
    "self_attn.q_norm +self_attn.q_proj self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O211 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm self_attn.q_proj^ "
    "input_layernorm -."
)
O212 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm mlp -."
)
O213 = (
    "+. +mlp < input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp > -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj self_attn.q_norm "
    "self_attn.q_proj input_layernorm -."
)
O214 = (
    "+. mlp post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm "
    "self_attn.k_proj self_attn.q_norm self_attn.q_proj input_layernorm -."
)
O215 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp dropout -."
)
O216 = (
    "+. dropout +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn "
    "mlp.up_proj +mlp.down_proj > -mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj "
    "input_layernorm -."
)
O217 = (
    "+. dropout +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O218 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp dropout "
    "-."
)
O219 = (
    "+. dropout +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* "
    "mlp.act_fn mlp.up_proj* +mlp.down_proj mlp.down_proj.base_layer mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > -mlp.down_proj.lora_B.default "
    "mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default mlp.down_proj.base_layer -mlp.down_proj "
    "mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O220 = (
    "+. dropout +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O221 = (
    "+. dropout +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O222 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.c_fc mlp.act mlp.c_proj -mlp -."
)
O223 = (
    "+. +mlp +mlp.c_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.c_fc mlp.act +mlp.c_proj > -mlp.c_proj mlp.act "
    "mlp.c_fc -mlp post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj input_layernorm -."
)
O224 = (
    "+. +mlp mlp.c_proj mlp.act mlp.c_fc -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O225 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp mlp.c_fc* mlp.act mlp.c_proj* -mlp -."
)
O226 = (
    "+. +mlp +mlp.c_proj +mlp.c_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.c_fc* "
    "mlp.act +mlp.c_proj mlp.c_proj.base_layer mlp.c_proj.lora_dropout.default mlp.c_proj.lora_A.default "
    "+mlp.c_proj.lora_B.default > -mlp.c_proj.lora_B.default mlp.c_proj.lora_A.default "
    "mlp.c_proj.lora_dropout.default mlp.c_proj.base_layer -mlp.c_proj mlp.act mlp.c_fc^ -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "input_layernorm -."
)
O227 = (
    "+. +mlp mlp.c_proj^ mlp.act mlp.c_fc^ -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "+self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O228 = (
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
    "deepseek_v2:dense": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O29,
        "block again": O30,
        "stem backward": O18,
        "block backward": O31,
    },
    "deepseek_v2:moe": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O32,
        "block again": O33,
        "stem backward": O18,
        "block backward": O34,
    },
    "deepseek_v3:dense": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O29,
        "block again": O30,
        "stem backward": O18,
        "block backward": O31,
    },
    "deepseek_v3:moe": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O32,
        "block again": O33,
        "stem backward": O18,
        "block backward": O34,
    },
    "falcon": {
        "stem": O35,
        "head": O1,
        "head backward": O2,
        "stem again": O36,
        "block": O37,
        "block again": O38,
        "stem backward": O36,
        "block backward": O39,
    },
    "falcon lora": {
        "stem": O40,
        "head": O8,
        "head backward": O9,
        "stem again": O36,
        "block": O41,
        "block again": O42,
        "stem backward": O12,
        "first backward": O43,
        "block backward": O44,
    },
    "falcon:grouped": {
        "stem": O35,
        "head": O1,
        "head backward": O2,
        "stem backward": O36,
        "block": O37,
        "block backward": O39,
        "stem again": O36,
        "block again": O38,
    },
    "falcon:grouped lora": {
        "stem": O40,
        "head": O8,
        "head backward": O9,
        "stem backward": O12,
        "first backward": O43,
        "block": O41,
        "block backward": O44,
        "stem again": O36,
        "block again": O42,
    },
    "falcon:sequential": {
        "stem": O35,
        "head": O1,
        "head backward": O2,
        "stem backward": O36,
        "block": O45,
        "block backward": O46,
        "stem again": O36,
        "block again": O47,
    },
    "falcon:sequential lora": {
        "stem": O40,
        "head": O8,
        "head backward": O9,
        "stem backward": O12,
        "first backward": O48,
        "block": O49,
        "block backward": O50,
        "stem again": O36,
        "block again": O51,
    },
    "falcon:two_norms": {
        "stem": O35,
        "head": O1,
        "head backward": O2,
        "stem again": O36,
        "block": O52,
        "block again": O53,
        "stem backward": O36,
        "block backward": O54,
    },
    "falcon:two_norms lora": {
        "stem": O40,
        "head": O8,
        "head backward": O9,
        "stem again": O36,
        "block": O55,
        "block again": O56,
        "stem backward": O12,
        "first backward": O43,
        "block backward": O57,
    },
    "gemma": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O58,
        "block again": O59,
        "stem backward": O18,
        "block backward": O60,
    },
    "gemma lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O61,
        "block again": O62,
        "stem backward": O12,
        "first backward": O63,
        "block backward": O64,
    },
    "gemma2": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O65,
        "block again": O66,
        "stem backward": O18,
        "block backward": O67,
    },
    "gemma2 lora": {
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
    "gemma3_text": {
        "stem": O72,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O73,
        "block again": O74,
        "stem backward": O18,
        "block backward": O75,
    },
    "gemma3_text lora": {
        "stem": O76,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O77,
        "block again": O78,
        "stem backward": O12,
        "first backward": O79,
        "block backward": O80,
    },
    "glm": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O81,
        "block again": O82,
        "stem backward": O18,
        "block backward": O83,
    },
    "glm lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O84,
        "block again": O85,
        "stem backward": O12,
        "first backward": O86,
        "block backward": O87,
    },
    "glm4": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O88,
        "block again": O89,
        "stem backward": O18,
        "block backward": O90,
    },
    "glm4 lora": {
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
    "gpt2": {
        "stem": O95,
        "head": O1,
        "head backward": O2,
        "stem again": O96,
        "block": O97,
        "block again": O98,
        "stem backward": O96,
        "block backward": O99,
    },
    "gpt2 lora": {
        "stem": O100,
        "head": O8,
        "head backward": O9,
        "stem again": O101,
        "block": O102,
        "block again": O103,
        "stem backward": O12,
        "first backward": O104,
        "block backward": O105,
    },
    "gpt_bigcode": {
        "stem": O95,
        "head": O1,
        "head backward": O2,
        "stem again": O96,
        "block": O97,
        "block again": O98,
        "stem backward": O96,
        "block backward": O99,
    },
    "gpt_bigcode lora": {
        "stem": O100,
        "head": O8,
        "head backward": O9,
        "stem again": O101,
        "block": O102,
        "block again": O103,
        "stem backward": O12,
        "first backward": O104,
        "block backward": O105,
    },
    "gpt_neox": {
        "stem": O106,
        "head": O107,
        "head backward": O108,
        "stem again": O109,
        "block": O110,
        "block again": O111,
        "stem backward": O109,
        "block backward": O112,
    },
    "gpt_neox lora": {
        "stem": O113,
        "head": O114,
        "head backward": O115,
        "stem again": O109,
        "block": O116,
        "block again": O117,
        "stem backward": O12,
        "first backward": O118,
        "block backward": O119,
    },
    "gpt_neox:sequential": {
        "stem": O106,
        "head": O107,
        "head backward": O108,
        "stem again": O109,
        "block": O110,
        "block again": O111,
        "stem backward": O109,
        "block backward": O112,
    },
    "gpt_neox:sequential lora": {
        "stem": O113,
        "head": O114,
        "head backward": O115,
        "stem again": O109,
        "block": O116,
        "block again": O117,
        "stem backward": O12,
        "first backward": O120,
        "block backward": O119,
    },
    "gptj": {
        "stem": O121,
        "head": O1,
        "head backward": O2,
        "stem again": O101,
        "block": O122,
        "block again": O123,
        "stem backward": O101,
        "block backward": O124,
    },
    "gptj lora": {
        "stem": O125,
        "head": O8,
        "head backward": O9,
        "stem again": O101,
        "block": O126,
        "block again": O127,
        "stem backward": O12,
        "first backward": O128,
        "block backward": O129,
    },
    "granite": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O58,
        "block again": O59,
        "stem backward": O18,
        "block backward": O60,
    },
    "granite lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O61,
        "block again": O62,
        "stem backward": O12,
        "first backward": O63,
        "block backward": O64,
    },
    "llama": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O58,
        "block again": O59,
        "stem backward": O18,
        "block backward": O60,
    },
    "llama lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O61,
        "block again": O62,
        "stem backward": O12,
        "first backward": O63,
        "block backward": O64,
    },
    "mistral": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O58,
        "block again": O59,
        "stem backward": O18,
        "block backward": O60,
    },
    "mistral lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O61,
        "block again": O62,
        "stem backward": O12,
        "first backward": O63,
        "block backward": O64,
    },
    "mixtral": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O130,
        "block again": O131,
        "stem backward": O18,
        "block backward": O132,
    },
    "mpt": {
        "stem": O133,
        "head": O134,
        "head backward": O135,
        "stem again": O136,
        "block": O137,
        "block again": O138,
        "stem backward": O136,
        "block backward": O139,
    },
    "mpt lora": {
        "stem": O140,
        "head": O141,
        "head backward": O142,
        "stem again": O136,
        "block": O143,
        "block again": O144,
        "stem backward": O12,
        "first backward": O145,
        "block backward": O146,
    },
    "olmo": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O58,
        "block again": O59,
        "stem backward": O18,
        "block backward": O60,
    },
    "olmo lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O61,
        "block again": O62,
        "stem backward": O12,
        "first backward": O63,
        "block backward": O64,
    },
    "olmo2": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O147,
        "block again": O148,
        "stem backward": O18,
        "block backward": O149,
    },
    "olmo2 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O150,
        "block again": O151,
        "stem backward": O12,
        "first backward": O152,
        "block backward": O153,
    },
    "opt": {
        "stem": O154,
        "head": O155,
        "head backward": O156,
        "stem again": O157,
        "block": O158,
        "block again": O159,
        "stem backward": O157,
        "block backward": O160,
    },
    "opt lora": {
        "stem": O161,
        "head": O162,
        "head backward": O163,
        "stem again": O164,
        "block": O165,
        "block again": O166,
        "stem backward": O12,
        "first backward": O167,
        "block backward": O168,
    },
    "opt:post_norm": {
        "stem": O154,
        "head": O169,
        "head backward": O170,
        "stem again": O157,
        "block": O171,
        "block again": O172,
        "stem backward": O157,
        "block backward": O173,
    },
    "opt:post_norm lora": {
        "stem": O161,
        "head": O174,
        "head backward": O175,
        "stem again": O164,
        "block": O176,
        "block again": O177,
        "stem backward": O12,
        "first backward": O178,
        "block backward": O179,
    },
    "phi": {
        "stem": O180,
        "head": O181,
        "head backward": O182,
        "stem again": O183,
        "block": O184,
        "block again": O185,
        "stem backward": O183,
        "block backward": O186,
    },
    "phi lora": {
        "stem": O187,
        "head": O188,
        "head backward": O189,
        "stem again": O183,
        "block": O190,
        "block again": O191,
        "stem backward": O12,
        "first backward": O192,
        "block backward": O193,
    },
    "phi3": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O194,
        "block again": O195,
        "stem backward": O18,
        "block backward": O196,
    },
    "phi3 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O197,
        "block again": O198,
        "stem backward": O12,
        "first backward": O199,
        "block backward": O200,
    },
    "qwen2": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O58,
        "block again": O59,
        "stem backward": O18,
        "block backward": O60,
    },
    "qwen2 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O61,
        "block again": O62,
        "stem backward": O12,
        "first backward": O63,
        "block backward": O64,
    },
    "qwen2_moe:dense": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O58,
        "block again": O59,
        "stem backward": O18,
        "block backward": O60,
    },
    "qwen2_moe:dense lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O61,
        "block again": O62,
        "stem backward": O12,
        "block backward": O64,
    },
    "qwen2_moe:moe": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O130,
        "block again": O131,
        "stem backward": O18,
        "block backward": O132,
    },
    "qwen2_moe:moe lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O201,
        "block again": O202,
        "stem backward": O12,
        "first backward": O203,
        "block backward": O204,
    },
    "qwen3": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O205,
        "block again": O206,
        "stem backward": O18,
        "block backward": O207,
    },
    "qwen3 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O208,
        "block again": O209,
        "stem backward": O12,
        "first backward": O210,
        "block backward": O211,
    },
    "qwen3_moe:dense": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O205,
        "block again": O206,
        "stem backward": O18,
        "block backward": O207,
    },
    "qwen3_moe:moe": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O212,
        "block again": O213,
        "stem backward": O18,
        "block backward": O214,
    },
    "smollm3": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O58,
        "block again": O59,
        "stem backward": O18,
        "block backward": O60,
    },
    "smollm3 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O61,
        "block again": O62,
        "stem backward": O12,
        "first backward": O63,
        "block backward": O64,
    },
    "smollm3:nope": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O58,
        "block again": O59,
        "stem backward": O18,
        "block backward": O60,
    },
    "smollm3:nope lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O61,
        "block again": O62,
        "stem backward": O12,
        "block backward": O64,
    },
    "stablelm": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O215,
        "block again": O216,
        "stem backward": O18,
        "block backward": O217,
    },
    "stablelm lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O218,
        "block again": O219,
        "stem backward": O12,
        "first backward": O220,
        "block backward": O221,
    },
    "starcoder2": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O222,
        "block again": O223,
        "stem backward": O18,
        "block backward": O224,
    },
    "starcoder2 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O225,
        "block again": O226,
        "stem backward": O12,
        "first backward": O227,
        "block backward": O228,
    },
}
