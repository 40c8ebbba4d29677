// Package checkpoint has weights as checkpoints of quantized models are published in safetensors
// files, beside the formats of GGUF: GPTQ, AWQ, bitsandbytes in 4 bits, packed integers of
// compressed-tensors, and 8-bit floating point with scales.
//
// Such a weight is several tensors of a file, whose names begin with that of its layer: integers,
// scales, zero points, indices. [Load] finds out from their names, types and shapes which scheme it
// is, together with what the model's [Config] says, checks all of them, and brings them to a
// device. The [Weight] is then used as a tensor of package quantized is, and has its methods:
// multiplied with activations, [Weight.Linear], dequantized, [Weight.Dequantize], or by rows,
// [Weight.Embedding].
//
//	set, err := safetensors.Open("model.safetensors")
//	defer set.Close()
//	c, err := checkpoint.ParseConfig(text) // of config.json
//	w, err := checkpoint.Load(dev, set, "model.layers.0.mlp.up_proj", c)
//	y := w.Linear(x) // of (…, in): (…, out)
//
// What is read, with the tensors of a layer of n outputs and k inputs:
//
//	GPTQ, of 2, 3, 4, 8 bits
//	    qweight (k·bits/32, n), qzeros (groups, n·bits/32), scales (groups, n), g_idx (k)
//	AWQ, of 4 bits
//	    qweight (k, n/8), qzeros (groups, n/8), scales (groups, n)
//	compressed-tensors, of 2, 4, 8 bits (pack-quantized)
//	    weight_packed (n, k·bits/32), weight_shape (2), weight_scale (n, groups), and
//	    weight_zero_point (n·bits/32, groups) and weight_g_idx (k) if they are there
//	bitsandbytes, NF4 and FP4
//	    weight, weight.absmax, weight.quant_map, weight.quant_state.bitsandbytes__nf4, and with
//	    double quantization weight.nested_absmax and weight.nested_quant_map
//	FP8, of E4M3
//	    weight (n, k), and weight_scale_inv or weight_scale: of blocks, of rows, or one
//	MXFP4, the experts of gpt-oss
//	    name_blocks (experts, n, k/32, 16), name_scales (experts, n, k/32): see [MXFP4Blocks]
//
// Columns with activation order (desc_act) are sorted by their groups when they are loaded,
// and so is x when it is multiplied. [QuantizeNF4] and [QuantizeFP8] make weights, and
// [Weight.Entries] is the tensors to write them into a file.
//
// Elements are those of the reference implementations bit for bit, on every device; see
// [Weight.Dequantize].
package checkpoint
