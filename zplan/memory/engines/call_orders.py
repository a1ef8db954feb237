"""Orders of module calls under stage 3: derived from transformers 5.24.0, DeepSpeed 0.19.8 and peft 0.21.2 by benchmarks/derive_calls.py."""

O0 = "+. +model model.embed_tokens model.rotary_emb"
O1 = "model.norm -model lm_head -."
O2 = "+. lm_head +model model.norm"
O3 = "+model.embed_tokens"
O4 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "+mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp -."
)
O5 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn +mlp mlp.gate_proj mlp.act_fn mlp.up_proj +mlp.down_proj > -mlp.down_proj "
    "mlp.up_proj mlp.act_fn mlp.gate_proj -mlp +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj input_layernorm -."
)
O6 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp +self_attn self_attn.o_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O7 = "+. +base_model +base_model.model +model model.embed_tokens model.rotary_emb"
O8 = "model.norm -model lm_head -base_model.model -base_model -."
O9 = "+. +base_model +base_model.model lm_head +model model.norm"
O10 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp -."
)
O11 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* "
    "+mlp.down_proj mlp.down_proj.base_layer mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default "
    "+mlp.down_proj.lora_B.default > -mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.base_layer -mlp.down_proj mlp.up_proj^ mlp.act_fn "
    "mlp.gate_proj^ -mlp +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "input_layernorm -."
)
O12 = ""
O13 = (
    "+. +mlp mlp.down_proj^ +mlp.up_proj mlp.up_proj.lora_B.default +mlp.up_proj.lora_A.default mlp.act_fn "
    "+mlp.gate_proj mlp.gate_proj.lora_B.default +mlp.gate_proj.lora_A.default +self_attn self_attn.o_proj^ "
    "+self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O14 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O15 = "+. +transformer transformer.word_embeddings transformer.rotary_emb"
O16 = "transformer.ln_f -transformer lm_head -."
O17 = "+. lm_head +transformer transformer.ln_f"
O18 = "+transformer.word_embeddings"
O19 = (
    "+. input_layernorm +self_attention self_attention.query_key_value self_attention.dense -self_attention +mlp "
    "mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp -."
)
O20 = (
    "+. +mlp +mlp.dense_4h_to_h < input_layernorm +self_attention self_attention.query_key_value "
    "self_attention.dense -self_attention +mlp mlp.dense_h_to_4h mlp.act +mlp.dense_4h_to_h > -mlp.dense_4h_to_h "
    "mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense self_attention.query_key_value "
    "-self_attention input_layernorm -."
)
O21 = (
    "+. +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense "
    "self_attention.query_key_value -self_attention input_layernorm -."
)
O22 = "+. +base_model +base_model.model +transformer transformer.word_embeddings transformer.rotary_emb"
O23 = "transformer.ln_f -transformer lm_head -base_model.model -base_model -."
O24 = "+. +base_model +base_model.model lm_head +transformer transformer.ln_f"
O25 = (
    "+. input_layernorm +self_attention self_attention.query_key_value* self_attention.dense* -self_attention +mlp "
    "mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp -."
)
O26 = (
    "+. +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < input_layernorm +self_attention "
    "self_attention.query_key_value* self_attention.dense* -self_attention +mlp mlp.dense_h_to_4h* mlp.act "
    "+mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > -mlp.dense_4h_to_h.lora_B.default "
    "mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.base_layer "
    "-mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention input_layernorm -."
)
O27 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act +mlp.dense_h_to_4h mlp.dense_h_to_4h.lora_B.default "
    "+mlp.dense_h_to_4h.lora_A.default +self_attention self_attention.dense^ +self_attention.query_key_value "
    "self_attention.query_key_value.lora_B.default +self_attention.query_key_value.lora_A.default"
)
O28 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention input_layernorm -."
)
O29 = (
    "+. ln_attn ln_mlp +self_attention self_attention.query_key_value self_attention.dense -self_attention +mlp "
    "mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp -."
)
O30 = (
    "+. +mlp +mlp.dense_4h_to_h < ln_attn ln_mlp +self_attention self_attention.query_key_value "
    "self_attention.dense -self_attention +mlp mlp.dense_h_to_4h mlp.act +mlp.dense_4h_to_h > -mlp.dense_4h_to_h "
    "mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense self_attention.query_key_value "
    "-self_attention ln_mlp ln_attn -."
)
O31 = (
    "+. +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense "
    "self_attention.query_key_value -self_attention ln_mlp ln_attn -."
)
O32 = (
    "+. ln_attn ln_mlp +self_attention self_attention.query_key_value* self_attention.dense* -self_attention +mlp "
    "mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp -."
)
O33 = (
    "+. +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < ln_attn ln_mlp +self_attention "
    "self_attention.query_key_value* self_attention.dense* -self_attention +mlp mlp.dense_h_to_4h* mlp.act "
    "+mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > -mlp.dense_4h_to_h.lora_B.default "
    "mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.base_layer "
    "-mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention ln_mlp ln_attn -."
)
O34 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention ln_mlp ln_attn -."
)
O35 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp -."
)
O36 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj +mlp.down_proj "
    "> -mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O37 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O38 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp -."
)
O39 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* "
    "mlp.act_fn mlp.up_proj* +mlp.down_proj mlp.down_proj.base_layer mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > -mlp.down_proj.lora_B.default "
    "mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default mlp.down_proj.base_layer -mlp.down_proj "
    "mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O40 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "+self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O41 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O42 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm pre_feedforward_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj "
    "-mlp post_feedforward_layernorm -."
)
O43 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp +post_feedforward_layernorm > "
    "-post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O44 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O45 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm pre_feedforward_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* "
    "mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O46 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* "
    "self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp +post_feedforward_layernorm > "
    "-post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ "
    "self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O47 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj "
    "self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O48 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ "
    "self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O49 = "+. +model model.embed_tokens model.rotary_emb model.rotary_emb"
O50 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.q_norm "
    "self_attn.k_norm self_attn.o_proj -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp post_feedforward_layernorm -."
)
O51 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.q_norm self_attn.k_norm self_attn.o_proj -self_attn post_attention_layernorm "
    "pre_feedforward_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp "
    "+post_feedforward_layernorm > -post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn "
    "mlp.gate_proj -mlp pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.k_norm self_attn.q_norm self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O52 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.k_norm "
    "self_attn.q_norm self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O53 = "+. +base_model +base_model.model +model model.embed_tokens model.rotary_emb model.rotary_emb"
O54 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.q_norm "
    "self_attn.k_norm self_attn.o_proj* -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O55 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* "
    "self_attn.v_proj* self_attn.q_norm self_attn.k_norm self_attn.o_proj* -self_attn post_attention_layernorm "
    "pre_feedforward_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp "
    "+post_feedforward_layernorm > -post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn "
    "mlp.gate_proj^ -mlp pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.k_norm self_attn.q_norm self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O56 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.k_norm "
    "self_attn.q_norm +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "+self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O57 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.k_norm "
    "self_attn.q_norm self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O58 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn mlp.down_proj -mlp "
    "post_mlp_layernorm -."
)
O59 = (
    "+. +post_mlp_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj "
    "mlp.activation_fn mlp.down_proj -mlp +post_mlp_layernorm > -post_mlp_layernorm +mlp mlp.down_proj "
    "mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm post_self_attn_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O60 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj "
    "input_layernorm -."
)
O61 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj* mlp.activation_fn "
    "mlp.down_proj* -mlp post_mlp_layernorm -."
)
O62 = (
    "+. +post_mlp_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* "
    "self_attn.o_proj* -self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj* "
    "mlp.activation_fn mlp.down_proj* -mlp +post_mlp_layernorm > -post_mlp_layernorm +mlp mlp.down_proj^ "
    "mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm post_self_attn_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O63 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O64 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "input_layernorm -."
)
O65 = "+. +transformer transformer.wte transformer.wpe transformer.drop"
O66 = "transformer.drop +transformer.wpe +transformer.wte"
O67 = (
    "+. ln_1 +attn attn.c_attn attn.c_proj attn.resid_dropout -attn ln_2 +mlp mlp.c_fc mlp.act mlp.c_proj "
    "mlp.dropout -mlp -."
)
O68 = (
    "+. +mlp +mlp.dropout < ln_1 +attn attn.c_attn attn.c_proj attn.resid_dropout -attn ln_2 +mlp mlp.c_fc mlp.act "
    "mlp.c_proj +mlp.dropout > -mlp.dropout mlp.c_proj mlp.act mlp.c_fc -mlp ln_2 +attn attn.resid_dropout "
    "attn.c_proj attn.c_attn -attn ln_1 -."
)
O69 = (
    "+. +mlp mlp.dropout mlp.c_proj mlp.act mlp.c_fc -mlp ln_2 +attn attn.resid_dropout attn.c_proj attn.c_attn "
    "-attn ln_1 -."
)
O70 = "+. +base_model +base_model.model +transformer transformer.wte transformer.wpe transformer.drop"
O71 = "transformer.drop +transformer.wte"
O72 = (
    "+. ln_1 +attn attn.c_attn* attn.c_proj* attn.resid_dropout -attn ln_2 +mlp mlp.c_fc* mlp.act mlp.c_proj* "
    "mlp.dropout -mlp -."
)
O73 = (
    "+. +mlp +mlp.dropout < ln_1 +attn attn.c_attn* attn.c_proj* attn.resid_dropout -attn ln_2 +mlp mlp.c_fc* "
    "mlp.act mlp.c_proj* +mlp.dropout > -mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn "
    "attn.resid_dropout attn.c_proj^ attn.c_attn^ -attn ln_1 -."
)
O74 = (
    "+. +mlp mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn attn.resid_dropout attn.c_proj^ "
    "+attn.c_attn attn.c_attn.lora_B.default +attn.c_attn.lora_A.default"
)
O75 = (
    "+. +mlp mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn attn.resid_dropout attn.c_proj^ "
    "attn.c_attn^ -attn ln_1 -."
)
O76 = "+. +gpt_neox gpt_neox.embed_in gpt_neox.emb_dropout gpt_neox.rotary_emb"
O77 = "gpt_neox.final_layer_norm -gpt_neox lm_head -."
O78 = "+. lm_head +gpt_neox gpt_neox.final_layer_norm"
O79 = "gpt_neox.emb_dropout +gpt_neox.embed_in"
O80 = (
    "+. input_layernorm +attention attention.query_key_value attention.dense -attention post_attention_dropout "
    "post_attention_layernorm +mlp mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp post_mlp_dropout -."
)
O81 = (
    "+. post_mlp_dropout +mlp +mlp.dense_4h_to_h < input_layernorm +attention attention.query_key_value "
    "attention.dense -attention post_attention_dropout post_attention_layernorm +mlp mlp.dense_h_to_4h mlp.act "
    "+mlp.dense_4h_to_h > -mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense attention.query_key_value -attention input_layernorm -."
)
O82 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense attention.query_key_value -attention input_layernorm -."
)
O83 = "+. +base_model +base_model.model +gpt_neox gpt_neox.embed_in gpt_neox.emb_dropout gpt_neox.rotary_emb"
O84 = "gpt_neox.final_layer_norm -gpt_neox lm_head -base_model.model -base_model -."
O85 = "+. +base_model +base_model.model lm_head +gpt_neox gpt_neox.final_layer_norm"
O86 = (
    "+. input_layernorm +attention attention.query_key_value* attention.dense* -attention post_attention_dropout "
    "post_attention_layernorm +mlp mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp post_mlp_dropout -."
)
O87 = (
    "+. post_mlp_dropout +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < input_layernorm +attention "
    "attention.query_key_value* attention.dense* -attention post_attention_dropout post_attention_layernorm +mlp "
    "mlp.dense_h_to_4h* mlp.act +mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer "
    "mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > "
    "-mlp.dense_4h_to_h.lora_B.default mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.base_layer -mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense^ attention.query_key_value^ -attention input_layernorm -."
)
O88 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h^ mlp.act +mlp.dense_h_to_4h mlp.dense_h_to_4h.lora_B.default "
    "+mlp.dense_h_to_4h.lora_A.default post_attention_dropout +attention attention.dense^ "
    "+attention.query_key_value attention.query_key_value.lora_B.default +attention.query_key_value.lora_A.default"
)
O89 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense^ attention.query_key_value^ -attention input_layernorm -."
)
O90 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense^ +attention.query_key_value "
    "attention.query_key_value.lora_B.default +attention.query_key_value.lora_A.default"
)
O91 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm mlp -."
)
O92 = (
    "+. +mlp < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj "
    "-self_attn post_attention_layernorm +mlp > -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O93 = (
    "+. mlp post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj input_layernorm -."
)
O94 = (
    "+. +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj "
    "-mlp post_feedforward_layernorm -."
)
O95 = (
    "+. +post_feedforward_layernorm < +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj "
    "self_attn.k_norm self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj "
    "mlp.act_fn mlp.up_proj mlp.down_proj -mlp +post_feedforward_layernorm > -post_feedforward_layernorm +mlp "
    "mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_norm self_attn.k_proj self_attn.q_norm self_attn.q_proj -."
)
O96 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj "
    "self_attn.q_norm self_attn.q_proj -."
)
O97 = (
    "+. +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* self_attn.k_norm self_attn.v_proj* "
    "self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* "
    "mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O98 = (
    "+. +post_feedforward_layernorm < +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* "
    "self_attn.k_norm self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* "
    "mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp +post_feedforward_layernorm > -post_feedforward_layernorm +mlp "
    "mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm self_attn.q_proj^ -."
)
O99 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default self_attn.k_norm +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default self_attn.q_norm +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O100 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ "
    "self_attn.q_norm self_attn.q_proj^ -."
)
O101 = "+. +model.decoder model.decoder.embed_tokens model.decoder.embed_positions"
O102 = "model.decoder.final_layer_norm -model.decoder lm_head -."
O103 = "+. lm_head +model.decoder model.decoder.final_layer_norm"
O104 = "+model.decoder.embed_positions +model.decoder.embed_tokens"
O105 = (
    "+. self_attn_layer_norm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj "
    "-self_attn final_layer_norm fc1 activation_fn fc2 -."
)
O106 = (
    "+. < self_attn_layer_norm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj "
    "-self_attn final_layer_norm fc1 activation_fn fc2 > fc2 activation_fn fc1 final_layer_norm +self_attn "
    "self_attn.out_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj self_attn_layer_norm -."
)
O107 = (
    "+. fc2 activation_fn fc1 final_layer_norm +self_attn self_attn.out_proj self_attn.v_proj self_attn.k_proj "
    "self_attn.q_proj self_attn_layer_norm -."
)
O108 = "+. +base_model +base_model.model +model.decoder model.decoder.embed_tokens model.decoder.embed_positions"
O109 = "model.decoder.final_layer_norm -model.decoder lm_head -base_model.model -base_model -."
O110 = "+. +base_model +base_model.model lm_head +model.decoder model.decoder.final_layer_norm"
O111 = "+model.decoder.embed_tokens"
O112 = (
    "+. self_attn_layer_norm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.out_proj* "
    "-self_attn final_layer_norm fc1* activation_fn fc2* -."
)
O113 = (
    "+. < self_attn_layer_norm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* "
    "self_attn.out_proj* -self_attn final_layer_norm fc1* activation_fn fc2* > fc2^ activation_fn fc1^ "
    "final_layer_norm +self_attn self_attn.out_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "self_attn_layer_norm -."
)
O114 = (
    "+. fc2^ activation_fn fc1^ final_layer_norm +self_attn self_attn.out_proj^ +self_attn.v_proj "
    "self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O115 = (
    "+. fc2^ activation_fn fc1^ final_layer_norm +self_attn self_attn.out_proj^ self_attn.v_proj^ "
    "self_attn.k_proj^ self_attn.q_proj^ self_attn_layer_norm -."
)
O116 = "-model.decoder lm_head -."
O117 = "+. lm_head +model.decoder"
O118 = (
    "+. +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj -self_attn "
    "self_attn_layer_norm fc1 activation_fn fc2 final_layer_norm -."
)
O119 = (
    "+. +final_layer_norm < +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.out_proj "
    "-self_attn self_attn_layer_norm fc1 activation_fn fc2 +final_layer_norm > -final_layer_norm fc2 activation_fn "
    "fc1 self_attn_layer_norm +self_attn self_attn.out_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj -."
)
O120 = (
    "+. final_layer_norm fc2 activation_fn fc1 self_attn_layer_norm +self_attn self_attn.out_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj -."
)
O121 = "-model.decoder lm_head -base_model.model -base_model -."
O122 = "+. +base_model +base_model.model lm_head +model.decoder"
O123 = (
    "+. +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.out_proj* -self_attn "
    "self_attn_layer_norm fc1* activation_fn fc2* final_layer_norm -."
)
O124 = (
    "+. +final_layer_norm < +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.out_proj* "
    "-self_attn self_attn_layer_norm fc1* activation_fn fc2* +final_layer_norm > -final_layer_norm fc2^ "
    "activation_fn fc1^ self_attn_layer_norm +self_attn self_attn.out_proj^ self_attn.v_proj^ self_attn.k_proj^ "
    "self_attn.q_proj^ -."
)
O125 = (
    "+. final_layer_norm fc2^ activation_fn fc1^ self_attn_layer_norm +self_attn self_attn.out_proj^ "
    "+self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O126 = (
    "+. final_layer_norm fc2^ activation_fn fc1^ self_attn_layer_norm +self_attn self_attn.out_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ -."
)
O127 = (
    "+. input_layernorm +self_attn self_attn.qkv_proj self_attn.o_proj -self_attn resid_attn_dropout "
    "post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn mlp.down_proj -mlp resid_mlp_dropout -."
)
O128 = (
    "+. resid_mlp_dropout +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.qkv_proj self_attn.o_proj "
    "-self_attn resid_attn_dropout post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn +mlp.down_proj "
    "> -mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm resid_attn_dropout "
    "+self_attn self_attn.o_proj self_attn.qkv_proj input_layernorm -."
)
O129 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj self_attn.qkv_proj input_layernorm -."
)
O130 = (
    "+. input_layernorm +self_attn self_attn.qkv_proj* self_attn.o_proj* -self_attn resid_attn_dropout "
    "post_attention_layernorm +mlp mlp.gate_up_proj* mlp.activation_fn mlp.down_proj* -mlp resid_mlp_dropout -."
)
O131 = (
    "+. resid_mlp_dropout +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn "
    "self_attn.qkv_proj* self_attn.o_proj* -self_attn resid_attn_dropout post_attention_layernorm +mlp "
    "mlp.gate_up_proj* mlp.activation_fn +mlp.down_proj mlp.down_proj.base_layer "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > "
    "-mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.base_layer -mlp.down_proj mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ self_attn.qkv_proj^ input_layernorm -."
)
O132 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ +self_attn.qkv_proj self_attn.qkv_proj.lora_B.default "
    "+self_attn.qkv_proj.lora_A.default"
)
O133 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ self_attn.qkv_proj^ input_layernorm -."
)
O134 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn "
    "mlp.up_proj mlp.down_proj -mlp -."
)
O135 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj "
    "self_attn.k_norm self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj "
    "mlp.act_fn mlp.up_proj +mlp.down_proj > -mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj "
    "self_attn.q_norm self_attn.q_proj input_layernorm -."
)
O136 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj self_attn.q_norm self_attn.q_proj "
    "input_layernorm -."
)
O137 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* self_attn.k_norm "
    "self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn "
    "mlp.up_proj* mlp.down_proj* -mlp -."
)
O138 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.q_norm self_attn.k_proj* self_attn.k_norm self_attn.v_proj* self_attn.o_proj* -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* +mlp.down_proj mlp.down_proj.base_layer "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > "
    "-mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.base_layer -mlp.down_proj mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm "
    "self_attn.q_proj^ input_layernorm -."
)
O139 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "self_attn.k_norm +self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default "
    "self_attn.q_norm +self_attn.q_proj self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O140 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm self_attn.q_proj^ "
    "input_layernorm -."
)
O141 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm mlp -."
)
O142 = (
    "+. +mlp < input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp > -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj self_attn.q_norm "
    "self_attn.q_proj input_layernorm -."
)
O143 = (
    "+. mlp post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm "
    "self_attn.k_proj self_attn.q_norm self_attn.q_proj input_layernorm -."
)
ORDERS: dict[str, dict[str, str]] = {
    "cohere": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O4,
        "block again": O5,
        "stem backward": O3,
        "block backward": O6,
    },
    "cohere lora": {
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
    "falcon": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O19,
        "block again": O20,
        "stem backward": O18,
        "block backward": O21,
    },
    "falcon lora": {
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
    "falcon:two_norms": {
        "stem": O15,
        "head": O16,
        "head backward": O17,
        "stem again": O18,
        "block": O29,
        "block again": O30,
        "stem backward": O18,
        "block backward": O31,
    },
    "falcon:two_norms lora": {
        "stem": O22,
        "head": O23,
        "head backward": O24,
        "stem again": O18,
        "block": O32,
        "block again": O33,
        "stem backward": O12,
        "first backward": O27,
        "block backward": O34,
    },
    "gemma": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O35,
        "block again": O36,
        "stem backward": O3,
        "block backward": O37,
    },
    "gemma lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O38,
        "block again": O39,
        "stem backward": O12,
        "first backward": O40,
        "block backward": O41,
    },
    "gemma2": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O42,
        "block again": O43,
        "stem backward": O3,
        "block backward": O44,
    },
    "gemma2 lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O45,
        "block again": O46,
        "stem backward": O12,
        "first backward": O47,
        "block backward": O48,
    },
    "gemma3_text": {
        "stem": O49,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O50,
        "block again": O51,
        "stem backward": O3,
        "block backward": O52,
    },
    "gemma3_text lora": {
        "stem": O53,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O54,
        "block again": O55,
        "stem backward": O12,
        "first backward": O56,
        "block backward": O57,
    },
    "glm4": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O58,
        "block again": O59,
        "stem backward": O3,
        "block backward": O60,
    },
    "glm4 lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O61,
        "block again": O62,
        "stem backward": O12,
        "first backward": O63,
        "block backward": O64,
    },
    "gpt2": {
        "stem": O65,
        "head": O16,
        "head backward": O17,
        "stem again": O66,
        "block": O67,
        "block again": O68,
        "stem backward": O66,
        "block backward": O69,
    },
    "gpt2 lora": {
        "stem": O70,
        "head": O23,
        "head backward": O24,
        "stem again": O71,
        "block": O72,
        "block again": O73,
        "stem backward": O12,
        "first backward": O74,
        "block backward": O75,
    },
    "gpt_neox": {
        "stem": O76,
        "head": O77,
        "head backward": O78,
        "stem again": O79,
        "block": O80,
        "block again": O81,
        "stem backward": O79,
        "block backward": O82,
    },
    "gpt_neox lora": {
        "stem": O83,
        "head": O84,
        "head backward": O85,
        "stem again": O79,
        "block": O86,
        "block again": O87,
        "stem backward": O12,
        "first backward": O88,
        "block backward": O89,
    },
    "gpt_neox:sequential": {
        "stem": O76,
        "head": O77,
        "head backward": O78,
        "stem again": O79,
        "block": O80,
        "block again": O81,
        "stem backward": O79,
        "block backward": O82,
    },
    "gpt_neox:sequential lora": {
        "stem": O83,
        "head": O84,
        "head backward": O85,
        "stem again": O79,
        "block": O86,
        "block again": O87,
        "stem backward": O12,
        "first backward": O90,
        "block backward": O89,
    },
    "granite": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O35,
        "block again": O36,
        "stem backward": O3,
        "block backward": O37,
    },
    "granite lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O38,
        "block again": O39,
        "stem backward": O12,
        "first backward": O40,
        "block backward": O41,
    },
    "llama": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O35,
        "block again": O36,
        "stem backward": O3,
        "block backward": O37,
    },
    "llama lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O38,
        "block again": O39,
        "stem backward": O12,
        "first backward": O40,
        "block backward": O41,
    },
    "mistral": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O35,
        "block again": O36,
        "stem backward": O3,
        "block backward": O37,
    },
    "mistral lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O38,
        "block again": O39,
        "stem backward": O12,
        "first backward": O40,
        "block backward": O41,
    },
    "mixtral": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O91,
        "block again": O92,
        "stem backward": O3,
        "block backward": O93,
    },
    "olmo": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O35,
        "block again": O36,
        "stem backward": O3,
        "block backward": O37,
    },
    "olmo lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O38,
        "block again": O39,
        "stem backward": O12,
        "first backward": O40,
        "block backward": O41,
    },
    "olmo2": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O94,
        "block again": O95,
        "stem backward": O3,
        "block backward": O96,
    },
    "olmo2 lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O97,
        "block again": O98,
        "stem backward": O12,
        "first backward": O99,
        "block backward": O100,
    },
    "opt": {
        "stem": O101,
        "head": O102,
        "head backward": O103,
        "stem again": O104,
        "block": O105,
        "block again": O106,
        "stem backward": O104,
        "block backward": O107,
    },
    "opt lora": {
        "stem": O108,
        "head": O109,
        "head backward": O110,
        "stem again": O111,
        "block": O112,
        "block again": O113,
        "stem backward": O12,
        "first backward": O114,
        "block backward": O115,
    },
    "opt:post_norm": {
        "stem": O101,
        "head": O116,
        "head backward": O117,
        "stem again": O104,
        "block": O118,
        "block again": O119,
        "stem backward": O104,
        "block backward": O120,
    },
    "opt:post_norm lora": {
        "stem": O108,
        "head": O121,
        "head backward": O122,
        "stem again": O111,
        "block": O123,
        "block again": O124,
        "stem backward": O12,
        "first backward": O125,
        "block backward": O126,
    },
    "phi3": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O127,
        "block again": O128,
        "stem backward": O3,
        "block backward": O129,
    },
    "phi3 lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O130,
        "block again": O131,
        "stem backward": O12,
        "first backward": O132,
        "block backward": O133,
    },
    "qwen2": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O35,
        "block again": O36,
        "stem backward": O3,
        "block backward": O37,
    },
    "qwen2 lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O38,
        "block again": O39,
        "stem backward": O12,
        "first backward": O40,
        "block backward": O41,
    },
    "qwen3": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O134,
        "block again": O135,
        "stem backward": O3,
        "block backward": O136,
    },
    "qwen3 lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O137,
        "block again": O138,
        "stem backward": O12,
        "first backward": O139,
        "block backward": O140,
    },
    "qwen3_moe:dense": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O134,
        "block again": O135,
        "stem backward": O3,
        "block backward": O136,
    },
    "qwen3_moe:moe": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O141,
        "block again": O142,
        "stem backward": O3,
        "block backward": O143,
    },
    "smollm3": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O35,
        "block again": O36,
        "stem backward": O3,
        "block backward": O37,
    },
    "smollm3 lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O38,
        "block again": O39,
        "stem backward": O12,
        "first backward": O40,
        "block backward": O41,
    },
    "smollm3:nope": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O35,
        "block again": O36,
        "stem backward": O3,
        "block backward": O37,
    },
    "smollm3:nope lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O38,
        "block again": O39,
        "stem backward": O12,
        "block backward": O41,
    },
}
