"""Orders of module calls under stage 3: derived from transformers 5.24.0, DeepSpeed 0.19.8 and peft 0.21.2 by benchmarks/derive_calls.py."""

O0 = (
    "+. +transformer transformer.word_embeddings transformer.rotary_emb"
)
O1 = (
    "transformer.ln_f -transformer lm_head -."
)
O2 = (
    "+. lm_head +transformer transformer.ln_f"
)
O3 = (
    "+transformer.word_embeddings"
)
O4 = (
    "+. input_layernorm +self_attention self_attention.query_key_value self_attention.dense -self_attention +mlp "
    "mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp -."
)
O5 = (
    "+. +mlp +mlp.dense_4h_to_h < input_layernorm +self_attention self_attention.query_key_value "
    "self_attention.dense -self_attention +mlp mlp.dense_h_to_4h mlp.act +mlp.dense_4h_to_h > -mlp.dense_4h_to_h "
    "mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense self_attention.query_key_value "
    "-self_attention input_layernorm -."
)
O6 = (
    "+. +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense "
    "self_attention.query_key_value -self_attention input_layernorm -."
)
O7 = (
    "+. +base_model +base_model.model +transformer transformer.word_embeddings transformer.rotary_emb"
)
O8 = (
    "transformer.ln_f -transformer lm_head -base_model.model -base_model -."
)
O9 = (
    "+. +base_model +base_model.model lm_head +transformer transformer.ln_f"
)
O10 = (
    "+. input_layernorm +self_attention self_attention.query_key_value* self_attention.dense* -self_attention +mlp "
    "mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp -."
)
O11 = (
    "+. +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < input_layernorm +self_attention "
    "self_attention.query_key_value* self_attention.dense* -self_attention +mlp mlp.dense_h_to_4h* mlp.act "
    "+mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > -mlp.dense_4h_to_h.lora_B.default "
    "mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.base_layer "
    "-mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention input_layernorm -."
)
O12 = (
    ""
)
O13 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act +mlp.dense_h_to_4h mlp.dense_h_to_4h.lora_B.default "
    "+mlp.dense_h_to_4h.lora_A.default +self_attention self_attention.dense^ +self_attention.query_key_value "
    "self_attention.query_key_value.lora_B.default +self_attention.query_key_value.lora_A.default"
)
O14 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention input_layernorm -."
)
O15 = (
    "+. ln_attn ln_mlp +self_attention self_attention.query_key_value self_attention.dense -self_attention +mlp "
    "mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp -."
)
O16 = (
    "+. +mlp +mlp.dense_4h_to_h < ln_attn ln_mlp +self_attention self_attention.query_key_value "
    "self_attention.dense -self_attention +mlp mlp.dense_h_to_4h mlp.act +mlp.dense_4h_to_h > -mlp.dense_4h_to_h "
    "mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense self_attention.query_key_value "
    "-self_attention ln_mlp ln_attn -."
)
O17 = (
    "+. +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp +self_attention self_attention.dense "
    "self_attention.query_key_value -self_attention ln_mlp ln_attn -."
)
O18 = (
    "+. ln_attn ln_mlp +self_attention self_attention.query_key_value* self_attention.dense* -self_attention +mlp "
    "mlp.dense_h_to_4h* mlp.act mlp.dense_4h_to_h* -mlp -."
)
O19 = (
    "+. +mlp +mlp.dense_4h_to_h +mlp.dense_4h_to_h.lora_B.default < ln_attn ln_mlp +self_attention "
    "self_attention.query_key_value* self_attention.dense* -self_attention +mlp mlp.dense_h_to_4h* mlp.act "
    "+mlp.dense_4h_to_h mlp.dense_4h_to_h.base_layer mlp.dense_4h_to_h.lora_dropout.default "
    "mlp.dense_4h_to_h.lora_A.default +mlp.dense_4h_to_h.lora_B.default > -mlp.dense_4h_to_h.lora_B.default "
    "mlp.dense_4h_to_h.lora_A.default mlp.dense_4h_to_h.lora_dropout.default mlp.dense_4h_to_h.base_layer "
    "-mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention ln_mlp ln_attn -."
)
O20 = (
    "+. +mlp mlp.dense_4h_to_h^ mlp.act mlp.dense_h_to_4h^ -mlp +self_attention self_attention.dense^ "
    "self_attention.query_key_value^ -self_attention ln_mlp ln_attn -."
)
O21 = (
    "+. +model model.embed_tokens model.rotary_emb"
)
O22 = (
    "model.norm -model lm_head -."
)
O23 = (
    "+. lm_head +model model.norm"
)
O24 = (
    "+model.embed_tokens"
)
O25 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp -."
)
O26 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj +mlp.down_proj "
    "> -mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O27 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O28 = (
    "+. +base_model +base_model.model +model model.embed_tokens model.rotary_emb"
)
O29 = (
    "model.norm -model lm_head -base_model.model -base_model -."
)
O30 = (
    "+. +base_model +base_model.model lm_head +model model.norm"
)
O31 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp -."
)
O32 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* "
    "mlp.act_fn mlp.up_proj* +mlp.down_proj mlp.down_proj.base_layer mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > -mlp.down_proj.lora_B.default "
    "mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default mlp.down_proj.base_layer -mlp.down_proj "
    "mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O33 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "+self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O34 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O35 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_attention_layernorm pre_feedforward_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj "
    "-mlp post_feedforward_layernorm -."
)
O36 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp +post_feedforward_layernorm > "
    "-post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O37 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj "
    "self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O38 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_attention_layernorm pre_feedforward_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* "
    "mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O39 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* "
    "self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp +post_feedforward_layernorm > "
    "-post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ "
    "self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O40 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj "
    "self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default +self_attn.k_proj "
    "self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O41 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ "
    "self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O42 = (
    "+. +model model.embed_tokens model.rotary_emb model.rotary_emb"
)
O43 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.q_norm "
    "self_attn.k_norm self_attn.o_proj -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp post_feedforward_layernorm -."
)
O44 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj "
    "self_attn.v_proj self_attn.q_norm self_attn.k_norm self_attn.o_proj -self_attn post_attention_layernorm "
    "pre_feedforward_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj -mlp "
    "+post_feedforward_layernorm > -post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn "
    "mlp.gate_proj -mlp pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.k_norm self_attn.q_norm self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O45 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj self_attn.k_norm "
    "self_attn.q_norm self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O46 = (
    "+. +base_model +base_model.model +model model.embed_tokens model.rotary_emb model.rotary_emb"
)
O47 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.q_norm "
    "self_attn.k_norm self_attn.o_proj* -self_attn post_attention_layernorm pre_feedforward_layernorm +mlp "
    "mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O48 = (
    "+. +post_feedforward_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* "
    "self_attn.v_proj* self_attn.q_norm self_attn.k_norm self_attn.o_proj* -self_attn post_attention_layernorm "
    "pre_feedforward_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp "
    "+post_feedforward_layernorm > -post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn "
    "mlp.gate_proj^ -mlp pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ "
    "self_attn.k_norm self_attn.q_norm self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O49 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.k_norm "
    "self_attn.q_norm +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "+self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default +self_attn.q_proj "
    "self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O50 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "pre_feedforward_layernorm post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.k_norm "
    "self_attn.q_norm self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O51 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj -self_attn "
    "post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn mlp.down_proj -mlp "
    "post_mlp_layernorm -."
)
O52 = (
    "+. +post_mlp_layernorm < input_layernorm +self_attn self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.o_proj -self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj "
    "mlp.activation_fn mlp.down_proj -mlp +post_mlp_layernorm > -post_mlp_layernorm +mlp mlp.down_proj "
    "mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm post_self_attn_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj input_layernorm -."
)
O53 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_proj self_attn.q_proj "
    "input_layernorm -."
)
O54 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* self_attn.o_proj* "
    "-self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj* mlp.activation_fn "
    "mlp.down_proj* -mlp post_mlp_layernorm -."
)
O55 = (
    "+. +post_mlp_layernorm < input_layernorm +self_attn self_attn.q_proj* self_attn.k_proj* self_attn.v_proj* "
    "self_attn.o_proj* -self_attn post_self_attn_layernorm post_attention_layernorm +mlp mlp.gate_up_proj* "
    "mlp.activation_fn mlp.down_proj* -mlp +post_mlp_layernorm > -post_mlp_layernorm +mlp mlp.down_proj^ "
    "mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm post_self_attn_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ input_layernorm -."
)
O56 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O57 = (
    "+. post_mlp_layernorm +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "post_self_attn_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_proj^ self_attn.q_proj^ "
    "input_layernorm -."
)
O58 = (
    "+. +transformer transformer.wte transformer.wpe transformer.drop"
)
O59 = (
    "transformer.drop +transformer.wpe +transformer.wte"
)
O60 = (
    "+. ln_1 +attn attn.c_attn attn.c_proj attn.resid_dropout -attn ln_2 +mlp mlp.c_fc mlp.act mlp.c_proj "
    "mlp.dropout -mlp -."
)
O61 = (
    "+. +mlp +mlp.dropout < ln_1 +attn attn.c_attn attn.c_proj attn.resid_dropout -attn ln_2 +mlp mlp.c_fc mlp.act "
    "mlp.c_proj +mlp.dropout > -mlp.dropout mlp.c_proj mlp.act mlp.c_fc -mlp ln_2 +attn attn.resid_dropout "
    "attn.c_proj attn.c_attn -attn ln_1 -."
)
O62 = (
    "+. +mlp mlp.dropout mlp.c_proj mlp.act mlp.c_fc -mlp ln_2 +attn attn.resid_dropout attn.c_proj attn.c_attn "
    "-attn ln_1 -."
)
O63 = (
    "+. +base_model +base_model.model +transformer transformer.wte transformer.wpe transformer.drop"
)
O64 = (
    "transformer.drop +transformer.wte"
)
O65 = (
    "+. ln_1 +attn attn.c_attn* attn.c_proj* attn.resid_dropout -attn ln_2 +mlp mlp.c_fc* mlp.act mlp.c_proj* "
    "mlp.dropout -mlp -."
)
O66 = (
    "+. +mlp +mlp.dropout < ln_1 +attn attn.c_attn* attn.c_proj* attn.resid_dropout -attn ln_2 +mlp mlp.c_fc* "
    "mlp.act mlp.c_proj* +mlp.dropout > -mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn "
    "attn.resid_dropout attn.c_proj^ attn.c_attn^ -attn ln_1 -."
)
O67 = (
    "+. +mlp mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn attn.resid_dropout attn.c_proj^ "
    "+attn.c_attn attn.c_attn.lora_B.default +attn.c_attn.lora_A.default"
)
O68 = (
    "+. +mlp mlp.dropout mlp.c_proj^ mlp.act mlp.c_fc^ -mlp ln_2 +attn attn.resid_dropout attn.c_proj^ "
    "attn.c_attn^ -attn ln_1 -."
)
O69 = (
    "+. +gpt_neox gpt_neox.embed_in gpt_neox.emb_dropout gpt_neox.rotary_emb"
)
O70 = (
    "gpt_neox.final_layer_norm -gpt_neox lm_head -."
)
O71 = (
    "+. lm_head +gpt_neox gpt_neox.final_layer_norm"
)
O72 = (
    "gpt_neox.emb_dropout +gpt_neox.embed_in"
)
O73 = (
    "+. input_layernorm +attention attention.query_key_value attention.dense -attention post_attention_dropout "
    "post_attention_layernorm +mlp mlp.dense_h_to_4h mlp.act mlp.dense_4h_to_h -mlp post_mlp_dropout -."
)
O74 = (
    "+. post_mlp_dropout +mlp mlp.dense_4h_to_h mlp.act mlp.dense_h_to_4h -mlp post_attention_layernorm "
    "post_attention_dropout +attention attention.dense attention.query_key_value -attention input_layernorm -."
)
O75 = (
    "+. +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm self_attn.v_proj "
    "self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn mlp.up_proj mlp.down_proj "
    "-mlp post_feedforward_layernorm -."
)
O76 = (
    "+. +post_feedforward_layernorm < +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj "
    "self_attn.k_norm self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj "
    "mlp.act_fn mlp.up_proj mlp.down_proj -mlp +post_feedforward_layernorm > -post_feedforward_layernorm +mlp "
    "mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn self_attn.o_proj "
    "self_attn.v_proj self_attn.k_norm self_attn.k_proj self_attn.q_norm self_attn.q_proj -."
)
O77 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj "
    "self_attn.q_norm self_attn.q_proj -."
)
O78 = (
    "+. +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* self_attn.k_norm self_attn.v_proj* "
    "self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* "
    "mlp.down_proj* -mlp post_feedforward_layernorm -."
)
O79 = (
    "+. +post_feedforward_layernorm < +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* "
    "self_attn.k_norm self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* "
    "mlp.act_fn mlp.up_proj* mlp.down_proj* -mlp +post_feedforward_layernorm > -post_feedforward_layernorm +mlp "
    "mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm self_attn.q_proj^ -."
)
O80 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default "
    "+self_attn.v_proj.lora_A.default self_attn.k_norm +self_attn.k_proj self_attn.k_proj.lora_B.default "
    "+self_attn.k_proj.lora_A.default self_attn.q_norm +self_attn.q_proj self_attn.q_proj.lora_B.default "
    "+self_attn.q_proj.lora_A.default"
)
O81 = (
    "+. post_feedforward_layernorm +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ "
    "self_attn.q_norm self_attn.q_proj^ -."
)
O82 = (
    "+. input_layernorm +self_attn self_attn.qkv_proj self_attn.o_proj -self_attn resid_attn_dropout "
    "post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn mlp.down_proj -mlp resid_mlp_dropout -."
)
O83 = (
    "+. resid_mlp_dropout +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.qkv_proj self_attn.o_proj "
    "-self_attn resid_attn_dropout post_attention_layernorm +mlp mlp.gate_up_proj mlp.activation_fn +mlp.down_proj "
    "> -mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm resid_attn_dropout "
    "+self_attn self_attn.o_proj self_attn.qkv_proj input_layernorm -."
)
O84 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj mlp.activation_fn mlp.gate_up_proj -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj self_attn.qkv_proj input_layernorm -."
)
O85 = (
    "+. input_layernorm +self_attn self_attn.qkv_proj* self_attn.o_proj* -self_attn resid_attn_dropout "
    "post_attention_layernorm +mlp mlp.gate_up_proj* mlp.activation_fn mlp.down_proj* -mlp resid_mlp_dropout -."
)
O86 = (
    "+. resid_mlp_dropout +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn "
    "self_attn.qkv_proj* self_attn.o_proj* -self_attn resid_attn_dropout post_attention_layernorm +mlp "
    "mlp.gate_up_proj* mlp.activation_fn +mlp.down_proj mlp.down_proj.base_layer "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > "
    "-mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.base_layer -mlp.down_proj mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ self_attn.qkv_proj^ input_layernorm -."
)
O87 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ +self_attn.qkv_proj self_attn.qkv_proj.lora_B.default "
    "+self_attn.qkv_proj.lora_A.default"
)
O88 = (
    "+. resid_mlp_dropout +mlp mlp.down_proj^ mlp.activation_fn mlp.gate_up_proj^ -mlp post_attention_layernorm "
    "resid_attn_dropout +self_attn self_attn.o_proj^ self_attn.qkv_proj^ input_layernorm -."
)
O89 = (
    "+. input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj self_attn.k_norm "
    "self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj mlp.act_fn "
    "mlp.up_proj mlp.down_proj -mlp -."
)
O90 = (
    "+. +mlp +mlp.down_proj < input_layernorm +self_attn self_attn.q_proj self_attn.q_norm self_attn.k_proj "
    "self_attn.k_norm self_attn.v_proj self_attn.o_proj -self_attn post_attention_layernorm +mlp mlp.gate_proj "
    "mlp.act_fn mlp.up_proj +mlp.down_proj > -mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp "
    "post_attention_layernorm +self_attn self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj "
    "self_attn.q_norm self_attn.q_proj input_layernorm -."
)
O91 = (
    "+. +mlp mlp.down_proj mlp.up_proj mlp.act_fn mlp.gate_proj -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj self_attn.v_proj self_attn.k_norm self_attn.k_proj self_attn.q_norm self_attn.q_proj "
    "input_layernorm -."
)
O92 = (
    "+. input_layernorm +self_attn self_attn.q_proj* self_attn.q_norm self_attn.k_proj* self_attn.k_norm "
    "self_attn.v_proj* self_attn.o_proj* -self_attn post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn "
    "mlp.up_proj* mlp.down_proj* -mlp -."
)
O93 = (
    "+. +mlp +mlp.down_proj +mlp.down_proj.lora_B.default < input_layernorm +self_attn self_attn.q_proj* "
    "self_attn.q_norm self_attn.k_proj* self_attn.k_norm self_attn.v_proj* self_attn.o_proj* -self_attn "
    "post_attention_layernorm +mlp mlp.gate_proj* mlp.act_fn mlp.up_proj* +mlp.down_proj mlp.down_proj.base_layer "
    "mlp.down_proj.lora_dropout.default mlp.down_proj.lora_A.default +mlp.down_proj.lora_B.default > "
    "-mlp.down_proj.lora_B.default mlp.down_proj.lora_A.default mlp.down_proj.lora_dropout.default "
    "mlp.down_proj.base_layer -mlp.down_proj mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm "
    "+self_attn self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm "
    "self_attn.q_proj^ input_layernorm -."
)
O94 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ +self_attn.v_proj self_attn.v_proj.lora_B.default +self_attn.v_proj.lora_A.default "
    "self_attn.k_norm +self_attn.k_proj self_attn.k_proj.lora_B.default +self_attn.k_proj.lora_A.default "
    "self_attn.q_norm +self_attn.q_proj self_attn.q_proj.lora_B.default +self_attn.q_proj.lora_A.default"
)
O95 = (
    "+. +mlp mlp.down_proj^ mlp.up_proj^ mlp.act_fn mlp.gate_proj^ -mlp post_attention_layernorm +self_attn "
    "self_attn.o_proj^ self_attn.v_proj^ self_attn.k_norm self_attn.k_proj^ self_attn.q_norm self_attn.q_proj^ "
    "input_layernorm -."
)
ORDERS: dict[str, dict[str, str]] = {
    "falcon": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O4,
        "block again": O5,
        "stem backward": O3,
        "block backward": O6,
    },
    "falcon lora": {
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
    "falcon:two_norms": {
        "stem": O0,
        "head": O1,
        "head backward": O2,
        "stem again": O3,
        "block": O15,
        "block again": O16,
        "stem backward": O3,
        "block backward": O17,
    },
    "falcon:two_norms lora": {
        "stem": O7,
        "head": O8,
        "head backward": O9,
        "stem again": O3,
        "block": O18,
        "block again": O19,
        "stem backward": O12,
        "first backward": O13,
        "block backward": O20,
    },
    "gemma": {
        "stem": O21,
        "head": O22,
        "head backward": O23,
        "stem again": O24,
        "block": O25,
        "block again": O26,
        "stem backward": O24,
        "block backward": O27,
    },
    "gemma lora": {
        "stem": O28,
        "head": O29,
        "head backward": O30,
        "stem again": O24,
        "block": O31,
        "block again": O32,
        "stem backward": O12,
        "first backward": O33,
        "block backward": O34,
    },
    "gemma2": {
        "stem": O21,
        "head": O22,
        "head backward": O23,
        "stem again": O24,
        "block": O35,
        "block again": O36,
        "stem backward": O24,
        "block backward": O37,
    },
    "gemma2 lora": {
        "stem": O28,
        "head": O29,
        "head backward": O30,
        "stem again": O24,
        "block": O38,
        "block again": O39,
        "stem backward": O12,
        "first backward": O40,
        "block backward": O41,
    },
    "gemma3_text": {
        "stem": O42,
        "head": O22,
        "head backward": O23,
        "stem again": O24,
        "block": O43,
        "block again": O44,
        "stem backward": O24,
        "block backward": O45,
    },
    "gemma3_text lora": {
        "stem": O46,
        "head": O29,
        "head backward": O30,
        "stem again": O24,
        "block": O47,
        "block again": O48,
        "stem backward": O12,
        "first backward": O49,
        "block backward": O50,
    },
    "glm4": {
        "stem": O21,
        "head": O22,
        "head backward": O23,
        "stem again": O24,
        "block": O51,
        "block again": O52,
        "stem backward": O24,
        "block backward": O53,
    },
    "glm4 lora": {
        "stem": O28,
        "head": O29,
        "head backward": O30,
        "stem again": O24,
        "block": O54,
        "block again": O55,
        "stem backward": O12,
        "first backward": O56,
        "block backward": O57,
    },
    "gpt2": {
        "stem": O58,
        "head": O1,
        "head backward": O2,
        "stem again": O59,
        "block": O60,
        "block again": O61,
        "stem backward": O59,
        "block backward": O62,
    },
    "gpt2 lora": {
        "stem": O63,
        "head": O8,
        "head backward": O9,
        "stem again": O64,
        "block": O65,
        "block again": O66,
        "stem backward": O12,
        "first backward": O67,
        "block backward": O68,
    },
    "gpt_neox": {
        "stem": O69,
        "head": O70,
        "head backward": O71,
        "stem backward": O72,
        "block": O73,
        "block backward": O74,
    },
    "llama": {
        "stem": O21,
        "head": O22,
        "head backward": O23,
        "stem again": O24,
        "block": O25,
        "block again": O26,
        "stem backward": O24,
        "block backward": O27,
    },
    "llama lora": {
        "stem": O28,
        "head": O29,
        "head backward": O30,
        "stem again": O24,
        "block": O31,
        "block again": O32,
        "stem backward": O12,
        "first backward": O33,
        "block backward": O34,
    },
    "mistral": {
        "stem": O21,
        "head": O22,
        "head backward": O23,
        "stem again": O24,
        "block": O25,
        "block again": O26,
        "stem backward": O24,
        "block backward": O27,
    },
    "mistral lora": {
        "stem": O28,
        "head": O29,
        "head backward": O30,
        "stem again": O24,
        "block": O31,
        "block again": O32,
        "stem backward": O12,
        "first backward": O33,
        "block backward": O34,
    },
    "olmo2": {
        "stem": O21,
        "head": O22,
        "head backward": O23,
        "stem again": O24,
        "block": O75,
        "block again": O76,
        "stem backward": O24,
        "block backward": O77,
    },
    "olmo2 lora": {
        "stem": O28,
        "head": O29,
        "head backward": O30,
        "stem again": O24,
        "block": O78,
        "block again": O79,
        "stem backward": O12,
        "first backward": O80,
        "block backward": O81,
    },
    "phi3": {
        "stem": O21,
        "head": O22,
        "head backward": O23,
        "stem again": O24,
        "block": O82,
        "block again": O83,
        "stem backward": O24,
        "block backward": O84,
    },
    "phi3 lora": {
        "stem": O28,
        "head": O29,
        "head backward": O30,
        "stem again": O24,
        "block": O85,
        "block again": O86,
        "stem backward": O12,
        "first backward": O87,
        "block backward": O88,
    },
    "qwen2": {
        "stem": O21,
        "head": O22,
        "head backward": O23,
        "stem again": O24,
        "block": O25,
        "block again": O26,
        "stem backward": O24,
        "block backward": O27,
    },
    "qwen2 lora": {
        "stem": O28,
        "head": O29,
        "head backward": O30,
        "stem again": O24,
        "block": O31,
        "block again": O32,
        "stem backward": O12,
        "first backward": O33,
        "block backward": O34,
    },
    "qwen3": {
        "stem": O21,
        "head": O22,
        "head backward": O23,
        "stem again": O24,
        "block": O89,
        "block again": O90,
        "stem backward": O24,
        "block backward": O91,
    },
    "qwen3 lora": {
        "stem": O28,
        "head": O29,
        "head backward": O30,
        "stem again": O24,
        "block": O92,
        "block again": O93,
        "stem backward": O12,
        "first backward": O94,
        "block backward": O95,
    },
}
