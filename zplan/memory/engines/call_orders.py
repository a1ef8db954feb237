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
    "+. ln_attn ln_mlp +self_attention self_attention.query_key_value self_attention.dense -self_attention +mlp "
    "mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp -."
)
O46 = (
    "+. +mlp +mlp.dense_4h_to_h < ln_attn ln_mlp +self_attention self_attention.query_key_value "
    "self_attention.dense -self_attention +mlp mlp.dense_h_to_4h mlp.act +mlp.dense_4h_to_h > -mlp.dense_4h_to_h "
    "mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense self_attention.query_key_value "
    "-self_attention ln_mlp ln_attn -."
)
O47 = (
    "+. +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense "
    "self_attention.query_key_value -self_attention ln_mlp ln_attn -."
)
O48 = (
    "+. ln_attn ln_mlp +self_attention self_attention.query_key_value* self_attention.dense* -self_attention +mlp "
    "mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp -."
)
O49 = (
    "+. +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < ln_attn ln_mlp +self_attention "
    "self_attention.query_key_value* self_attention.dense* -self_attention +mlp mlp.dense_h_to_4h* mlp.act "
    "+mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > -mlp.dense_4h_to_h.lora_B.default "
    "mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.base_layer "
    "-mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention ln_mlp ln_attn -."
)
O50 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention ln_mlp ln_attn -."
)
O51 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp -."
)
O52 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj +mlp.down_proj "
    "> -mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O53 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O54 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp -."
)
O55 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* "
    "mlp.act_fn mlp.up_proj* +mlp.down_proj mlp.down_proj.base_layer mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > -mlp.down_proj.lora_B.default "
    "mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default mlp.down_proj.base_layer -mlp.down_proj "
    "mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O56 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "+self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O57 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O58 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm pre_feedforward_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj "
    "-mlp post_feedforward_layernorm -."
)
O59 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp +post_feedforward_layernorm > "
    "-post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O60 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O61 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm pre_feedforward_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* "
    "mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O62 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* "
    "self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp +post_feedforward_layernorm > "
    "-post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ "
    "self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O63 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj "
    "self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O64 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ "
    "self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O65 = "+. +model model.embed_tokens model.rotary_emb model.rotary_emb"
O66 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.q_norm "
    "self_attn.k_norm self_attn.o_proj -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp post_feedforward_layernorm -."
)
O67 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.q_norm self_attn.k_norm self_attn.o_proj -self_attn post_attention_layernorm "
    "pre_feedforward_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp "
    "+post_feedforward_layernorm > -post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn "
    "mlp.gate_proj -mlp pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.k_norm self_attn.q_norm self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O68 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.k_norm "
    "self_attn.q_norm self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O69 = "+. +base_model +base_model.model +model model.embed_tokens model.rotary_emb model.rotary_emb"
O70 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.q_norm "
    "self_attn.k_norm self_attn.o_proj* -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O71 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* "
    "self_attn.v_proj* self_attn.q_norm self_attn.k_norm self_attn.o_proj* -self_attn post_attention_layernorm "
    "pre_feedforward_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp "
    "+post_feedforward_layernorm > -post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn "
    "mlp.gate_proj^ -mlp pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.k_norm self_attn.q_norm self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O72 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.k_norm "
    "self_attn.q_norm +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "+self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O73 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.k_norm "
    "self_attn.q_norm self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O74 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn mlp.down_proj -mlp -."
)
O75 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn +mlp.down_proj > "
    "-mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O76 = (
    "+. +mlp mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O77 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp mlp.gate_up_proj* mlp.activation_fn mlp.down_proj* -mlp -."
)
O78 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp "
    "mlp.gate_up_proj* mlp.activation_fn +mlp.down_proj mlp.down_proj.base_layer "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > "
    "-mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.base_layer -mlp.down_proj mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O79 = (
    "+. +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "+self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O80 = (
    "+. +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O81 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn mlp.down_proj -mlp "
    "post_mlp_layernorm -."
)
O82 = (
    "+. +post_mlp_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj "
    "mlp.activation_fn mlp.down_proj -mlp +post_mlp_layernorm > -post_mlp_layernorm +mlp mlp.down_proj "
    "mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm post_self_attn_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O83 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj "
    "input_layernorm -."
)
O84 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj* mlp.activation_fn "
    "mlp.down_proj* -mlp post_mlp_layernorm -."
)
O85 = (
    "+. +post_mlp_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* "
    "self_attn.o_proj* -self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj* "
    "mlp.activation_fn mlp.down_proj* -mlp +post_mlp_layernorm > -post_mlp_layernorm +mlp mlp.down_proj^ "
    "mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm post_self_attn_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O86 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O87 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "input_layernorm -."
)
O88 = "+. +transformer transformer.wte transformer.wpe transformer.drop"
O89 = "transformer.drop +transformer.wpe +transformer.wte"
O90 = (
    "+. ln_1 +attn attn.c_attn attn.c_proj attn.resid_dropout -attn ln_2 +mlp mlp.c_fc mlp.act mlp.c_proj "
    "mlp.dropout -mlp -."
)
O91 = (
    "+. +mlp +mlp.dropout < ln_1 +attn attn.c_attn attn.c_proj attn.resid_dropout -attn ln_2 +mlp mlp.c_fc mlp.act "
    "mlp.c_proj +mlp.dropout > -mlp.dropout mlp.c_proj mlp.act mlp.c_fc -mlp ln_2 +attn attn.resid_dropout "
    "attn.c_proj attn.c_attn -attn ln_1 -."
)
O92 = (
    "+. +mlp mlp.dropout mlp.c_proj mlp.act mlp.c_fc -mlp ln_2 +attn attn.resid_dropout attn.c_proj attn.c_attn "
    "-attn ln_1 -."
)
O93 = "+. +base_model +base_model.model +transformer transformer.wte transformer.wpe transformer.drop"
O94 = "transformer.drop +transformer.wte"
O95 = (
    "+. ln_1 +attn attn.c_attn* attn.c_proj* attn.resid_dropout -attn ln_2 +mlp mlp.c_fc* mlp.act mlp.c_proj* "
    "mlp.dropout -mlp -."
)
O96 = (
    "+. +mlp +mlp.dropout < ln_1 +attn attn.c_attn* attn.c_proj* attn.resid_dropout -attn ln_2 +mlp mlp.c_fc* "
    "mlp.act mlp.c_proj* +mlp.dropout > -mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn "
    "attn.resid_dropout attn.c_proj^ attn.c_attn^ -attn ln_1 -."
)
O97 = (
    "+. +mlp mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn attn.resid_dropout attn.c_proj^ "
    "+attn.c_attn attn.c_attn.lora_B.default +attn.c_attn.lora_A.default"
)
O98 = (
    "+. +mlp mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn attn.resid_dropout attn.c_proj^ "
    "attn.c_attn^ -attn ln_1 -."
)
O99 = "+. +gpt_neox gpt_neox.embed_in gpt_neox.emb_dropout gpt_neox.rotary_emb"
O100 = "gpt_neox.final_layer_norm -gpt_neox lm_head -."
O101 = "+. lm_head +gpt_neox gpt_neox.final_layer_norm"
O102 = "gpt_neox.emb_dropout +gpt_neox.embed_in"
O103 = (
    "+. input_layernorm +attention attention.query_key_value attention.dense -attention post_attention_dropout "
    "post_attention_layernorm +mlp mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp post_mlp_dropout -."
)
O104 = (
    "+. post_mlp_dropout +mlp +mlp.dense_4h_to_h < input_layernorm +attention attention.query_key_value "
    "attention.dense -attention post_attention_dropout post_attention_layernorm +mlp mlp.dense_h_to_4h mlp.act "
    "+mlp.dense_4h_to_h > -mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense attention.query_key_value -attention input_layernorm -."
)
O105 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense attention.query_key_value -attention input_layernorm -."
)
O106 = "+. +base_model +base_model.model +gpt_neox gpt_neox.embed_in gpt_neox.emb_dropout gpt_neox.rotary_emb"
O107 = "gpt_neox.final_layer_norm -gpt_neox lm_head -base_model.model -base_model -."
O108 = "+. +base_model +base_model.model lm_head +gpt_neox gpt_neox.final_layer_norm"
O109 = (
    "+. input_layernorm +attention attention.query_key_value* attention.dense* -attention post_attention_dropout "
    "post_attention_layernorm +mlp mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp post_mlp_dropout -."
)
O110 = (
    "+. post_mlp_dropout +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < input_layernorm +attention "
    "attention.query_key_value* attention.dense* -attention post_attention_dropout post_attention_layernorm +mlp "
    "mlp.dense_h_to_4h* mlp.act +mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer "
    "mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > "
    "-mlp.dense_4h_to_h.lora_B.default mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.base_layer -mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense^ attention.query_key_value^ -attention input_layernorm -."
)
O111 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h^ mlp.act +mlp.dense_h_to_4h mlp.dense_h_to_4h.lora_B.default "
    "+mlp.dense_h_to_4h.lora_A.default post_attention_dropout +attention attention.dense^ "
    "+attention.query_key_value attention.query_key_value.lora_B.default +attention.query_key_value.lora_A.default"
)
O112 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense^ attention.query_key_value^ -attention input_layernorm -."
)
O113 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense^ +attention.query_key_value "
    "attention.query_key_value.lora_B.default +attention.query_key_value.lora_A.default"
)
O114 = "+. +transformer transformer.wte transformer.drop transformer.rotary_emb"
O115 = (
    "+. ln_1 +attn attn.q_proj attn.k_proj attn.v_proj attn.out_proj attn.resid_dropout -attn +mlp mlp.fc_in "
    "mlp.act mlp.fc_out mlp.dropout -mlp -."
)
O116 = (
    "+. +mlp mlp.dropout +mlp.fc_out < ln_1 +attn attn.q_proj attn.k_proj attn.v_proj attn.out_proj "
    "attn.resid_dropout -attn +mlp mlp.fc_in mlp.act +mlp.fc_out > -mlp.fc_out mlp.act mlp.fc_in -mlp +attn "
    "attn.resid_dropout attn.out_proj attn.v_proj attn.k_proj attn.q_proj ln_1 -."
)
O117 = (
    "+. +mlp mlp.dropout mlp.fc_out mlp.act mlp.fc_in -mlp +attn attn.resid_dropout attn.out_proj attn.v_proj "
    "attn.k_proj attn.q_proj ln_1 -."
)
O118 = "+. +base_model +base_model.model +transformer transformer.wte transformer.drop transformer.rotary_emb"
O119 = (
    "+. ln_1 +attn attn.q_proj* attn.k_proj* attn.v_proj* attn.out_proj* attn.resid_dropout -attn +mlp mlp.fc_in* "
    "mlp.act mlp.fc_out* mlp.dropout -mlp -."
)
O120 = (
    "+. +mlp mlp.dropout +mlp.fc_out +mlp.fc_out.lora_B.default < ln_1 +attn attn.q_proj* attn.k_proj* "
    "attn.v_proj* attn.out_proj* attn.resid_dropout -attn +mlp mlp.fc_in* mlp.act +mlp.fc_out "
    "mlp.fc_out.base_layer mlp.fc_out.lora_dropout.default mlp.fc_out.lora_A.default +mlp.fc_out.lora_B.default > "
    "-mlp.fc_out.lora_B.default mlp.fc_out.lora_A.default mlp.fc_out.lora_dropout.default mlp.fc_out.base_layer "
    "-mlp.fc_out mlp.act mlp.fc_in^ -mlp +attn attn.resid_dropout attn.out_proj^ attn.v_proj^ attn.k_proj^ "
    "attn.q_proj^ ln_1 -."
)
O121 = (
    "+. +mlp mlp.dropout mlp.fc_out^ mlp.act +mlp.fc_in mlp.fc_in.lora_B.default +mlp.fc_in.lora_A.default +attn "
    "attn.resid_dropout attn.out_proj^ +attn.v_proj attn.v_proj.lora_B.default +attn.v_proj.lora_A.default "
    "+attn.k_proj attn.k_proj.lora_B.default +attn.k_proj.lora_A.default +attn.q_proj attn.q_proj.lora_B.default "
    "+attn.q_proj.lora_A.default"
)
O122 = (
    "+. +mlp mlp.dropout mlp.fc_out^ mlp.act mlp.fc_in^ -mlp +attn attn.resid_dropout attn.out_proj^ attn.v_proj^ "
    "attn.k_proj^ attn.q_proj^ ln_1 -."
)
O123 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm mlp -."
)
O124 = (
    "+. +mlp < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj "
    "-self_attn post_attention_layernorm +mlp > -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O125 = (
    "+. mlp post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj input_layernorm -."
)
O126 = "+. +transformer transformer.wte"
O127 = "transformer.norm_f -transformer lm_head -."
O128 = "+. lm_head +transformer transformer.norm_f"
O129 = "+transformer.wte"
O130 = (
    "+. norm_1 +attn attn.Wqkv attn.out_proj -attn resid_attn_dropout norm_2 +ffn ffn.up_proj ffn.act "
    "ffn.down_proj -ffn -."
)
O131 = (
    "+. +ffn +ffn.down_proj < norm_1 +attn attn.Wqkv attn.out_proj -attn resid_attn_dropout norm_2 +ffn "
    "ffn.up_proj ffn.act +ffn.down_proj > -ffn.down_proj ffn.act ffn.up_proj -ffn norm_2 resid_attn_dropout +attn "
    "attn.out_proj attn.Wqkv -attn norm_1 -."
)
O132 = (
    "+. +ffn ffn.down_proj ffn.act ffn.up_proj -ffn norm_2 resid_attn_dropout +attn attn.out_proj attn.Wqkv -attn "
    "norm_1 -."
)
O133 = "+. +base_model +base_model.model +transformer transformer.wte"
O134 = "transformer.norm_f -transformer lm_head -base_model.model -base_model -."
O135 = "+. +base_model +base_model.model lm_head +transformer transformer.norm_f"
O136 = (
    "+. norm_1 +attn attn.Wqkv* attn.out_proj* -attn resid_attn_dropout norm_2 +ffn ffn.up_proj* ffn.act "
    "ffn.down_proj* -ffn -."
)
O137 = (
    "+. +ffn +ffn.down_proj +ffn.down_proj.lora_B.default < norm_1 +attn attn.Wqkv* attn.out_proj* -attn "
    "resid_attn_dropout norm_2 +ffn ffn.up_proj* ffn.act +ffn.down_proj ffn.down_proj.base_layer "
    "ffn.down_proj.lora_dropout.default ffn.down_proj.lora_A.default +ffn.down_proj.lora_B.default > "
    "-ffn.down_proj.lora_B.default ffn.down_proj.lora_A.default ffn.down_proj.lora_dropout.default "
    "ffn.down_proj.base_layer -ffn.down_proj ffn.act ffn.up_proj^ -ffn norm_2 resid_attn_dropout +attn "
    "attn.out_proj^ attn.Wqkv^ -attn norm_1 -."
)
O138 = (
    "+. +ffn ffn.down_proj^ ffn.act ffn.up_proj^ -ffn norm_2 resid_attn_dropout +attn attn.out_proj^ +attn.Wqkv "
    "attn.Wqkv.lora_B.default +attn.Wqkv.lora_A.default"
)
O139 = (
    "+. +ffn ffn.down_proj^ ffn.act ffn.up_proj^ -ffn norm_2 resid_attn_dropout +attn attn.out_proj^ attn.Wqkv^ "
    "-attn norm_1 -."
)
O140 = (
    "+. +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj "
    "-mlp post_feedforward_layernorm -."
)
O141 = (
    "+. +post_feedforward_layernorm < +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj "
    "self_attn.k_norm self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj "
    "mlp.act_fn mlp.up_proj mlp.down_proj -mlp +post_feedforward_layernorm > -post_feedforward_layernorm +mlp "
    "mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_norm self_attn.k_proj self_attn.q_norm self_attn.q_proj -."
)
O142 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj "
    "self_attn.q_norm self_attn.q_proj -."
)
O143 = (
    "+. +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* self_attn.k_norm self_attn.v_proj* "
    "self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* "
    "mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O144 = (
    "+. +post_feedforward_layernorm < +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* "
    "self_attn.k_norm self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* "
    "mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp +post_feedforward_layernorm > -post_feedforward_layernorm +mlp "
    "mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm self_attn.q_proj^ -."
)
O145 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default self_attn.k_norm +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default self_attn.q_norm +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O146 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ "
    "self_attn.q_norm self_attn.q_proj^ -."
)
O147 = "+. +model.decoder model.decoder.embed_tokens model.decoder.embed_positions"
O148 = "model.decoder.final_layer_norm -model.decoder lm_head -."
O149 = "+. lm_head +model.decoder model.decoder.final_layer_norm"
O150 = "+model.decoder.embed_positions +model.decoder.embed_tokens"
O151 = (
    "+. self_attn_layer_norm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj "
    "-self_attn final_layer_norm fc1 activation_fn fc2 -."
)
O152 = (
    "+. < self_attn_layer_norm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj "
    "-self_attn final_layer_norm fc1 activation_fn fc2 > fc2 activation_fn fc1 final_layer_norm +self_attn "
    "self_attn.out_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj self_attn_layer_norm -."
)
O153 = (
    "+. fc2 activation_fn fc1 final_layer_norm +self_attn self_attn.out_proj self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj self_attn_layer_norm -."
)
O154 = "+. +base_model +base_model.model +model.decoder model.decoder.embed_tokens model.decoder.embed_positions"
O155 = "model.decoder.final_layer_norm -model.decoder lm_head -base_model.model -base_model -."
O156 = "+. +base_model +base_model.model lm_head +model.decoder model.decoder.final_layer_norm"
O157 = "+model.decoder.embed_tokens"
O158 = (
    "+. self_attn_layer_norm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.out_proj* "
    "-self_attn final_layer_norm fc1* activation_fn fc2* -."
)
O159 = (
    "+. < self_attn_layer_norm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* "
    "self_attn.out_proj* -self_attn final_layer_norm fc1* activation_fn fc2* > fc2^ activation_fn fc1^ "
    "final_layer_norm +self_attn self_attn.out_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "self_attn_layer_norm -."
)
O160 = (
    "+. fc2^ activation_fn fc1^ final_layer_norm +self_attn self_attn.out_proj^ +self_attn.v_proj "
    "self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O161 = (
    "+. fc2^ activation_fn fc1^ final_layer_norm +self_attn self_attn.out_proj^ self_attn.v_proj^ "
    "self_attn.k_proj^ self_attn.q_proj^ self_attn_layer_norm -."
)
O162 = "-model.decoder lm_head -."
O163 = "+. lm_head +model.decoder"
O164 = (
    "+. +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj -self_attn "
    "self_attn_layer_norm fc1 activation_fn fc2 final_layer_norm -."
)
O165 = (
    "+. +final_layer_norm < +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj "
    "-self_attn self_attn_layer_norm fc1 activation_fn fc2 +final_layer_norm > -final_layer_norm fc2 activation_fn "
    "fc1 self_attn_layer_norm +self_attn self_attn.out_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj -."
)
O166 = (
    "+. final_layer_norm fc2 activation_fn fc1 self_attn_layer_norm +self_attn self_attn.out_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj -."
)
O167 = "-model.decoder lm_head -base_model.model -base_model -."
O168 = "+. +base_model +base_model.model lm_head +model.decoder"
O169 = (
    "+. +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.out_proj* -self_attn "
    "self_attn_layer_norm fc1* activation_fn fc2* final_layer_norm -."
)
O170 = (
    "+. +final_layer_norm < +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.out_proj* "
    "-self_attn self_attn_layer_norm fc1* activation_fn fc2* +final_layer_norm > -final_layer_norm fc2^ "
    "activation_fn fc1^ self_attn_layer_norm +self_attn self_attn.out_proj^ self_attn.v_proj^ self_attn.k_proj^ "
    "self_attn.q_proj^ -."
)
O171 = (
    "+. final_layer_norm fc2^ activation_fn fc1^ self_attn_layer_norm +self_attn self_attn.out_proj^ "
    "+self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O172 = (
    "+. final_layer_norm fc2^ activation_fn fc1^ self_attn_layer_norm +self_attn self_attn.out_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ -."
)
O173 = "+. +model model.embed_tokens model.embed_dropout model.rotary_emb"
O174 = "model.final_layernorm -model lm_head -."
O175 = "+. lm_head +model model.final_layernorm"
O176 = "model.embed_dropout +model.embed_tokens"
O177 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.dense -self_attn "
    "resid_dropout +mlp mlp.fc1 mlp.activation_fn mlp.fc2 -mlp resid_dropout -."
)
O178 = (
    "+. resid_dropout +mlp +mlp.fc2 < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.dense -self_attn resid_dropout +mlp mlp.fc1 mlp.activation_fn +mlp.fc2 > -mlp.fc2 "
    "mlp.activation_fn mlp.fc1 -mlp resid_dropout +self_attn self_attn.dense self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj input_layernorm -."
)
O179 = (
    "+. resid_dropout +mlp mlp.fc2 mlp.activation_fn mlp.fc1 -mlp +resid_dropout +self_attn self_attn.dense "
    "self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O180 = "+. +base_model +base_model.model +model model.embed_tokens model.embed_dropout model.rotary_emb"
O181 = "model.final_layernorm -model lm_head -base_model.model -base_model -."
O182 = "+. +base_model +base_model.model lm_head +model model.final_layernorm"
O183 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.dense* "
    "-self_attn resid_dropout +mlp mlp.fc1* mlp.activation_fn mlp.fc2* -mlp resid_dropout -."
)
O184 = (
    "+. resid_dropout +mlp +mlp.fc2 +mlp.fc2.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.dense* -self_attn resid_dropout +mlp mlp.fc1* mlp.activation_fn "
    "+mlp.fc2 mlp.fc2.base_layer mlp.fc2.lora_dropout.default mlp.fc2.lora_A.default +mlp.fc2.lora_B.default > "
    "-mlp.fc2.lora_B.default mlp.fc2.lora_A.default mlp.fc2.lora_dropout.default mlp.fc2.base_layer -mlp.fc2 "
    "mlp.activation_fn mlp.fc1^ -mlp resid_dropout +self_attn self_attn.dense^ self_attn.v_proj^ self_attn.k_proj^ "
    "self_attn.q_proj^ input_layernorm -."
)
O185 = (
    "+. resid_dropout +mlp mlp.fc2^ mlp.activation_fn +mlp.fc1 mlp.fc1.lora_B.default +mlp.fc1.lora_A.default "
    "+resid_dropout +self_attn self_attn.dense^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O186 = (
    "+. resid_dropout +mlp mlp.fc2^ mlp.activation_fn mlp.fc1^ -mlp +resid_dropout +self_attn self_attn.dense^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O187 = (
    "+. input_layernorm +self_attn self_attn.qkv_proj self_attn.o_proj -self_attn resid_attn_dropout "
    "post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn mlp.down_proj -mlp resid_mlp_dropout -."
)
O188 = (
    "+. resid_mlp_dropout +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.qkv_proj self_attn.o_proj "
    "-self_attn resid_attn_dropout post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn +mlp.down_proj "
    "> -mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm resid_attn_dropout "
    "+self_attn self_attn.o_proj self_attn.qkv_proj input_layernorm -."
)
O189 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj self_attn.qkv_proj input_layernorm -."
)
O190 = (
    "+. input_layernorm +self_attn self_attn.qkv_proj* self_attn.o_proj* -self_attn resid_attn_dropout "
    "post_attention_layernorm +mlp mlp.gate_up_proj* mlp.activation_fn mlp.down_proj* -mlp resid_mlp_dropout -."
)
O191 = (
    "+. resid_mlp_dropout +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn "
    "self_attn.qkv_proj* self_attn.o_proj* -self_attn resid_attn_dropout post_attention_layernorm +mlp "
    "mlp.gate_up_proj* mlp.activation_fn +mlp.down_proj mlp.down_proj.base_layer "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > "
    "-mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.base_layer -mlp.down_proj mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ self_attn.qkv_proj^ input_layernorm -."
)
O192 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ +self_attn.qkv_proj self_attn.qkv_proj.lora_B.default "
    "+self_attn.qkv_proj.lora_A.default"
)
O193 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ self_attn.qkv_proj^ input_layernorm -."
)
O194 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm mlp -."
)
O195 = (
    "+. +mlp < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp > -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O196 = (
    "+. mlp post_attention_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj "
    "self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O197 = (
    "+. mlp post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ "
    "self_attn.q_proj^ input_layernorm -."
)
O198 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn "
    "mlp.up_proj mlp.down_proj -mlp -."
)
O199 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj "
    "self_attn.k_norm self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj "
    "mlp.act_fn mlp.up_proj +mlp.down_proj > -mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj "
    "self_attn.q_norm self_attn.q_proj input_layernorm -."
)
O200 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj self_attn.q_norm self_attn.q_proj "
    "input_layernorm -."
)
O201 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* self_attn.k_norm "
    "self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn "
    "mlp.up_proj* mlp.down_proj* -mlp -."
)
O202 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.q_norm self_attn.k_proj* self_attn.k_norm self_attn.v_proj* self_attn.o_proj* -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* +mlp.down_proj mlp.down_proj.base_layer "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > "
    "-mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.base_layer -mlp.down_proj mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm "
    "self_attn.q_proj^ input_layernorm -."
)
O203 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "self_attn.k_norm +self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default "
    "self_attn.q_norm +self_attn.q_proj self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O204 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm self_attn.q_proj^ "
    "input_layernorm -."
)
O205 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm mlp -."
)
O206 = (
    "+. +mlp < input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp > -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj self_attn.q_norm "
    "self_attn.q_proj input_layernorm -."
)
O207 = (
    "+. mlp post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm "
    "self_attn.k_proj self_attn.q_norm self_attn.q_proj input_layernorm -."
)
O208 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp dropout -."
)
O209 = (
    "+. dropout +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn "
    "mlp.up_proj +mlp.down_proj > -mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj "
    "input_layernorm -."
)
O210 = (
    "+. dropout +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O211 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp dropout "
    "-."
)
O212 = (
    "+. dropout +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* "
    "mlp.act_fn mlp.up_proj* +mlp.down_proj mlp.down_proj.base_layer mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > -mlp.down_proj.lora_B.default "
    "mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default mlp.down_proj.base_layer -mlp.down_proj "
    "mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O213 = (
    "+. dropout +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O214 = (
    "+. dropout +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O215 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.c_fc mlp.act mlp.c_proj -mlp -."
)
O216 = (
    "+. +mlp +mlp.c_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.c_fc mlp.act +mlp.c_proj > -mlp.c_proj mlp.act "
    "mlp.c_fc -mlp post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj input_layernorm -."
)
O217 = (
    "+. +mlp mlp.c_proj mlp.act mlp.c_fc -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O218 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp mlp.c_fc* mlp.act mlp.c_proj* -mlp -."
)
O219 = (
    "+. +mlp +mlp.c_proj +mlp.c_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.c_fc* "
    "mlp.act +mlp.c_proj mlp.c_proj.base_layer mlp.c_proj.lora_dropout.default mlp.c_proj.lora_A.default "
    "+mlp.c_proj.lora_B.default > -mlp.c_proj.lora_B.default mlp.c_proj.lora_A.default "
    "mlp.c_proj.lora_dropout.default mlp.c_proj.base_layer -mlp.c_proj mlp.act mlp.c_fc^ -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "input_layernorm -."
)
O220 = (
    "+. +mlp mlp.c_proj^ mlp.act mlp.c_fc^ -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "+self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O221 = (
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
    "falcon:two_norms": {
        "stem": O35,
        "head": O1,
        "head backward": O2,
        "stem again": O36,
        "block": O45,
        "block again": O46,
        "stem backward": O36,
        "block backward": O47,
    },
    "falcon:two_norms lora": {
        "stem": O40,
        "head": O8,
        "head backward": O9,
        "stem again": O36,
        "block": O48,
        "block again": O49,
        "stem backward": O12,
        "first backward": O43,
        "block backward": O50,
    },
    "gemma": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O51,
        "block again": O52,
        "stem backward": O18,
        "block backward": O53,
    },
    "gemma lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O54,
        "block again": O55,
        "stem backward": O12,
        "first backward": O56,
        "block backward": O57,
    },
    "gemma2": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O58,
        "block again": O59,
        "stem backward": O18,
        "block backward": O60,
    },
    "gemma2 lora": {
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
    "gemma3_text": {
        "stem": O65,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O66,
        "block again": O67,
        "stem backward": O18,
        "block backward": O68,
    },
    "gemma3_text lora": {
        "stem": O69,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O70,
        "block again": O71,
        "stem backward": O12,
        "first backward": O72,
        "block backward": O73,
    },
    "glm": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O74,
        "block again": O75,
        "stem backward": O18,
        "block backward": O76,
    },
    "glm lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O77,
        "block again": O78,
        "stem backward": O12,
        "first backward": O79,
        "block backward": O80,
    },
    "glm4": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O81,
        "block again": O82,
        "stem backward": O18,
        "block backward": O83,
    },
    "glm4 lora": {
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
    "gpt2": {
        "stem": O88,
        "head": O1,
        "head backward": O2,
        "stem again": O89,
        "block": O90,
        "block again": O91,
        "stem backward": O89,
        "block backward": O92,
    },
    "gpt2 lora": {
        "stem": O93,
        "head": O8,
        "head backward": O9,
        "stem again": O94,
        "block": O95,
        "block again": O96,
        "stem backward": O12,
        "first backward": O97,
        "block backward": O98,
    },
    "gpt_bigcode": {
        "stem": O88,
        "head": O1,
        "head backward": O2,
        "stem again": O89,
        "block": O90,
        "block again": O91,
        "stem backward": O89,
        "block backward": O92,
    },
    "gpt_bigcode lora": {
        "stem": O93,
        "head": O8,
        "head backward": O9,
        "stem again": O94,
        "block": O95,
        "block again": O96,
        "stem backward": O12,
        "first backward": O97,
        "block backward": O98,
    },
    "gpt_neox": {
        "stem": O99,
        "head": O100,
        "head backward": O101,
        "stem again": O102,
        "block": O103,
        "block again": O104,
        "stem backward": O102,
        "block backward": O105,
    },
    "gpt_neox lora": {
        "stem": O106,
        "head": O107,
        "head backward": O108,
        "stem again": O102,
        "block": O109,
        "block again": O110,
        "stem backward": O12,
        "first backward": O111,
        "block backward": O112,
    },
    "gpt_neox:sequential": {
        "stem": O99,
        "head": O100,
        "head backward": O101,
        "stem again": O102,
        "block": O103,
        "block again": O104,
        "stem backward": O102,
        "block backward": O105,
    },
    "gpt_neox:sequential lora": {
        "stem": O106,
        "head": O107,
        "head backward": O108,
        "stem again": O102,
        "block": O109,
        "block again": O110,
        "stem backward": O12,
        "first backward": O113,
        "block backward": O112,
    },
    "gptj": {
        "stem": O114,
        "head": O1,
        "head backward": O2,
        "stem again": O94,
        "block": O115,
        "block again": O116,
        "stem backward": O94,
        "block backward": O117,
    },
    "gptj lora": {
        "stem": O118,
        "head": O8,
        "head backward": O9,
        "stem again": O94,
        "block": O119,
        "block again": O120,
        "stem backward": O12,
        "first backward": O121,
        "block backward": O122,
    },
    "granite": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O51,
        "block again": O52,
        "stem backward": O18,
        "block backward": O53,
    },
    "granite lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O54,
        "block again": O55,
        "stem backward": O12,
        "first backward": O56,
        "block backward": O57,
    },
    "llama": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O51,
        "block again": O52,
        "stem backward": O18,
        "block backward": O53,
    },
    "llama lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O54,
        "block again": O55,
        "stem backward": O12,
        "first backward": O56,
        "block backward": O57,
    },
    "mistral": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O51,
        "block again": O52,
        "stem backward": O18,
        "block backward": O53,
    },
    "mistral lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O54,
        "block again": O55,
        "stem backward": O12,
        "first backward": O56,
        "block backward": O57,
    },
    "mixtral": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O123,
        "block again": O124,
        "stem backward": O18,
        "block backward": O125,
    },
    "mpt": {
        "stem": O126,
        "head": O127,
        "head backward": O128,
        "stem again": O129,
        "block": O130,
        "block again": O131,
        "stem backward": O129,
        "block backward": O132,
    },
    "mpt lora": {
        "stem": O133,
        "head": O134,
        "head backward": O135,
        "stem again": O129,
        "block": O136,
        "block again": O137,
        "stem backward": O12,
        "first backward": O138,
        "block backward": O139,
    },
    "olmo": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O51,
        "block again": O52,
        "stem backward": O18,
        "block backward": O53,
    },
    "olmo lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O54,
        "block again": O55,
        "stem backward": O12,
        "first backward": O56,
        "block backward": O57,
    },
    "olmo2": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O140,
        "block again": O141,
        "stem backward": O18,
        "block backward": O142,
    },
    "olmo2 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O143,
        "block again": O144,
        "stem backward": O12,
        "first backward": O145,
        "block backward": O146,
    },
    "opt": {
        "stem": O147,
        "head": O148,
        "head backward": O149,
        "stem again": O150,
        "block": O151,
        "block again": O152,
        "stem backward": O150,
        "block backward": O153,
    },
    "opt lora": {
        "stem": O154,
        "head": O155,
        "head backward": O156,
        "stem again": O157,
        "block": O158,
        "block again": O159,
        "stem backward": O12,
        "first backward": O160,
        "block backward": O161,
    },
    "opt:post_norm": {
        "stem": O147,
        "head": O162,
        "head backward": O163,
        "stem again": O150,
        "block": O164,
        "block again": O165,
        "stem backward": O150,
        "block backward": O166,
    },
    "opt:post_norm lora": {
        "stem": O154,
        "head": O167,
        "head backward": O168,
        "stem again": O157,
        "block": O169,
        "block again": O170,
        "stem backward": O12,
        "first backward": O171,
        "block backward": O172,
    },
    "phi": {
        "stem": O173,
        "head": O174,
        "head backward": O175,
        "stem again": O176,
        "block": O177,
        "block again": O178,
        "stem backward": O176,
        "block backward": O179,
    },
    "phi lora": {
        "stem": O180,
        "head": O181,
        "head backward": O182,
        "stem again": O176,
        "block": O183,
        "block again": O184,
        "stem backward": O12,
        "first backward": O185,
        "block backward": O186,
    },
    "phi3": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O187,
        "block again": O188,
        "stem backward": O18,
        "block backward": O189,
    },
    "phi3 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O190,
        "block again": O191,
        "stem backward": O12,
        "first backward": O192,
        "block backward": O193,
    },
    "qwen2": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O51,
        "block again": O52,
        "stem backward": O18,
        "block backward": O53,
    },
    "qwen2 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O54,
        "block again": O55,
        "stem backward": O12,
        "first backward": O56,
        "block backward": O57,
    },
    "qwen2_moe:dense": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O51,
        "block again": O52,
        "stem backward": O18,
        "block backward": O53,
    },
    "qwen2_moe:dense lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O54,
        "block again": O55,
        "stem backward": O12,
        "block backward": O57,
    },
    "qwen2_moe:moe": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O123,
        "block again": O124,
        "stem backward": O18,
        "block backward": O125,
    },
    "qwen2_moe:moe lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O194,
        "block again": O195,
        "stem backward": O12,
        "first backward": O196,
        "block backward": O197,
    },
    "qwen3": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O198,
        "block again": O199,
        "stem backward": O18,
        "block backward": O200,
    },
    "qwen3 lora": {
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
    "qwen3_moe:dense": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O198,
        "block again": O199,
        "stem backward": O18,
        "block backward": O200,
    },
    "qwen3_moe:moe": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O205,
        "block again": O206,
        "stem backward": O18,
        "block backward": O207,
    },
    "smollm3": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O51,
        "block again": O52,
        "stem backward": O18,
        "block backward": O53,
    },
    "smollm3 lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O54,
        "block again": O55,
        "stem backward": O12,
        "first backward": O56,
        "block backward": O57,
    },
    "smollm3:nope": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O51,
        "block again": O52,
        "stem backward": O18,
        "block backward": O53,
    },
    "smollm3:nope lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O54,
        "block again": O55,
        "stem backward": O12,
        "block backward": O57,
    },
    "stablelm": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O208,
        "block again": O209,
        "stem backward": O18,
        "block backward": O210,
    },
    "stablelm lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O211,
        "block again": O212,
        "stem backward": O12,
        "first backward": O213,
        "block backward": O214,
    },
    "starcoder2": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O215,
        "block again": O216,
        "stem backward": O18,
        "block backward": O217,
    },
    "starcoder2 lora": {
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
}
