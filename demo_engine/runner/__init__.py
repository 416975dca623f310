"""The model runner: a Llama-type decoder in plain torch, its KV cache, its sampler, and the process they live in."""
